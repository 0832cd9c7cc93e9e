package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// GPT-2's extents (Radford et al. 2019), with the 6 layers that distilgpt2 has.
const (
	gpt2Wide, gpt2Heads, gpt2Size = 768, 12, 64
	gpt2Layers, gpt2Words         = 6, 50257
	gpt2Places                    = 1024
)

// A gpt2 writes GPT2LMHeadModel of Hugging Face's transformers with eager attention, as optimum exports it.
type gpt2 struct {
	exporter
	causal model.Value // places × places, true where a word looks back
	mask   model.Value // 0 where attention is allowed, absent without an input of it
	outs   []model.Value
}

// newGPT2 begins one; mask is an input of int64, or absent.
func newGPT2(b exporter, mask model.Value) *gpt2 {
	g := &gpt2{exporter: b, causal: b.Constant(lowerTriangle(gpt2Places))}
	if mask == model.Absent {
		return g
	}
	m := b.Do("Unsqueeze", b.Do("Unsqueeze", b.view(mask, -100, -1), b.Ints(1)), b.Ints(2))
	m = b.Op("Cast", []model.Value{m}, model.At("to", 1))
	g.mask = b.mul(b.Do("Sub", b.Number(1), m), b.Number(-math.MaxFloat32))
	return g
}

// lowerTriangle is a buffer of bools, 1 × 1 × n × n.
func lowerTriangle(n int) *tensor.Tensor {
	t := tensor.New(types.Bool, 1, 1, n, n)
	for i := range n {
		for k := range i + 1 {
			t.Bytes()[i*n+k] = 1
		}
	}
	return t
}

// project is transformers' Conv1D: a product of all rows of a batch, whose weights are not transposed.
func (g *gpt2) project(x model.Value, in, out int) model.Value {
	w := g.Weight(1/math.Sqrt(float64(in)), in, out)
	y := g.Op("Gemm", []model.Value{g.Reshape(x, -1, in), w, g.Weight(0.1, out)}, model.At("alpha", 1.0), model.At("beta", 1.0))
	return g.Do("Reshape", y, g.Concat(0, g.dim(x, 0), g.dim(x, 1), g.Ints(out)))
}

// allowed is the part of the triangle for as many rows as q has and as many columns as k, counted from the end.
func (g *gpt2) allowed(q, k model.Value) model.Value {
	all := g.dim(k, 2)
	rows := g.Do("Slice", g.causal, g.Do("Sub", all, g.dim(q, 2)), all, g.Ints(2), g.Ints(1))
	return g.Do("Slice", rows, g.Ints(0), all, g.Ints(3), g.Ints(1))
}

// attention looks at the past too, if there is one; it gives out all keys and values.
func (g *gpt2) attention(x model.Value, past int) model.Value {
	split := func(v model.Value) model.Value {
		return g.Transpose(g.view(v, -100, -101, gpt2Heads, gpt2Size), 0, 2, 1, 3)
	}
	parts := g.Split(g.project(x, gpt2Wide, 3*gpt2Wide), 2, gpt2Wide, gpt2Wide, gpt2Wide)
	q, k, v := split(parts[0]), split(parts[1]), split(parts[2])
	if past > 0 {
		k = g.Concat(-2, g.Input(1, gpt2Heads, past, gpt2Size), k)
		v = g.Concat(-2, g.Input(1, gpt2Heads, past, gpt2Size), v)
	}
	g.outs = append(g.outs, k, v)
	s := g.Do("Div", g.Do("MatMul", q, g.Transpose(k, 0, 1, 3, 2)), g.Number(8))
	s = g.Do("Where", g.allowed(q, k), s, g.Number(-math.MaxFloat32))
	if g.mask != model.Absent {
		s = g.add(s, g.mask)
	}
	y := g.Transpose(g.Do("MatMul", g.softmax(s, -1), v), 0, 2, 1, 3)
	return g.project(g.view(y, -100, -101, gpt2Wide), gpt2Wide, gpt2Wide)
}

// gelu is the one by the hyperbolic tangent ("gelu_new").
func (g *gpt2) gelu(x model.Value) model.Value {
	cube := g.mul(g.Do("Pow", x, g.Number(3)), g.Number(0.044715))
	t := g.Do("Tanh", g.mul(g.add(x, cube), g.Number(0.7978846)))
	return g.mul(g.mul(x, g.Number(0.5)), g.add(t, g.Number(1)))
}

// words gives the scores of the next words, whose table is that of the words read, and all keys and values.
func (g *gpt2) words(ids, places model.Value, past int) {
	table := g.Weight(0.05, gpt2Words, gpt2Wide)
	x := g.add(g.take(table, ids), g.take(g.Weight(0.05, gpt2Places, gpt2Wide), places))
	for range gpt2Layers {
		x = g.add(g.attention(g.ln(x, gpt2Wide), past), x)
		y := g.gelu(g.project(g.ln(x, gpt2Wide), gpt2Wide, 4*gpt2Wide))
		x = g.add(x, g.project(y, 4*gpt2Wide, gpt2Wide))
	}
	scores := g.Do("MatMul", g.ln(x, gpt2Wide), g.Transpose(table, 1, 0))
	g.Output(append([]model.Value{scores}, g.outs...)...)
}

// gpt2Step is the step of one word behind 512.
func gpt2Step(b exporter) {
	const past = 512
	ids, places := b.Indices(gpt2Words, 1, 1), b.InputOf(tensor.Of([]int{1, 1}, []int64{past}))
	mask := make([]int64, past+1)
	for i := range mask {
		mask[i] = 1
	}
	newGPT2(b, b.InputOf(tensor.Of([]int{1, past + 1}, mask))).words(ids, places, past)
}

// gpt2Prefill reads 128 words, whose places are counted in the run.
func gpt2Prefill(b exporter) {
	ids := b.Indices(gpt2Words, 1, 128)
	zero, one := b.Constant(tensor.Scalar(int64(0))), b.Constant(tensor.Scalar(int64(1)))
	places := b.Do("Unsqueeze", b.Do("Range", zero, b.at(b.Do("Shape", ids), 0, 1), one), b.Ints(0))
	newGPT2(b, model.Absent).words(ids, places, 0)
}
