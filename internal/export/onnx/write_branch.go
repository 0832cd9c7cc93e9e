package onnx

import (
	"errors"

	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// branch writes an If.
func (w *writer) branch(n *graph.Node) error {
	var ways []*Graph
	for _, body := range n.Sub {
		way, err := w.inside(body, 0, n.In[1:])
		if err != nil {
			return err
		}
		ways = append(ways, way)
	}
	c := &call{writer: w, n: n}
	c.opOf("If", []string{w.name(n.In[0])}, Attr{"then_branch", ways[0]}, Attr{"else_branch", ways[1]})
	return nil
}

// while writes a Loop that ends by its condition, which is the first operand and the first input and output of its body. How often it
// ran is one more carried value, where that is read. The condition that it ends with is not written.
func (w *writer) while(n *graph.Node, in []string, inside *Graph) error {
	a := n.Attrs.(graph.LoopAttrs)
	if len(w.users[n.Out[0]]) > 0 {
		return errors.New("the last condition of a loop is read, which ONNX cannot say")
	}
	if a.Reverse && a.Stacked(len(n.Out)) > 0 {
		return errors.New("a loop that stacks from the last slice on has no end that depends on data in ONNX")
	}
	most := ""
	if a.Trips > 0 && !a.Strict {
		most = w.constant(tensor.Scalar(int64(a.Trips)))
	}
	results, at := n.Out[1:len(n.Out)-1], a.Carried-1
	var out []string
	for _, v := range results[:at] {
		out = append(out, w.name(v))
	}
	inputs, outputs, carried := inside.Inputs[1:], inside.Outputs[1:], in[1:]
	if count := n.Out[len(n.Out)-1]; len(w.users[count]) > 0 {
		i, next := w.fresh("count"), w.fresh("next")
		inside.Nodes = append(inside.Nodes, &Node{Op: "Add", In: []string{i, w.constant(tensor.Scalar(int64(1)))}, Out: []string{next}})
		inputs = insert(inputs, at, Value{Name: i, DType: types.I64})
		outputs = insert(outputs, at, Value{Name: next, DType: types.I64})
		carried = append(carried[:len(carried):len(carried)], w.constant(tensor.Scalar(int64(0))))
		out = append(out, w.name(count))
	}
	for _, v := range results[at:] {
		out = append(out, w.name(v))
	}
	inside.Inputs = append([]Value{{Name: w.fresh("iteration"), DType: types.I64}, inside.Inputs[0]}, inputs...)
	inside.Outputs = append([]Value{inside.Outputs[0]}, outputs...)
	c := &call{writer: w, n: n}
	w.emit(c.origin(), "Loop", append([]string{most, in[0]}, carried...), out, Attr{"body", inside})
	return nil
}

func insert(list []Value, at int, v Value) []Value {
	return append(append(append([]Value{}, list[:at]...), v), list[at:]...)
}
