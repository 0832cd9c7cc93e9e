package onnx

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/testkit/realmodels"
	"lathe/internal/tool/npz"
	"lathe/internal/types"
)

// networkCases are networks with outputs that ONNX Runtime gave, compared by relative L2. ONNX Runtime computes
// between QuantizeLinear and DequantizeLinear in integers where it can, which rounds some values to the neighbour of what
// the graph says: networks in that form differ by a step of a scale here and there, and their bound is that of a few
// steps. They must find the same class.
var networkCases = []struct {
	model, io string
	relative  float64
}{
	{model: "averagepool_count_include_pad/model.onnx", io: "onnx/averagepool_count_include_pad/io.npz", relative: 1e-6},
	{model: "deconv_group/model.onnx", io: "onnx/deconv_group/io.npz", relative: 1e-6},
	{model: "qrelu_1/model.onnx", io: "onnx/qrelu_1/io.npz", relative: 1e-6},
	{model: "qsigmoid_1/model.onnx", io: "onnx/qsigmoid_1/io.npz", relative: 1e-6},
	{model: "qtanh_1/model.onnx", io: "onnx/qtanh_1/io.npz", relative: 1e-6},
	{model: "bert_toy/bert_toy_optimized.onnx", io: "reference_outputs/onnx_bert_toy.npz", relative: 1e-4},
	{model: "mediapipe/face_detection_short_range.onnx", io: "reference_outputs/onnx_blazeface.npz", relative: 1e-4},
	{model: "mediapipe/selfie_segmentation_landscape.onnx", io: "reference_outputs/onnx_selfie_landscape.npz", relative: 1e-4},
	{model: "micro_kws_m/micro_kws_m_static_fp32.onnx", io: "reference_outputs/onnx_micro_kws_static_fp32.npz", relative: 1e-4},
	{model: "micro_kws_m/micro_kws_m_qdq.onnx", io: "reference_outputs/onnx_micro_kws_qdq.npz", relative: 1e-4},
	{model: "micro_kws_m/micro_kws_m_static_qdq.onnx", io: "reference_outputs/onnx_micro_kws_static_qdq.npz", relative: 0.02},
	{model: "micro_kws_m/micro_kws_m_static_qoperator.onnx", io: "reference_outputs/onnx_micro_kws_static_qoperator.npz", relative: 1e-4},
	{model: "samplenet/samplenet.onnx", io: "reference_outputs/onnx_samplenet_cat.npz", relative: 1e-4},
	{model: "silero_vad/silero_vad_v5_16k_op15.onnx", io: "reference_outputs/onnx_silero_v5_op15_16k.npz", relative: 1e-4},
	{model: "squeezenet1.1/squeezenet1.1-rebuilt.onnx", io: "reference_outputs/onnx_squeezenet1.1_cat.npz", relative: 1e-4},
	{model: "mobilenetv2_qdq_imagenet/model.onnx", io: "reference_outputs/onnx_mobilenetv2_qdq_cat.npz", relative: 0.1},
	{model: "ultraface/version-RFB-320.onnx", io: "reference_outputs/onnx_ultraface_version-RFB-320.npz", relative: 1e-4},
	{model: "ultraface/version-RFB-320_simplified.onnx", io: "reference_outputs/onnx_ultraface_version-RFB-320_simplified.npz", relative: 1e-4},
	{model: "ultraface/version-RFB-320_without_postprocessing.onnx", io: "reference_outputs/onnx_ultraface_version-RFB-320_without_postprocessing.npz", relative: 1e-4},
	{model: "ultraface/version-slim-320_without_postprocessing.onnx", io: "reference_outputs/onnx_ultraface_version-slim-320_without_postprocessing.npz", relative: 1e-4},
}

// TestConformanceImportOutputs runs whole networks on the oracle.
func TestConformanceImportOutputs(t *testing.T) {
	root := realmodels.Folder(t)
	for _, n := range networkCases {
		t.Run(n.model, func(t *testing.T) {
			arrays, err := npz.ReadFile(filepath.Join(root, n.io))
			if err != nil {
				t.Fatal(err)
			}
			m, err := ReadFile(filepath.Join(root, "onnx", n.model))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			o := Options{Shapes: map[string][]int{}, Values: map[string]*tensor.Tensor{}}
			for _, in := range m.Graph.RealInputs() {
				x := arrayNamed(t, arrays, "in:"+in.Name)
				if o.Shapes[in.Name] = x.Shape; len(x.Shape) == 0 {
					delete(o.Shapes, in.Name)
					o.Values[in.Name] = x
				}
			}
			g, err := Import(m, o)
			if err != nil {
				t.Fatal(err)
			}
			var inputs []*tensor.Tensor
			for _, in := range g.Inputs {
				inputs = append(inputs, arrayNamed(t, arrays, "in:"+in.Name))
			}
			outputs, err := grapheval.Eval(g, inputs)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range g.Outputs {
				want := arrayNamed(t, arrays, "out:"+v.Name)
				if err := compareOutput(outputs[i], want, n.relative); err != nil {
					t.Errorf("%s: %v", v.Name, err)
				}
			}
		})
	}
}

func arrayNamed(t *testing.T, arrays []npz.Array, name string) *tensor.Tensor {
	for _, a := range arrays {
		if a.Name == name || "in:"+a.Name == name || "out:"+a.Name == name {
			d, err := types.ParseDType(a.DType)
			if err != nil {
				t.Fatal(err)
			}
			x, err := tensor.Wrap(d, a.Shape, a.Data)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
	}
	var names []string
	for _, a := range arrays {
		names = append(names, a.Name)
	}
	t.Fatalf("no array %q; there are %s", name, strings.Join(names, ", "))
	return nil
}

func compareOutput(got, want *tensor.Tensor, relative float64) error {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("%s instead of %s", got.Type(), want.Type())
	}
	var difference, size float64
	for i := range want.Len() {
		if !want.DType.IsFloat() {
			if got.Int(i) != want.Int(i) {
				return fmt.Errorf("element %d is %d instead of %d", i, got.Int(i), want.Int(i))
			}
			continue
		}
		d := got.Float(i) - want.Float(i)
		difference, size = difference+d*d, size+want.Float(i)*want.Float(i)
	}
	if g, w := greatest(got), greatest(want); want.DType.IsFloat() && relative > 1e-3 && g != w {
		return fmt.Errorf("the greatest element is number %d instead of %d", g, w)
	}
	if r := math.Sqrt(difference / max(size, 1e-30)); !(r <= relative) {
		return fmt.Errorf("relative L2 difference %.3g", r)
	}
	return nil
}

// greatest is the place of the greatest element: the class that a classifier finds.
func greatest(t *tensor.Tensor) int {
	best := 0
	for i := range t.Len() {
		if t.Float(i) > t.Float(best) {
			best = i
		}
	}
	return best
}
