// Package resnettest writes ResNet-50 in two formats at once, with the same weights: what differs between both is the formats'.
package resnettest

import (
	"fmt"
	"math"

	"lathe/internal/testkit/kerastest"
	"lathe/internal/testkit/onnxtest"
)

// Files are ResNet-50 (He et al., 2015) as keras.applications has it, with the bias of its convolutions: an ONNX file for pictures x of
// [1,3,side,side], with padding as an attribute, and an HDF5 file of Keras 2 for x of [1,side,side,3], with padding as a layer. The published
// network has a side of 224, a width of 64 and 1000 classes; one of less width has kernels of all its shapes.
func Files(side, width, classes int) (onnxFile, kerasFile []byte) {
	w := &writer{keras: kerastest.New("x", 1, side, side, 3)}
	w.conv("conv1", "x", 3, width, 7, 2, 3)
	w.relu("conv1r", "conv1")
	w.node("MaxPool conv1r -> pool1", "kernel_shape", []int{3, 3}, "strides", []int{2, 2}, "pads", []int{1, 1, 1, 1})
	w.keras.Layer("ZeroPadding2D", "pool1_pad", `"padding": [[1, 1], [1, 1]], "data_format": "channels_last"`, []string{"conv1r"})
	w.keras.Layer("MaxPooling2D", "pool1", `"pool_size": [3, 3], "strides": [2, 2], "padding": "valid", "data_format": "channels_last"`, []string{"pool1_pad"})
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
	w.head(from, in, classes)
	g := &onnxtest.Graph{Name: "resnet50", Nodes: w.nodes, Weights: w.weights,
		Inputs:  []onnxtest.Value{onnxtest.V("x", onnxtest.Float, 1, 3, side, side)},
		Outputs: []onnxtest.Value{onnxtest.V("y", onnxtest.Float, 1, classes)},
	}
	return onnxtest.Model(g), w.keras.File("y")
}

// A writer writes one network in both formats.
type writer struct {
	nodes   []onnxtest.Node
	weights []onnxtest.Weight
	keras   *kerastest.Model
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

func (w *writer) node(spec string, attrs ...any) {
	w.nodes = append(w.nodes, onnxtest.N(spec, attrs...))
}

// weight adds an array, which both formats have alike.
func (w *writer) weight(name string, dims []int, data []float32) kerastest.Array {
	w.weights = append(w.weights, onnxtest.Weight{Name: name, Dims: dims, Floats: data})
	return kerastest.Array{Shape: dims, Data: data}
}

// kernel adds a kernel [out,in,k,k], or [out,in] for k = 0, and returns it as [k,k,in,out] or [in,out].
func (w *writer) kernel(name string, out, in, k int, scale float64) kerastest.Array {
	dims, shape, taps := []int{out, in, k, k}, []int{k, k, in, out}, k*k
	if k == 0 {
		dims, shape, taps = dims[:2], shape[2:], 1
	}
	data := w.numbers(out*in*taps, scale, 0)
	w.weight(name, dims, data)
	turned := make([]float32, len(data))
	for o := range out {
		for i := range in {
			for p := range taps {
				turned[(p*in+i)*out+o] = data[(o*in+i)*taps+p]
			}
		}
	}
	return kerastest.Array{Shape: shape, Data: turned}
}

// vector adds an array of n numbers.
func (w *writer) vector(name string, n int, scale, offset float64) kerastest.Array {
	return w.weight(name, []int{n}, w.numbers(n, scale, offset))
}

// conv is a convolution of k x k with bias and a normalization.
func (w *writer) conv(name, from string, in, out, k, stride, pad int) {
	kernel, bias := w.kernel(name+"_w", out, in, k, 1/math.Sqrt(float64(in*k*k))), w.vector(name+"_b", out, 0.1, 0)
	w.node(fmt.Sprintf("Conv %s %s_w %s_b -> %s_conv", from, name, name, name), "strides", []int{stride, stride}, "pads", []int{pad, pad, pad, pad}, "kernel_shape", []int{k, k})
	padding := "valid"
	switch {
	case pad > 0 && stride > 1:
		w.keras.Layer("ZeroPadding2D", name+"_pad", fmt.Sprintf(`"padding": [[%d, %d], [%d, %d]], "data_format": "channels_last"`, pad, pad, pad, pad), []string{from})
		from = name + "_pad"
	case pad > 0:
		padding = "same"
	}
	w.keras.Layer("Conv2D", name+"_conv", fmt.Sprintf(`"filters": %d, "kernel_size": [%d, %d], "strides": [%d, %d], "padding": "%s", "data_format": "channels_last", "dilation_rate": [1, 1], "groups": 1, "activation": "linear", "use_bias": true`,
		out, k, k, stride, stride, padding), []string{from}, kernel, bias)
	gamma, beta := w.vector(name+"_gamma", out, 0.2, 1), w.vector(name+"_beta", out, 0.1, 0)
	mean, variance := w.vector(name+"_mean", out, 0.1, 0), w.vector(name+"_variance", out, 0.3, 1)
	w.node(fmt.Sprintf("BatchNormalization %s_conv %s_gamma %s_beta %s_mean %s_variance -> %s", name, name, name, name, name, name), "epsilon", 1.001e-5)
	w.keras.Layer("BatchNormalization", name, `"axis": [3], "epsilon": 1.001e-05, "center": true, "scale": true`, []string{name + "_conv"}, gamma, beta, mean, variance)
}

func (w *writer) relu(name, from string) {
	w.node(fmt.Sprintf("Relu %s -> %s", from, name))
	w.keras.Layer("Activation", name, `"activation": "relu"`, []string{from})
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
	w.node(fmt.Sprintf("Add %s %s_3 -> %s_add", shortcut, name, name))
	w.keras.Layer("Add", name+"_add", "", []string{shortcut, name + "_3"})
	w.relu(name, name+"_add")
	return name
}

// head is the mean of each channel and a classifier.
func (w *writer) head(from string, in, classes int) {
	kernel, bias := w.kernel("fc_w", classes, in, 0, 0.05), w.vector("fc_b", classes, 0.1, 0)
	w.node(fmt.Sprintf("GlobalAveragePool %s -> mean", from))
	w.node("Flatten mean -> flat")
	w.node("Gemm flat fc_w fc_b -> fc", "transB", 1)
	w.node("Softmax fc -> y")
	w.keras.Layer("GlobalAveragePooling2D", "mean", `"data_format": "channels_last"`, []string{from})
	w.keras.Layer("Dense", "y", fmt.Sprintf(`"units": %d, "activation": "softmax", "use_bias": true`, classes), []string{"mean"}, kernel, bias)
}
