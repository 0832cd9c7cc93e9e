package zoo

import (
	"math"

	"lathe/bench/model"
)

// leViT is LeViT: attention over few places whose layers are normalised as batches are, with hard swishes and a bias of places.
type leViT struct{ exporter }

// leViTKey is the size of a key.
const leViTKey = 16

// leViT128S is the smallest one with both of its heads (Graham et al. 2021; facebookresearch/LeViT, not fused).
func leViT128S(b exporter) {
	l := leViT{b}
	x, in, side := l.Input(1, 3, 224, 224), 3, 14
	for i, out := range []int{16, 32, 64, 128} {
		if i > 0 {
			x = l.Do("HardSwish", x)
		}
		x, in = l.ConvBN(x, in, out, model.Square(3).By(2)), out
	}
	x = l.Transpose(l.Reshape(x, 1, in, -1), 0, 2, 1)
	heads := []int{4, 6, 8}
	for st, n := range []int{2, 3, 4} {
		for range n {
			x = l.add(x, l.attention(x, side*side, in, heads[st]))
			x = l.add(x, l.feedForward(x, in))
		}
		if st < 2 {
			x = l.subsample(x, side, in, in/leViTKey, in+128)
			in, side = in+128, (side+1)/2
			x = l.add(x, l.feedForward(x, in))
		}
	}
	x = l.mean(x, 0, 1)
	y := l.add(l.Dense(l.BatchNorm(x, in), in, 1000), l.Dense(l.BatchNorm(x, in), in, 1000))
	l.Output(l.Do("Div", y, l.Number(2)))
}

// linear is a layer without a bias, normalised as a batch of all places: by shapes that are computed.
func (l leViT) linear(x model.Value, in, out int) model.Value {
	y := l.Do("MatMul", x, l.Weight(1/math.Sqrt(float64(in)), in, out))
	flat := l.Do("Reshape", y, l.Concat(0, l.Ints(-1), l.dim(y, 2)))
	return l.Do("Reshape", l.BatchNorm(flat, out), l.Do("Shape", y))
}

// feedForward is two layers around a hard swish.
func (l leViT) feedForward(x model.Value, width int) model.Value {
	return l.linear(l.Do("HardSwish", l.linear(x, width, 2*width)), 2*width, width)
}

// attention has values twice as wide as keys.
func (l leViT) attention(x model.Value, rows, width, heads int) model.Value {
	const value = 2 * leViTKey
	y := l.view(l.linear(x, width, heads*(2*leViTKey+value)), -100, -101, heads, 2*leViTKey+value)
	parts := l.Split(y, 3, leViTKey, leViTKey, value)
	return l.core(l.Transpose(parts[0], 0, 2, 1, 3), parts[1], parts[2], heads, value, width, [3]int{rows, rows, rows})
}

// subsample attends from every other place in both directions, at values of four times the keys' size.
func (l leViT) subsample(x model.Value, side, in, heads, out int) model.Value {
	const value = 4 * leViTKey
	y := l.view(l.linear(x, in, heads*(leViTKey+value)), -100, -101, heads, leViTKey+value)
	parts := l.Split(y, 3, leViTKey, value)
	few := l.Slice(l.Slice(l.view(x, -100, side, side, in), 1, 0, math.MaxInt64, 2), 2, 0, math.MaxInt64, 2)
	half := (side + 1) / 2
	q := l.view(l.linear(l.view(few, -100, -1, in), in, heads*leViTKey), -100, half*half, heads, leViTKey)
	return l.core(l.Transpose(q, 0, 2, 1, 3), parts[0], parts[1], heads, value, out, [3]int{half * half, side * side, side * side})
}

// core is the attention of heads with a bias; extents are the queries, the keys and the distances that have a trained bias.
func (l leViT) core(q, k, v model.Value, heads, value, out int, extents [3]int) model.Value {
	l.Parameters += heads * extents[2]
	bias := l.Constant(l.Normal(0.1, heads, extents[0], extents[1])) // as the reference keeps it when it is not trained
	s := l.mul(l.Do("MatMul", q, l.Transpose(k, 0, 2, 3, 1)), l.Number(0.25))
	y := l.Do("MatMul", l.softmax(l.add(s, bias), -1), l.Transpose(v, 0, 2, 1, 3))
	y = l.view(l.Transpose(y, 0, 2, 1, 3), -100, -1, heads*value)
	return l.linear(l.Do("HardSwish", y), heads*value, out)
}
