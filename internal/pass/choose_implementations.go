package pass

import (
	"fmt"
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
	names := map[string]int{}
	for _, n := range c.Graph.Nodes {
		if !impl.Decides(n.Op) {
			continue
		}
		i := graph.Impl{Of: nodeName(n, names)}
		if n.Impl = (graph.Impl{Of: i.Of}); r.plain && isAnyConv(n) {
			continue
		}
		log := choice.Log{Chooser: c.Choices[i.Of]}
		if i.Name, n.Why, err = algorithms.Table.Decide(site(c, n, r.lanes), c.Target, &log); err != nil {
			return fmt.Errorf("choices: node %q (%s): %w", i.Of, n.Op.Name, err)
		}
		if i.Name != "" {
			i.Point = log.Taken
			n.Impl = i
			c.asked(i.Of, log.Asked)
		}
	}
	return nil
}

// asked notes decisions on a node. One without a name, in a graph that came from a dump, has only defaults.
func (c *Context) asked(node string, list []choice.Decision) {
	if node == "" {
		return
	}
	if c.Asked == nil {
		c.Asked = map[string][]choice.Decision{}
	}
	c.Asked[node] = append(c.Asked[node], list...)
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
		Given: len(c.Layouts) > 0, Disabled: c.Disabled,
	}
}

// ask decides something for a node beside how it is computed.
func (c *Context) ask(node string, d choice.Decision) (taken choice.Point, err error) {
	log := choice.Log{Chooser: c.Choices[node]}
	if _, err := log.Decide(d); err != nil {
		return nil, fmt.Errorf("choices: %w", err)
	}
	c.asked(node, log.Asked)
	return log.Taken, nil
}

func isAnyConv(n *graph.Node) bool {
	return slices.Contains(ops.Conv[1:], n.Op) || slices.Contains(ops.QnnConv[1:], n.Op)
}

// nodeName is the name of a node among those with decisions: that of the first node of the model that it stems from, numbered
// from the second on where several do.
func nodeName(n *graph.Node, names map[string]int) string {
	name := n.Op.Name
	if len(n.Origin) > 0 {
		name = n.Origin[0]
	}
	names[name]++
	if i := names[name]; i > 1 {
		name = fmt.Sprintf("%s#%d", name, i)
	}
	return name
}
