package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// matrix is a fully connected layer without a bias.
func (b exporter) matrix(x model.Value, in, out int) model.Value {
	return b.Do("MatMul", x, b.Weight(1/math.Sqrt(float64(in)), in, out))
}

// trained is a constant of given numbers that training changes.
func (b exporter) trained(t *tensor.Tensor) model.Value {
	b.Parameters += types.Count(t.Shape)
	return b.Constant(t)
}

// zeros is what torch.zeros gives.
func (b exporter) zeros(shape ...int) model.Value {
	return b.Op("ConstantOfShape", []model.Value{b.Ints(shape...)}, model.At("value", tensor.Of([]int{1}, []float32{0})))
}

// integer is a constant scalar of int64.
func (b exporter) integer(v int) model.Value { return b.Constant(tensor.Scalar(int64(v))) }

// mambaSmall gives the scores of the next words at 64 places (Gu and Dao 2023, johnma2006/mamba-minimal with its loop as a Scan): mamba-130m
// with 6 of its 24 layers and 8192 of its words.
func mambaSmall(b exporter) {
	const words, rows, wide = 8192, 64, 768
	table := b.Weight(0.5, words, wide)
	x := b.take(table, b.Indices(words, 1, rows))
	for range 6 {
		x = b.add(b.mambaMixer(b.rms(x, wide), wide), x)
	}
	b.Output(b.Do("MatMul", b.rms(x, wide), b.Transpose(table, 1, 0)))
}

// mambaMixer is a convolution that looks back by 3 places, and the selective scan, behind a gate.
func (b exporter) mambaMixer(x model.Value, wide int) model.Value {
	inner := 2 * wide
	parts := b.Split(b.matrix(x, wide, 2*inner), -1, inner, inner)
	u := b.Transpose(parts[0], 0, 2, 1)
	rows := b.dim(u, 2)
	u = b.ConvBias(u, inner, inner, model.Window{Kernel: []int{4}, Pad: 3, Group: inner})
	u = b.SiLU(b.Transpose(b.Do("Slice", u, b.Ints(0), rows, b.Ints(2), b.Ints(1)), 0, 2, 1))
	y := b.selective(u, inner)
	return b.matrix(b.mul(y, b.SiLU(parts[1])), inner, wide)
}

// selective keeps 16 numbers for each channel, which fade by as much as the place says.
func (b exporter) selective(u model.Value, inner int) model.Value {
	const state, rank = 16, 48
	logs := b.Normal(0, inner, state)
	for i, v := 0, tensor.As[float32](logs); i < len(v); i++ {
		v[i] = float32(math.Log(float64(1 + i%state)))
	}
	a := b.Do("Neg", b.Do("Exp", b.trained(logs)))
	parts := b.Split(b.matrix(u, inner, rank+2*state), -1, rank, state, state)
	delta := b.Do("Softplus", b.add(b.matrix(parts[0], rank, inner), b.trained(b.Uniform(-6, -2, inner))))
	einsum := func(equation string, x ...model.Value) model.Value {
		return b.Op("Einsum", x, model.At("equation", equation))
	}
	fade := b.Do("Exp", einsum("bld,dn->bldn", delta, a))
	gain := einsum("bld,bln,bld->bldn", delta, parts[1], u)

	body := exporter{b.Body("place")}
	h, f, g := body.Argument(types.F32, 1, inner, state), body.Argument(types.F32, 1, inner, state), body.Argument(types.F32, 1, inner, state)
	c := body.Argument(types.F32, 1, state)
	next := body.add(body.mul(f, h), g)
	body.Output(next, body.Op("Einsum", []model.Value{next, c}, model.At("equation", "bdn,bn->bd")))
	y := b.Ops("Scan", 2, []model.Value{b.zeros(1, inner, state), fade, gain, parts[2]}, model.At("num_scan_inputs", 3),
		model.At("scan_input_axes", []int{1, 1, 1}), model.At("scan_output_axes", []int{1}), model.At("body", body.Graph()))[1]
	return b.add(y, b.mul(u, b.Scale(inner)))
}

// The extents of Tacotron 2's decoder: places of the text, numbers of each, bands of a frame, hidden numbers of the LSTMs and inside the
// prenet, and channels of the attention.
const (
	tacoText, tacoMemory, tacoBands = 100, 512, 80
	tacoHidden, tacoPre, tacoAttend = 1024, 256, 128
)

// tacotron2Decoder makes at most 50 frames of 80 bands from a text of 100 places (Shen et al. 2018, NVIDIA/tacotron2): a Loop that ends
// where the gate says so, which it does not here. The dropout that the prenet keeps when it runs is left out, and the postnet is another
// network, as NVIDIA exports it.
func tacotron2Decoder(b exporter) {
	t := newTaco(b)
	zero := func(n int) model.Value { return b.zeros(1, n) }
	in := []model.Value{b.integer(50), b.Constant(tensor.Scalar(true)), zero(tacoBands), zero(tacoHidden), zero(tacoHidden),
		zero(tacoHidden), zero(tacoHidden), zero(tacoText), zero(tacoText), zero(tacoMemory)}
	outs := b.Ops("Loop", 11, in, model.At("body", t.frame()))
	b.Output(b.Transpose(outs[8], 1, 2, 0), b.Transpose(outs[9], 1, 0, 2), b.Transpose(outs[10], 1, 0, 2))
}

// A taco writes a step of the decoder, whose weights are outside of the loop.
type taco struct {
	b                     exporter // outside
	memory, processed     model.Value
	pre                   [2]model.Value
	attend, decode        [3]model.Value
	query, location, deep model.Value
	energy, project, gate model.Value
	projectBias, gateBias model.Value
}

func newTaco(b exporter) taco {
	w := func(in, out int) model.Value { return b.Weight(1/math.Sqrt(float64(in)), in, out) }
	lstm := func(in int) [3]model.Value {
		d := 1 / math.Sqrt(tacoHidden)
		return [3]model.Value{b.Weight(d, 1, 4*tacoHidden, in), b.Weight(d, 1, 4*tacoHidden, tacoHidden), b.Weight(0.1, 1, 8*tacoHidden)}
	}
	t := taco{b: b, memory: b.Input(1, tacoText, tacoMemory)}
	t.processed = b.matrix(t.memory, tacoMemory, tacoAttend)
	t.pre = [2]model.Value{w(tacoBands, tacoPre), w(tacoPre, tacoPre)}
	t.attend, t.decode = lstm(tacoPre+tacoMemory), lstm(tacoHidden+tacoMemory)
	t.query, t.location, t.deep = w(tacoHidden, tacoAttend), b.Weight(0.2, 32, 2, 31), w(32, tacoAttend)
	t.energy = w(tacoAttend, 1)
	t.project, t.projectBias = b.Weight(0.03, tacoBands, tacoHidden+tacoMemory), b.Weight(0.1, tacoBands)
	t.gate, t.gateBias = b.Weight(0.03, 1, tacoHidden+tacoMemory), b.trained(tensor.Of([]int{1}, []float32{-20}))
	return t
}

// frame is the body: frame, states of both LSTMs, weights of the attention, their sum and what was attended to.
func (t taco) frame() *model.Graph {
	b := exporter{t.b.Body("frame")}
	b.Argument(types.I64)
	b.Argument(types.Bool)
	arg := func(n int) model.Value { return b.Argument(types.F32, 1, n) }
	x, ah, ac, dh, dc := arg(tacoBands), arg(tacoHidden), arg(tacoHidden), arg(tacoHidden), arg(tacoHidden)
	weights, sum, context := arg(tacoText), arg(tacoText), arg(tacoMemory)
	for _, w := range t.pre {
		x = b.relu(b.Do("MatMul", x, w))
	}
	ah, ac = b.cell(b.Concat(-1, x, context), ah, ac, t.attend, tacoHidden)
	both := b.Concat(1, b.Do("Unsqueeze", weights, b.Ints(1)), b.Do("Unsqueeze", sum, b.Ints(1)))
	weights = t.weights(b, ah, both)
	sum = b.add(sum, weights)
	context = b.Do("Squeeze", b.Do("MatMul", b.Do("Unsqueeze", weights, b.Ints(1)), t.memory), b.Ints(1))
	dh, dc = b.cell(b.Concat(-1, ah, context), dh, dc, t.decode, tacoHidden)
	y := b.Concat(1, dh, context)
	gemm := func(w, bias model.Value) model.Value {
		return b.Op("Gemm", []model.Value{y, w, bias}, model.At("transB", 1))
	}
	mel, gate := gemm(t.project, t.projectBias), gemm(t.gate, t.gateBias)
	more := b.Do("Not", b.Do("Greater", b.Do("Sigmoid", gate), b.Number(0.5)))
	b.OutputOf(types.Bool, b.Do("Squeeze", more))
	b.Output(mel, ah, ac, dh, dc, weights, sum, context, b.Do("Identity", mel), b.Do("Identity", gate), b.Do("Identity", weights))
	return b.Graph()
}

// weights are those of the attention by the state and by where it was before.
func (t taco) weights(b exporter, state, before model.Value) model.Value {
	q := b.Do("MatMul", b.Do("Unsqueeze", state, b.Ints(1)), t.query)
	l := b.Op("Conv", []model.Value{before, t.location}, model.Window{Kernel: []int{31}, Pad: 15}.Attrs()...)
	l = b.Do("MatMul", b.Transpose(l, 0, 2, 1), t.deep)
	e := b.Do("MatMul", b.Do("Tanh", b.add(b.add(q, l), t.processed)), t.energy)
	return b.softmax(b.Do("Squeeze", e, b.Ints(-1)), 1)
}

// cell is a step of an LSTM, which the exporter writes as a sequence of one.
func (b exporter) cell(x, h, c model.Value, w [3]model.Value, hidden int) (model.Value, model.Value) {
	first := func(v model.Value) model.Value { return b.Do("Unsqueeze", v, b.Ints(0)) }
	y := b.Ops("LSTM", 3, []model.Value{first(x), w[0], w[1], w[2], model.Absent, first(h), first(c)}, model.At("hidden_size", hidden))
	return b.Do("Squeeze", y[1], b.Ints(0)), b.Do("Squeeze", y[2], b.Ints(0))
}

// The extents of the tagger: sentences, their words, letters of a word and tags.
const taggerBatch, taggerWords, taggerLetters, taggerTags = 8, 32, 12, 17

// crfTagger finds names in 8 sentences of at most 32 words (Ma and Hovy 2016 with 20000 of its words): letters by a convolution, an LSTM in
// both directions over packed sequences, and the best path through a conditional random field as kmkurn/pytorch-crf looks for it.
func crfTagger(b exporter) {
	const hidden, wide = 200, 130
	words, letters := b.Indices(20000, taggerWords, taggerBatch), b.Indices(85, taggerWords*taggerBatch, taggerLetters)
	lengths := b.InputOf(tensor.Of([]int{taggerBatch}, []int64{32, 31, 28, 25, 20, 14, 9, 5}))
	c := b.Transpose(b.take(b.Weight(1, 85, 30), letters), 0, 2, 1)
	c = b.Op("ReduceMax", []model.Value{b.conv1(c, 30, 30, 3, 1, 1, 1)}, model.At("axes", []int{2}), model.At("keepdims", 0))
	c = b.Reshape(c, taggerWords, taggerBatch, 30)
	x := b.Concat(-1, b.take(b.Weight(1, 20000, 100), words), c)
	d := 1 / math.Sqrt(hidden)
	zeros := b.zeros(2, taggerBatch, hidden)
	x = b.Ops("LSTM", 3, []model.Value{x, b.Weight(d, 2, 4*hidden, wide), b.Weight(d, 2, 4*hidden, hidden), b.Weight(0.1, 2, 8*hidden),
		b.Op("Cast", []model.Value{lengths}, model.At("to", 6)), zeros, zeros}, model.At("hidden_size", hidden), model.At("direction", "bidirectional"))[0]
	x = b.Reshape(b.Transpose(x, 0, 2, 1, 3), 0, 0, -1)
	x = b.Linear(x, 2*hidden, taggerTags)
	places := b.Do("Range", b.integer(0), b.at(b.Do("Shape", x), 0, 0), b.integer(1))
	mask := b.Do("Less", b.Do("Unsqueeze", places, b.Ints(1)), b.Do("Unsqueeze", lengths, b.Ints(0)))
	tags, score := b.viterbi(x, mask)
	b.OutputOf(types.I64, tags)
	b.Output(score)
}

// viterbi is the best path: a Scan that keeps where scores come from, and one backwards that follows it.
func (b exporter) viterbi(x, mask model.Value) (tags, score model.Value) {
	const n = taggerTags
	start, end, between := b.Weight(0.3, n), b.Weight(0.3, n), b.Weight(0.3, n, n)
	body := exporter{b.Body("word")}
	s, e, m := body.Argument(types.F32, taggerBatch, n), body.Argument(types.F32, taggerBatch, n), body.Argument(types.Bool, taggerBatch)
	all := body.add(body.add(body.Do("Unsqueeze", s, body.Ints(2)), between), body.Do("Unsqueeze", e, body.Ints(1)))
	axis, drop := model.At("axis", 1), model.At("keepdims", 0)
	best := body.Op("ReduceMax", []model.Value{all}, model.At("axes", []int{1}), drop)
	body.Output(body.Do("Where", body.Do("Unsqueeze", m, body.Ints(1)), best, s))
	body.OutputOf(types.I64, body.Op("ArgMax", []model.Value{all}, axis, drop))
	rest := func(v model.Value) model.Value { return b.Slice(v, 0, 1, 1<<62, 1) }
	forward := b.Ops("Scan", 2, []model.Value{b.add(start, b.at(x, 0, 0)), rest(x), rest(mask)}, model.At("num_scan_inputs", 2), model.At("body", body.Graph()))
	final := b.add(forward[0], end)

	back := exporter{b.Body("back")}
	tag, from, m := back.Argument(types.I64, taggerBatch, 1), back.Argument(types.I64, taggerBatch, n), back.Argument(types.Bool, taggerBatch)
	before := back.Op("GatherElements", []model.Value{from, tag}, axis)
	before = back.Do("Where", back.Do("Unsqueeze", m, back.Ints(1)), before, tag)
	back.OutputOf(types.I64, before, back.Do("Identity", before))
	last := b.Op("ArgMax", []model.Value{final}, axis, model.At("keepdims", 1))
	path := b.Ops("Scan", 2, []model.Value{last, forward[1], rest(mask)}, model.At("num_scan_inputs", 2), model.At("body", back.Graph()),
		model.At("scan_input_directions", []int{1, 1}), model.At("scan_output_directions", []int{1}))
	tags = b.Do("Squeeze", b.Concat(0, path[1], b.Do("Unsqueeze", last, b.Ints(0))), b.Ints(2))
	return tags, b.Op("ReduceMax", []model.Value{final}, model.At("axes", []int{1}), drop)
}
