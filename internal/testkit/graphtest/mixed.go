package graphtest

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Mixed makes a network of 3 to about 25 nodes of all operators with all their attributes, as their samples draw them, among
// convolutions, products and what New has. Operands are earlier values, cast, cut and reshaped to what the operator
// takes, constants or new inputs.
func Mixed(r *rand.Rand) *graph.Graph {
	n := &network{Rand: r, g: &graph.Graph{Name: "main"}}
	image := n.coin(2)
	if image {
		n.vals = append(n.vals, n.g.Input("x", types.Of(types.F32, n.between(1, 2), n.oddChannels(), n.extent(), n.extent())))
	} else {
		n.vals = append(n.vals, n.g.Input("x", types.Of(types.F32, n.oddShape()...)))
	}
	few := n.few(ops.All)
	n.grow(func() bool {
		if n.IntN(2) == 0 && n.floats() {
			n.add(image)
			return true
		}
		d := few[n.IntN(len(few))]
		return !slices.Contains(made, d) && n.sampled(d)
	})
	return n.g
}

// Exact makes a network of operators whose results are the same bits however they are computed, NaN and infinities included:
// they move, choose and compare numbers, round once, or compute with integers.
func Exact(r *rand.Rand) *graph.Graph {
	n := &network{Rand: r, g: &graph.Graph{Name: "main"}, narrow: true}
	n.vals = append(n.vals, n.g.Input("x", types.Of([]types.DType{types.F32, types.F32, types.F64, types.I32, types.I64, types.U8}[r.IntN(6)], n.oddShape()...)))
	few := n.few(exact)
	n.grow(func() bool { return n.sampled(few[n.IntN(len(few))]) })
	return n.g
}

// few are some of the operators, which meet each other more often than all would.
func (n *network) few(list []*op.Def) []*op.Def {
	if n.IntN(4) == 0 {
		return list
	}
	few := make([]*op.Def, n.between(3, 8))
	for i := range few {
		few[i] = list[n.IntN(len(list))]
	}
	return few
}

// exact are the operators of Exact.
var exact = []*op.Def{
	ops.Abs, ops.Negative, ops.Copy, ops.Ceil, ops.Floor, ops.Round, ops.Sign, ops.Trunc, ops.Relu, ops.IsNaN, ops.IsInf, ops.LogicalNot,
	ops.BitwiseNot, ops.Cast, ops.Cast, ops.Clip, ops.Add, ops.Subtract, ops.Multiply, ops.Equal, ops.NotEqual, ops.Greater, ops.GreaterEqual,
	ops.Less, ops.LessEqual, ops.LogicalAnd, ops.LogicalOr, ops.LogicalXor, ops.BitwiseAnd, ops.BitwiseOr, ops.BitwiseXor, ops.LeftShift,
	ops.RightShift, ops.Maximum, ops.Minimum, ops.Prelu, ops.Where, ops.LeakyRelu, ops.ThresholdedRelu,
	ops.Max, ops.Min, ops.Any, ops.AllOf, ops.ArgMax, ops.ArgMin, ops.MaxPool1d, ops.MaxPool2d, ops.MaxPool3d, ops.MaxPoolIndices,
	ops.Reshape, ops.Transpose, ops.Concatenate, ops.Split, ops.StridedSlice, ops.Pad, ops.BroadcastTo, ops.Tile, ops.Repeat, ops.Reverse,
	ops.ReverseSequence, ops.SpaceToDepth, ops.DepthToSpace, ops.Trilu, ops.Take, ops.Gather, ops.GatherND, ops.OneHot, ops.ScatterElements,
	ops.ScatterND, ops.TensorScatter, ops.TopK, ops.MaxUnpool, ops.RoiPool, ops.ArgWhere, ops.Compress,
}

// grow appends nodes by add, which says whether it did, and chooses outputs.
func (n *network) grow(add func() bool) {
	for want, tries := n.between(3, 20), 0; len(n.g.Nodes) < want && tries < 80; tries++ {
		if nodes := len(n.g.Nodes); !add() {
			n.g.Nodes = n.g.Nodes[:nodes]
		}
	}
	if len(n.g.Nodes) == 0 {
		n.vals = append(n.vals, n.apply(ops.Abs, op.None{}, n.vals[0]))
	}
	n.mixedOutputs()
}

// oddChannels are numbers of channels around the widths of vectors and blocks.
func (n *network) oddChannels() int {
	return []int{1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 24, 31, 32, 33, 64, 67}[n.IntN(17)]
}

// extent is one of an image.
func (n *network) extent() int { return []int{1, 2, 3, 4, 5, 7, 8, 11, 13, 14, 16, 17}[n.IntN(12)] }

// oddShape has up to 6 axes, some 1, rarely an empty one.
func (n *network) oddShape() []int {
	s := make([]int, n.IntN(7))
	room := 1500
	for i := range s {
		s[i] = max(1, min(room, []int{1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33, 67, 129}[n.IntN(15)]))
		room /= s[i]
	}
	if len(s) > 0 && n.IntN(40) == 0 {
		s[n.IntN(len(s))] = 0
	}
	return s
}

// floats moves a float32 value that the makers of New take to the end.
func (n *network) floats() bool {
	var fit []int
	for i, v := range n.vals {
		if v.Type.DType == types.F32 && v.Type.Rank() > 0 && v.Type.Elements() > 0 {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return false
	}
	v := n.vals[fit[n.IntN(len(fit))]]
	i := slices.Index(n.vals, v)
	n.vals = append(slices.Delete(n.vals, i, i+1), v)
	return true
}

// made are operators that only passes and the driver make.
var made = []*op.Def{ops.WinogradWeight, ops.WinogradInput, ops.WinogradProduct, ops.WinogradConv, ops.DynamicPack, ops.LayoutTransform}

// sampled appends a random use of d and reports whether it could.
func (n *network) sampled(d *op.Def) bool {
	attrs, in := d.Sample(n.Rand)
	attrs = Narrow(attrs)
	half := func(t types.Tensor) bool { return t.DType == types.F16 || t.DType == types.BF16 }
	if to, ok := attrs.(ops.CastAttrs); n.narrow && (slices.ContainsFunc(in, half) || ok && half(types.Of(to.DType))) {
		return false
	}
	if d == ops.ArgWhere && in[0].Rank() == 0 {
		return false // which no model format says
	}
	operands := make([]*graph.Value, len(in))
	for i, t := range in {
		if operands[i] = n.operand(t, i); operands[i] == nil {
			return false
		}
	}
	m := n.direct(d, attrs, operands)
	if m == nil {
		var err error
		if m, err = n.g.Apply(d, attrs, operands...); err != nil {
			return false
		}
	}
	m.Origin = []string{d.Name}
	if slices.ContainsFunc(m.Out, func(v *graph.Value) bool { return v.Type.Elements() > maxElements }) {
		return false
	}
	switch dynamic := len(ops.DynamicResults(d, attrs)) > 0; {
	case dynamic && n.coin(4): // few operators may read it
		n.open = append(n.open, m.Out[0])
	case dynamic:
		n.vals = append(n.vals, m.Out[0])
	default:
		n.vals = append(n.vals, m.Out...)
	}
	return true
}

// Narrow rounds the numbers among attributes to float32, as files hold them.
func Narrow(attrs any) any {
	v := reflect.New(reflect.TypeOf(attrs)).Elem()
	v.Set(reflect.ValueOf(attrs))
	for i := range v.NumField() {
		switch f := v.Field(i).Addr().Interface().(type) {
		case *float64:
			*f = float64(float32(*f))
		case *[]float64:
			for k := range *f {
				(*f)[k] = float64(float32((*f)[k]))
			}
		}
	}
	return v.Interface()
}

// direct tries a recent value as it is in place of the first operand, so that operators meet what others give: blocked
// layouts, other types. A second operand of the same type becomes a constant that broadcasts.
func (n *network) direct(d *op.Def, attrs any, operands []*graph.Value) *graph.Node {
	if n.IntN(4) == 0 || len(operands) > 3 {
		return nil
	}
	x := n.vals[len(n.vals)-1-n.IntN(min(3, len(n.vals)))]
	in := slices.Clone(operands)
	if n.narrow && (x.Type.DType == types.F16 || x.Type.DType == types.BF16) || d == ops.ArgWhere && x.Type.Rank() == 0 {
		return nil
	}
	if len(in) == 2 && in[0].Type.DType == in[1].Type.DType {
		shape := slices.Clone(x.Type.Shape)
		for i := range shape {
			if n.IntN(2) == 0 {
				shape[i] = 1
			}
		}
		in[1] = graph.NewConst("", Random(n.Rand, types.Of(x.Type.DType, shape...), Moderate))
	}
	in[0] = x
	m, err := n.g.Apply(d, attrs, in...)
	if err != nil {
		return nil
	}
	if slices.ContainsFunc(m.Out, func(v *graph.Value) bool { return v.Type.Elements() > maxElements }) {
		n.g.Nodes = n.g.Nodes[:len(n.g.Nodes)-1]
		return nil
	}
	return m
}

// operand is a value of type t: a constant, a new input, or an earlier value brought to that type.
func (n *network) operand(t types.Tensor, i int) *graph.Value {
	switch k := n.IntN(8); {
	case k == 0 && i > 0:
		n.consts++
		return graph.NewConst("", Random(n.Rand, t, Moderate))
	case k <= 2 && len(n.g.Inputs) < 6:
		v := n.g.Input(inputName(len(n.g.Inputs)), t)
		return v
	}
	for _, j := range n.Perm(len(n.vals)) {
		if v := n.vals[j]; v.Type.Equal(t) {
			return v
		}
	}
	return n.adapt(n.vals[n.IntN(len(n.vals))], t)
}

func inputName(i int) string { return "in" + string(rune('a'+i)) }

// adapt casts, cuts or repeats, and reshapes v.
func (n *network) adapt(v *graph.Value, t types.Tensor) *graph.Value {
	have, want := v.Type.Elements(), t.Elements()
	if have == 0 || want > maxElements {
		return n.g.Input(inputName(len(n.g.Inputs)), t)
	}
	if v.Type.DType != t.DType {
		v = n.apply(ops.Cast, ops.CastAttrs{DType: t.DType}, v)
	}
	if have != want {
		v = n.apply(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{have}}, v)
		if have < want {
			reps := (want + have - 1) / have
			v = n.apply(ops.Tile, ops.TileAttrs{Reps: []int{reps}}, v)
		}
		if have%max(want, 1) != 0 || have > want {
			v = n.apply(ops.StridedSlice, ops.StridedSliceAttrs{Begin: []int{0}, End: []int{want}, Strides: []int{1}}, v)
		}
	}
	if v != nil && !slices.Equal(v.Type.Shape, t.Shape) {
		v = n.apply(ops.Reshape, ops.ReshapeAttrs{NewShape: slices.Clone(t.Shape)}, v)
	}
	return v
}

// mixedOutputs takes the last value and some others that a node computes.
func (n *network) mixedOutputs() {
	var computed []*graph.Value
	for _, v := range n.vals {
		if v.Def != nil && slices.Contains(n.g.Nodes, v.Def) {
			computed = append(computed, v)
		}
	}
	computed = append(computed, n.open...)
	n.g.Outputs = []*graph.Value{computed[len(computed)-1]}
	for n.IntN(2) == 0 && len(n.g.Outputs) < 4 {
		if v := computed[n.IntN(len(computed))]; !slices.Contains(n.g.Outputs, v) {
			n.g.Outputs = append(n.g.Outputs, v)
		}
	}
	for i, v := range n.g.Outputs {
		v.Name = "y" + string(rune('0'+i))
	}
	n.g.DeadCode()
	used := n.g.Users()
	n.g.Inputs = slices.DeleteFunc(n.g.Inputs, func(v *graph.Value) bool { return len(used[v]) == 0 && !slices.Contains(n.g.Outputs, v) })
}

// Data says what random tensors hold.
type Data int

const (
	Moderate Data = iota // around zero; small integers, of which some are negative
	Special              // the same with NaN, infinities, denormals, zeros of both signs, the greatest and least numbers
)

// Random is a tensor of type t.
func Random(r *rand.Rand, t types.Tensor, data Data) *tensor.Tensor {
	x := tensor.NewOf(t)
	for i := range x.Len() {
		odd := data == Special && r.IntN(6) == 0
		switch d := t.DType; {
		case d.IsFloat() && odd:
			x.SetFloat(i, specialFloat(r, d))
		case d.IsFloat():
			x.SetFloat(i, r.NormFloat64())
		case d == types.Bool:
			x.SetInt(i, int64(r.IntN(2)))
		case odd:
			lo, hi := d.IntRange()
			x.SetInt(i, []int64{lo, hi, lo + 1, hi - 1, -1, 0}[r.IntN(6)])
		case d.IsUnsigned():
			x.SetInt(i, int64(r.IntN(8)))
		default:
			x.SetInt(i, int64(r.IntN(11)-3))
		}
	}
	return x
}

// specialFloat is a number at an end of what type d holds.
func specialFloat(r *rand.Rand, d types.DType) float64 {
	greatest, least := math.MaxFloat32, float64(math.SmallestNonzeroFloat32)
	switch d {
	case types.F64:
		greatest, least = math.MaxFloat64, math.SmallestNonzeroFloat64
	case types.F16:
		greatest, least = 65504, 0x1p-24
	case types.BF16:
		greatest, least = 0x1.fep127, 0x1p-133
	}
	v := []float64{0, 1, 0.5, 2.5, greatest, greatest / 2, least, 3 * least, 0x1p31, 0x1p63, 0x1p64, 255, 256, 65536, math.Inf(1), math.NaN()}[r.IntN(16)]
	if r.IntN(2) == 0 {
		v = -v
	}
	return v
}
