package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// cast changes the element type by its number in ONNX.
func (b exporter) cast(x model.Value, to int) model.Value {
	return b.Op("Cast", []model.Value{x}, model.At("to", to))
}

// sum is one along an axis.
func (b exporter) sum(x model.Value, keep, axis int) model.Value {
	return b.Op("ReduceSum", []model.Value{x, b.Ints(axis)}, model.At("keepdims", keep))
}

// einsum is one of that equation.
func (b exporter) einsum(equation string, x ...model.Value) model.Value {
	return b.Op("Einsum", x, model.At("equation", equation))
}

// The extents of DeBERTa v3, with 2 layers and 8192 words.
const (
	debertaWide, debertaHeads, debertaSize   = 768, 12, 64
	debertaBuckets, debertaFar, debertaWords = 256, 512, 8192
)

// A deberta writes attention by what words are and by how far they are from each other, each looked up by the other, as Hugging Face's
// transformers do.
type deberta struct {
	exporter
	distances model.Value // of the buckets, as codes
	relative  model.Value // bucket of each pair of words
	pairs     model.Value // which may attend to each other
}

// debertaV3 reads 128 words, of which 120 are there (He et al. 2021, microsoft/deberta-v3-base: 2 of its 12 layers and 8192 of its words).
func debertaV3(b exporter) {
	const wide = debertaWide
	ids := b.Indices(debertaWords, 1, 128)
	there := make([]int64, 128)
	for i := range 120 {
		there[i] = 1
	}
	mask := b.InputOf(tensor.Of([]int{1, 128}, there))
	d := deberta{exporter: b}
	x := b.LayerNorm(b.take(b.Weight(0.5, debertaWords, wide), ids), wide)
	x = b.mul(x, b.cast(b.Do("Unsqueeze", mask, b.Ints(2)), 1))
	wideMask := b.Do("Unsqueeze", b.Do("Unsqueeze", mask, b.Ints(1)), b.Ints(2))
	d.pairs = b.cast(b.mul(wideMask, b.Do("Unsqueeze", b.Do("Squeeze", wideMask, b.Ints(-2)), b.Ints(-1))), 9)
	d.distances = b.LayerNorm(b.Weight(0.5, 2*debertaBuckets, wide), wide)
	d.relative = d.buckets(x)
	for range 2 {
		x = b.LayerNorm(b.add(d.attention(x), x), wide)
		y := b.Linear(b.GELU(b.Linear(x, wide, 4*wide)), 4*wide, wide)
		x = b.LayerNorm(b.add(y, x), wide)
	}
	b.Output(x)
}

// buckets are the distances themselves up to 128 and their logarithms beyond.
func (d deberta) buckets(x model.Value) model.Value {
	const middle = debertaBuckets / 2
	rng := d.Do("Range", d.integer(0), d.at(d.Do("Shape", x), 0, 1), d.integer(1))
	rel := d.Do("Sub", d.Do("Unsqueeze", rng, d.Ints(1)), d.Do("Unsqueeze", rng, d.Ints(0)))
	sign := d.Do("Sign", rel)
	near := d.Do("And", d.Do("Less", rel, d.integer(middle)), d.Do("Greater", rel, d.integer(-middle)))
	abs := d.cast(d.Do("Where", near, d.integer(middle-1), d.Do("Abs", rel)), 1)
	l := d.Do("Div", d.Do("Log", d.Do("Div", abs, d.Number(middle))), d.Number(float32(math.Log((debertaFar-1)/float64(middle)))))
	l = d.add(d.Do("Ceil", d.mul(l, d.Number(middle-1))), d.Number(middle))
	bucket := d.Do("Where", d.Do("LessOrEqual", abs, d.Number(middle)), d.cast(rel, 1), d.mul(l, d.cast(sign, 1)))
	return d.Do("Unsqueeze", d.cast(bucket, 7), d.Ints(0))
}

// heads are the parts of each head, as heads × rows × size.
func (d deberta) heads(x model.Value) model.Value {
	y := d.Transpose(d.view(x, -100, -101, debertaHeads, -1), 0, 2, 1, 3)
	return d.Do("Reshape", y, d.Concat(0, d.Ints(-1), d.dim(y, 2), d.dim(y, 3)))
}

// attention adds what both ways of looking distances up give; the weights of queries and keys are those of the words too.
func (d deberta) attention(x model.Value) model.Value {
	const wide = debertaWide
	var w, bias [2]model.Value
	for i := range w {
		w[i], bias[i] = d.Weight(1/math.Sqrt(wide), wide, wide), d.Weight(0.1, wide)
	}
	linear := func(v model.Value, i int) model.Value { return d.heads(d.add(d.Do("MatMul", v, w[i]), bias[i])) }
	q, k, v := linear(x, 0), linear(x, 1), d.heads(d.Linear(x, wide, wide))
	scale := d.Do("Sqrt", d.cast(d.mul(d.integer(debertaSize), d.integer(3)), 1))
	turn := func(v model.Value) model.Value { return d.Transpose(v, 0, 2, 1) }
	s := d.Do("MatMul", q, d.Do("Div", turn(k), scale))
	codes := d.Do("Unsqueeze", d.distances, d.Ints(0))
	look := func(rows, codes, at model.Value) model.Value {
		all := d.Do("MatMul", rows, turn(codes))
		at = d.Do("Clip", at, d.integer(0), d.integer(2*debertaBuckets-1))
		at = d.Do("Expand", at, d.Concat(0, d.dim(rows, 0), d.dim(rows, 1), d.dim(rows, 1)))
		return d.Op("GatherElements", []model.Value{all, at}, model.At("axis", 2))
	}
	c2p := look(q, linear(codes, 1), d.add(d.relative, d.integer(debertaBuckets)))
	p2c := turn(look(k, linear(codes, 0), d.add(d.Do("Neg", d.relative), d.integer(debertaBuckets))))
	s = d.add(s, d.add(d.Do("Div", c2p, scale), d.Do("Div", p2c, scale)))
	s = d.view(s, -1, debertaHeads, -101, -102)
	apart := d.Do("Not", d.pairs)
	s = d.softmax(d.Do("Where", apart, d.Number(-math.MaxFloat32), s), -1)
	s = d.Do("Where", apart, d.Number(0), s)
	s = d.Do("Reshape", s, d.Concat(0, d.Ints(-1), d.dim(s, 2), d.dim(s, 3)))
	y := d.view(d.Do("MatMul", s, v), -1, debertaHeads, -101, -102)
	return d.Linear(d.view(d.Transpose(y, 0, 2, 1, 3), -100, -101, -1), wide, wide)
}

// performerSmall mixes 1024 places by random features of which sums grow with the places (Choromanski et al. 2020,
// lucidrains/performer-pytorch): two layers of 512 numbers, 8 heads, 266 features.
func performerSmall(b exporter) {
	const wide, heads, size = 512, 8, 64
	x := b.Input(1, 1024, wide)
	for range 2 {
		y := b.ln(x, wide)
		split := func() model.Value {
			return b.Transpose(b.view(b.matrix(y, wide, wide), -100, -101, heads, size), 0, 2, 1, 3)
		}
		q, k, v := split(), split(), split()
		directions := b.Constant(b.Normal(1, 266, size))
		z := b.linearAttention(b.features(q, directions, size, true), b.features(k, directions, size, false), v)
		z = b.view(b.Transpose(z, 0, 2, 1, 3), -100, -101, wide)
		x = b.add(b.Linear(z, wide, wide), x)
		x = b.add(b.Linear(b.GELU(b.Linear(b.ln(x, wide), wide, 4*wide)), 4*wide, wide), x)
	}
	b.Output(x)
}

// features are exponentials of products with random directions, below the largest of a row or of all rows.
func (b exporter) features(x, directions model.Value, size int, query bool) model.Value {
	norm := b.Number(float32(math.Pow(float64(size), -0.25)))
	all := b.Do("Expand", b.Do("Unsqueeze", directions, b.Ints(0, 1)), b.Concat(0, b.dim(x, 0), b.dim(x, 1), b.Ints(1, 1)))
	y := b.einsum("...id,...jd->...ij", b.mul(norm, x), all)
	half := b.mul(b.Do("Div", b.sum(b.Do("Pow", x, b.Number(2)), 0, -1), b.Number(2)), b.Do("Pow", norm, b.Number(2)))
	axes := []int{-1, -2}
	if query {
		axes = axes[:1]
	}
	top := b.Op("ReduceMax", []model.Value{y}, model.At("axes", axes), model.At("keepdims", 1))
	y = b.Do("Exp", b.Do("Sub", b.Do("Sub", y, b.Do("Unsqueeze", half, b.Ints(-1))), top))
	return b.mul(b.Number(float32(math.Pow(266, -0.5))), b.add(y, b.Number(1e-4)))
}

// linearAttention sums keys and values first.
func (b exporter) linearAttention(q, k, v model.Value) model.Value {
	d := b.Do("Reciprocal", b.einsum("...nd,...d->...n", q, b.sum(k, 0, -2)))
	context := b.einsum("...nd,...ne->...de", k, v)
	return b.einsum("...de,...nd,...n->...ne", context, q, d)
}

// fnetBase mixes 256 words by the real part of a Fourier transform in both directions, as matrix products (Lee-Thorp et al. 2021,
// google/fnet-base: 4 of its 12 layers and 8192 of its words).
func fnetBase(b exporter) {
	const wide, words, rows = 768, 8192, 256
	ids := b.Indices(words, 1, rows)
	x := b.add(b.take(b.Weight(0.5, words, wide), ids), b.take(b.Weight(0.5, 4, wide), b.Indices(4, 1, rows)))
	x = b.add(x, b.Slice(b.Weight(0.5, 1, 512, wide), 1, 0, rows, 1))
	x = b.Linear(b.LayerNorm(x, wide), wide, wide)
	cosines := func(n int) (c, s model.Value) {
		both := [2][]float32{make([]float32, n*n), make([]float32, n*n)}
		for i := range n * n {
			sin, cos := math.Sincos(2 * math.Pi * float64(i/n*(i%n)%n) / float64(n))
			both[0][i], both[1][i] = float32(cos), float32(sin)
		}
		return b.Constant(tensor.Of([]int{n, n}, both[0])), b.Constant(tensor.Of([]int{n, n}, both[1]))
	}
	cw, sw := cosines(wide)
	cr, sr := cosines(rows)
	for range 4 {
		y := b.Do("Sub", b.Do("MatMul", cr, b.Do("MatMul", x, cw)), b.Do("MatMul", sr, b.Do("MatMul", x, sw)))
		x = b.LayerNorm(b.add(x, y), wide)
		g := gpt2{exporter: b}
		x = b.LayerNorm(b.add(b.Linear(g.gelu(b.Linear(x, wide, 4*wide)), 4*wide, wide), x), wide)
	}
	b.Output(x, b.Do("Tanh", b.Linear(b.at(x, 1, 0), wide, wide)))
}

// whisperTinyDecoderStep is the step of one word behind 64, which attends to 1500 frames of sound whose keys and values are given:
// openai/whisper-tiny as optimum exports its decoder with past.
func whisperTinyDecoderStep(b exporter) {
	const wide, heads, size, words, past, frames = 384, 6, 64, 51865, 64, 1500
	table := b.Weight(0.3, words, wide)
	ids := b.Indices(words, 1, 1)
	place := b.Slice(b.Weight(0.1, 448, wide), 0, past, past+1, 1)
	x := b.add(b.take(table, ids), place)
	split := func(v model.Value) model.Value { return b.Transpose(b.view(v, -100, -1, heads, size), 0, 2, 1, 3) }
	attend := func(q, k, v model.Value) model.Value {
		s := b.softmax(b.Do("MatMul", q, b.Transpose(k, 0, 1, 3, 2)), -1)
		y := b.Transpose(b.Do("MatMul", s, v), 0, 2, 1, 3)
		return b.Linear(b.view(y, -100, -101, wide), wide, wide)
	}
	query := func(y model.Value) model.Value { return split(b.mul(b.Linear(y, wide, wide), b.Number(0.125))) }
	var outs []model.Value
	for range 4 {
		y := b.ln(x, wide)
		k := b.Concat(2, b.Input(1, heads, past, size), split(b.matrix(y, wide, wide)))
		v := b.Concat(2, b.Input(1, heads, past, size), split(b.Linear(y, wide, wide)))
		outs = append(outs, k, v)
		x = b.add(x, attend(query(y), k, v))
		x = b.add(x, attend(query(b.ln(x, wide)), b.Input(1, heads, frames, size), b.Input(1, heads, frames, size)))
		x = b.add(x, b.Linear(b.GELU(b.Linear(b.ln(x, wide), wide, 4*wide)), 4*wide, wide))
	}
	scores := b.Do("MatMul", b.ln(x, wide), b.Transpose(table, 1, 0))
	b.Output(append([]model.Value{scores}, outs...)...)
}
