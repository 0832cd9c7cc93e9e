package quant

import (
	"context"
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/quant/calibrate"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Builder compiles a graph, which it may change.
type Builder func(ctx context.Context, g *graph.Graph) (Executable, error)

// An Executable is a compiled graph. An input keeps its value until it is set again; outputs are valid until the next run.
type Executable interface {
	SetInput(i int, t *tensor.Tensor) error
	Run() ([]*tensor.Tensor, error)
	Close() error
}

// A simulation is the network in floats, compiled with certain weights, whose points are rounded to scales and zero points that are inputs,
// as the biases of its layers are: every choice of these is tried by runs of the same code. Results are the network's outputs, the
// sources among the points before they are rounded, and the mean of each layer's sums per channel.
type simulation struct {
	Executable
	inputs int   // of the network
	source []int // of each point: its place among the results; -1 for none
}

// simulatedQuantize is TVM's operator of this name, as arithmetic:
// scale (clamp(round(x / scale) + zero, low, high) - zero), or x where scale is 0.
func simulatedQuantize(r *rewrite.Rewriter, x, scale, zero *graph.Value, n numbers) *graph.Value {
	number := func(f float64) *graph.Value { return graph.NewConst("", tensor.Scalar(float32(f))) }
	q := r.Apply(ops.Round, op.None{}, r.Apply(ops.Divide, op.None{}, x, scale))
	low, high := n.dtype.IntRange()
	q = r.Apply(ops.Clip, ops.ClipAttrs{HasMin: true, Min: float64(low), HasMax: true, Max: float64(high)}, r.Apply(ops.Add, op.None{}, q, zero))
	q = r.Apply(ops.Multiply, op.None{}, r.Apply(ops.Subtract, op.None{}, q, zero), scale)
	off := r.Apply(ops.Equal, op.None{}, scale, number(0))
	return r.Apply(ops.Where, op.None{}, off, x, q)
}

// simulate compiles the simulation of the network whose layers have the given weights.
func (q *static) simulate(weights []*tensor.Tensor) (*simulation, error) {
	g, list, quantised := q.graph, q.points, q.layers
	s := &simulation{inputs: len(g.Inputs)}
	to := map[*graph.Value]*graph.Value{}
	c := cloned(g, to)
	r := rewrite.New(c)
	sums := make([]*graph.Value, len(quantised))
	for i, l := range quantised {
		sums[i] = openLayer(r, c, to, l, weights[i])
	}
	for _, p := range list {
		v := to[p.value]
		scale, zero := c.Input("scale of "+v.Name, types.Of(types.F32)), c.Input("zero point of "+v.Name, types.Of(types.F32))
		readers := slices.Clone(r.Users(v))
		if v.Def == nil {
			r.Before(c.Nodes[0])
		} else {
			r.Behind(v.Def)
		}
		y := simulatedQuantize(r, v, scale, zero, q.numbers)
		for _, u := range readers {
			for k, x := range u.In {
				if x == v {
					r.SetOperand(u, k, y)
				}
			}
		}
	}
	for _, p := range list {
		s.source = append(s.source, -1)
		if !p.source {
			continue
		}
		s.source[len(s.source)-1] = len(c.Outputs)
		v := to[p.value]
		if v.Def == nil || r.IsOutput(v) { // an output has a value and a name of its own
			r.AtEnd()
			v = r.Apply(ops.Copy, op.None{}, v)
			v.Name = "tap of " + p.value.Name
		}
		c.Outputs = append(c.Outputs, v)
	}
	r.AtEnd()
	for i, v := range sums {
		var axes []int
		for k := range v.Type.Shape {
			if k != quantised[i].along {
				axes = append(axes, k)
			}
		}
		mean := r.Apply(ops.Mean, ops.ReduceAttrs{Axis: axes}, v)
		mean.Name = fmt.Sprintf("mean of layer %d", i)
		c.Outputs = append(c.Outputs, mean)
	}
	if err := r.Finish(); err != nil {
		return nil, fmt.Errorf("simulation: %w", err)
	}
	var err error
	if s.Executable, err = q.Build(q.ctx, c); err != nil {
		return nil, fmt.Errorf("simulation: %w", err)
	}
	q.opened = append(q.opened, s)
	return s, nil
}

// openLayer gives a layer of the simulation its weights, makes its bias an input, and returns its sums. A layer without a bias gets one.
func openLayer(r *rewrite.Rewriter, c *graph.Graph, to map[*graph.Value]*graph.Value, l *layer, w *tensor.Tensor) *graph.Value {
	sum := to[l.node.Out[0]]
	n := sum.Def
	weight := graph.NewConst(n.In[1].Name, w)
	bias := c.Input("bias of "+l.node.Out[0].Name, types.Of(types.F32, sum.Type.Shape[l.along]))
	switch {
	case isConv(n):
		r.Change(n, n.Op, n.Attrs, n.In[0], weight, bias)
		return sum
	case l.add != nil:
		add := to[l.add.Out[0]].Def
		r.SetOperand(n, 1, weight)
		r.Change(add, ops.Add, op.None{}, sum, bias)
		return add.Out[0]
	}
	r.SetOperand(n, 1, weight)
	readers := slices.Clone(r.Users(sum))
	r.Behind(n)
	y := r.Apply(ops.Add, op.None{}, sum, bias)
	for _, u := range readers {
		for k, x := range u.In {
			if x == sum {
				r.SetOperand(u, k, y)
			}
		}
	}
	if r.IsOutput(sum) {
		r.ReplaceOutput(sum, y)
	}
	to[sum] = y
	return y
}

// cloned is a copy of g; to gets the copy of every value.
func cloned(g *graph.Graph, to map[*graph.Value]*graph.Value) *graph.Graph {
	c := g.Clone()
	pair := func(a, b []*graph.Value) {
		for i, v := range a {
			to[v] = b[i]
		}
	}
	pair(g.Inputs, c.Inputs)
	for i, n := range g.Nodes {
		pair(n.Out, c.Nodes[i].Out)
	}
	return c
}

// set makes scales, zero points and biases the inputs of the simulation.
func (s *simulation) set(params []Params, biases []*tensor.Tensor) error {
	at := s.inputs
	put := func(t *tensor.Tensor) error { at++; return s.SetInput(at-1, t) }
	for _, b := range biases {
		if err := put(b); err != nil {
			return err
		}
	}
	for _, p := range params {
		if err := put(tensor.Scalar(p.Scale)); err != nil {
			return err
		}
		if err := put(tensor.Scalar(float32(p.Zero))); err != nil {
			return err
		}
	}
	return nil
}

// with makes the simulation of choices a runner of samples.
func (s *simulation) with(c *choices) (calibrate.Runner, error) {
	if err := s.set(c.params, c.biases); err != nil {
		return nil, err
	}
	return s.runner(), nil
}

// runner makes the simulation a runner of samples.
func (s *simulation) runner() calibrate.Runner { return sampleRunner{s.Executable, s.inputs} }

type sampleRunner struct {
	Executable
	inputs int
}

// Run runs the network on a sample.
func (r sampleRunner) Run(in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	for i, t := range in {
		if err := r.SetInput(i, t); err != nil {
			return nil, err
		}
	}
	return r.Executable.Run()
}
