package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// The extents of TabNet for Covertype: rows, numbers of each, numbers that steps decide by and attend by.
const tabRows, tabNumbers, tabWide = 512, 54, 64

// A tabNet writes dreamquark-ai/tabnet, whose batch normalisation takes 128 rows at a time even when it is not trained.
type tabNet struct {
	exporter
	shared [2]model.Value
}

// tabNetCovertype tells 7 kinds of forest apart in 5 steps, each of which looks at a few of 54 numbers (Arik and Pfister 2019).
func tabNetCovertype(b exporter) {
	const wide, steps = tabWide, 5
	t := tabNet{exporter: b, shared: [2]model.Value{b.Weight(math.Sqrt(2.0/tabNumbers), 4*wide, tabNumbers), b.Weight(0.13, 4*wide, 2*wide)}}
	x := b.BatchNorm(b.Input(tabRows, tabNumbers), tabNumbers)
	ends := func(v model.Value) (d, a model.Value) {
		return b.Slice(v, 1, 0, wide, 1), b.Slice(v, 1, wide, math.MaxInt64, 1)
	}
	_, a := ends(t.transformed(x))
	prior := b.Op("ConstantOfShape", []model.Value{b.Do("Shape", x)}, model.At("value", tensor.Of([]int{1}, []float32{1})))
	var decided []model.Value
	for range steps {
		m := b.Op("Gemm", []model.Value{a, b.Weight(0.3, tabNumbers, wide)}, model.At("transB", 1))
		m = b.sparsemax(b.mul(t.ghost(m, tabNumbers), prior), tabNumbers)
		prior = b.mul(b.Do("Sub", b.Number(1.5), m), prior)
		var d model.Value
		d, a = ends(t.transformed(b.mul(m, x)))
		decided = append(decided, b.Do("Unsqueeze", b.relu(d), b.Ints(0)))
	}
	y := b.sum(b.Concat(0, decided...), 0, 0)
	b.Output(b.Op("Gemm", []model.Value{y, b.Weight(0.1, 7, wide)}, model.At("transB", 1)))
}

// transformed is two gated layers that all steps share and two that they do not.
func (t tabNet) transformed(x model.Value) model.Value {
	const wide = 2 * tabWide
	for i := range 4 {
		var w model.Value
		if i < 2 {
			w = t.shared[i]
		} else {
			w = t.Weight(0.13, 2*wide, wide)
		}
		y := t.ghost(t.Op("Gemm", []model.Value{x, w}, model.At("transB", 1)), 2*wide)
		y = t.mul(t.Slice(y, 1, 0, wide, 1), t.Do("Sigmoid", t.Slice(y, 1, wide, math.MaxInt64, 1)))
		if i > 0 {
			y = t.mul(t.add(x, y), t.Number(float32(math.Sqrt(0.5))))
		}
		x = y
	}
	return x
}

// ghost normalises parts of a batch, by the same numbers when it is not trained.
func (t tabNet) ghost(x model.Value, size int) model.Value {
	scale, bias := t.Scale(size), t.Weight(0.1, size)
	mean, variance := t.Constant(t.Normal(0.1, size)), t.Constant(t.Uniform(0.9, 1.1, size))
	parts := t.Split(x, 0, 128, 128, 128, 128)
	for i, p := range parts {
		parts[i] = t.Op("BatchNormalization", []model.Value{p, scale, bias, mean, variance}, model.At("epsilon", 1e-5))
	}
	return t.Concat(0, parts...)
}

// sparsemax is a projection to the simplex: all numbers are sorted.
func (b exporter) sparsemax(x model.Value, size int) model.Value {
	axis := model.At("axis", 1)
	x = b.Do("Sub", x, b.Op("ReduceMax", []model.Value{x}, model.At("axes", []int{1}), model.At("keepdims", 1)))
	sorted := b.Ops("TopK", 2, []model.Value{x, b.Ints(size)}, axis, model.At("largest", 1), model.At("sorted", 1))[0]
	sums := b.Do("Sub", b.Do("CumSum", sorted, b.integer(1)), b.Number(1))
	counts := make([]float32, size)
	for i := range counts {
		counts[i] = float32(i + 1)
	}
	support := b.Do("Greater", b.mul(b.Constant(tensor.Of([]int{1, size}, counts)), sorted), sums)
	n := b.sum(b.cast(support, 7), 1, 1)
	tau := b.Op("GatherElements", []model.Value{sums, b.Do("Sub", n, b.integer(1))}, axis)
	tau = b.Do("Div", tau, b.cast(n, 1))
	return b.Do("Clip", b.Do("Sub", x, tau), b.Number(0))
}

// rwkvSmall gives the scores of the next words at 64 places (Peng et al. 2023, RWKV/rwkv-4-169m-pile as Hugging Face's transformers run it
// without CUDA: 4 of its 12 layers and 8192 of its words).
func rwkvSmall(b exporter) {
	const words, rows, wide = 8192, 64, 768
	x := b.take(b.Weight(0.5, words, wide), b.Indices(words, 1, rows))
	x = b.LayerNorm(x, wide)
	for range 4 {
		x = b.add(x, b.timeMix(b.LayerNorm(x, wide), wide))
		x = b.add(x, b.channelMix(b.LayerNorm(x, wide), wide))
	}
	b.Output(b.matrix(b.LayerNorm(x, wide), wide, words))
}

// shiftedMix moves places by one, by a padding that cuts off the last, and mixes n times by what channels have learned.
func (b exporter) shiftedMix(x model.Value, wide, n int) (mixed []model.Value) {
	before := b.Op("Pad", []model.Value{x, b.Ints(0, 1, 0, 0, -1, 0), b.Number(0)}, model.At("mode", "constant"))
	for range n {
		m := b.trained(b.Uniform(0, 1, 1, 1, wide))
		mixed = append(mixed, b.add(b.mul(x, m), b.mul(before, b.Do("Sub", b.Number(1), m))))
	}
	return mixed
}

// channelMix is a feed forward by squares of ReLUs behind a gate.
func (b exporter) channelMix(x model.Value, wide int) model.Value {
	m := b.shiftedMix(x, wide, 2)
	k := b.Do("Pow", b.relu(b.matrix(m[0], wide, 4*wide)), b.Number(2))
	return b.mul(b.Do("Sigmoid", b.matrix(m[1], wide, wide)), b.matrix(k, 4*wide, wide))
}

// timeMix is a mean of values that fade, by exponentials of keys below the largest so far.
func (b exporter) timeMix(x model.Value, wide int) model.Value {
	m := b.shiftedMix(x, wide, 3)
	k, v, r := b.matrix(m[0], wide, wide), b.matrix(m[1], wide, wide), b.Do("Sigmoid", b.matrix(m[2], wide, wide))
	decay, first := b.Do("Neg", b.Do("Exp", b.trained(b.Uniform(-5, 1, wide)))), b.Weight(0.5, wide)
	low := b.Op("ConstantOfShape", []model.Value{b.Ints(1, wide)}, model.At("value", tensor.Of([]int{1}, []float32{-1e38})))

	body := exporter{b.Body("place")}
	arg := func() model.Value { return body.Argument(types.F32, 1, wide) }
	num, den, top, key, value := arg(), arg(), arg(), arg(), arg()
	weigh := func(old, now model.Value) (n, d, most model.Value) {
		most = body.Do("Max", old, now)
		e1, e2 := body.Do("Exp", body.Do("Sub", old, most)), body.Do("Exp", body.Do("Sub", now, most))
		return body.add(body.mul(e1, num), body.mul(e2, value)), body.add(body.mul(e1, den), e2), most
	}
	n, d, _ := weigh(top, body.add(key, first))
	y := body.Do("Div", n, d)
	n, d, most := weigh(body.add(top, decay), key)
	body.Output(n, d, most, y)
	outs := b.Ops("Scan", 4, []model.Value{b.zeros(1, wide), b.zeros(1, wide), low, k, v}, model.At("num_scan_inputs", 2),
		model.At("scan_input_axes", []int{1, 1}), model.At("scan_output_axes", []int{1}), model.At("body", body.Graph()))
	return b.matrix(b.mul(r, outs[3]), wide, wide)
}

// convTasNet separates two voices in a second of sound at 8 kHz (Luo and Mesgarani 2018, torchaudio's conv_tasnet_base): 24 blocks of
// depthwise convolutions that look far, normalised over the whole sound.
func convTasNet(b exporter) {
	const features, wide, hidden, samples = 512, 128, 512, 8000
	line := model.Window{Kernel: []int{16}, Stride: 8, Pad: 8}
	sound := b.Conv(b.Input(1, 1, samples), 1, features, line)
	x := b.conv1(b.wholeNorm(sound, features), features, wide, 1, 1, 1, 1)
	var skips model.Value
	for i := range 24 {
		y := b.wholeNorm(b.prelu(b.conv1(x, wide, hidden, 1, 1, 1, 1)), hidden)
		y = b.wholeNorm(b.prelu(b.conv1(y, hidden, hidden, 3, 1, 1<<(i%8), hidden)), hidden)
		if i < 23 {
			x = b.add(x, b.conv1(y, hidden, wide, 1, 1, 1, 1))
		}
		if s := b.conv1(y, hidden, wide, 1, 1, 1, 1); i == 0 {
			skips = s
		} else {
			skips = b.add(skips, s)
		}
	}
	masks := b.Do("Sigmoid", b.conv1(b.prelu(skips), wide, 2*features, 1, 1, 1, 1))
	masks = b.view(masks, -100, 2, features, -1)
	y := b.Reshape(b.mul(masks, b.Do("Unsqueeze", sound, b.Ints(1))), 2, features, -1)
	b.Output(b.Reshape(b.ConvTranspose(y, features, 1, line, false), 1, 2, -1))
}

// prelu is a ReLU with one slope below zero for all.
func (b exporter) prelu(x model.Value) model.Value {
	return b.Do("PRelu", x, b.trained(b.Uniform(0.2, 0.3, 1)))
}

// wholeNorm is group normalisation of a line by one group.
func (b exporter) wholeNorm(x model.Value, channels int) model.Value {
	shape := b.Do("Shape", x)
	y := b.Reshape(x, 0, 1, -1)
	y = b.Op("InstanceNormalization", []model.Value{y, b.Constant(b.Uniform(1, 1, 1)), b.Constant(b.Uniform(0, 0, 1))}, model.At("epsilon", 1e-8))
	y = b.Do("Reshape", y, shape)
	return b.add(b.mul(y, b.Scale(channels, 1)), b.Weight(0.1, channels, 1))
}

// expertsLayer is a feed forward of 8 experts for 64 words, each of which passes one (Hugging Face's transformers, Llama4TextMoe, in a tenth of
// its width): all words go to all experts, those of others as almost nothing, beside an expert that all share.
func expertsLayer(b exporter) {
	const rows, wide, hidden, experts = 64, 512, 1792, 8
	x := b.Reshape(b.Input(1, rows, wide), -1, wide)
	logits := b.matrix(x, wide, experts)
	top := b.Ops("TopK", 2, []model.Value{logits, b.Ints(1)}, model.At("axis", 1), model.At("largest", 1), model.At("sorted", 1))
	none := b.Op("ConstantOfShape", []model.Value{b.Do("Shape", logits)}, model.At("value", tensor.Of([]int{1}, []float32{float32(math.Inf(-1))})))
	scores := b.Op("ScatterElements", []model.Value{none, top[1], top[0]}, model.At("axis", 1))
	scores = b.Do("Sigmoid", b.Transpose(scores, 1, 0))
	y := b.mul(b.Do("Tile", x, b.Ints(experts, 1)), b.Reshape(scores, -1, 1))
	y = b.Do("MatMul", b.view(y, experts, -1, wide), b.Weight(0.06, experts, wide, 2*hidden))
	parts := b.Split(y, -1, hidden, hidden)
	y = b.Do("MatMul", b.mul(parts[1], b.SiLU(parts[0])), b.Weight(0.03, experts, hidden, wide))
	shared := b.matrix(b.mul(b.SiLU(b.matrix(x, wide, hidden)), b.matrix(x, wide, hidden)), hidden, wide)
	b.Output(b.add(shared, b.sum(b.view(y, experts, -1, wide), 0, 0)), scores)
}
