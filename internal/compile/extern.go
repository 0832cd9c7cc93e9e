package compile

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/sched"
	"lathe/internal/te"
	"lathe/internal/types"
)

// externKernel makes the kernel of a group that is one operator with an extern implementation, none when its results
// have no elements; ok is false for other groups.
func externKernel(sub *graph.Graph) (ks []*lowered, ok bool, err error) {
	if len(sub.Nodes) != 1 {
		return nil, false, nil
	}
	m := sub.Nodes[0]
	k := &lowered{in: m.In}
	elements := 0
	for _, v := range m.Out {
		k.outs = append(k.outs, slices.Index(sub.Outputs, v))
		elements += v.Type.Elements()
	}
	if elements == 0 {
		return nil, true, nil
	}
	f, ok, err := algorithms.Table.Extern(m.Op, m.Attrs, typesOf(m.In), typesOf(m.Out))
	if err != nil {
		return nil, false, nodeError(m, m.Op.Name, err)
	}
	if !ok {
		return nil, false, nil
	}
	k.Kernel = &lower.Kernel{Func: f}
	for i, v := range slices.Concat(m.In, m.Out) {
		k.Params = append(k.Params, te.Input(f.Params[i].Name, v.Type))
	}
	k.own = &impl.Plan{Schedule: sched.New(f), Rule: "extern", Why: "loops of its own", Home: impl.Scattered}
	return []*lowered{k}, true, nil
}

func typesOf(values []*graph.Value) []types.Tensor {
	list := make([]types.Tensor, len(values))
	for i, v := range values {
		list[i] = v.Type
	}
	return list
}
