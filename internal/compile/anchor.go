package compile

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/target"
	"lathe/internal/te"
)

// anchorResult is the name of the anchor's result within the rest of its group.
const anchorResult = "anchor"

// anchoredKernel makes the kernel of a group around an operator with loops of its own; ok is false for other groups.
func anchoredKernel(sub *graph.Graph, t *target.Target) (ks []*lowered, ok bool, err error) {
	i := slices.IndexFunc(sub.Nodes, func(m *graph.Node) bool { return algorithms.Table.HasAnchor(m.Op) })
	if i < 0 || len(sub.Outputs) != 1 || sub.Outputs[0].Type.Elements() == 0 {
		return nil, false, nil
	}
	m := sub.Nodes[i]
	c, err := stagesOf(sub, m)
	if err != nil {
		return nil, false, err
	}
	out := c.stages[sub.Outputs[0]]
	if out.Body == nil { // the anchor is the group
		anchor := out
		out = te.Compute("y", anchor.Type, func(x []expr.Expr) expr.Expr { return anchor.At(x...) })
	}
	rest := lower.Lower("kernel", out, lower.Options{Value: c.scalar, Apart: true})
	a := impl.Anchor{Call: impl.Call{Attrs: m.Attrs, In: typesOf(m.In), Out: typesOf(m.Out), Target: t}, Rest: rest, From: anchorResult, Point: m.Impl.Point, Why: m.Why}
	k := &lowered{in: slices.Clone(m.In), outs: []int{0}}
	k.ask = func(c choice.Chooser) (*impl.Plan, error) { return algorithms.Table.Anchored(m.Op, a, c) }
	if k.own, err = k.ask(nil); err != nil || k.own == nil {
		return nil, false, err
	}
	for _, p := range rest.Params[:len(rest.Params)-1] {
		if p.Name != anchorResult {
			k.in = append(k.in, c.values[p.Name])
		}
	}
	k.stands(append(slices.Clip(k.in), sub.Outputs[0]))
	return []*lowered{k}, true, nil
}
