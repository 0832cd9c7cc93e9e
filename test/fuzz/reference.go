package fuzz

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
	"lathe/internal/verify"
)

// A Reference is what a graph computes on some inputs, and how sure that is: the greatest change of each element when every
// result on the way is off by a few roundings. Where the change is great the graph has no value to compare with: a
// difference of equal numbers, a tie, a step.
type Reference struct {
	Outs   []*tensor.Tensor
	spread [][]float64
	Odd    bool // NaN or an infinity occurs on the way

	disturb func(k int) error // evaluates once more, disturbed in the k-th way; nil: nothing may differ
}

// nudges are the ways results are disturbed: all upwards, all downwards, at random. Before a difference counts there are
// more: which of ten equal elements is the greatest shows in few of them.
const nudges, moreNudges = 6, 80

// Refer evaluates g by its operators' definitions. exact leaves out the disturbances: then nothing may differ.
func Refer(g *graph.Graph, inputs []*tensor.Tensor, exact bool) (*Reference, error) {
	r := &Reference{}
	outs, err := evaluate(g, inputs, nil, func(t *tensor.Tensor) { r.Odd = r.Odd || hasOdd(t) })
	if err != nil {
		return nil, err
	}
	r.Outs = outs
	for _, o := range outs {
		r.spread = append(r.spread, make([]float64, o.Len()))
	}
	if exact {
		return r, nil
	}
	r.disturb = func(k int) error {
		moved, err := evaluate(g, inputs, &nudge{kind: k, Rand: rand.New(rand.NewPCG(uint64(k), 11))}, func(*tensor.Tensor) {})
		if err != nil {
			return err
		}
		for i, o := range outs {
			for j := range r.spread[i] {
				if !slices.Equal(moved[i].Shape, o.Shape) { // another number of elements was found
					r.spread[i][j] = math.Inf(1)
					continue
				}
				r.spread[i][j] = max(r.spread[i][j], distance(o, moved[i], j))
			}
		}
		return nil
	}
	for k := range nudges {
		if err := r.disturb(k); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// distance is how far element i of two tensors of one type is apart: 0 exactly when it is equal or both are NaN.
func distance(a, b *tensor.Tensor, i int) float64 {
	x, y := a.Float(i), b.Float(i)
	switch {
	case x == y && (a.DType.IsFloat() || a.Int(i) == b.Int(i)), x != x && y != y:
		return 0
	case x == y:
		return 1
	}
	if d := math.Abs(x - y); d == d {
		return d
	}
	return math.Inf(1)
}

// A nudge disturbs results.
type nudge struct {
	*rand.Rand
	kind int
}

// roundings is a few of them, relative to a number of type d.
func roundings(d types.DType) float64 {
	switch d {
	case types.F64:
		return 1e-10 // expansions of functions
	case types.F16:
		return 1e-3
	case types.BF16:
		return 8e-3
	}
	return 4e-6
}

// exactOps give numbers that they are given, or rounded ones that all ways of computing them share.
var exactOps = []*op.Def{
	ops.Abs, ops.Copy, ops.Negative, ops.Relu, ops.Maximum, ops.Minimum, ops.Where, ops.Clip, ops.Floor, ops.Ceil, ops.Round, ops.Trunc,
	ops.Sign, ops.Max, ops.Min, ops.TopK, ops.MaxUnpool, ops.RoiPool, ops.Compress, ops.MaxPool1d, ops.MaxPool2d, ops.MaxPool3d, ops.MaxPoolIndices,
}

func rounds(d *op.Def) bool {
	if d.Fusion == op.Injective {
		return strings.HasPrefix(d.Name, "image.")
	}
	return !slices.Contains(exactOps, d)
}

// products are the operators that add products.
var products = slices.Concat([]*op.Def{ops.Dense, ops.Matmul}, ops.Conv[1:], ops.ConvTranspose[1:])

// termSizes is what n computes of the sizes of its operands, if it adds products.
func termSizes(n *graph.Node, in []*tensor.Tensor) (*tensor.Tensor, error) {
	if !slices.Contains(products, n.Op) {
		return nil, nil
	}
	sizes := make([]*tensor.Tensor, len(in))
	for k, x := range in {
		sizes[k] = tensor.New(x.DType, x.Shape...)
		for i := range x.Len() {
			sizes[k].SetFloat(i, math.Abs(x.Float(i)))
		}
	}
	out := tensor.NewOf(n.Out[0].Type)
	return out, n.Op.Eval(n.Attrs, sizes, []*tensor.Tensor{out})
}

// standardizing operators take the mean of data from it.
var standardizing = []*op.Def{ops.LayerNorm, ops.GroupNorm, ops.InstanceNorm}

// timesZero reports whether d is computed with factors of zero that its definition does not have: by Winograd's algorithm, or
// with taps of zero where a phase has fewer than others.
func timesZero(d *op.Def) bool {
	return d == ops.Conv2d || slices.Contains(ops.ConvTranspose[1:], d)
}

// tensor disturbs what d gave. Every second time denormals are zero, as kernels flush them, and what overflows two bytes
// stays finite, as in kernels that keep float32 between operators. Where positions are computed, their rounding is multiplied
// by the slope of the data there.
// Sums of products are off by roundings of their terms, whose sizes are added up in sizes.
func (p *nudge) tensor(t *tensor.Tensor, d *op.Def, sizes *tensor.Tensor) {
	eps, least := roundings(t.DType), 0.0
	if t.DType == types.F16 {
		least = 0x1p-14 // denormals have fewer digits
	}
	switch {
	case d != nil && (strings.HasPrefix(d.Name, "image.") || strings.HasPrefix(d.Name, "vision.")):
		eps, least = 10*eps, rms(t)
	case d == ops.Conv2d: // Winograd's algorithm rounds by the greatest of a tile
		eps, least = 2*eps, rms(t)
	}
	for i := range t.Len() {
		v, size := t.Float(i), least
		if sizes != nil {
			size = max(size, sizes.Float(i))
		}
		switch {
		case p.kind%2 == 1: // as wide as the type
		case v != 0 && math.Abs(v) < verify.LeastNormal(t.DType): // flushed to zero
			t.SetFloat(i, 0)
			continue
		case math.IsInf(v, 0) && t.DType == types.F16: // not yet rounded to two bytes
			t.SetFloat(i, math.Copysign(65504, v))
			continue
		}
		if v == 0 && sizes == nil || v-v != 0 || size-size != 0 {
			continue // as they are, or too far away for roundings
		}
		sign := 1.0
		if p.kind == 1 || p.kind > 1 && p.IntN(2) == 0 {
			sign = -1
		}
		t.SetFloat(i, v+sign*eps*max(math.Abs(v), size))
	}
}

// quantized makes what NaN of x becomes in y one end of its type or the other: ONNX leaves it open.
func (p *nudge) quantized(x, y *tensor.Tensor) {
	lo, hi := y.DType.IntRange()
	for i := range y.Len() {
		if v := x.Float(i); v == v {
			continue
		}
		if y.SetInt(i, lo); p.kind%2 == 0 {
			y.SetInt(i, hi)
		}
	}
}

// disturbed is a disturbed copy of an operand.
func (p *nudge) disturbed(x *tensor.Tensor) *tensor.Tensor {
	x = tensor.Over(x.DType, x.Shape, slices.Clone(x.Bytes()))
	p.tensor(x, nil, nil)
	return x
}

func hasOdd(t *tensor.Tensor) bool {
	if t.DType.IsFloat() {
		for i := range t.Len() {
			if v := t.Float(i); v-v != 0 {
				return true
			}
		}
	}
	return false
}

// evaluate runs g node by node and shows all results. With p every float that is no copy of another is disturbed, inputs included.
func evaluate(g *graph.Graph, inputs []*tensor.Tensor, p *nudge, see func(*tensor.Tensor)) ([]*tensor.Tensor, error) {
	values := map[*graph.Value]*tensor.Tensor{}
	for i, v := range g.Inputs {
		x := inputs[i]
		if p != nil && x.DType.IsFloat() {
			x = p.disturbed(x)
		}
		values[v] = x
	}
	value := func(v *graph.Value) *tensor.Tensor {
		if v.Const != nil {
			return v.Const
		}
		return values[v]
	}
	for _, n := range g.Nodes {
		in, out := make([]*tensor.Tensor, len(n.In)), make([]*tensor.Tensor, len(n.Out))
		for i, v := range n.In {
			in[i] = value(v)
			switch {
			case p == nil || !in[i].DType.IsFloat():
			case n.Op == ops.BatchNorm && v.IsConst(), // a scale and a shift are made of them, and rounded
				i == 0 && slices.Contains(standardizing, n.Op): // of equal elements, less their rounded mean, roundings are left
				in[i] = p.disturbed(in[i])
			}
		}
		for i, v := range n.Out {
			out[i] = tensor.NewOf(v.Type)
		}
		if n.IsRegion() {
			body := func(body *graph.Graph, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
				return evaluate(body, in, p, see)
			}
			if n.Op == graph.If {
				results, err := body(n.Sub[grapheval.Taken(in[0])], in[1:])
				if err != nil {
					return nil, err
				}
				out = results
			} else if err := grapheval.Loop(n, in, out, body); err != nil {
				return nil, err
			}
			for i, v := range n.Out {
				values[v] = out[i]
			}
			continue
		}
		if err := n.Op.Eval(n.Attrs, in, out); err != nil {
			return nil, fmt.Errorf("node %s %v: %w", n.Op.Name, n.Origin, err)
		}
		for i, v := range n.Out {
			switch a, ok := n.Attrs.(ops.LpPoolAttrs); {
			case p != nil && ok && a.P > 16: // powers leave the range of float32, in which kernels add them
				for j := range out[i].Len() {
					out[i].SetFloat(j, math.Inf(1))
				}
			case p != nil && timesZero(n.Op) && slices.ContainsFunc(in, hasOdd): // an infinity times 0 is added to neighbours
				for j := range out[i].Len() {
					out[i].SetFloat(j, math.NaN())
				}
			case p != nil && out[i].DType.IsFloat() && rounds(n.Op):
				sizes, err := termSizes(n, in)
				if err != nil {
					return nil, err
				}
				p.tensor(out[i], n.Op, sizes)
			case p != nil && n.Op == ops.Quantize:
				p.quantized(in[0], out[i])
			}
			see(out[i])
			values[v] = out[i]
		}
	}
	extents, err := compose.ExtentsOf(g)
	if err != nil {
		return nil, err
	}
	var outs []*tensor.Tensor
	for _, v := range g.Outputs {
		outs = append(outs, verify.Actual(value(v), extents[v], value))
	}
	return outs, nil
}

// A Mismatch is an output that differs.
type Mismatch struct {
	Output, Element int
	Got, Want       float64
	Of              int // elements of the output that differ
	Text            string
}

func (m *Mismatch) String() string {
	if m.Text != "" {
		return fmt.Sprintf("output %d: %s", m.Output, m.Text)
	}
	return fmt.Sprintf("output %d: %d elements differ, element %d is %v instead of %v", m.Output, m.Of, m.Element, m.Got, m.Want)
}

// Compare finds the first output that differs from the reference by more than roundings.
func (r *Reference) Compare(got []*tensor.Tensor) *Mismatch {
	m := r.differ(got)
	if m == nil || r.disturb == nil {
		return m
	}
	for k := nudges; k < moreNudges; k++ {
		if r.disturb(k) != nil {
			return m
		}
	}
	return r.differ(got)
}

func (r *Reference) differ(got []*tensor.Tensor) *Mismatch {
	for k, want := range r.Outs {
		if len(got) <= k || !want.Type().Equal(got[k].Type()) {
			if slices.ContainsFunc(r.spread[k], func(s float64) bool { return math.IsInf(s, 1) }) {
				continue // how many elements there are is open
			}
			return &Mismatch{Output: k, Text: fmt.Sprintf("it is %v instead of %v", got[k].Type(), want.Type())}
		}
		var first *Mismatch
		scale := rms(want)
		for i := range want.Len() {
			d := distance(want, got[k], i)
			if d == 0 || d <= r.allowed(k, i, scale) {
				continue
			}
			if first == nil {
				first = &Mismatch{Output: k, Element: i, Got: got[k].Float(i), Want: want.Float(i)}
			}
			first.Of++
		}
		if first != nil {
			return first
		}
	}
	return nil
}

// allowed is how far element i of output k may be off.
func (r *Reference) allowed(k, i int, scale float64) float64 {
	want, spread := r.Outs[k], r.spread[k][i]
	if spread == 0 && !want.DType.IsFloat() {
		return 0
	}
	if !want.DType.IsFloat() {
		return 4 * spread
	}
	w := finite(math.Abs(want.Float(i)))
	return 20*roundings(want.DType)*max(w, scale*1e-2) + 6*spread + 1e-30
}

// finite is v, or 0 where it is no number.
func finite(v float64) float64 {
	if v-v != 0 {
		return 0
	}
	return v
}

// rms is the root mean square of the finite elements.
func rms(t *tensor.Tensor) float64 {
	if !t.DType.IsFloat() {
		return 0
	}
	sum, n := 0.0, 0
	for i := range t.Len() {
		if v := t.Float(i); v-v == 0 && math.Abs(v) < 1e150 {
			sum, n = sum+v*v, n+1
		}
	}
	return math.Sqrt(sum / float64(max(n, 1)))
}
