package tflite

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"lathe/internal/compose"
	"lathe/internal/frontend/tflite"
	"lathe/internal/tensor"
	"lathe/internal/testkit/modeltest"
	"lathe/internal/testkit/realmodels"
)

// TestConformanceDilated: a file whose convolution is dilated by 6 between blocks that go to the batch and come back, with paddings that it computes
// from the shape. It is compared with the sum over the taps, in float64: the outputs that are there for it are zeros, and its bias is not, so that they
// cannot be its outputs.
func TestConformanceDilated(t *testing.T) {
	const size, dilation, inputs, outputs = 9, 6, 3, 16
	file := filepath.Join(realmodels.Folder(t, "tflite"), "tflite_support/dilated_conv.tflite")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := tflite.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]*tensor.Tensor{}
	for _, p := range m.Graph.Params {
		v, err := p.Value(compose.NewBuilder(""))
		if err != nil {
			t.Fatal(err)
		}
		constants[p.Name] = v.Const
	}
	weight, bias := constants["model/conv2d/Conv2D1"], constants["model/conv2d/BiasAdd/ReadVariableOp/resource"]
	inner := constants["model/conv2d/Conv2D"]
	if weight == nil || bias == nil || inner == nil {
		t.Fatal("weight and bias are called otherwise")
	}
	x := tensor.New(m.Graph.Inputs[0].DType, 1, size, size, inputs)
	for i := range x.Len() {
		x.SetFloat(i, math.Sin(float64(i)))
	}
	g := modeltest.Import(t, m, modeltest.Arrays{{Name: m.Graph.Inputs[0].Name, Tensor: x}})
	for _, level := range levels {
		y := modeltest.Run(t, g, level, []*tensor.Tensor{x})[0]
		for i := range y.Len() {
			row, column, o := i/outputs/size, i/outputs%size, i%outputs
			want := bias.Float(o) + inner.Float(o)
			for tap := range 9 {
				r, c := row+dilation*(tap/3-1), column+dilation*(tap%3-1)
				for k := range inputs {
					if r >= 0 && r < size && c >= 0 && c < size {
						want += x.Float((r*size+c)*inputs+k) * weight.Float((o*9+tap)*inputs+k)
					}
				}
			}
			if math.Abs(y.Float(i)-want) > 1e-5 {
				t.Fatalf("-O%d: element %d is %v, not %v", level, i, y.Float(i), want)
			}
		}
	}
	zero := true
	for o := range outputs {
		zero = zero && bias.Float(o)+inner.Float(o) == 0
	}
	if zero {
		t.Error("the bias is zero: compare with the outputs that are there")
	}
}
