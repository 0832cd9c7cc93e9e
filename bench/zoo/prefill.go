package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// robertaB8 classifies 8 texts of at most 64 words (Liu et al. 2019, FacebookAI/roberta-base: 4 of its 12 layers and 8192 of its words); places
// are counted over what is no padding.
func robertaB8(b exporter) {
	const batch, rows, wide, heads, words, padding = 8, 64, 768, 12, 8192, 1
	ids, there := b.Integers(words-3, batch, rows), make([]int64, batch*rows)
	v := tensor.As[int64](ids)
	for i := range v {
		if v[i] += 3; i%rows < rows-7*(i/rows) {
			there[i] = 1
		} else {
			v[i] = padding
		}
	}
	in, mask := b.InputOf(ids), b.InputOf(tensor.Of([]int{batch, rows}, there))
	real := b.cast(b.Do("Not", b.Do("Equal", in, b.integer(padding))), 6)
	places := b.cast(b.mul(b.cast(b.Do("CumSum", real, b.integer(1)), 6), real), 7)
	places = b.add(places, b.integer(padding))
	x := b.add(b.take(b.Weight(0.5, words, wide), in), b.take(b.Weight(0.5, 1, wide), b.Do("Expand", b.integer(0), b.Do("Shape", in))))
	x = b.LayerNorm(b.add(x, b.take(b.Weight(0.5, 514, wide), places)), wide)
	m := b.cast(b.Do("Unsqueeze", b.Do("Unsqueeze", mask, b.Ints(1)), b.Ints(2)), 1)
	m = b.mul(b.Do("Sub", b.Number(1), m), b.Number(-math.MaxFloat32))
	masked := func(s model.Value) model.Value {
		return b.add(b.Do("Div", s, b.Number(8)), m)
	}
	for range 4 {
		x = b.LayerNorm(b.add(b.mha(x, x, heads, wide/heads, masked), x), wide)
		x = b.LayerNorm(b.add(b.Linear(b.GELU(b.Linear(x, wide, 4*wide)), 4*wide, wide), x), wide)
	}
	b.Output(b.Dense(b.Do("Tanh", b.Dense(b.at(x, 1, 0), wide, wide)), wide, 2))
}

// llamaPrefill reads 256 words with 2 layers of a Llama (Touvron et al. 2023, Hugging Face's transformers with eager attention): 1024 numbers, 16
// heads of queries for 4 of keys and values, rotary positions by halves, and a mask that is computed.
func llamaPrefill(b exporter) {
	const wide, heads, kv, size, hidden, words, rows = 1024, 16, 4, 64, 2816, 8192, 256
	ids, there := b.Indices(words, 1, rows), make([]int64, rows)
	for i := range there {
		there[i] = 1
	}
	mask := b.causalMask(ids, b.InputOf(tensor.Of([]int{1, rows}, there)))
	x := b.take(b.Weight(0.5, words, wide), ids)
	cos, sin := b.rotary(x, size)
	rope := func(v model.Value) model.Value {
		lo, hi := b.Slice(v, 3, 0, size/2, 1), b.Slice(v, 3, size/2, math.MaxInt64, 1)
		return b.add(b.mul(v, cos), b.mul(b.Concat(-1, b.Do("Neg", hi), lo), sin))
	}
	split := func(v model.Value, n int) model.Value { return b.Transpose(b.view(v, -100, -101, n, size), 0, 2, 1, 3) }
	repeated := func(v model.Value) model.Value {
		shape := b.Concat(0, b.dim(v, 0), b.Ints(kv, heads/kv), b.dim(v, 2), b.Ints(size))
		return b.view(b.Do("Expand", b.Do("Unsqueeze", v, b.Ints(2)), shape), -100, heads, rows, size)
	}
	var outs []model.Value
	for range 2 {
		y := b.rms(x, wide)
		q, k, v := rope(split(b.matrix(y, wide, wide), heads)), rope(split(b.matrix(y, wide, kv*size), kv)), split(b.matrix(y, wide, kv*size), kv)
		outs = append(outs, k, v)
		s := b.mul(b.Do("MatMul", q, b.Transpose(repeated(k), 0, 1, 3, 2)), b.Number(0.125))
		s = b.softmax(b.add(s, mask), -1)
		z := b.Transpose(b.Do("MatMul", s, repeated(v)), 0, 2, 1, 3)
		x = b.add(x, b.matrix(b.view(z, -100, -101, -1), wide, wide))
		y = b.rms(x, wide)
		x = b.add(x, b.matrix(b.mul(b.SiLU(b.matrix(y, wide, hidden)), b.matrix(y, wide, hidden)), hidden, wide))
	}
	last := b.Slice(b.rms(x, wide), 1, -1, math.MaxInt64, 1)
	b.Output(append([]model.Value{b.matrix(last, wide, words)}, outs...)...)
}

// rotary is cosines and sines of the places of x, which are counted in the run.
func (b exporter) rotary(x model.Value, size int) (cos, sin model.Value) {
	speeds := make([]float32, size/2)
	for i := range speeds {
		speeds[i] = float32(math.Pow(10000, -float64(2*i)/float64(size)))
	}
	places := b.Do("Unsqueeze", b.Do("Range", b.integer(0), b.at(b.Do("Shape", x), 0, 1), b.integer(1)), b.Ints(0))
	f := b.Do("MatMul", b.Constant(tensor.Of([]int{1, size / 2, 1}, speeds)), b.cast(b.Do("Unsqueeze", places, b.Ints(1)), 1))
	f = b.Transpose(f, 0, 2, 1)
	both := b.Concat(-1, f, f)
	part := func(op string) model.Value { return b.Do("Unsqueeze", b.mul(b.Do(op, both), b.Number(1)), b.Ints(1)) }
	return part("Cos"), part("Sin")
}

// causalMask is the least number where a word would look ahead or at padding.
func (b exporter) causalMask(ids, there model.Value) model.Value {
	least := b.Number(-math.MaxFloat32)
	n := b.dim(ids, 1)
	full := b.Op("ConstantOfShape", []model.Value{b.Concat(0, n, n)}, model.At("value", tensor.Of([]int{1}, []float32{-math.MaxFloat32})))
	upper := b.Op("Trilu", []model.Value{full, b.integer(1)}, model.At("upper", 1))
	places := b.Do("Range", b.integer(0), b.at(b.Do("Shape", ids), 0, 1), b.integer(1))
	ahead := b.cast(b.Do("Greater", places, b.Reshape(places, -1, 1)), 1)
	m := b.Do("Unsqueeze", b.Do("Unsqueeze", b.mul(upper, ahead), b.Ints(0)), b.Ints(1))
	m = b.Do("Expand", m, b.Concat(0, b.dim(ids, 0), b.Ints(1), n, n))
	padded := b.add(m, b.cast(b.Do("Unsqueeze", b.Do("Unsqueeze", there, b.Ints(1)), b.Ints(2)), 1))
	return b.Do("Where", b.Do("Equal", padded, b.Number(0)), least, m)
}
