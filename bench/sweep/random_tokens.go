package sweep

import (
	"slices"

	"lathe/bench/model"
)

// texts draws a part of a network for sequences: rows of numbers.
func (d dice) texts() Case {
	return d.sketched("tokens", func(k *sketch) {
		k.s = shrunk(shape{k.batch(), k.size(1, 512), k.size(4, 768)}, mostSketched/2)
		k.x = k.Input(k.s...)
	}, slices.Concat(tokenSteps, tokenSteps, anySteps))
}

var tokenSteps = []func(k *sketch) bool{
	func(k *sketch) bool { return k.linear(k.size(4, 768)) },
	func(k *sketch) bool { return k.linear(k.s[2]) },
	func(k *sketch) bool { return k.same(k.LayerNorm(k.x, k.s[2])) },
	func(k *sketch) bool { // the root of the mean square
		square := k.Op("ReduceMean", []model.Value{k.Do("Mul", k.x, k.x)}, at("axes", []int{2}), at("keepdims", 1))
		y := k.Do("Mul", k.x, k.Do("Reciprocal", k.Do("Sqrt", k.Do("Add", square, k.Number(1e-5)))))
		return k.same(k.Do("Mul", y, k.Constant(k.Uniform(0.5, 1.5, k.s[2]))))
	},
	func(k *sketch) bool { // attention
		heads, rows, wide := pick(k.dice, 1, 2, 4, 8), k.s[1], k.s[2]
		if k.s[0] > 1 || wide%heads != 0 || rows*wide*(4*wide+2*rows) > mostSketchedProducts {
			return false
		}
		return k.same(k.Do("Add", k.x, k.Attention(k.x, rows, heads, wide/heads, model.Absent)))
	},
	func(k *sketch) bool { // gated by its other half
		if k.s[2]%2 != 0 {
			return false
		}
		part := k.Split(k.x, 2, k.s[2]/2, k.s[2]/2)
		return k.to(k.Do("Mul", part[0], k.activated(part[1])), k.s[0], k.s[1], k.s[2]/2)
	},
	func(k *sketch) bool { // mixed along the rows
		rows, out := k.s[1], k.size(1, 256)
		if elements(k.s)*out > mostSketchedProducts || k.s[0]*out*k.s[2] > mostSketched {
			return false
		}
		y := k.activated(k.Linear(k.Transpose(k.x, 0, 2, 1), rows, out))
		return k.to(k.Transpose(y, 0, 2, 1), k.s[0], out, k.s[2])
	},
	func(k *sketch) bool { // a convolution along the rows
		c, kernel, w := k.s[2], pick(k.dice, 3, 5, 7, 15), model.Window{}
		w = model.Window{Kernel: []int{kernel}, Pad: kernel / 2}
		if k.chance(50) {
			w.Group = c
		} else if elements(k.s)*c*kernel > mostSketchedProducts {
			return false
		}
		y := k.activated(k.ConvBias(k.Transpose(k.x, 0, 2, 1), c, c, w))
		return k.same(k.Transpose(y, 0, 2, 1))
	},
	func(k *sketch) bool { // rotated by constant angles
		n := k.s[2]
		if n%2 != 0 {
			return false
		}
		turned := k.Concat(2, k.Do("Neg", k.Slice(k.x, 2, n/2, n, 1)), k.Slice(k.x, 2, 0, n/2, 1))
		angle := func() model.Value { return k.Constant(k.Uniform(-1, 1, k.s[1], n)) }
		return k.same(k.Do("Add", k.Do("Mul", k.x, angle()), k.Do("Mul", turned, angle())))
	},
	func(k *sketch) bool { // a row before all others
		return k.to(k.Concat(1, k.Constant(k.Normal(1, k.s[0], 1, k.s[2])), k.x), k.s[0], k.s[1]+1, k.s[2])
	},
	func(k *sketch) bool { // windows of rows that change places with each other
		w := pick(k.dice, 2, 3, 4, 7)
		if k.s[1]%w != 0 {
			return false
		}
		y := k.Transpose(k.Reshape(k.x, k.s[0], k.s[1]/w, w, k.s[2]), 0, 2, 1, 3)
		return k.same(k.Reshape(k.activated(y), k.s...))
	},
	func(k *sketch) bool { // what is no place is replaced
		mask := k.Constant(k.Bools(k.s[1], 1, k.s[1], 1))
		return k.same(k.Do("Where", mask, k.x, k.Number(0)))
	},
	func(k *sketch) bool { // each row and the mean of all
		mean := k.Op("ReduceMean", []model.Value{k.x}, at("axes", []int{1}), at("keepdims", 1))
		return k.same(k.Do("Add", k.x, mean))
	},
}

// linear is a dense layer with an activation, if it is small enough.
func (k *sketch) linear(out int) bool {
	if k.s[0]*k.s[1]*out > mostSketched || elements(k.s)*out > mostSketchedProducts {
		return false
	}
	return k.to(k.activated(k.Linear(k.x, k.s[2], out)), k.s[0], k.s[1], out)
}
