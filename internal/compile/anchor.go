package compile

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/lower"
	"lathe/internal/sched"
	"lathe/internal/target"
	"lathe/internal/te"
)

// anchorResult is the name of the anchor's result within the rest of its group.
const anchorResult = "anchor"

// anchoredKernels makes the kernel of a group around an operator with loops of its own; ok is false for other groups.
func anchoredKernels(n *graph.Node, t *target.Target) (ks []*kernel, ok bool, err error) {
	sub := n.Sub[0]
	i := slices.IndexFunc(sub.Nodes, func(m *graph.Node) bool { return impl.HasAnchor(m.Op) })
	if i < 0 || len(sub.Outputs) != 1 || n.Out[0].Type.Elements() == 0 {
		return nil, false, nil
	}
	m := sub.Nodes[i]
	g, err := stagesOf(n, m)
	if err != nil {
		return nil, false, err
	}
	out := g.stages[sub.Outputs[0]]
	if out.Body == nil { // the anchor is the group
		anchor := out
		out = te.Compute("y", anchor.Type, func(x []expr.Expr) expr.Expr { return anchor.At(x...) })
	}
	rest := lower.Lower("kernel", out, lower.Options{Value: scalarConst(g.values), Apart: true})
	l, err := impl.Anchored(m.Op, impl.Anchor{Attrs: m.Attrs, In: typesOf(m.In), Out: m.Out[0].Type, Rest: rest, From: anchorResult, Target: t})
	if err != nil || l == nil {
		return nil, false, err
	}
	k := &kernel{node: n, outs: n.Out, ops: g.ops, low: &lower.Kernel{Func: l.Func}}
	k.plan = &impl.Plan{Schedule: sched.New(l.Func), Rule: l.Rule, Why: l.Why, Home: l.Home}
	outer := map[*graph.Value]*graph.Value{}
	for i, v := range sub.Inputs {
		outer[v] = n.In[i]
	}
	for _, v := range m.In {
		if !v.IsConst() {
			v = outer[v]
		}
		k.in = append(k.in, v)
	}
	for _, p := range rest.Params[:len(rest.Params)-1] {
		if p.Name != anchorResult {
			k.in = append(k.in, g.values[p.Name])
		}
	}
	for i, v := range k.params() {
		k.low.Params = append(k.low.Params, te.Input(l.Func.Params[i].Name, v.Type))
	}
	return []*kernel{k}, true, nil
}
