package zoo

import (
	"lathe/bench/model"
	"lathe/internal/tensor"
)

// nerf gives the colours of 64 rays of 64 places: a field of 8 layers of 256 over sines of places, and the sums along rays (Mildenhall et
// al. 2020; yenchenlin/nerf-pytorch, whose products along rays are sums of logarithms here, as mip-NeRF's).
func nerf(b exporter) {
	const rays, samples, wide = 64, 64, 256
	places, ways := b.Input(rays, samples, 3), b.Input(rays, 3)
	flat := b.Reshape(places, -1, 3)
	ways = b.Do("Expand", b.Do("Unsqueeze", ways, b.Ints(1)), b.Do("Shape", places))
	x, way := b.waves(flat, 10), b.waves(b.Reshape(ways, -1, 3), 4)
	y, in := x, 63
	for i := range 8 {
		y, in = b.relu(b.Dense(y, in, wide)), wide
		if i == 4 {
			y, in = b.Concat(-1, x, y), wide+63
		}
	}
	density := b.Dense(y, wide, 1)
	y = b.relu(b.Dense(b.Concat(-1, b.Dense(y, wide, wide), way), wide+27, wide/2))
	raw := b.Reshape(b.Concat(-1, b.Dense(y, wide/2, 3), density), rays, samples, 4)
	b.Output(b.render(raw)...)
}

// waves joins x with its sines and cosines of frequencies that double.
func (b exporter) waves(x model.Value, frequencies int) model.Value {
	parts := []model.Value{x}
	for i := range frequencies {
		for _, op := range []string{"Sin", "Cos"} {
			parts = append(parts, b.Do(op, b.mul(x, b.Number(float32(int(1)<<i)))))
		}
	}
	return b.Concat(-1, parts...)
}

// render is the colours and the depths of rays × samples × 4.
func (b exporter) render(raw model.Value) []model.Value {
	const step, from = 4.0 / 64, 2.0
	colour := b.Do("Sigmoid", b.Slice(raw, 2, 0, 3, 1))
	dense := b.mul(b.relu(b.at(raw, 2, 3)), b.Number(step))
	before := b.Op("CumSum", []model.Value{dense, b.Constant(tensor.Scalar(int64(-1)))}, model.At("exclusive", 1))
	alpha := b.Do("Sub", b.Number(1), b.Do("Exp", b.Do("Neg", dense)))
	weights := b.mul(alpha, b.Do("Exp", b.Do("Neg", before)))
	sum := func(x model.Value, axis int) model.Value {
		return b.Op("ReduceSum", []model.Value{x, b.Ints(axis)}, model.At("keepdims", 0))
	}
	map3 := sum(b.mul(b.Do("Unsqueeze", weights, b.Ints(-1)), colour), -2)
	depth := sum(b.mul(weights, b.Constant(b.Uniform(from, from+64*step, 64))), -1)
	white := b.Do("Unsqueeze", b.Do("Sub", b.Number(1), sum(weights, -1)), b.Ints(-1))
	return []model.Value{b.add(map3, white), depth}
}
