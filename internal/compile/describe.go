package compile

import (
	"maps"
	"slices"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/types"
)

// describe tells of a step in the manifest: what it computes, and what was chosen for it.
func (k *step) describe() bundle.Step {
	if k.bodies != nil {
		return k.describeRegion()
	}
	work := k.Work()
	s := bundle.Step{
		Name: k.name, Ops: k.ops, Nodes: k.Node.Origin, FLOPs: int64(work.Flops),
		Rule: k.plan.Rule, Why: k.plan.Why, Point: k.plan.Taken,
	}
	if k.serial {
		s.Workers = 1
	}
	if anchor := anchorOf(k.Node); anchor != nil {
		s.Anchor = anchor.Op.Name
	}
	for _, m := range k.Node.Sub[0].Nodes {
		s.Attrs = append(s.Attrs, shortened(graph.AttrsText(m.Attrs)))
		if m.Impl.Of != "" {
			if s.Graph == nil {
				s.Graph = map[string]map[string]string{}
			}
			if s.Graph[m.Impl.Of] == nil {
				s.Graph[m.Impl.Of] = map[string]string{}
			}
			maps.Copy(s.Graph[m.Impl.Of], m.Impl.Point)
		}
		if m.Why != "" {
			s.Choice = append(s.Choice, m.Op.Name+": "+m.Why)
		}
	}
	if !slices.ContainsFunc(s.Attrs, func(a string) bool { return a != "" }) {
		s.Attrs = nil
	}
	for i, v := range k.In {
		text, bytes := v.Type.String(), int64(k.Touched(i))
		if v.IsConst() {
			text = "const " + text
			s.Constants += bytes
		}
		s.Bytes += bytes
		s.Reads = append(s.Reads, text)
	}
	for i, v := range k.Out {
		s.Bytes += int64(k.Touched(len(k.In) + i))
		s.Writes = append(s.Writes, v.Type.String())
	}
	if work.Multiply != types.Invalid {
		s.Multiply = work.Multiply.String()
	}
	return s
}

// describeRegion sums up the iterations of a loop, whose steps it tells of as those of one, or two branches, whose steps it all tells of.
func (k *step) describeRegion() bundle.Step {
	trips, parts := 1, 0
	if a, ok := k.Node.Attrs.(graph.LoopAttrs); ok {
		trips, parts = a.Few(), a.Parts
	}
	s := bundle.Step{Name: k.name, Ops: k.ops, Nodes: k.Node.Origin, Rule: k.Node.Op.Name, Trips: trips, Parts: parts}
	if of := k.Node.Impl.Of; of != "" {
		s.Graph = map[string]map[string]string{of: k.Node.Impl.Point}
	}
	for _, body := range k.bodies {
		for _, m := range body.steps {
			one := m.describe()
			s.FLOPs += int64(trips) * one.FLOPs
			s.Bytes += int64(trips) * one.Bytes
			s.Body = append(s.Body, one)
		}
	}
	for _, v := range k.In {
		s.Reads = append(s.Reads, v.Type.String())
	}
	for _, v := range k.Out {
		s.Writes = append(s.Writes, v.Type.String())
	}
	return s
}

// shortened cuts attributes as long as a tensor: a split into thousands of results is as many steps.
func shortened(attrs string) string {
	const most = 1000
	if len(attrs) <= most {
		return attrs
	}
	return attrs[:most] + "..."
}

// graphFlops counts the arithmetic of a graph as it stands, each operator by its own definition: what algorithms that
// need fewer operations are measured against.
func graphFlops(g *graph.Graph) float64 { return flopsOf(g, func(*op.Def) bool { return true }) }

// MACs counts the multiply-adds of the products and convolutions of a graph.
func MACs(g *graph.Graph) float64 {
	return flopsOf(g, func(d *op.Def) bool {
		return slices.ContainsFunc([]string{"conv", "dense", "matmul"}, func(s string) bool { return strings.Contains(d.Name, s) })
	}) / 2
}

// flopsOf is the arithmetic of the operators that count.
func flopsOf(g *graph.Graph, counts func(*op.Def) bool) float64 {
	total := 0.0
	for _, n := range g.Nodes {
		for _, sub := range n.Sub {
			once := flopsOf(sub, counts)
			if a, ok := n.Attrs.(graph.LoopAttrs); ok {
				once *= float64(a.Few())
			}
			total += once
		}
		if n.Op.Compute == nil || !counts(n.Op) {
			continue
		}
		in := make([]*te.Stage, len(n.In))
		for i, v := range n.In {
			in[i] = te.Input(v.Name, v.Type)
		}
		out := make([]types.Tensor, len(n.Out))
		for i, v := range n.Out {
			out[i] = v.Type
		}
		for _, s := range te.Order(n.Op.Compute(n.Attrs, in, out)...) {
			total += s.Flops()
		}
	}
	return total
}
