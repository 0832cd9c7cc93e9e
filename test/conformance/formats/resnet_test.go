package formats

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/testkit/hdf5test"
	"lathe/internal/testkit/onnxtest"
)

// A writer writes one network in two formats at once, as their users would: ONNX with channels first and padding as an attribute, Keras with
// channels last and padding as a layer.
type writer struct {
	nodes   []onnxtest.Node
	weights []onnxtest.Weight
	layers  []string
	groups  *hdf5test.Group
	seed    float64
}

// numbers are a weight's, of so small a size that activations stay as large as they are.
func (w *writer) numbers(n int, scale, offset float64) []float32 {
	w.seed++
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(offset + scale*math.Sin(w.seed+float64(i)*(1.3+w.seed/64)))
	}
	return out
}

func (w *writer) weight(name string, shape []int, values []float32) {
	w.weights = append(w.weights, onnxtest.Weight{Name: name, Dims: shape, Floats: values})
}

// keras adds a layer with its weights; a list of shapes and values in turn.
func (w *writer) keras(class, name, config string, from []string, arrays ...any) {
	refs := make([]string, len(from))
	for i, f := range from {
		refs[i] = fmt.Sprintf(`["%s", 0, 0, {}]`, f)
	}
	w.layers = append(w.layers, fmt.Sprintf(`{"class_name": "%s", "name": "%s", "config": {"name": "%s"%s}, "inbound_nodes": [[%s]]}`, class, name, name, config, strings.Join(refs, ", ")))
	g := w.groups.At("model_weights/" + name)
	var names []string
	for i := 0; i < len(arrays); i += 2 {
		path := fmt.Sprintf("%s/w%d", name, i/2)
		g.Array(path, arrays[i].([]int), arrays[i+1].([]float32))
		names = append(names, path)
	}
	g.Texts("weight_names", names...)
}

// conv is a convolution of k x k with bias and a normalization.
func (w *writer) conv(name, from string, in, out, k, stride, pad int) {
	kernel, bias := w.numbers(in*out*k*k, 1/math.Sqrt(float64(in*k*k)), 0), w.numbers(out, 0.1, 0)
	last := make([]float32, len(kernel)) // [k, k, in, out]
	for o := range out {
		for i := range in {
			for p := range k * k {
				last[(p*in+i)*out+o] = kernel[(o*in+i)*k*k+p]
			}
		}
	}
	w.weight(name+"_w", []int{out, in, k, k}, kernel)
	w.weight(name+"_b", []int{out}, bias)
	w.nodes = append(w.nodes, onnxtest.N(fmt.Sprintf("Conv %s %s_w %s_b -> %s_conv", from, name, name, name), "strides", []int{stride, stride}, "pads", []int{pad, pad, pad, pad}, "kernel_shape", []int{k, k}))
	kerasFrom, padding := from, "valid"
	switch {
	case pad > 0 && stride > 1:
		w.keras("ZeroPadding2D", name+"_pad", fmt.Sprintf(`, "padding": [[%d, %d], [%d, %d]], "data_format": "channels_last"`, pad, pad, pad, pad), []string{from})
		kerasFrom = name + "_pad"
	case pad > 0:
		padding = "same"
	}
	w.keras("Conv2D", name+"_conv", fmt.Sprintf(`, "filters": %d, "kernel_size": [%d, %d], "strides": [%d, %d], "padding": "%s", "data_format": "channels_last", "dilation_rate": [1, 1], "groups": 1, "activation": "linear", "use_bias": true`,
		out, k, k, stride, stride, padding), []string{kerasFrom}, []int{k, k, in, out}, last, []int{out}, bias)
	gamma, beta, mean, variance := w.numbers(out, 0.2, 1), w.numbers(out, 0.1, 0), w.numbers(out, 0.1, 0), w.numbers(out, 0.3, 1)
	for i, v := range [][]float32{gamma, beta, mean, variance} {
		w.weight(fmt.Sprintf("%s_n%d", name, i), []int{out}, v)
	}
	w.nodes = append(w.nodes, onnxtest.N(fmt.Sprintf("BatchNormalization %s_conv %s_n0 %s_n1 %s_n2 %s_n3 -> %s", name, name, name, name, name, name), "epsilon", 1.001e-5))
	w.keras("BatchNormalization", name, `, "axis": [3], "epsilon": 1.001e-05, "center": true, "scale": true`, []string{name + "_conv"}, []int{out}, gamma, []int{out}, beta, []int{out}, mean, []int{out}, variance)
}

func (w *writer) relu(name, from string) {
	w.nodes = append(w.nodes, onnxtest.N(fmt.Sprintf("Relu %s -> %s", from, name)))
	w.keras("Activation", name, `, "activation": "relu"`, []string{from})
}

// block is a bottleneck, with the stride in its first convolution.
func (w *writer) block(name, from string, in, width, stride int, first bool) string {
	shortcut := from
	if first {
		shortcut = name + "_0"
		w.conv(shortcut, from, in, 4*width, 1, stride, 0)
	}
	w.conv(name+"_1", from, in, width, 1, stride, 0)
	w.relu(name+"_1r", name+"_1")
	w.conv(name+"_2", name+"_1r", width, width, 3, 1, 1)
	w.relu(name+"_2r", name+"_2")
	w.conv(name+"_3", name+"_2r", width, 4*width, 1, 1, 0)
	w.nodes = append(w.nodes, onnxtest.N(fmt.Sprintf("Add %s %s_3 -> %s_add", shortcut, name, name)))
	w.keras("Add", name+"_add", "", []string{shortcut, name + "_3"})
	w.relu(name, name+"_add")
	return name
}

// resnet50 writes ResNet-50 (He et al., 2015) as keras.applications has it, of a part of its width: kernels of all shapes, in files that tests can make.
func resnet50(t *testing.T, side, width, classes int) (onnxFile, kerasFile string) {
	t.Helper()
	w := &writer{groups: hdf5test.New()}
	w.layers = append(w.layers, fmt.Sprintf(`{"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_input_shape": [1, %d, %d, 3], "dtype": "float32"}, "inbound_nodes": []}`, side, side))
	w.conv("conv1", "x", 3, width, 7, 2, 3)
	w.relu("conv1r", "conv1")
	w.nodes = append(w.nodes, onnxtest.N("MaxPool conv1r -> pool1", "kernel_shape", []int{3, 3}, "strides", []int{2, 2}, "pads", []int{1, 1, 1, 1}))
	w.keras("ZeroPadding2D", "pool1_pad", `, "padding": [[1, 1], [1, 1]], "data_format": "channels_last"`, []string{"conv1r"})
	w.keras("MaxPooling2D", "pool1", `, "pool_size": [3, 3], "strides": [2, 2], "padding": "valid", "data_format": "channels_last"`, []string{"pool1_pad"})
	from, in := "pool1", width
	for stage, blocks := range []int{3, 4, 6, 3} {
		each := width << stage
		for b := range blocks {
			stride := 1
			if b == 0 && stage > 0 {
				stride = 2
			}
			from = w.block(fmt.Sprintf("s%d_b%d", stage, b), from, in, each, stride, b == 0)
			in = 4 * each
		}
	}
	w.nodes = append(w.nodes, onnxtest.N(fmt.Sprintf("GlobalAveragePool %s -> mean", from)), onnxtest.N("Flatten mean -> flat"), onnxtest.N("Gemm flat fc_w fc_b -> fc", "transB", 1), onnxtest.N("Softmax fc -> y"))
	w.keras("GlobalAveragePooling2D", "mean", `, "data_format": "channels_last"`, []string{from})
	kernel, bias := w.numbers(in*classes, 0.05, 0), w.numbers(classes, 0.1, 0)
	turned := make([]float32, len(kernel))
	for o := range classes {
		for i := range in {
			turned[i*classes+o] = kernel[o*in+i]
		}
	}
	w.weight("fc_w", []int{classes, in}, kernel)
	w.weight("fc_b", []int{classes}, bias)
	w.keras("Dense", "y", fmt.Sprintf(`, "units": %d, "activation": "softmax", "use_bias": true`, classes), []string{"mean"}, []int{in, classes}, turned, []int{classes}, bias)

	w.groups.Texts("model_config", `{"class_name": "Functional", "config": {"name": "resnet50", "layers": [`+strings.Join(w.layers, ", ")+`], "input_layers": [["x", 0, 0]], "output_layers": [["y", 0, 0]]}}`)
	w.groups.Texts("keras_version", "2.11.0")
	g := &onnxtest.Graph{Name: "resnet50", Inputs: []onnxtest.Value{onnxtest.V("x", onnxtest.Float, 1, 3, side, side)}, Outputs: []onnxtest.Value{onnxtest.V("y", onnxtest.Float, 1, classes)}, Nodes: w.nodes, Weights: w.weights}
	dir := t.TempDir()
	onnxFile, kerasFile = filepath.Join(dir, "resnet50.onnx"), filepath.Join(dir, "resnet50.h5")
	for file, data := range map[string][]byte{onnxFile: onnxtest.Model(g), kerasFile: hdf5test.File(w.groups)} {
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return onnxFile, kerasFile
}
