package quant

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// An output is a float result of the network by which choices are judged. Where a softmax makes it, it is judged by what the softmax read: behind
// it nearly all of the noise is that of the few samples whose class is in doubt, and the others say nothing.
type output struct {
	result  int // its place among the results
	softmax bool
	// Of a softmax: the extent of its axis, and the number of elements behind that.
	extent, inner int
}

// outputs lists the float outputs of g.
func outputs(g *graph.Graph) []output {
	var list []output
	for i, v := range g.Outputs {
		if v.Type.DType != types.F32 {
			continue
		}
		o := output{result: i}
		n, shape := v.Def, v.Type.Shape
		for n != nil && n.Op == ops.Reshape && len(shape) > 0 { // that leaves the last axis, as keepers of a batch do
			x := n.In[0]
			if s := x.Type.Shape; len(s) == 0 || s[len(s)-1] != shape[len(shape)-1] {
				break
			}
			n, shape = x.Def, x.Type.Shape
		}
		if n != nil && n.Op == ops.Softmax {
			if axis := n.Attrs.(ops.SoftmaxAttrs).Axis; n == v.Def || axis == len(shape)-1 {
				o = output{i, true, shape[axis], types.Count(shape[axis+1:])}
			}
		}
		list = append(list, o)
	}
	return list
}

// numbers are those of the output among results: of a softmax, what it read, but for a number that is added to all elements of its axis and that it does
// not see, so that their mean is 0. A share so small that float32 has no normal number for it counts as the least that is one. They are valid until the next run.
func (o output) numbers(results []*tensor.Tensor) []float32 {
	list := tensor.As[float32](results[o.result])
	if !o.softmax {
		return list
	}
	logs := make([]float32, len(list))
	line := o.extent * o.inner
	for at := 0; at < len(list); at += line {
		for k := at; k < at+o.inner; k++ {
			mean := 0.0
			for i := k; i < at+line; i += o.inner {
				l := math.Log(math.Max(float64(list[i]), 0x1p-126))
				logs[i], mean = float32(l), mean+l/float64(o.extent)
			}
			for i := k; i < at+line; i += o.inner {
				logs[i] -= float32(mean)
			}
		}
	}
	return logs
}
