package pass

import (
	"testing"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// TestManyChannels: what describes channels one by one leaves those alone that no network has, in one tensor or in a chain of
// concatenations, each of which doubles them.
func TestManyChannels(t *testing.T) {
	g := &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, 1, 1<<40, 1))
	y := g.Input("y", types.Of(types.F32, 1, 1<<10, 1))
	split, err := g.Apply(ops.Split, ops.SplitAttrs{Axis: 1, Sizes: []int{1 << 39, 1 << 39}}, x)
	if err != nil {
		t.Fatal(err)
	}
	for range 25 {
		n, err := g.Apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, y, y)
		if err != nil {
			t.Fatal(err)
		}
		y = n.Out[0]
	}
	g.Outputs = append(split.Out, y)
	described := 0
	m := channelViews{}
	for _, n := range g.Nodes {
		m.add(n)
	}
	for _, v := range m {
		described += len(v.refs)
	}
	if described > 4*maxViewed {
		t.Errorf("%d channels are described", described)
	}
}
