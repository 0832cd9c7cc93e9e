package ops

import (
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// ReduceAttrs are the attributes of reductions. No axes means all axes.
type ReduceAttrs struct {
	Axis     []int
	KeepDims bool
}

// Reductions. Floats are summed in F32 (F64 in F64), integers in their own type, wrapping.
var (
	Sum = reduction(reductionRow{
		name: "sum", doc: "the sum along axes.", kind: numbers, combine: te.Sum,
		float:   func(a, b float64) float64 { return a + b },
		integer: func(_ types.DType, a, b int64) int64 { return a + b },
	})
	Prod = reduction(reductionRow{
		name: "prod", doc: "the product along axes.", kind: numbers, combine: te.Prod,
		float:   func(a, b float64) float64 { return a * b },
		integer: func(_ types.DType, a, b int64) int64 { return a * b },
	})
	Max = reduction(reductionRow{
		name: "max", doc: "the greatest element along axes; of none, the least value of the type.", kind: numbers, combine: te.Max,
		float:   func(a, b float64) float64 { return max(a, b) },
		integer: func(d types.DType, a, b int64) int64 { return extreme(d, a, b, true) },
	})
	Min = reduction(reductionRow{
		name: "min", doc: "the least element along axes; of none, the greatest value of the type.", kind: numbers, combine: te.Min,
		float:   func(a, b float64) float64 { return min(a, b) },
		integer: func(d types.DType, a, b int64) int64 { return extreme(d, a, b, false) },
	})
	Any = reduction(reductionRow{
		name: "any", doc: "whether any element along axes holds.", kind: booleans, combine: te.Any,
		integer: func(_ types.DType, a, b int64) int64 { return a | b },
	})
	AllOf = reduction(reductionRow{
		name: "all", doc: "whether all elements along axes hold.", kind: booleans, combine: te.All,
		integer: func(_ types.DType, a, b int64) int64 { return a & b },
	})
)

// A reductionRow is a reduction by a combiner. Integers wrap when stored.
type reductionRow struct {
	name, doc string
	kind      kind
	combine   te.Combiner
	float     func(a, b float64) float64
	integer   func(d types.DType, a, b int64) int64
}

func (a ReduceAttrs) axes(in []types.Tensor) *op.Axes {
	if len(a.Axis) == 0 {
		return nil
	}
	axes := orderData(in, func(order []int) any {
		return ReduceAttrs{Axis: places(order, a.Axis), KeepDims: a.KeepDims}
	})
	if !a.KeepDims {
		axes.Drops = a.Axis
	}
	return axes
}

func reduction(f reductionRow) *op.Def {
	return op.Define(op.Spec[ReduceAttrs]{
		Name: f.name, Doc: f.name + " is " + f.doc,
		Args: []string{"data"}, Fusion: op.CommReduce, Layout: op.Free,
		Infer: func(a ReduceAttrs, in []op.Arg) ([]types.Tensor, error) { return a.infer(f.kind, in[0].Tensor) },
		Eval: func(a ReduceAttrs, in, out []*tensor.Tensor) error {
			f.eval(a, in[0], out[0])
			return nil
		},
		Compute: func(a ReduceAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
			return []*te.Stage{a.fold(f.name, in[0], out[0], f.combine, func(x expr.Expr) expr.Expr { return x })}
		},
		Axes:   ReduceAttrs.axes,
		Sample: func(r *rand.Rand) (ReduceAttrs, []types.Tensor) { return sampleReduce(draw{r}, f.kind) },
	})
}

func (f reductionRow) eval(a ReduceAttrs, x, y *tensor.Tensor) {
	if !x.DType.IsFloat() {
		acc := slices.Repeat([]int64{f.combine.Identity(x.DType).(*expr.Int).V}, y.Len())
		a.each(x.Shape, func(i, j int) { acc[j] = f.integer(x.DType, acc[j], x.Int(i)) })
		for j, v := range acc {
			y.SetInt(j, v)
		}
		return
	}
	acc := slices.Repeat([]float64{f.combine.Identity(types.F64).(*expr.Float).V}, y.Len())
	a.each(x.Shape, func(i, j int) { acc[j] = f.float(acc[j], x.Float(i)) })
	for j, v := range acc {
		y.SetFloat(j, v)
	}
}

// Mean divides the sum, which integers form in I64, truncating.
var Mean = op.Define(op.Spec[ReduceAttrs]{
	Name: "mean", Doc: "mean is the average along axes; integers truncate.",
	Args: []string{"data"}, Fusion: op.CommReduce, Layout: op.Free,
	Infer: func(a ReduceAttrs, in []op.Arg) ([]types.Tensor, error) { return a.infer(numbers, in[0].Tensor) },
	Eval: func(a ReduceAttrs, in, out []*tensor.Tensor) error {
		x, y := in[0], out[0]
		floats, ints := make([]float64, y.Len()), make([]int64, y.Len())
		a.each(x.Shape, func(i, j int) {
			if x.DType.IsFloat() {
				floats[j] += x.Float(i)
			} else {
				ints[j] += x.Int(i)
			}
		})
		n := a.count(x.Shape)
		for j := range y.Len() {
			switch {
			case x.DType.IsFloat():
				y.SetFloat(j, floats[j]/float64(n))
			case n == 0:
				y.SetInt(j, 0)
			default:
				y.SetInt(j, ints[j]/int64(n))
			}
		}
		return nil
	},
	Compute: func(a ReduceAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		t := out[0].DType.Compute()
		wide := types.I64
		if t.IsFloat() {
			wide = t
		}
		total := a.fold("sum", in[0], types.Of(wide, out[0].Shape...), te.Sum, func(x expr.Expr) expr.Expr { return expr.CastTo(wide, x) })
		n := expr.Const(wide, float64(a.count(in[0].Type.Shape)))
		return []*te.Stage{te.Compute("mean", out[0], func(i []expr.Expr) expr.Expr {
			return expr.CastTo(t, expr.Div(total.At(i...), n))
		})}
	},
	Axes:   ReduceAttrs.axes,
	Sample: func(r *rand.Rand) (ReduceAttrs, []types.Tensor) { return sampleReduce(draw{r}, numbers) },
})

func sampleReduce(d draw, k kind) (ReduceAttrs, []types.Tensor) {
	shape := d.shape(0, 4)
	return ReduceAttrs{d.axes(len(shape)), d.coin(2)}, []types.Tensor{types.Of(d.of(k), shape...)}
}

func (a ReduceAttrs) infer(k kind, x types.Tensor) ([]types.Tensor, error) {
	if err := k.check("data", x.DType); err != nil {
		return nil, err
	}
	if err := wantAxes(a.Axis, x.Rank()); err != nil {
		return nil, err
	}
	shape := []int{}
	for k, n := range x.Shape {
		switch {
		case !a.has(k):
			shape = append(shape, n)
		case a.KeepDims:
			shape = append(shape, 1)
		}
	}
	return []types.Tensor{types.Of(x.DType, shape...)}, nil
}

// has reports whether axis k is reduced.
func (a ReduceAttrs) has(k int) bool { return len(a.Axis) == 0 || slices.Contains(a.Axis, k) }

// count is the number of elements folded into one.
func (a ReduceAttrs) count(shape []int) int {
	n := 1
	for k, d := range shape {
		if a.has(k) {
			n *= d
		}
	}
	return n
}

// each calls f with every position in a tensor of the given shape and the position it is folded into.
func (a ReduceAttrs) each(shape []int, f func(i, j int)) {
	eachIndex(shape, func(at []int) {
		j := 0
		for k, i := range at {
			if !a.has(k) {
				j = j*shape[k] + i
			}
		}
		f(offsetOf(shape, at), j)
	})
}

// fold reduces body(element) of s into a tensor of type out, whose shape is the inferred one.
func (a ReduceAttrs) fold(name string, s *te.Stage, out types.Tensor, c te.Combiner, body func(x expr.Expr) expr.Expr) *te.Stage {
	var extents []int
	for k, n := range s.Type.Shape {
		if a.has(k) {
			extents = append(extents, n)
		}
	}
	return te.Fold(name, out, c, extents, func(i, r []expr.Expr) expr.Expr { return body(s.At(a.source(len(s.Type.Shape), i, r)...)) })
}

// source is the index into an operand of the given rank for result index i and reduction index r.
func (a ReduceAttrs) source(rank int, i, r []expr.Expr) []expr.Expr {
	var index []expr.Expr
	for k := range rank {
		switch {
		case !a.has(k):
			index, i = append(index, i[0]), i[1:]
			continue
		case a.KeepDims:
			i = i[1:]
		}
		index, r = append(index, r[0]), r[1:]
	}
	return index
}

// kept is the index of a result with KeepDims for element i of the operand.
func (a ReduceAttrs) kept(i []expr.Expr) []expr.Expr {
	index := slices.Clone(i)
	for k := range index {
		if a.has(k) {
			index[k] = expr.Index(0)
		}
	}
	return index
}

// keptShape is the operand's shape with reduced axes of extent 1.
func (a ReduceAttrs) keptShape(shape []int) []int {
	kept := slices.Clone(shape)
	for k := range kept {
		if a.has(k) {
			kept[k] = 1
		}
	}
	return kept
}
