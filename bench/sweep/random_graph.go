package sweep

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/bench/model"
	"lathe/internal/types"
)

// A sketch is a part of a network that nobody has designed: steps are drawn one by one, each of which takes the value that was made last, and
// some an earlier one too.
type sketch struct {
	dice
	*model.Builder
	x    model.Value
	s    shape
	past []sketched
}

type sketched struct {
	model.Value
	shape
}

// mostSketched bounds the elements of a value, and mostSketchedProducts the products of a step.
const (
	mostSketched         = 1 << 19
	mostSketchedProducts = 40 << 20
)

// inBytes is a case whose products are quantised, as users' tools do it, by ranges that were found or in the run.
func (d dice) inBytes(c Case) Case {
	scheme := model.Scheme{Data: pick(d, types.U8, types.U8, types.I8), Weights: pick(d, types.I8, types.I8, types.U8), Channels: d.chance(60), Reduced: d.chance(20), Range: 4}
	how := pick(d, "pairs", "pairs", "operators", "run")
	if scheme.Data == types.I8 {
		scheme.Weights = types.I8
	}
	scheme.Channels = scheme.Channels && scheme.Weights == types.I8
	scheme.Operators = how == "operators"
	name := fmt.Sprintf("%s_%s_%s_%s", how, scheme.Data, scheme.Weights, c.Name)
	return Case{name, func(b *model.Builder) {
		c.Build(b)
		if how == "run" {
			b.Dynamic(model.Dynamic{Weights: scheme.Weights, Channels: scheme.Channels, Reduced: scheme.Reduced, Convs: true})
		} else {
			b.Static(scheme, "")
		}
	}}
}

func (d dice) pieces8() Case { return d.inBytes(d.pieces()) }
func (d dice) texts8() Case  { return d.inBytes(d.texts()) }

// sketched draws a network of so many steps, which may not fit what is there: then others are drawn.
func (d dice) sketched(family string, begin func(k *sketch), steps []func(k *sketch) bool) Case {
	seed, length := d.Uint64(), d.size(4, 14)
	return Case{fmt.Sprintf("%s_%d_steps_%x", family, length, seed>>32), func(b *model.Builder) {
		k := &sketch{dice: dice{rand.New(rand.NewPCG(seed, 0))}, Builder: b}
		begin(k)
		for n := 0; n < length; {
			if pick(k.dice, steps...)(k) {
				n++
			}
		}
		k.Output(k.x)
	}}
}

// to makes a value the last one.
func (k *sketch) to(x model.Value, s ...int) bool {
	k.past = append(k.past, sketched{k.x, k.s})
	k.x, k.s = x, s
	return true
}

// same makes a value of the last one's shape the last one.
func (k *sketch) same(x model.Value) bool { return k.to(x, k.s...) }

// earlier is an earlier value for which fits holds.
func (k *sketch) earlier(fits func(s shape) bool) (model.Value, shape, bool) {
	var list []sketched
	for _, p := range k.past {
		if fits(p.shape) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return model.Absent, nil, false
	}
	p := pick(k.dice, list...)
	return p.Value, p.shape, true
}

// activated is x behind an activation.
func (k *sketch) activated(x model.Value) model.Value {
	return pick(k.dice, unary("Relu"), unary("Relu"), silu, gelu, mish, relu6, unary("HardSwish"), unary("Sigmoid"), unary("Tanh"), unary("Elu"), unary("LeakyRelu", at("alpha", 0.1)),
		func(_ *model.Builder, x model.Value) model.Value { return x })(k.Builder, x)
}

// Steps for values of any shape.
var anySteps = []func(k *sketch) bool{
	func(k *sketch) bool { return k.same(k.activated(k.x)) },
	func(k *sketch) bool { // a residual or a gate
		y, _, ok := k.earlier(func(s shape) bool { return slices.Equal(s, k.s) })
		return ok && k.same(k.Do(pick(k.dice, "Add", "Add", "Add", "Mul", "Sub", "Max"), k.x, y))
	},
	func(k *sketch) bool { // one number for each of an axis, or for all
		s := slices.Repeat([]int{1}, len(k.s))
		if k.chance(80) {
			axis := k.IntN(len(s))
			s[axis] = k.s[axis]
		}
		return k.same(k.Do(pick(k.dice, "Add", "Mul"), k.x, k.Constant(k.Uniform(0.5, 1.5, s...))))
	},
	func(k *sketch) bool { // normalised, or compared with others of an axis
		axis := 1 + k.IntN(len(k.s)-1)
		switch k.IntN(6) {
		case 0:
			return k.same(k.Op(pick(k.dice, "Softmax", "Softmax", "LogSoftmax"), []model.Value{k.x}, at("axis", axis)))
		case 4:
			return k.same(k.Do("Mul", k.Do("CumSum", k.x, k.Do("Squeeze", k.Ints(axis))), k.Number(1/float32(k.s[axis]))))
		case 5:
			sum := k.Op("ReduceLogSumExp", []model.Value{k.x}, at("axes", []int{axis}), at("keepdims", 1))
			return k.same(k.Do("Sub", k.x, sum))
		case 1:
			norm := k.Op("ReduceL2", []model.Value{k.x}, at("axes", []int{axis}), at("keepdims", 1))
			return k.same(k.Do("Div", k.x, k.Do("Add", norm, k.Number(1e-3))))
		case 2:
			mean := k.Op("ReduceMean", []model.Value{k.x}, at("axes", []int{axis}), at("keepdims", 1))
			return k.same(k.Do("Sub", k.x, mean))
		}
		most := k.Op("ReduceMax", []model.Value{k.x}, at("axes", []int{axis}), at("keepdims", 1))
		return k.same(k.Do("Add", k.x, k.activated(most)))
	},
	func(k *sketch) bool { // some of an axis in another place
		axis := 1 + k.IntN(len(k.s)-1)
		n := k.s[axis]
		if n < 2 {
			return false
		}
		by := 1 + k.IntN(n-1)
		return k.same(k.Concat(axis, k.Slice(k.x, axis, by, n, 1), k.Slice(k.x, axis, 0, by, 1)))
	},
	func(k *sketch) bool { // halves that go two ways
		axis := 1 + k.IntN(len(k.s)-1)
		n := k.s[axis]
		if n < 2 {
			return false
		}
		at := n / 2
		if k.chance(40) {
			at = 1 + k.IntN(n-1)
		}
		part := k.Split(k.x, axis, at, n-at)
		return k.same(k.Concat(axis, part[0], k.activated(part[1])))
	},
	func(k *sketch) bool { // beside an earlier value
		axis := 1 + k.IntN(len(k.s)-1)
		y, s, ok := k.earlier(func(s shape) bool {
			return len(s) == len(k.s) && slices.Equal(slices.Delete(slices.Clone(s), axis, axis+1), slices.Delete(slices.Clone(k.s), axis, axis+1))
		})
		if !ok || elements(k.s)+elements(s) > mostSketched {
			return false
		}
		to := slices.Clone(k.s)
		to[axis] += s[axis]
		return k.to(k.Concat(axis, k.x, y), to...)
	},
	func(k *sketch) bool { // every second or a stretch of an axis
		axis := 1 + k.IntN(len(k.s)-1)
		n, to := k.s[axis], slices.Clone(k.s)
		if n < 4 {
			return false
		}
		if k.chance(50) {
			to[axis] = (n + 1) / 2
			return k.to(k.Slice(k.x, axis, 0, n, 2), to...)
		}
		from := k.IntN(n / 2)
		to[axis] = n - from
		return k.to(k.Slice(k.x, axis, from, n, 1), to...)
	},
	func(k *sketch) bool { // rows that constants choose
		axis := 1 + k.IntN(len(k.s)-1)
		to := slices.Clone(k.s)
		to[axis] = k.size(1, 2*k.s[axis])
		if elements(to) > mostSketched {
			return false
		}
		return k.to(k.Op("Gather", []model.Value{k.x, k.Constant(k.Integers(k.s[axis], to[axis]))}, at("axis", axis)), to...)
	},
}
