package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// t5SmallEncoder reads 128 words; the bias by relative positions is computed from their number.
func t5SmallEncoder(b exporter) {
	const wide, heads, rows, words = 512, 8, 128, 32128
	x := b.take(b.Weight(1, words, wide), b.Indices(words, 1, rows))
	i64 := func(v int) model.Value { return b.Constant(tensor.Scalar(int64(v))) }
	rng := b.Do("Range", i64(0), b.at(b.Do("Shape", x), 0, 1), i64(1))
	rel := b.Do("Sub", b.Do("Unsqueeze", rng, b.Ints(0)), b.Do("Unsqueeze", rng, b.Ints(1)))
	big := b.mul(b.Op("Cast", []model.Value{b.Do("Greater", rel, i64(0))}, model.At("to", 7)), i64(16))
	abs := b.Do("Abs", rel)
	f := b.Op("Cast", []model.Value{abs}, model.At("to", 1))
	lg := b.mul(b.Do("Div", b.Do("Log", b.Do("Div", f, b.Number(8))), b.Number(float32(math.Log(16)))), b.Number(8))
	large := b.Do("Min", b.add(b.Op("Cast", []model.Value{lg}, model.At("to", 7)), i64(8)), i64(15))
	bucket := b.add(big, b.Do("Where", b.Do("Less", abs, i64(8)), abs, large))
	bias := b.Do("Unsqueeze", b.Transpose(b.take(b.Weight(0.5, 32, heads), bucket), 2, 0, 1), b.Ints(0))
	for range 6 {
		y := b.rms(x, wide)
		lin := func(v model.Value, in, out int) model.Value {
			return b.Do("MatMul", v, b.Weight(1/math.Sqrt(float64(in)), in, out))
		}
		h := func(v model.Value) model.Value { return b.Transpose(b.view(v, -100, -1, heads, 64), 0, 2, 1, 3) }
		q, k, v := h(lin(y, wide, wide)), h(lin(y, wide, wide)), h(lin(y, wide, wide))
		s := b.softmax(b.add(b.Do("MatMul", q, b.Transpose(k, 0, 1, 3, 2)), bias), -1)
		o := b.view(b.Transpose(b.Do("MatMul", s, v), 0, 2, 1, 3), -100, -1, wide)
		x = b.add(x, lin(o, wide, wide))
		x = b.add(x, lin(b.relu(lin(b.rms(x, wide), wide, 2048)), 2048, wide))
	}
	b.Output(b.rms(x, wide))
}

// conv1 is a convolution along a line.
func (b exporter) conv1(x model.Value, in, out, k, stride, d, groups int) model.Value {
	return b.ConvBias(x, in, out, model.Window{Kernel: []int{k}, Pad: d * (k / 2), Stride: stride, Dilate: d, Group: groups})
}

// whisperTinyEncoder reads 30 seconds of sound as 80 bands.
func whisperTinyEncoder(b exporter) {
	const wide, rows = 384, 1500
	x := b.GELU(b.conv1(b.Input(1, 80, 3000), 80, wide, 3, 1, 1, 1))
	x = b.GELU(b.conv1(x, wide, wide, 3, 2, 1, 1))
	x = b.add(b.Transpose(x, 0, 2, 1), b.Weight(0.1, rows, wide))
	for range 4 {
		y := b.ln(x, wide)
		x = b.add(x, b.mha(y, y, 6, 64, b.by(0.125)))
		x = b.add(x, b.Linear(b.GELU(b.Linear(b.ln(x, wide), wide, 4*wide)), 4*wide, wide))
	}
	b.Output(b.ln(x, wide))
}

// smolLMStep is the step of one word behind 128, for 8 of the 30 layers of SmolLM-135M and 8192 of its words: rotary positions by halves, three heads of queries for
// each of keys and values, gated feed forward.
func smolLMStep(b exporter) {
	const rows, past = 1, 128
	const wide, heads, kv, size, hidden, layers, words = 576, 9, 3, 64, 1536, 8, 8192
	all := rows + past
	lin := func(v model.Value, in, out int) model.Value {
		return b.Do("MatMul", v, b.Weight(1/math.Sqrt(float64(in)), in, out))
	}
	x := b.take(b.Weight(0.5, words, wide), b.Indices(words, 1, rows))
	p := b.InputOf(tensor.Of([]int{1, rows}, []int64{past}))
	inv := make([]float32, 32)
	for i := range inv {
		inv[i] = float32(math.Pow(10000, -float64(i)/32))
	}
	fr := b.Do("MatMul", b.Constant(tensor.Of([]int{1, 32, 1}, inv)), b.Op("Cast", []model.Value{b.Do("Unsqueeze", p, b.Ints(1))}, model.At("to", 1)))
	fr = b.Transpose(fr, 0, 2, 1)
	emb := b.Concat(-1, fr, fr)
	cos, sin := b.Do("Unsqueeze", b.Do("Cos", emb), b.Ints(1)), b.Do("Unsqueeze", b.Do("Sin", emb), b.Ints(1))
	rope := func(v model.Value) model.Value {
		lo, hi := b.Slice(v, 3, 0, size/2, 1), b.Slice(v, 3, size/2, 1<<60, 1)
		return b.add(b.mul(v, cos), b.mul(b.Concat(-1, b.Do("Neg", hi), lo), sin))
	}
	mask := b.Constant(b.Uniform(0, 0, 1, 1, rows, all)) // of the last word
	var outs []model.Value
	for range layers {
		y := b.rms(x, wide)
		h := func(v model.Value, n int) model.Value { return b.Transpose(b.view(v, -100, -101, n, size), 0, 2, 1, 3) }
		q, k, v := rope(h(lin(y, wide, wide), heads)), rope(h(lin(y, wide, kv*size), kv)), h(lin(y, wide, kv*size), kv)
		k, v = b.Concat(2, b.Input(1, kv, past, size), k), b.Concat(2, b.Input(1, kv, past, size), v)
		outs = append(outs, k, v)
		rep := func(v model.Value) model.Value {
			v = b.Do("Expand", b.Do("Unsqueeze", v, b.Ints(2)), b.Ints(1, kv, heads/kv, all, size))
			return b.Reshape(v, 1, heads, all, size)
		}
		s := b.mul(b.Do("MatMul", q, b.Transpose(rep(k), 0, 1, 3, 2)), b.Number(0.125))
		s = b.softmax(b.add(s, mask), -1)
		o := b.view(b.Transpose(b.Do("MatMul", s, rep(v)), 0, 2, 1, 3), -100, -101, wide)
		x = b.add(x, lin(o, wide, wide))
		y = b.rms(x, wide)
		x = b.add(x, lin(b.mul(b.SiLU(lin(y, wide, hidden)), lin(y, wide, hidden)), hidden, wide))
	}
	b.Output(append([]model.Value{lin(b.rms(x, wide), wide, words)}, outs...)...)
}
