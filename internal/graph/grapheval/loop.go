package grapheval

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/tensor"
)

// Loop runs the body of n, slice after slice, and stacks what it gives. eval evaluates the body.
func Loop(n *graph.Node, in, out []*tensor.Tensor, eval func(body *graph.Graph, in []*tensor.Tensor) ([]*tensor.Tensor, error)) error {
	a, body := n.Attrs.(graph.LoopAttrs), n.Sub[0]
	args := slices.Clone(in)
	for i := range a.Trips {
		t := a.Slice(i)
		for k := a.Carried; k < a.Carried+a.Sequences; k++ {
			args[k] = slice(in[k], body.Inputs[k], t)
		}
		results, err := eval(body, slices.Clone(args))
		if err != nil {
			return err
		}
		copy(args, results[:a.Carried])
		for k := a.Carried; k < len(results); k++ {
			copy(slice(out[k], body.Outputs[k], t).Data, results[k].Data)
		}
	}
	copy(out, args[:a.Carried])
	return nil
}

// slice is element t of x's outermost axis, in place.
func slice(x *tensor.Tensor, as *graph.Value, t int) *tensor.Tensor {
	bytes := as.Type.Bytes()
	return &tensor.Tensor{DType: x.DType, Shape: as.Type.Shape, Data: x.Data[t*bytes : (t+1)*bytes]}
}
