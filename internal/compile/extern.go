package compile

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/target"
	"lathe/internal/te"
	"lathe/internal/types"
)

// externKernel makes the kernel of a group that is one operator with an extern implementation, none when its results
// have no elements; ok is false for other groups.
func externKernel(sub *graph.Graph, t *target.Target) (ks []*lowered, ok bool, err error) {
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
	call := impl.Call{Attrs: m.Attrs, In: typesOf(m.In), Out: typesOf(m.Out), Target: t}
	k.ask = func(c choice.Chooser) (*impl.Plan, error) { return algorithms.Table.Extern(m.Op, call, c) }
	if k.own, err = k.ask(nil); err != nil {
		return nil, false, nodeError(m, m.Op.Name, err)
	}
	if k.own == nil {
		return nil, false, nil
	}
	k.stands(slices.Concat(m.In, m.Out))
	return []*lowered{k}, true, nil
}

// stands makes k's own loops its kernel; their parameters stand for values.
func (k *lowered) stands(values []*graph.Value) {
	k.Kernel = &lower.Kernel{Func: k.own.Schedule.Func}
	for i, v := range values {
		k.Params = append(k.Params, te.Input(k.Func.Params[i].Name, v.Type))
	}
}

func typesOf(values []*graph.Value) []types.Tensor {
	list := make([]types.Tensor, len(values))
	for i, v := range values {
		list[i] = v.Type
	}
	return list
}
