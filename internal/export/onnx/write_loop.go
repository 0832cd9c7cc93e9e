package onnx

import (
	"errors"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// loop writes a Scan, or a Loop where there are no sequences.
func (w *writer) loop(n *graph.Node) error {
	a, body := n.Attrs.(graph.LoopAttrs), n.Sub[0]
	if a.Parts > 1 {
		return errors.New("ONNX has no loops that run in parts of their rows (write the graph as it was before DivideLoops)")
	}
	own := a.Carried + a.Sequences
	var in []string
	for _, v := range n.In[:own] {
		in = append(in, w.name(v))
	}
	inside, err := w.inside(body, own, n.In[own:])
	if err != nil {
		return err
	}
	if a.While {
		return w.while(n, in, inside)
	}
	c := &call{writer: w, n: n}
	if a.Sequences > 0 {
		scan := []Attr{{"body", inside}, {"num_scan_inputs", a.Sequences}}
		if stacked := len(n.Out) - a.Carried; a.Reverse {
			scan = append(scan, Attr{"scan_input_directions", ones(a.Sequences)})
			if stacked > 0 {
				scan = append(scan, Attr{"scan_output_directions", ones(stacked)})
			}
		}
		c.opOf("Scan", in, scan...)
		return nil
	}
	again := w.fresh("again")
	trips, goes := compose.Number(types.I64, float64(a.Trips)).Const, w.fresh("goes")
	inside.Inputs = append([]Value{{Name: w.fresh("iteration"), DType: types.I64}, {Name: goes, DType: types.Bool}}, inside.Inputs...)
	inside.Nodes = append(inside.Nodes, &Node{Op: "Identity", In: []string{goes}, Out: []string{again}})
	inside.Outputs = append([]Value{{Name: again, DType: types.Bool}}, inside.Outputs...)
	c.opOf("Loop", append([]string{w.constant(trips), w.constant(tensor.Scalar(true))}, in...), Attr{"body", inside})
	return nil
}

// inside writes a body: its first inputs, and captured values, which are values of the graph around, which a body sees.
func (w *writer) inside(body *graph.Graph, own int, captured []*graph.Value) (*Graph, error) {
	outer := w.out
	w.out = &Graph{Name: w.fresh("body")}
	defer func() { w.out = outer }()
	for i, v := range body.Inputs {
		if i >= own {
			w.names[v] = w.name(captured[i-own])
			continue
		}
		w.out.Inputs = append(w.out.Inputs, w.value(v))
	}
	var copies [][2]string
	for _, v := range body.Outputs {
		o := w.value(v)
		if w.names[v] != "" && v.Def == nil || v.IsConst() || outputs(w.out, o.Name) {
			o.Name = w.fresh("output")
			copies = append(copies, [2]string{w.name(v), o.Name})
		}
		w.out.Outputs = append(w.out.Outputs, o)
	}
	if err := w.body(body); err != nil {
		return nil, err
	}
	for _, p := range copies {
		w.emit("", "Identity", []string{p[0]}, []string{p[1]})
	}
	return w.out, nil
}

// value describes an input or output of a body.
func (w *writer) value(v *graph.Value) Value {
	return Value{Name: w.reserve(v), DType: v.Type.DType, Dims: Dims(v.Type.Shape...)}
}

func outputs(g *Graph, name string) bool {
	for _, o := range g.Outputs {
		if o.Name == name {
			return true
		}
	}
	return false
}

func ones(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1
	}
	return list
}
