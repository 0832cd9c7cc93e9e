package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// detr is DETR's transformer: places come first, and heads are a part of the batch.
type detr struct{ exporter }

// detrWidth is that of all layers, in heads of 32 numbers.
const detrWidth, detrHeads = 256, 8

// detrR50 finds 100 objects in a map of 2048x25x25 that a ResNet-50 gave (Carion et al. 2020; facebookresearch/detr without the
// backbone), with the positions that are computed from an empty mask.
func detrR50(b exporter) {
	const queries = 100
	d := detr{b}
	x := d.conv(d.Input(1, 2048, 25, 25), 2048, detrWidth, 1, 1, 1)
	list := func(v model.Value) model.Value { return d.Transpose(d.view(v, -100, detrWidth, -1), 2, 0, 1) }
	at := list(d.positions(x))
	y := list(x)
	for range 6 {
		q := d.add(y, at)
		y = d.LayerNorm(d.add(y, d.attention(q, q, y)), detrWidth)
		y = d.feedForward(y)
	}
	asked := d.Do("Unsqueeze", d.Weight(1, queries, detrWidth), d.Ints(1))
	z := d.mul(asked, d.Number(0))                               // zeros_like
	scale, shift := d.Scale(detrWidth), d.Weight(0.1, detrWidth) // all layers share the last normalisation
	last := func(v model.Value) model.Value {
		return d.Op("LayerNormalization", []model.Value{v, scale, shift}, model.At("axis", -1), model.At("epsilon", 1e-5))
	}
	var all []model.Value
	for range 6 {
		q := d.add(z, asked)
		z = d.LayerNorm(d.add(z, d.attention(q, q, z)), detrWidth)
		z = d.LayerNorm(d.add(z, d.attention(d.add(z, asked), d.add(y, at), y)), detrWidth)
		z = d.feedForward(z)
		all = append(all, d.Do("Unsqueeze", last(z), d.Ints(0)))
	}
	d.heads(d.Transpose(d.Concat(0, all...), 0, 2, 1, 3))
}

// heads are the classes and boxes of all layers, of which the last one's are taken.
func (d detr) heads(x model.Value) {
	classes := d.Linear(x, detrWidth, 92)
	y := d.relu(d.Linear(d.relu(d.Linear(x, detrWidth, detrWidth)), detrWidth, detrWidth))
	boxes := d.Do("Sigmoid", d.Linear(y, detrWidth, 4))
	d.Output(d.at(classes, 0, -1), d.at(boxes, 0, -1))
}

// attention is nn.MultiheadAttention's over places × batch × width.
func (d detr) attention(q, k, v model.Value) model.Value {
	const size = detrWidth / detrHeads
	split := func(x model.Value) model.Value {
		y := d.view(d.Linear(x, detrWidth, detrWidth), -100, detrHeads, size)
		return d.Transpose(y, 1, 0, 2)
	}
	scaled := d.mul(split(q), d.Number(float32(1/math.Sqrt(size))))
	s := d.softmax(d.Do("MatMul", scaled, d.Transpose(split(k), 0, 2, 1)), -1)
	y := d.Transpose(d.Do("MatMul", s, split(v)), 1, 0, 2)
	y = d.Dense(d.Reshape(y, -1, detrWidth), detrWidth, detrWidth)
	return d.Reshape(y, -1, 1, detrWidth)
}

// feedForward is normalised behind its sum.
func (d detr) feedForward(x model.Value) model.Value {
	y := d.Linear(d.relu(d.Linear(x, detrWidth, 2048)), 2048, detrWidth)
	return d.LayerNorm(d.add(x, y), detrWidth)
}

// positions are sines and cosines of the sums of places that the mask does not hide.
func (d detr) positions(x model.Value) model.Value {
	shape := d.Concat(0, d.dim(x, 0), d.dim(x, 2), d.dim(x, 3))
	open := d.Op("ConstantOfShape", []model.Value{shape}, model.At("value", tensor.Of([]int{1}, []float32{1})))
	scales := make([]float32, detrWidth/2)
	for i := range scales {
		scales[i] = float32(math.Pow(10000, float64(i/2*2)/float64(len(scales))))
	}
	by := d.Constant(tensor.Of([]int{len(scales)}, scales))
	var parts []model.Value
	for axis := 1; axis <= 2; axis++ {
		y := d.Do("CumSum", open, d.Constant(tensor.Scalar(int64(axis))))
		end := d.Slice(y, axis, -1, math.MaxInt64, 1)
		y = d.mul(d.Do("Div", y, d.add(end, d.Number(1e-6))), d.Number(2*math.Pi))
		y = d.Do("Div", d.Do("Unsqueeze", y, d.Ints(-1)), by)
		even, odd := d.Slice(y, 3, 0, math.MaxInt64, 2), d.Slice(y, 3, 1, math.MaxInt64, 2)
		pair := d.Concat(4, d.Do("Unsqueeze", d.Do("Sin", even), d.Ints(4)), d.Do("Unsqueeze", d.Do("Cos", odd), d.Ints(4)))
		parts = append(parts, d.view(pair, -100, -101, -102, -1))
	}
	return d.Transpose(d.Concat(3, parts...), 0, 3, 1, 2)
}
