// Package compose adds several nodes to a graph at once: what frontends share because their formats have an operator
// that the graph spells with several (gelu, lstm, einsum). It reads no model format and knows no target.
package compose

import (
	"fmt"
	"slices"

	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Builder appends nodes to a graph. Its methods do not return errors: one that cannot go on stops the composition,
// and Try, which every use must stand in, returns the reason. Nodes whose results are small and known become
// constants instead.
type Builder struct {
	Graph  *graph.Graph
	Origin []string // of the nodes to come
	room   int      // bytes that constants made here may still take
}

// maxMade bounds the constants that a composition makes, and maxFilled one that is filled at run time: a small file can ask
// for any size.
const (
	maxMade   = 1 << 30
	maxFilled = 4 << 30
)

// NewBuilder starts an empty graph.
func NewBuilder(name string) *Builder {
	return &Builder{Graph: &graph.Graph{Name: name}, room: maxMade}
}

// failure is what Fail panics with. It never leaves Try.
type failure struct{ err error }

// Fail stops the composition in the surrounding Try.
func Fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Try runs f and returns the error that Fail or a Builder stopped it with, or a panic as an error.
func Try(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		default:
			err = fault.Of(r)
		}
	}()
	f()
	return nil
}

// Results applies d with attributes and returns all results.
func (b *Builder) Results(d *op.Def, attrs any, in ...*graph.Value) []*graph.Value {
	n := &graph.Node{Op: d, Attrs: attrs, In: in, Origin: b.Origin}
	if err := n.Infer(); err != nil {
		panic(failure{err})
	}
	// A dequantized constant stays a node: its integers are what an integer kernel multiplies.
	if d != ops.Dequantize && !slices.ContainsFunc(n.Out, func(v *graph.Value) bool { return v.Known == nil }) {
		for i, v := range n.Out {
			n.Out[i] = graph.NewConst("", v.Known)
		}
		return n.Out
	}
	b.Graph.Nodes = append(b.Graph.Nodes, n)
	return n.Out
}

// Apply applies d with attributes and returns the first result.
func (b *Builder) Apply(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	if (d == ops.Matmul || d == ops.Dense) && in[0].Type.DType != in[1].Type.DType {
		Fail("%s multiplies %s and %s; the types must be equal", d.Name, in[0].Type, in[1].Type) // only passes make weights narrower
	}
	return b.Results(d, attrs, in...)[0]
}

// Do applies an operator without attributes.
func (b *Builder) Do(d *op.Def, in ...*graph.Value) *graph.Value { return b.Apply(d, op.None{}, in...) }

// Undo drops all nodes but the first ones.
func (b *Builder) Undo(first int) { b.Graph.Nodes = b.Graph.Nodes[:first] }

// Fold applies an operator of two operands from left to right.
func (b *Builder) Fold(d *op.Def, in ...*graph.Value) *graph.Value {
	v := in[0]
	for _, x := range in[1:] {
		v = b.Do(d, v, x)
	}
	return v
}

// Const makes a constant.
func Const(t *tensor.Tensor) *graph.Value { return graph.NewConst("", t) }

// Zeros makes a tensor to become a constant, within the bounds of what a composition may make.
func (b *Builder) Zeros(d types.DType, shape ...int) *tensor.Tensor {
	t := types.Of(d, slices.Clone(shape)...)
	if err := t.Check(); err != nil {
		panic(failure{err})
	}
	if b.room -= t.Bytes(); b.room < 0 {
		Fail("the constants this model makes take more than %d GiB, which is not supported", maxMade>>30)
	}
	return tensor.NewOf(t)
}

// Filled is a constant whose elements are all the one of value. What goes beyond the constants that a composition may make
// is filled at run time.
func (b *Builder) Filled(value *tensor.Tensor, shape ...int) *graph.Value {
	if t := types.Of(value.DType, shape...); t.Check() == nil && t.Bytes() > b.room && t.Bytes() <= maxFilled {
		one := *tensor.Over(value.DType, []int{}, value.Bytes())
		return b.Apply(ops.BroadcastTo, ops.BroadcastToAttrs{Shape: slices.Clone(shape)}, Const(&one))
	}
	t := b.Zeros(value.DType, shape...)
	if t.DType.IsNibble() {
		for i := range t.Len() {
			t.SetInt(i, value.Int(0))
		}
		return Const(t)
	}
	for n := copy(t.Bytes(), value.Bytes()); n < t.Size() && n > 0; {
		n += copy(t.Bytes()[n:], t.Bytes()[:n])
	}
	return Const(t)
}

// Full is a constant with all elements equal to v.
func (b *Builder) Full(d types.DType, v float64, shape ...int) *graph.Value {
	return b.Filled(Number(d, v).Const, shape...)
}

// Arange is the int64 constant 0, 1 ... n-1.
func (b *Builder) Arange(n int) *graph.Value {
	t := b.Zeros(types.I64, n)
	for i := range n {
		t.SetInt(i, int64(i))
	}
	return Const(t)
}

// Number is a constant of rank 0.
func Number(d types.DType, v float64) *graph.Value {
	t := tensor.New(d)
	t.Shape = []int{}
	t.SetFloat(0, v)
	return Const(t)
}

// Like is a number of x's element type.
func Like(x *graph.Value, v float64) *graph.Value { return Number(x.Type.DType, v) }

// Ints is a one-dimensional int64 constant.
func Ints(v ...int) *graph.Value {
	t := tensor.New(types.I64, len(v))
	for i, x := range v {
		t.SetInt(i, int64(x))
	}
	return Const(t)
}

// Floats is a one-dimensional float32 constant.
func Floats(v ...float64) *graph.Value {
	t := tensor.New(types.F32, len(v))
	for i, x := range v {
		t.SetFloat(i, x)
	}
	return Const(t)
}

// Cast converts x to another element type.
func (b *Builder) Cast(x *graph.Value, d types.DType) *graph.Value {
	if x.Type.DType == d {
		return x
	}
	return b.Apply(ops.Cast, ops.CastAttrs{DType: d}, x)
}

// Reshape gives x another shape of as many elements. Constants keep their bytes.
func (b *Builder) Reshape(x *graph.Value, shape ...int) *graph.Value {
	switch {
	case slices.Equal(x.Type.Shape, shape):
		return x
	case x.Const != nil && types.Of(x.Type.DType, shape...).Check() == nil && types.Count(shape) == x.Const.Len():
		return graph.NewConst(x.Name, x.Const.Reshape(slices.Clone(shape)...))
	}
	return b.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: append([]int(nil), shape...)}, x) // one form of no axes: nil
}

// ExpandDims inserts axes of extent 1; axes are places in the result, in ascending order.
func (b *Builder) ExpandDims(x *graph.Value, axes ...int) *graph.Value {
	shape := slices.Clone(x.Type.Shape)
	for _, a := range axes {
		if a < 0 || a > len(shape) {
			Fail("a new axis %d of a tensor of rank %d", a, len(shape))
		}
		shape = slices.Insert(shape, a, 1)
	}
	return b.Reshape(x, shape...)
}

// Squeeze removes an axis of extent 1.
func (b *Builder) Squeeze(x *graph.Value, axis int) *graph.Value {
	return b.Reshape(x, slices.Delete(slices.Clone(x.Type.Shape), axis, axis+1)...)
}

// Transpose permutes the axes of x: axis k of the result is axis axes[k] of x.
func (b *Builder) Transpose(x *graph.Value, axes ...int) *graph.Value {
	if len(axes) == x.Type.Rank() && slices.IsSorted(axes) {
		return x
	}
	return b.Apply(ops.Transpose, ops.TransposeAttrs{Axes: slices.Clone(axes)}, x)
}

// BroadcastTo repeats x to a shape by numpy's rule.
func (b *Builder) BroadcastTo(x *graph.Value, shape ...int) *graph.Value {
	if slices.Equal(x.Type.Shape, shape) {
		return x
	}
	return b.Apply(ops.BroadcastTo, ops.BroadcastToAttrs{Shape: slices.Clone(shape)}, x)
}

// Slice takes the elements [begin, end) of one axis.
func (b *Builder) Slice(x *graph.Value, axis, begin, end int) *graph.Value {
	if begin == 0 && end == x.Type.Shape[axis] {
		return x
	}
	a := ops.StridedSliceAttrs{Begin: make([]int, x.Type.Rank()), End: slices.Clone(x.Type.Shape), Strides: slices.Repeat([]int{1}, x.Type.Rank())}
	if begin < end { // no elements are [0, 0)
		a.Begin[axis], a.End[axis] = begin, end
	} else {
		a.End[axis] = 0
	}
	return b.Apply(ops.StridedSlice, a, x)
}

// Every takes the first of each n elements of one axis.
func (b *Builder) Every(x *graph.Value, axis, n int) *graph.Value {
	a := ops.StridedSliceAttrs{Begin: make([]int, x.Type.Rank()), End: slices.Clone(x.Type.Shape), Strides: slices.Repeat([]int{1}, x.Type.Rank())}
	a.Strides[axis] = n
	return b.Apply(ops.StridedSlice, a, x)
}

// At takes one element of an axis and removes the axis.
func (b *Builder) At(x *graph.Value, axis, i int) *graph.Value {
	return b.Squeeze(b.Slice(x, axis, i, i+1), axis)
}

// Concat joins values along an axis.
func (b *Builder) Concat(axis int, in ...*graph.Value) *graph.Value {
	if len(in) == 1 {
		return in[0]
	}
	return b.Apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: axis}, in...)
}

// Stack joins values of one shape along a new axis.
func (b *Builder) Stack(axis int, in ...*graph.Value) *graph.Value {
	parts := make([]*graph.Value, len(in))
	for i, x := range in {
		parts[i] = b.ExpandDims(x, axis)
	}
	return b.Concat(axis, parts...)
}

// Split cuts x along an axis into parts of the given sizes.
func (b *Builder) Split(x *graph.Value, axis int, sizes ...int) []*graph.Value {
	if len(sizes) == 1 && sizes[0] == x.Type.Shape[axis] {
		return []*graph.Value{x}
	}
	return b.Results(ops.Split, ops.SplitAttrs{Axis: axis, Sizes: slices.Clone(sizes)}, x)
}

// Reduce applies a reduction such as ops.Sum. No axes means all axes.
func (b *Builder) Reduce(d *op.Def, x *graph.Value, keepDims bool, axes ...int) *graph.Value {
	return b.Apply(d, ops.ReduceAttrs{Axis: append([]int(nil), axes...), KeepDims: keepDims}, x)
}

// Matmul multiplies matrices in the last two axes.
func (b *Builder) Matmul(x, y *graph.Value) *graph.Value {
	return b.Apply(ops.Matmul, ops.MatmulAttrs{}, x, y)
}

// LastAxes lists the axes from the given one to the last.
func LastAxes(x *graph.Value, from int) []int {
	var axes []int
	for k := from; k < x.Type.Rank(); k++ {
		axes = append(axes, k)
	}
	return axes
}
