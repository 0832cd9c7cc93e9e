package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// raft is RAFT: all pairs of places of two images are compared once, and a recurrent network looks the pairs up that its flow points at.
type raft struct{ exporter }

// raftHigh and raftWide are the extents of the maps, an eighth of the images'; raftRadius is how far around a place pairs are looked up.
const raftHigh, raftWide, raftRadius = 16, 20, 3

// raftSmall gives the flow between images of 128x160 after 5 steps (Teed and Deng 2020; torchvision's raft_small, which has 12).
func raftSmall(b exporter) {
	r := raft{b}
	first, second := r.Input(1, 3, 8*raftHigh, 8*raftWide), r.Input(1, 3, 8*raftHigh, 8*raftWide)
	both := r.Split(r.encode(r.Concat(0, first, second), 128, r.normal), 0, 1, 1)
	pairs := r.pyramid(both[0], both[1])
	parts := r.Split(r.encode(first, 160, func(x model.Value, _ int) model.Value { return x }), 1, 96, 64)
	hidden, context := r.Do("Tanh", parts[0]), r.relu(parts[1])
	start := r.Constant(raftPlaces())
	motion, gru, move := r.motion(), r.gru(), r.chain(filter{96, 128, 3}, filter{128, 2, 3})
	at := start
	for range 5 {
		flow := r.Do("Sub", at, start)
		x := r.Concat(1, context, motion(r.lookUp(pairs, at), flow))
		hidden = gru(hidden, x)
		at = r.add(at, move(hidden))
	}
	up := r.Op("Resize", []model.Value{r.Do("Sub", at, start), model.Absent, model.Absent, r.Ints(1, 2, 8*raftHigh, 8*raftWide)},
		model.At("mode", "linear"), model.At("coordinate_transformation_mode", "align_corners"))
	r.Output(r.mul(up, r.Number(8)))
}

// normal is instance normalisation without weights.
func (r raft) normal(x model.Value, channels int) model.Value {
	return r.Op("InstanceNormalization", []model.Value{x, r.Constant(r.Uniform(1, 1, channels)), r.Constant(r.Uniform(0, 0, channels))}, model.At("epsilon", 1e-5))
}

// encode makes a map of an image.
func (r raft) encode(x model.Value, out int, norm func(x model.Value, channels int) model.Value) model.Value {
	x, in := r.relu(norm(r.conv(x, 3, 32, 7, 2, 1), 32)), 32
	for i, width := range []int{32, 64, 96} {
		for j := range 2 {
			stride := 1
			if i > 0 && j == 0 {
				stride = 2
			}
			y := r.relu(norm(r.conv(x, in, width/4, 1, 1, 1), width/4))
			y = r.relu(norm(r.conv(y, width/4, width/4, 3, stride, 1), width/4))
			y = r.relu(norm(r.conv(y, width/4, width, 1, 1, 1), width))
			if stride == 2 {
				x = norm(r.conv(x, in, width, 1, 2, 1), width)
			}
			x, in = r.relu(r.add(x, y)), width
		}
	}
	return r.conv(x, in, out, 1, 1, 1)
}

// pyramid is the products of all pairs of places, images of one for each of the other, in four sizes.
func (r raft) pyramid(first, second model.Value) (maps []model.Value) {
	const places = raftHigh * raftWide
	flat := func(x model.Value) model.Value { return r.view(x, -100, 128, places) }
	c := r.Do("MatMul", r.Transpose(flat(first), 0, 2, 1), flat(second))
	c = r.Do("Div", r.view(c, -100, raftHigh, raftWide, 1, raftHigh, raftWide), r.Number(float32(math.Sqrt(128))))
	c = r.Reshape(c, places, 1, raftHigh, raftWide)
	maps = append(maps, c)
	for range 3 {
		c = r.Op("AveragePool", []model.Value{c}, model.At("kernel_shape", []int{2, 2}), model.At("strides", []int{2, 2}))
		maps = append(maps, c)
	}
	return maps
}

// lookUp samples 7x7 places around those that at points at, of all sizes.
func (r raft) lookUp(maps []model.Value, at model.Value) model.Value {
	const side = 2*raftRadius + 1
	delta := make([]float32, 2*side*side)
	for i := range side * side {
		delta[2*i], delta[2*i+1] = float32(i/side-raftRadius), float32(i%side-raftRadius) // as the reference has them, rows first
	}
	around := r.Constant(tensor.Of([]int{1, side, side, 2}, delta))
	middle := r.Reshape(r.Transpose(at, 0, 2, 3, 1), raftHigh*raftWide, 1, 1, 2)
	var parts []model.Value
	for i, m := range maps {
		places := r.Split(r.add(middle, around), -1, 1, 1)
		for axis, extent := range []int{raftWide >> i, raftHigh >> i} {
			v := r.Do("Div", r.mul(places[axis], r.Number(2)), r.Number(float32(extent-1)))
			places[axis] = r.Do("Sub", v, r.Number(1))
		}
		s := r.Op("GridSample", []model.Value{m, r.Concat(-1, places...)}, model.At("align_corners", 1), model.At("mode", "bilinear"), model.At("padding_mode", "zeros"))
		parts = append(parts, r.Reshape(s, 1, raftHigh, raftWide, -1))
		middle = r.Do("Div", middle, r.Number(2))
	}
	return r.Transpose(r.Concat(-1, parts...), 0, 3, 1, 2)
}

// A filter is the extents of a convolution: channels in and out, kernel.
type filter struct{ in, out, k int }

// chain is convolutions with ReLUs between them, whose weights all calls share.
func (r raft) chain(filters ...filter) func(x model.Value) model.Value {
	var weights, biases []model.Value
	for _, f := range filters {
		weights = append(weights, r.Weight(math.Sqrt(1/float64(f.in*f.k*f.k)), f.out, f.in, f.k, f.k))
		biases = append(biases, r.Weight(0.1, f.out))
	}
	return func(x model.Value) model.Value {
		for i, f := range filters {
			if i > 0 {
				x = r.relu(x)
			}
			x = r.Op("Conv", []model.Value{x, weights[i], biases[i]}, model.Square(f.k).Attrs()...)
		}
		return x
	}
}

// motion joins what was looked up with the flow.
func (r raft) motion() func(corr, flow model.Value) model.Value {
	looked, flowed, joined := r.chain(filter{4 * 49, 96, 1}), r.chain(filter{2, 64, 7}, filter{64, 32, 3}), r.chain(filter{128, 80, 3})
	return func(corr, flow model.Value) model.Value {
		both := r.Concat(1, r.relu(looked(corr)), r.relu(flowed(flow)))
		return r.Concat(1, r.relu(joined(both)), flow)
	}
}

// gru is a gated recurrent unit of convolutions.
func (r raft) gru() func(h, x model.Value) model.Value {
	f := filter{96 + 146, 96, 3}
	update, reset, next := r.chain(f), r.chain(f), r.chain(f)
	return func(h, x model.Value) model.Value {
		both := r.Concat(1, h, x)
		z, g := r.Do("Sigmoid", update(both)), r.Do("Sigmoid", reset(both))
		q := r.Do("Tanh", next(r.Concat(1, r.mul(g, h), x)))
		return r.add(r.mul(r.Do("Sub", r.Number(1), z), h), r.mul(z, q))
	}
}

// raftPlaces are the columns and rows of all places.
func raftPlaces() *tensor.Tensor {
	v := make([]float32, 2*raftHigh*raftWide)
	for i := range raftHigh * raftWide {
		v[i], v[raftHigh*raftWide+i] = float32(i%raftWide), float32(i/raftWide)
	}
	return tensor.Of([]int{1, 2, raftHigh, raftWide}, v)
}
