package quant

import (
	"testing"

	"lathe/internal/graph"
	"lathe/internal/tensor"
)

// asIntegers are inputs of a network as its quantised form takes them.
func asIntegers(t *testing.T, float *graph.Graph, res *Result, in []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	list := append([]*tensor.Tensor(nil), in...)
	by := map[string]PointReport{}
	for _, p := range res.Inputs {
		by[p.Name] = p
	}
	for i, v := range res.Graph.Inputs {
		if v.Name != float.Inputs[i].Name {
			t.Fatalf("input %d is %q instead of %q", i, v.Name, float.Inputs[i].Name)
		}
		if p, ok := by[v.Name]; ok {
			list[i] = in[i].Quantize(v.Type.DType, p.Scale, p.Zero)
		} else if !v.Type.Equal(float.Inputs[i].Type) {
			t.Fatalf("input %q is %s, and nobody says what its numbers are", v.Name, v.Type)
		}
	}
	return list
}

// asFloats makes the outputs of a quantised network the numbers that they stand for.
func asFloats(t *testing.T, res *Result, out []*tensor.Tensor) {
	t.Helper()
	by := map[string]PointReport{}
	for _, p := range res.Outputs {
		by[p.Name] = p
	}
	for i, v := range res.Graph.Outputs {
		p, ok := by[v.Name]
		if !ok {
			continue
		}
		out[i] = out[i].Dequantize(p.Scale, p.Zero)
	}
}
