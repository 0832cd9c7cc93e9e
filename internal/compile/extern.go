package compile

import (
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/lower"
	"lathe/internal/sched"
	"lathe/internal/te"
	"lathe/internal/types"
)

// externKernels makes the kernel of a group that is one operator with an extern implementation, none when its results
// have no elements; ok is false for other groups.
func externKernels(n *graph.Node) (ks []*kernel, ok bool, err error) {
	sub := n.Sub[0]
	if len(sub.Nodes) != 1 {
		return nil, false, nil
	}
	m := sub.Nodes[0]
	outer := map[*graph.Value]*graph.Value{}
	for i, v := range sub.Inputs {
		outer[v] = n.In[i]
	}
	for i, v := range sub.Outputs {
		outer[v] = n.Out[i]
	}
	k := &kernel{node: n, ops: []string{m.Op.Name}}
	value := func(v *graph.Value) *graph.Value {
		if v.IsConst() {
			return v
		}
		return outer[v]
	}
	elements := 0
	for _, v := range m.In {
		k.in = append(k.in, value(v))
	}
	for _, v := range m.Out {
		k.outs = append(k.outs, value(v))
		elements += v.Type.Elements()
	}
	if elements == 0 {
		return nil, true, nil
	}
	f, ok, err := impl.Extern(m.Op, m.Attrs, typesOf(m.In), typesOf(m.Out))
	if err != nil {
		return nil, false, nodeError(m, m.Op.Name, err)
	}
	if !ok {
		return nil, false, nil
	}
	k.low = &lower.Kernel{Func: f}
	for i, v := range k.params() {
		k.low.Params = append(k.low.Params, te.Input(f.Params[i].Name, v.Type))
	}
	k.plan = &impl.Plan{Schedule: sched.New(f), Rule: "extern", Why: "loops of its own", Home: impl.Scattered}
	return []*kernel{k}, true, nil
}

func typesOf(values []*graph.Value) []types.Tensor {
	list := make([]types.Tensor, len(values))
	for i, v := range values {
		list[i] = v.Type
	}
	return list
}
