package pass

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// chooseImplementations decides for every node what shows outside of its kernel: the algorithm, and how its constants lie.
// What is decided stands in the node; Winograd and AlterOpLayout, which follow, carry it out.
func chooseImplementations(c *Context) error {
	r, err := activationsOf(c)
	if err != nil || r.lanes < 2 { // no vectors, no blocks
		return err
	}
	for _, n := range c.Graph.Nodes {
		if !impl.Decides(n.Op) {
			continue
		}
		lanes := r.lanes
		if isAnyConv(n) && !c.asks(n) {
			lanes = c.free().lanes
		}
		if n.Impl = (graph.Impl{Of: c.nameOf(n), Point: n.Impl.Point}); r.plain && isAnyConv(n) && c.asks(n) {
			continue
		}
		err := c.ask(n, func(log *choice.Log) (err error) {
			n.Impl.Name, n.Why, err = algorithms.Table.Decide(site(c, n, lanes), c.Target, log)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// site is n as implementations see it.
func site(c *Context, n *graph.Node, lanes int) *impl.Node {
	in := make([]types.Tensor, len(n.In))
	for i, v := range n.In {
		in[i] = v.Type.With("")
	}
	return &impl.Node{
		Op: n.Op, Attrs: n.Attrs, In: in, Out: n.Out[0].Type.With(""), Lanes: lanes,
		Const: func(i int) bool { return n.In[i].IsConst() },
		Zero:  func(i int) bool { return isNumber(n.In[i], 0) },
		Range: func(i int) (lo, hi int64) { return reach(n.In[i]) },
		Given: len(c.Layouts) > 0, Disabled: c.Disabled,
	}
}

func isAnyConv(n *graph.Node) bool {
	return slices.Contains(ops.Conv[1:], n.Op) || slices.Contains(ops.QnnConv[1:], n.Op)
}
