package sweep

import (
	"slices"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// algebra draws what programs write that are no layers: values of any shape, spread, cut, moved, joined and summed along any axis.
func (d dice) algebra() Case {
	return d.sketched("algebra", func(k *sketch) {
		k.s = k.shape(2+k.IntN(3), mostSketched)
		k.x = k.Input(k.s...)
	}, algebraSteps)
}

// slow is a function that takes more than an instruction, of any numbers.
func (k *sketch) slow(x model.Value) model.Value {
	near := func(b *model.Builder, x model.Value) model.Value { return b.Do("Add", b.Do("Abs", x), b.Number(0.1)) }
	return pick(k.dice, unary("Tanh"), unary("Sigmoid"), turned("Sin"), turned("Cos"), unary("Erf"), unary("Atan"), gelu, mish,
		func(b *model.Builder, x model.Value) model.Value { return b.Do("Exp", b.Do("Neg", b.Do("Abs", x))) },
		func(b *model.Builder, x model.Value) model.Value { return b.Do("Log", near(b, x)) },
		func(b *model.Builder, x model.Value) model.Value { return b.Do("Sqrt", near(b, x)) },
		func(b *model.Builder, x model.Value) model.Value { return b.Do("Reciprocal", near(b, x)) },
		func(b *model.Builder, x model.Value) model.Value { return b.Do("Pow", near(b, x), b.Number(0.7)) },
	)(k.Builder, x)
}

// turned is a sine of a small angle: of a great one it is as uncertain as the angle.
func turned(operator string) func(b *model.Builder, x model.Value) model.Value {
	return func(b *model.Builder, x model.Value) model.Value { return b.Do(operator, b.Do("Tanh", x)) }
}

// function is one of any kind.
func (k *sketch) function(x model.Value) model.Value {
	if k.chance(60) {
		return k.slow(x)
	}
	return pick(k.dice, unary("Neg"), unary("Abs"), unary("Relu"), relu6, unary("LeakyRelu", at("alpha", 0.1)))(k.Builder, x)
}

// combined is what two values of shapes that fit each other make.
func (k *sketch) combined(x, y model.Value) model.Value {
	switch k.IntN(6) {
	case 0:
		return k.Do("Where", k.Do("Greater", x, y), x, y)
	case 1:
		return k.Do("Div", x, k.Do("Add", k.Do("Abs", y), k.Number(0.5)))
	}
	return k.Do(pick(k.dice, "Add", "Sub", "Mul", "Max", "Min"), x, y)
}

// reduced sums or the like along an axis.
func (k *sketch) reduced(x model.Value, keep int, axes ...int) model.Value {
	switch op := pick(k.dice, "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"); op {
	case "ReduceSum":
		return k.Op(op, []model.Value{x, k.Ints(axes...)}, at("keepdims", keep))
	default:
		return k.Op(op, []model.Value{x}, at("axes", axes), at("keepdims", keep))
	}
}

// fits reports whether a value of a shape is small enough to be made.
func (k *sketch) fits(s shape) bool { return elements(s) <= mostSketched && len(s) <= 6 }

var algebraSteps = []func(k *sketch) bool{
	func(k *sketch) bool { return k.same(k.function(k.x)) },
	func(k *sketch) bool { // with an earlier value
		y, _, ok := k.earlier(func(s shape) bool { return slices.Equal(s, k.s) })
		return ok && k.same(k.combined(k.x, y))
	},
	func(k *sketch) bool { // with a sum of its own
		axis := k.IntN(len(k.s))
		return k.same(k.combined(k.x, k.function(k.reduced(k.x, 1, axis))))
	},
	func(k *sketch) bool { // with numbers for some axes
		s := slices.Clone(k.s)
		for i := range s {
			if k.chance(50) {
				s[i] = 1
			}
		}
		y := k.Input(s...)
		if k.chance(70) {
			y = k.function(y)
		}
		return k.same(k.combined(k.x, y))
	},
	func(k *sketch) bool { // summed up
		if len(k.s) == 1 || elements(k.s) < 1000 && k.chance(80) {
			return false
		}
		from := k.IntN(len(k.s))
		to := from + 1
		if k.chance(30) {
			to = from + 1 + k.IntN(len(k.s)-from)
		}
		var axes []int
		for i := from; i < to; i++ {
			axes = append(axes, i)
		}
		if s := slices.Delete(slices.Clone(k.s), from, to); len(s) > 0 {
			return k.to(k.reduced(k.x, 0, axes...), s...)
		}
		return false
	},
	func(k *sketch) bool { // every pair of an axis
		axis := k.IntN(len(k.s))
		s := slices.Insert(slices.Clone(k.s), axis, k.s[axis])
		if !k.fits(s) {
			return false
		}
		return k.to(k.function(k.combined(k.Do("Unsqueeze", k.x, k.Ints(axis)), k.Do("Unsqueeze", k.x, k.Ints(axis+1)))), s...)
	},
	func(k *sketch) bool { // repeated along a new axis, or one that is there
		n, axis := k.size(2, 16), k.IntN(len(k.s))
		if k.chance(50) {
			s := slices.Insert(slices.Clone(k.s), axis, n)
			return k.fits(s) && k.to(k.Do("Expand", k.Do("Unsqueeze", k.x, k.Ints(axis)), k.Ints(s...)), s...)
		}
		s, times := slices.Clone(k.s), slices.Repeat([]int{1}, len(k.s))
		s[axis], times[axis] = n*s[axis], n
		return k.fits(s) && k.to(k.Do("Tile", k.x, k.Ints(times...)), s...)
	},
	func(k *sketch) bool { // axes change places
		perm := k.Perm(len(k.s))
		s := make(shape, len(perm))
		for i, p := range perm {
			s[i] = k.s[p]
		}
		return k.to(k.Transpose(k.x, perm...), s...)
	},
	func(k *sketch) bool { // two axes become one, or one two
		axis := k.IntN(len(k.s))
		if axis > 0 && k.chance(50) {
			s := slices.Delete(slices.Clone(k.s), axis, axis+1)
			s[axis-1] *= k.s[axis]
			return k.to(k.Reshape(k.x, s...), s...)
		}
		for _, n := range []int{2, 3, 4, 5, 7, 8, 16} {
			if k.s[axis]%n == 0 && k.s[axis] > n && k.chance(40) && len(k.s) < 6 {
				s := slices.Insert(slices.Clone(k.s), axis, n)
				s[axis+1] /= n
				return k.to(k.Reshape(k.x, s...), s...)
			}
		}
		return false
	},
	func(k *sketch) bool { // a part of it
		axis := k.IntN(len(k.s))
		n := k.s[axis]
		if n < 3 {
			return false
		}
		from, step := k.IntN(n/2), 1+k.IntN(3)
		s := slices.Clone(k.s)
		if k.chance(20) {
			return k.same(k.Slice(k.x, axis, -1, -1000000, -1))
		}
		s[axis] = (n - from + step - 1) / step
		return k.to(k.Slice(k.x, axis, from, n, step), s...)
	},
	func(k *sketch) bool { // beside functions of it, or what is like it
		axis := k.IntN(len(k.s))
		s := slices.Clone(k.s)
		list := []model.Value{k.x}
		if y, t, ok := k.earlier(func(t shape) bool {
			return len(t) == len(k.s) && slices.Equal(t[:axis], k.s[:axis]) && slices.Equal(t[axis+1:], k.s[axis+1:])
		}); ok {
			list = append(list, y)
			s[axis] += t[axis]
		}
		for range k.IntN(3) {
			list = append(list, k.function(k.x))
			s[axis] += k.s[axis]
		}
		return k.fits(s) && k.to(k.Concat(axis, list...), s...)
	},
	func(k *sketch) bool { // stacked
		axis := k.IntN(len(k.s) + 1)
		s := slices.Insert(slices.Clone(k.s), axis, 2)
		part := func() model.Value { return k.Do("Unsqueeze", k.function(k.x), k.Ints(axis)) }
		return k.fits(s) && k.to(k.Concat(axis, part(), part()), s...)
	},
	func(k *sketch) bool { // cut, of which parts change places
		axis := k.IntN(len(k.s))
		n := k.s[axis]
		if n < 2 {
			return false
		}
		at := 1 + k.IntN(n-1)
		part := k.Split(k.x, axis, at, n-at)
		return k.same(k.Concat(axis, part[1], k.function(part[0])))
	},
	func(k *sketch) bool { // with a border
		axis, n := k.IntN(len(k.s)), 1+k.IntN(3)
		s, pads := slices.Clone(k.s), make([]int, 2*len(k.s))
		mode := pick(k.dice, "constant", "edge", "reflect")
		if mode == "reflect" && s[axis] <= n {
			return false
		}
		s[axis] += 2 * n
		pads[axis], pads[len(k.s)+axis] = n, n
		return k.fits(s) && k.to(k.Op("Pad", []model.Value{k.x, k.Ints(pads...)}, at("mode", mode)), s...)
	},
	func(k *sketch) bool { // some of an axis, by number
		axis, n := k.IntN(len(k.s)), k.size(1, 64)
		s := slices.Clone(k.s)
		list := make([]int64, n)
		for i := range list {
			list[i] = int64(k.IntN(s[axis]))
		}
		s[axis] = n
		return k.fits(s) && k.to(k.Op("Gather", []model.Value{k.x, k.Constant(tensor.Of([]int{n}, list))}, at("axis", axis)), s...)
	},
	func(k *sketch) bool { // a product with weights
		last, out := k.s[len(k.s)-1], k.size(1, 256)
		s := append(slices.Clone(k.s[:len(k.s)-1]), out)
		if !k.fits(s) || elements(k.s)*out > mostSketchedProducts {
			return false
		}
		return k.to(k.Linear(k.x, last, out), s...)
	},
	func(k *sketch) bool { // a product with itself
		n := len(k.s)
		if n < 2 || elements(k.s)*k.s[n-2] > mostSketchedProducts {
			return false
		}
		s, perm := slices.Clone(k.s), make([]int, n)
		s[n-1] = s[n-2]
		for i := range perm {
			perm[i] = i
		}
		perm[n-1], perm[n-2] = n-2, n-1
		if !k.fits(s) {
			return false
		}
		y := k.Do("MatMul", k.x, k.Transpose(k.x, perm...))
		return k.to(k.Do("Mul", y, k.Number(1/float32(k.s[n-1]))), s...)
	},
	func(k *sketch) bool { // shares of an axis
		return k.same(k.Op(pick(k.dice, "Softmax", "Softmax", "LogSoftmax"), []model.Value{k.x}, at("axis", k.IntN(len(k.s)))))
	},
	func(k *sketch) bool { // sums of all before
		axis := k.IntN(len(k.s))
		if k.s[axis] > 64 {
			return false
		}
		return k.same(k.Do("CumSum", k.x, k.Do("Squeeze", k.Ints(axis))))
	},
	func(k *sketch) bool { // the greatest
		axis := k.IntN(len(k.s))
		n := min(k.s[axis], 1+k.IntN(8))
		s := slices.Clone(k.s)
		s[axis] = n
		return k.to(k.Ops("TopK", 2, []model.Value{k.x, k.Ints(n)}, at("axis", axis))[0], s...)
	},
	func(k *sketch) bool { // unless it is below a bound
		return k.same(k.Do("Where", k.Do("Greater", k.x, k.Number(0.3)), k.function(k.x), k.function(k.x)))
	},
}
