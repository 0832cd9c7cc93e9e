package compile

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/te"
	"lathe/internal/types"
)

// A lowered kernel is a function of the library before it is scheduled, in terms of the group that it computes a result of;
// it serves all groups that are equal.
type lowered struct {
	*lower.Kernel
	in   []*graph.Value                           // operands in the order of the function's parameters: inputs and constants of the group's sub-graph
	outs []int                                    // results of the group; their parameters follow those of the operands
	ask  func(choice.Chooser) (*impl.Plan, error) // schedules it
	own  *impl.Plan                               // what ask gives by default, where it makes loops of their own
}

// lowerGroup makes the kernels of a group: one by loops of its own where there is such an implementation, else one per
// result from tensor expressions. resident says that operands are in a cache already.
func lowerGroup(n *graph.Node, t *target.Target, resident bool) ([]*lowered, error) {
	if len(n.Sub) != 1 {
		return nil, nodeError(n, n.Op.Name, errors.New("the operator is not supported by the compiler yet"))
	}
	if ks, ok, err := externKernel(n.Sub[0], t); ok || err != nil {
		return ks, err
	}
	if ks, ok, err := anchoredKernel(n.Sub[0], t); ok || err != nil {
		return ks, err
	}
	c, err := stagesOf(n.Sub[0], nil)
	if err != nil {
		return nil, err
	}
	var ks []*lowered
	for i, o := range n.Sub[0].Outputs {
		if o.Type.Elements() == 0 {
			continue
		}
		k := &lowered{Kernel: lower.Lower("kernel", c.stages[o], lower.Options{Value: c.scalar}), outs: []int{i}}
		k.Resident = resident
		bound(k.Kernel, t, c.values)
		k.ask = func(c choice.Chooser) (*impl.Plan, error) { return algorithms.Table.Choose(k.Kernel, t, c) }
		for _, p := range k.Params[:len(k.Params)-1] {
			k.in = append(k.in, c.values[p.Name])
		}
		ks = append(ks, k)
	}
	return ks, nil
}

// A computation is a group as tensor expressions.
type computation struct {
	stages map[*graph.Value]*te.Stage
	values map[string]*graph.Value // inputs and constants by name: lowering replaces stages, not their names
	kept   map[*graph.Value]bool   // constants of one element that remain operands
}

// stagesOf writes the computation of a group as tensor expressions. The result of node given, which may be nil, is an
// input then, of its name in anchorResult.
func stagesOf(sub *graph.Graph, given *graph.Node) (*computation, error) {
	c := &computation{stages: map[*graph.Value]*te.Stage{}, values: map[string]*graph.Value{}, kept: map[*graph.Value]bool{}}
	input := func(v *graph.Value) *te.Stage {
		if c.stages[v] == nil {
			s := te.Input(bufferName(v, len(c.values)), v.Type)
			c.stages[v], c.values[s.Name] = s, v
		}
		return c.stages[v]
	}
	for _, v := range sub.Inputs {
		input(v)
	}
	for _, m := range sub.Nodes {
		if m == given {
			c.stages[m.Out[0]] = te.Input(anchorResult, m.Out[0].Type)
			continue
		}
		if m.Op.Compute == nil {
			return nil, nodeError(m, m.Op.Name, errors.New("the operator is not supported by the compiler yet"))
		}
		in := make([]*te.Stage, len(m.In))
		for i, v := range m.In {
			if v.IsConst() {
				in[i] = input(v)
				c.kept[v] = c.kept[v] || scales(m)
			} else {
				in[i] = c.stages[v]
			}
		}
		out := make([]types.Tensor, len(m.Out))
		for i, v := range m.Out {
			out[i] = v.Type
		}
		stages := m.Op.Compute(m.Attrs, in, out)
		if panel := impl.PanelOf(m.Impl.Point); panel > 0 && panels(m) > 1 {
			inPanels(stages, in, panel)
		}
		for i, s := range stages {
			if s.Body == nil { // handed on as it is
				from := s
				s = te.Compute(m.Op.Name, out[i], func(x []expr.Expr) expr.Expr { return from.At(x...) })
			}
			s.Type = out[i]
			if tag := algorithms.Table.Tag(m.Impl.Point); tag != "" {
				s.Tag = tag
			}
			c.stages[m.Out[i]] = s
		}
	}
	return c, nil
}

// panels is the number of panels in which the weights of a node lie: the largest blocks of an axis, of equal ones the innermost.
func panels(m *graph.Node) (count int) {
	for _, v := range m.In[1:] {
		if v.Type.Layout == "" || v.Type.Rank() < 2 {
			continue
		}
		largest := 1
		for _, p := range v.Type.Layout.Parts(v.Type.Rank()) {
			if v.Type.DType.IsNibble() && p.Axis != ops.ColumnsOf(m.Attrs) {
				continue // words of weights
			}
			if p.Inner && p.Block >= largest {
				largest, count = p.Block, (v.Type.Shape[p.Axis]+p.Block-1)/p.Block
			}
		}
		break
	}
	return count
}

// inPanels tells the reductions of an operator that an operand lies in panels of so many vectors. stages are what the operator
// computes from the stages in.
func inPanels(stages, in []*te.Stage, panel int) {
	before := te.Order(in...)
	for _, s := range te.Order(stages...) {
		if len(s.Reduce) > 0 && !slices.Contains(before, s) {
			s.Panel = panel
		}
	}
}

// bufferName is a readable name for a kernel parameter that does not depend on the model's names, so that equal kernels
// have equal texts.
func bufferName(v *graph.Value, i int) string {
	if v.IsConst() {
		return fmt.Sprintf("c%d", i)
	}
	return fmt.Sprintf("x%d", i)
}

// scales reports whether m multiplies one number by another, as dynamic quantisation does with the scales of data and of weights. That costs
// nothing in the run, and layers that differ in the number alone are one kernel.
func scales(m *graph.Node) bool {
	return m.Op == ops.Multiply && m.Out[0].Type.Elements() == 1 && m.Out[0].Type.DType.IsFloat()
}

// scalar gives the value of constants of one element, which become part of the code unless they are kept.
func (c *computation) scalar(s *te.Stage) (expr.Expr, bool) {
	v := c.values[s.Name]
	if s.Body != nil || v == nil || !v.IsConst() || v.Const.Len() != 1 || c.kept[v] {
		return nil, false
	}
	t := s.Type.DType.Compute()
	if t.IsFloat() {
		return &expr.Float{V: v.Const.Float(0), Type: t}, true
	}
	return &expr.Int{V: v.Const.Int(0), Type: t}, true
}
