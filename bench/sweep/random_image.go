package sweep

import (
	"slices"

	"lathe/bench/model"
)

// pieces draws a part of a network for images.
func (d dice) pieces() Case {
	return d.sketched("image", func(k *sketch) {
		side := k.size(4, 96)
		k.s = shape{k.batch(), k.size(1, 256), side, side}
		if k.chance(25) {
			k.s[3] = k.size(4, 96)
		}
		k.s = shrunk(k.s, mostSketched/2)
		k.x = k.Input(k.s...)
	}, slices.Concat(imageSteps, imageSteps, anySteps))
}

// convolved is a convolution with a norm and an activation, if it is small enough.
func (k *sketch) convolved(out int, w model.Window) bool {
	in, taps := k.s[1], 1
	for _, n := range w.Kernel {
		taps *= n
	}
	to := shape{k.s[0], out}
	for axis, n := range w.Kernel {
		side := (k.s[2+axis]+2*w.Pad-n)/max(1, w.Stride) + 1
		if k.s[2+axis]+2*w.Pad < n || side < 1 {
			return false
		}
		to = append(to, side)
	}
	if elements(to) > mostSketched || elements(to)/max(1, w.Group)*in*taps > mostSketchedProducts {
		return false
	}
	return k.to(k.activated(k.ConvBN(k.x, in, out, w)), to...)
}

var imageSteps = []func(k *sketch) bool{
	func(k *sketch) bool { return k.convolved(k.size(4, 256), sq(1)) },
	func(k *sketch) bool { return k.convolved(k.size(4, 256), sq(3)) },
	func(k *sketch) bool { return k.convolved(k.s[1], sq(1)) },
	func(k *sketch) bool {
		return k.convolved(k.size(4, 256), model.Square(pick(k.dice, 1, 3, 5)).By(2))
	},
	func(k *sketch) bool { return k.convolved(k.s[1], sq(pick(k.dice, 3, 3, 5, 7)).Grouped(k.s[1])) },
	func(k *sketch) bool {
		groups := pick(k.dice, 2, 3, 4, 8)
		return k.s[1]%groups == 0 && k.convolved(groups*k.size(1, 32), sq(pick(k.dice, 1, 3)).Grouped(groups))
	},
	func(k *sketch) bool { // squeeze and excite
		c := k.s[1]
		inner := max(1, c/4)
		s := k.activated(k.ConvBias(k.Do("GlobalAveragePool", k.x), c, inner, sq(1)))
		return k.same(k.Do("Mul", k.x, k.Do(pick(k.dice, "Sigmoid", "HardSigmoid"), k.ConvBias(s, inner, c, sq(1)))))
	},
	func(k *sketch) bool { // twice as large
		to := shape{k.s[0], k.s[1], 2 * k.s[2], 2 * k.s[3]}
		if elements(to) > mostSketched {
			return false
		}
		if out := k.size(4, 64); k.chance(30) && elements(k.s)*out*4 <= mostSketchedProducts {
			to[1] = out
			return elements(to) <= mostSketched && k.to(k.ConvTranspose(k.x, k.s[1], out, up(2, 2, 0), true), to...)
		}
		return k.to(k.Double(k.x, pick(k.dice, "nearest", "linear")), to...)
	},
	func(k *sketch) bool { // pooled
		if k.s[2] < 4 || k.s[3] < 4 {
			return false
		}
		if k.chance(50) {
			return k.same(pick(k.dice, k.MaxPool, k.AveragePool)(k.x, sq(3)))
		}
		return k.to(pick(k.dice, k.MaxPool, k.AveragePool)(k.x, model.Window{Kernel: []int{2, 2}, Stride: 2}), k.s[0], k.s[1], k.s[2]/2, k.s[3]/2)
	},
	func(k *sketch) bool { return k.same(k.activated(k.BatchNorm(k.x, k.s[1]))) },
	func(k *sketch) bool { return k.same(k.activated(instanceNorm(k.Builder, k.x, k.s[1]))) },
	func(k *sketch) bool { // normalised over the channels of a pixel
		y := k.LayerNorm(k.Transpose(k.x, 0, 2, 3, 1), k.s[1])
		return k.same(k.Transpose(y, 0, 3, 1, 2))
	},
	func(k *sketch) bool {
		groups := pick(k.dice, 2, 3, 4)
		return k.s[0] == 1 && k.s[1]%groups == 0 && k.same(k.Shuffle(k.x, groups, k.s[1], k.s[2], k.s[3]))
	},
	func(k *sketch) bool { // a border that mirrors
		if k.s[2] < 2 || k.s[3] < 2 {
			return false
		}
		y := k.Op("Pad", []model.Value{k.x, k.Ints(0, 0, 1, 1, 0, 0, 1, 1)}, at("mode", pick(k.dice, "reflect", "edge", "constant")))
		return k.to(y, k.s[0], k.s[1], k.s[2]+2, k.s[3]+2)
	},
	func(k *sketch) bool { // squares of pixels become channels, or channels squares
		switch {
		case k.s[2]%2 == 0 && k.s[3]%2 == 0 && k.chance(50):
			return k.to(k.Op("SpaceToDepth", []model.Value{k.x}, at("blocksize", 2)), k.s[0], 4*k.s[1], k.s[2]/2, k.s[3]/2)
		case k.s[1]%4 == 0:
			return k.to(k.Op("DepthToSpace", []model.Value{k.x}, at("blocksize", 2)), k.s[0], k.s[1]/4, 2*k.s[2], 2*k.s[3])
		}
		return false
	},
	func(k *sketch) bool { // attention among pixels
		n, c, rows := k.s[0], k.s[1], k.s[2]*k.s[3]
		heads := pick(k.dice, 1, 2, 4)
		if n > 1 || c%heads != 0 || rows > 400 || rows*c*(4*c+2*rows) > mostSketchedProducts {
			return false
		}
		t := k.Transpose(k.Reshape(k.x, n, c, rows), 0, 2, 1)
		t = k.Do("Add", t, k.Attention(t, rows, heads, c/heads, model.Absent))
		return k.same(k.Reshape(k.Transpose(t, 0, 2, 1), n, c, k.s[2], k.s[3]))
	},
}
