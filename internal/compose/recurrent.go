package compose

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
)

// A Recurrent describes a recurrent layer in ONNX's form: X is [steps, batch, inputs], W [directions, gates*hidden,
// inputs], R [directions, gates*hidden, hidden], B [directions, 2*gates*hidden], Lens [batch], H and C [directions, batch,
// hidden] and P [directions, 3*hidden]; all but X, W and R may be nil. Mask, bool [steps, batch], is instead of Lens where any steps
// may be skipped: the states stay what they were, and an output is that of the step before.
type Recurrent struct {
	X, W, R, B, Lens, H, C, P *graph.Value

	Mask *graph.Value

	Reverse     []bool         // for each direction
	Activations [][]Activation // for each direction: f, g and, for LSTM, h
	Clip        float64        // bound of what activations are applied to; 0 for none
	InputForget bool           // LSTM: the forget gate is 1 less the input gate
	// LinearBeforeReset lets GRU apply the reset gate behind the product with R instead of before it.
	LinearBeforeReset bool
}

// An Activation is a function of one element.
type Activation func(b *Builder, x *graph.Value) *graph.Value

// A direction holds what one direction of a layer needs at each step.
type direction struct {
	*Builder
	*Recurrent
	hidden  int
	r       *graph.Value // [gates*hidden, hidden]
	rBias   *graph.Value // [gates*hidden] or nil
	p       []*graph.Value
	f, g, h Activation
}

// step computes the state behind a step from x*W (and bias), and the state before it.
type step func(d *direction, x, h, c *graph.Value) (*graph.Value, *graph.Value)

// LSTM gives the outputs [steps, directions, batch, hidden] and the last states [directions, batch, hidden].
func (b *Builder) LSTM(r Recurrent) (y, h, c *graph.Value) { return b.recur(&r, 4, 3, lstmStep) }

// GRU is like LSTM, without the cell state.
func (b *Builder) GRU(r Recurrent) (y, h *graph.Value) {
	y, h, _ = b.recur(&r, 3, 2, gruStep)
	return y, h
}

// RNN is like GRU, with one gate.
func (b *Builder) RNN(r Recurrent) (y, h *graph.Value) {
	y, h, _ = b.recur(&r, 1, 1, rnnStep)
	return y, h
}

func (b *Builder) recur(r *Recurrent, gates, functions int, next step) (y, h, c *graph.Value) {
	r.check(gates, functions)
	var ys, hs, cs []*graph.Value
	for i := range r.Reverse {
		y, h, c := b.oneDirection(r, i, gates, next)
		ys, hs, cs = append(ys, y), append(hs, h), append(cs, c)
	}
	return b.Stack(1, ys...), b.Stack(0, hs...), b.Stack(0, cs...)
}

// check tests the shapes that the composition relies on.
func (r *Recurrent) check(gates, functions int) {
	if r.X.Type.Rank() != 3 || r.W.Type.Rank() != 3 || r.R.Type.Rank() != 3 {
		Fail("X %s, W %s and R %s; all must have three axes", r.X.Type, r.W.Type, r.R.Type)
	}
	directions, hidden := len(r.Reverse), r.R.Type.Shape[2]
	batch, inputs := r.X.Type.Shape[1], r.X.Type.Shape[2]
	want := func(name string, v *graph.Value, shape ...int) {
		if v != nil && !slices.Equal(v.Type.Shape, shape) {
			Fail("%s has shape %v; it must be %v", name, v.Type.Shape, shape)
		}
	}
	want("W", r.W, directions, gates*hidden, inputs)
	want("R", r.R, directions, gates*hidden, hidden)
	want("B", r.B, directions, 2*gates*hidden)
	want("sequence_lens", r.Lens, batch)
	want("the mask", r.Mask, r.X.Type.Shape[0], batch)
	if r.Mask != nil && r.Lens != nil {
		Fail("a mask and lengths of sequences exclude each other")
	}
	want("initial_h", r.H, directions, batch, hidden)
	want("initial_c", r.C, directions, batch, hidden)
	want("P", r.P, directions, 3*hidden)
	for _, a := range r.Activations {
		if len(a) != functions {
			Fail("%d activations for each direction instead of %d", len(a), functions)
		}
	}
}

// oneDirection gives the outputs of all steps, in the order of X, and the last states.
func (b *Builder) oneDirection(r *Recurrent, i, gates int, next step) (y, h, c *graph.Value) {
	d := &direction{Builder: b, Recurrent: r, hidden: r.R.Type.Shape[2], r: b.At(r.R, 0, i), f: r.Activations[i][0]}
	d.g, d.h = r.Activations[i][min(1, len(r.Activations[i])-1)], r.Activations[i][len(r.Activations[i])-1]
	if r.X.Type.Shape[0] == 0 {
		return b.Full(r.X.Type.DType, 0, 0, r.X.Type.Shape[1], d.hidden), d.initial(r.H, i), d.initial(r.C, i)
	}
	if r.P != nil {
		d.p = b.Split(b.At(r.P, 0, i), 0, d.hidden, d.hidden, d.hidden)
	}
	x := r.X
	if r.Reverse[i] && r.Lens != nil {
		x = d.reversed(x)
	}
	x = b.Do(ops.Dense, x, b.At(r.W, 0, i))
	if r.B != nil {
		bias := b.Split(b.At(r.B, 0, i), 0, gates*d.hidden, gates*d.hidden)
		x, d.rBias = b.Do(ops.Add, x, bias[0]), bias[1]
	}
	h, c = d.initial(r.H, i), d.initial(r.C, i)
	y, h, c = d.steps(x, h, c, r.Reverse[i] && r.Lens == nil, next)
	if r.Reverse[i] && r.Lens != nil {
		y = d.reversed(y)
	}
	return y, h, c
}

// steps goes through x, step by step or from the last one to the first.
func (d *direction) steps(x, h, c *graph.Value, reverse bool, next step) (y, lastH, lastC *graph.Value) {
	a := graph.LoopAttrs{Trips: x.Type.Shape[0], Carried: 2, Sequences: 1, Reverse: reverse}
	in := []*graph.Value{h, c, x}
	if d.Lens != nil {
		in = append(in, d.Arange(a.Trips))
		a.Sequences++
	}
	if d.Mask != nil {
		in = append(in, d.Mask)
		a.Sequences++
	}
	body := func(in []*graph.Value) []*graph.Value {
		h, c := next(d, in[2], in[0], in[1])
		switch {
		case d.Mask != nil:
			valid := d.ExpandDims(in[3], 1)
			h, c = d.Do(ops.Where, valid, h, in[0]), d.Do(ops.Where, valid, c, in[1])
			return []*graph.Value{h, c, h}
		case d.Lens == nil:
			return []*graph.Value{h, c, h}
		}
		valid := d.ExpandDims(d.Do(ops.Greater, d.Lens, d.Apply(ops.Cast, ops.CastAttrs{DType: d.Lens.Type.DType}, in[3])), 1)
		return []*graph.Value{d.Do(ops.Where, valid, h, in[0]), d.Do(ops.Where, valid, c, in[1]), d.Do(ops.Where, valid, h, Like(h, 0))}
	}
	out := d.Iterate(a, in, body)
	return out[2], out[0], out[1]
}

// reversed turns the valid part of each sequence around.
func (d *direction) reversed(x *graph.Value) *graph.Value {
	return d.Apply(ops.ReverseSequence, ops.ReverseSequenceAttrs{SeqAxis: 0, BatchAxis: 1}, x, d.Lens)
}

// initial is the state of direction i before the first step: zero where none is given.
func (d *direction) initial(v *graph.Value, i int) *graph.Value {
	if v == nil {
		return d.Full(d.X.Type.DType, 0, d.X.Type.Shape[1], d.hidden)
	}
	return d.At(v, 0, i)
}

// bounded limits what an activation is applied to.
func (d *direction) bounded(x *graph.Value) *graph.Value {
	if d.Clip == 0 {
		return x
	}
	return d.Apply(ops.Clip, ops.ClipAttrs{HasMin: true, Min: -d.Clip, HasMax: true, Max: d.Clip}, x)
}

// plus is x + y*z.
func (d *direction) plus(x, y, z *graph.Value) *graph.Value {
	return d.Do(ops.Add, x, d.Do(ops.Multiply, y, z))
}

// oneLess is 1 - x.
func (d *direction) oneLess(x *graph.Value) *graph.Value { return d.Do(ops.Subtract, Like(x, 1), x) }

// product is h*R^T, of the rows [from, to) of R, plus the bias of these rows.
func (d *direction) product(h *graph.Value, from, to int) *graph.Value {
	y := d.Do(ops.Dense, h, d.Slice(d.r, 0, from*d.hidden, to*d.hidden))
	if d.rBias == nil {
		return y
	}
	return d.Do(ops.Add, y, d.Slice(d.rBias, 0, from*d.hidden, to*d.hidden))
}

// gate is what x holds for the gates [from, to).
func (d *direction) gate(x *graph.Value, from, to int) *graph.Value {
	return d.Slice(x, 1, from*d.hidden, to*d.hidden)
}

// lstmStep has the gates in the order input, output, forget, cell.
func lstmStep(d *direction, x, h, c *graph.Value) (*graph.Value, *graph.Value) {
	gates := d.Do(ops.Add, x, d.product(h, 0, 4))
	i, o, f, candidate := d.gate(gates, 0, 1), d.gate(gates, 1, 2), d.gate(gates, 2, 3), d.gate(gates, 3, 4)
	if d.p != nil {
		i, f = d.plus(i, d.p[0], c), d.plus(f, d.p[2], c)
	}
	i = d.f(d.Builder, d.bounded(i))
	if d.InputForget {
		f = d.oneLess(i)
	} else {
		f = d.f(d.Builder, d.bounded(f))
	}
	c = d.plus(d.Do(ops.Multiply, f, c), i, d.g(d.Builder, d.bounded(candidate)))
	if d.p != nil {
		o = d.plus(o, d.p[1], c)
	}
	return d.Do(ops.Multiply, d.f(d.Builder, d.bounded(o)), d.h(d.Builder, c)), c
}

// gruStep has the gates in the order update, reset, hidden.
func gruStep(d *direction, x, h, c *graph.Value) (*graph.Value, *graph.Value) {
	gates := d.f(d.Builder, d.bounded(d.Do(ops.Add, d.gate(x, 0, 2), d.product(h, 0, 2))))
	z, reset, xh := d.gate(gates, 0, 1), d.gate(gates, 1, 2), d.gate(x, 2, 3)
	var candidate *graph.Value
	if d.LinearBeforeReset {
		candidate = d.plus(xh, reset, d.product(h, 2, 3))
	} else {
		candidate = d.Do(ops.Add, xh, d.product(d.Do(ops.Multiply, reset, h), 2, 3))
	}
	candidate = d.g(d.Builder, d.bounded(candidate))
	return d.plus(d.Do(ops.Multiply, d.oneLess(z), candidate), z, h), c
}

func rnnStep(d *direction, x, h, c *graph.Value) (*graph.Value, *graph.Value) {
	return d.f(d.Builder, d.bounded(d.Do(ops.Add, x, d.product(h, 0, 1)))), c
}
