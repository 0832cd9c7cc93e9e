package graphtest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Use is an operator with attributes and operands that it accepts.
type Use struct {
	Op    *op.Def
	Attrs any
	In    []types.Tensor
}

func (u Use) String() string { return fmt.Sprintf("%s %+v of %v", u.Op.Name, u.Attrs, u.In) }

// accepted reports whether inference does.
func (u Use) accepted() bool {
	args := make([]op.Arg, len(u.In))
	for i, t := range u.In {
		args[i].Tensor = t
	}
	_, err := u.Op.Infer(u.Attrs, args)
	return err == nil
}

// Small makes up to n uses of an operator at the edge of what it accepts: samples in which some extents, equal ones
// together, are 0 or 1, or axes are left out of all operands.
func Small(r *rand.Rand, d *op.Def, n int) (uses []Use) {
	seen := map[string]bool{}
	for try := 0; try < 60*n && len(uses) < n; try++ {
		a, in := d.Sample(r)
		u := Use{d, a, slices.Clone(in)}
		for i := range u.In {
			u.In[i].Shape = slices.Clone(u.In[i].Shape)
		}
		for range 1 + r.IntN(3) {
			u.shrink(r)
		}
		if key := u.String(); !seen[key] && u.accepted() && slices.ContainsFunc(u.In, isSmall) {
			seen[key], uses = true, append(uses, u)
		}
	}
	return uses
}

// Images makes up to n uses of an operator with operands that look like images of several channels.
func Images(r *rand.Rand, d *op.Def, n int) (uses []Use) {
	seen := map[string]bool{}
	for try := 0; try < 60*n && len(uses) < n; try++ {
		a, in := d.Sample(r)
		u := Use{d, a, slices.Clone(in)}
		old, channels := 0, leastChannels<<r.IntN(2)
		for i := range u.In {
			u.In[i].Shape = slices.Clone(u.In[i].Shape)
			if s := u.In[i].Shape; len(s) >= 3 && old == 0 {
				old = s[1]
			}
			for j, n := range u.In[i].Shape {
				if n == old && (j == 1 || r.IntN(4) > 0) {
					u.In[i].Shape[j] = channels
				}
			}
		}
		if !u.accepted() {
			u.In = in
		}
		if key := u.String(); !seen[key] && u.accepted() && slices.ContainsFunc(u.In, isImage) {
			seen[key], uses = true, append(uses, u)
		}
	}
	return uses
}

func isSmall(t types.Tensor) bool {
	return len(t.Shape) == 0 || slices.Contains(t.Shape, 0) || slices.Contains(t.Shape, 1)
}

// shrink gives all axes of one extent another one, or removes one axis of every operand.
func (u *Use) shrink(r *rand.Rand) {
	from := u.In[r.IntN(len(u.In))].Shape
	if len(from) == 0 {
		return
	}
	k := r.IntN(len(from))
	old := from[k]
	if r.IntN(4) == 0 {
		for i, t := range u.In {
			if at := len(t.Shape) - len(from) + k; at >= 0 && at < len(t.Shape) {
				u.In[i].Shape = slices.Delete(slices.Clone(t.Shape), at, at+1)
			}
		}
		return
	}
	to := r.IntN(2)
	all := r.IntN(2) == 0
	for i := range u.In {
		for j, n := range u.In[i].Shape {
			if n == old && (all || j-len(u.In[i].Shape) == k-len(from)) {
				u.In[i].Shape[j] = to
			}
		}
	}
}

// Operands says where a use's operands come from.
type Operands int

const (
	Given    Operands = iota // inputs of the graph
	Computed                 // by a pointwise node before; those of rank 0 by a reshape
	Blocked                  // by a convolution before, which is free to choose a layout, where they look like an image
)

// Apply adds u to g, and inputs for it. Its results are outputs; what is no result of an extent that depends on data goes
// through nodes behind it as well, by itself and with its greatest element, a value of rank 0.
func (u Use) Apply(g *graph.Graph, from Operands) error {
	b := &applying{g: g}
	var in []*graph.Value
	for _, t := range u.In {
		v := &graph.Value{}
		switch {
		case from == Blocked && isImage(t):
			v = b.convolved(t)
		case from == Given || from == Blocked:
			v = b.input(t)
		case len(t.Shape) == 0:
			v = b.node(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{}}, b.input(types.Of(t.DType, 1)))
			v = b.same(v)
		default:
			v = b.same(b.input(t))
		}
		in = append(in, v)
	}
	n, err := g.Apply(u.Op, u.Attrs, in...)
	if err != nil {
		return err
	}
	n.Origin = []string{u.String()}
	fixed := len(ops.DynamicResults(u.Op, u.Attrs)) == 0
	for _, y := range n.Out {
		if fixed && from != Given {
			y = b.same(y)
		}
		b.output(y)
		if !fixed || y.Type.DType == types.Bool {
			continue
		}
		top := b.same(b.node(ops.Max, ops.ReduceAttrs{Axis: axesOf(y.Type.Rank())}, y))
		b.output(b.node(ops.Maximum, op.None{}, y, top))
	}
	return b.err
}

type applying struct {
	g   *graph.Graph
	err error
}

func (b *applying) node(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	n, err := b.g.Apply(d, attrs, in...)
	if err != nil {
		if b.err == nil {
			b.err = err
		}
		return in[0]
	}
	return n.Out[0]
}

func (b *applying) input(t types.Tensor) *graph.Value {
	return b.g.Input(fmt.Sprintf("x%d", len(b.g.Inputs)), t)
}

// leastChannels is the least number of channels that a convolution puts into a block.
const leastChannels = 4

// isImage reports whether a convolution may give t, or what t is cast from.
func isImage(t types.Tensor) bool {
	return len(t.Shape) >= 3 && len(t.Shape) <= 5 && t.Shape[1] >= leastChannels && t.Elements() > 0 && t.Layout == ""
}

// convolved is a 1x1 convolution of an input, cast to the type t.
func (b *applying) convolved(t types.Tensor) *graph.Value {
	rank := len(t.Shape) - 2
	ones := slices.Repeat([]int{1}, rank)
	w := tensor.New(types.F32, append([]int{t.Shape[1], t.Shape[1]}, ones...)...)
	for i := range t.Shape[1] {
		w.SetFloat(i*t.Shape[1]+(i+1)%t.Shape[1], 1) // channels change places
	}
	a := ops.ConvAttrs{Strides: ones, Padding: make([]int, 2*rank), Dilation: ones, Groups: 1}
	v := b.node(ops.Conv[rank], a, b.input(types.Of(types.F32, t.Shape...)), graph.NewConst("w", w))
	return b.node(ops.Cast, ops.CastAttrs{DType: t.DType}, v)
}

// same is v computed by a node that no pass knows to have no effect.
func (b *applying) same(v *graph.Value) *graph.Value {
	if v.Type.DType.IsNibble() { // constants and inputs alone are read as such
		return v
	}
	if v.Type.DType == types.Bool {
		return b.node(ops.LogicalOr, op.None{}, v, v)
	}
	return b.node(ops.Minimum, op.None{}, v, v)
}

func (b *applying) output(v *graph.Value) {
	if v.Type.Layout != "" { // callers know plain layouts
		v = b.node(ops.LayoutTransform, ops.LayoutTransformAttrs{}, v)
	}
	v.Name = fmt.Sprintf("y%d", len(b.g.Outputs))
	b.g.Outputs = append(b.g.Outputs, v)
}

func axesOf(rank int) []int {
	list := make([]int, rank)
	for i := range list {
		list[i] = i
	}
	return list
}
