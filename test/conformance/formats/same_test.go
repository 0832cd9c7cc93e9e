package formats

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/frontend"
	"lathe/internal/frontend/formats"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/testkit/modeltest"
	"lathe/internal/testkit/realmodels"
	"lathe/internal/testkit/resnettest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// same bounds the distance between the outputs of one network in two formats.
var same = modeltest.Distance{Relative: 1e-5}

// A kernel is a task of a network by what tuning knows it by, with the operators for messages.
type kernel struct {
	key       string
	operators string
}

// kernels are the tasks that a network becomes for this machine, in the order of their first steps.
func kernels(t *testing.T, g *graph.Graph) (list []kernel) {
	t.Helper()
	s, err := compile.OpenSession(t.Context(), g.Clone(), compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range s.Tasks() {
		for range task.Steps {
			list = append(list, kernel{task.Key.Kernel, strings.Join(task.Kernels, " ")})
		}
	}
	return list
}

// sameKernels compares two networks: all but the kernels at both ends are equal. The first reads pixels in the format's order; the mean in front of
// a classifier is of the shape that the format has.
func sameKernels(t *testing.T, a, b []kernel) {
	t.Helper()
	if len(a) != len(b) {
		t.Errorf("%d kernels and %d", len(a), len(b))
	}
	lacks := func(of, in []kernel) (out []string) {
		left := slices.Clone(in)
		for _, k := range of {
			if i := slices.IndexFunc(left, func(o kernel) bool { return o.key == k.key }); i >= 0 {
				left = slices.Delete(left, i, i+1)
			} else {
				out = append(out, k.operators)
			}
		}
		return out
	}
	const ends = 2
	if p, q := lacks(a, b), lacks(b, a); len(p) > ends || len(q) > ends {
		t.Errorf("kernels that only one has:\n%s\nand\n%s", strings.Join(p, "\n"), strings.Join(q, "\n"))
	}
}

// imported is a model as a graph, with the shape for an input whose shape its file does not have.
func imported(t *testing.T, path string, shape []int) *graph.Graph {
	t.Helper()
	f, err := formats.Of(path)
	if err != nil || f == nil {
		t.Fatalf("%s: taken for %v (%v)", path, f, err)
	}
	m, err := f.Open(path, frontend.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	o := frontend.Options{}
	if !m.Graph.Inputs[0].Ranked {
		o.Shapes = map[string][]int{m.Graph.Inputs[0].Name: shape}
	}
	g, err := frontend.Import(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// written is the path of a file of a name.
func written(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// samples is an input in the range of pictures.
func samples(shape ...int) *tensor.Tensor {
	x := tensor.New(types.F32, shape...)
	for i := range x.Len() {
		x.SetFloat(i, float64(i*7919%1000)/1000)
	}
	return x
}

// toLast is an N,C,H,W tensor as N,H,W,C.
func toLast(x *tensor.Tensor) *tensor.Tensor {
	n, c, hw := x.Shape[0], x.Shape[1], x.Shape[2]*x.Shape[3]
	y := tensor.New(x.DType, n, x.Shape[2], x.Shape[3], c)
	for b := range n {
		for k := range c {
			for i := range hw {
				y.SetFloat((b*hw+i)*c+k, x.Float((b*c+k)*hw+i))
			}
		}
	}
	return y
}

// TestConformanceSampLeNet: a network that exists in several formats is the same in all of them.
func TestConformanceSampLeNet(t *testing.T) {
	shape := []int{1, 3, 32, 32}
	x := samples(shape...)
	first := imported(t, filepath.Join(realmodels.Folder(t, "onnx"), "samplenet", "samplenet.onnx"), shape)
	want, all := modeltest.Run(t, first, 3, []*tensor.Tensor{x})[0], kernels(t, first)
	for _, file := range []string{"mxnet/samplenet/samplenet-symbol.json", "tensorflow/samplenet/samplenet.pb"} {
		t.Run(file, func(t *testing.T) {
			path := filepath.Join(realmodels.Folder(t), file)
			g := imported(t, path, shape)
			in := x
			if s := g.Inputs[0].Type.Shape; s[len(s)-1] == shape[1] {
				in = toLast(x)
			}
			got := modeltest.Run(t, g, 3, []*tensor.Tensor{in})[0]
			if far, err := modeltest.Compare(got, want, same); err != nil {
				t.Errorf("%s: %v", far, err)
			}
			if top(got) != top(want) {
				t.Errorf("top 1 is %d instead of %d", top(got), top(want))
			}
			sameKernels(t, all, kernels(t, g))
		})
	}
}

func top(x *tensor.Tensor) int {
	best := 0
	for i := range x.Len() {
		if x.Float(i) > x.Float(best) {
			best = i
		}
	}
	return best
}

// TestResNet50: a network of channels-last layers, with padding apart, becomes the kernels of its like in ONNX.
func TestResNet50(t *testing.T) {
	const side, width, classes = 96, 32, 100
	onnxFile, kerasFile := resnettest.Files(side, width, classes)
	x := samples(1, 3, side, side)
	a, b := imported(t, written(t, "resnet50.onnx", onnxFile), nil), imported(t, written(t, "resnet50.h5", kerasFile), nil)
	want := modeltest.Run(t, a, 3, []*tensor.Tensor{x})[0]
	got := modeltest.Run(t, b, 3, []*tensor.Tensor{toLast(x)})[0]
	if far, err := modeltest.Compare(got, want, same); err != nil {
		t.Errorf("%s: %v", far, err)
	}
	sameKernels(t, kernels(t, a), kernels(t, b))
}
