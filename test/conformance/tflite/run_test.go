package tflite

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/frontend"
	"lathe/internal/frontend/tflite"
	"lathe/internal/graph"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/tool/npz"
	"lathe/internal/toolchain"
	"lathe/internal/types"
	"lathe/internal/verify"
)

// folder is where the models are.
func folder(t *testing.T) string {
	t.Helper()
	root := os.Getenv("LATHE_MODELS")
	if root == "" {
		t.Skip("LATHE_MODELS is unset: no folder of models to compile")
	}
	dir := filepath.Join(root, "tflite")
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		t.Fatalf("%s is not a folder", dir)
	}
	return dir
}

// imported reads a model for inputs of the given shapes.
func imported(t *testing.T, file string, shapes map[string][]int) *graph.Graph {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := tflite.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{Shapes: shapes})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// run compiles a graph and runs it.
func run(t *testing.T, g *graph.Graph, level int, in []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	spec, err := target.Parse("llvm")
	if err != nil {
		t.Fatal(err)
	}
	this, err := spec.Resolve(toolchain.Host)
	if err != nil {
		t.Fatal(err)
	}
	res, err := compile.Compile(t.Context(), g.Clone(), compile.Options{Target: this, Level: level, Workers: 2})
	if err != nil {
		t.Fatalf("-O%d: %v", level, err)
	}
	out, err := verify.Execute(res, in, 1)
	if err != nil {
		t.Fatalf("-O%d: %v", level, err)
	}
	return out
}

// arrays reads an archive.
func arrays(t *testing.T, file string) map[string]*tensor.Tensor {
	t.Helper()
	list, err := npz.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*tensor.Tensor{}
	for _, a := range list {
		d, err := types.ParseDType(a.DType)
		if err != nil {
			t.Fatal(err)
		}
		if all[strings.ReplaceAll(a.Name, "|", "/")], err = tensor.Wrap(d, a.Shape, a.Data); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// compare returns how far integers are off, and the relative L2 distance of floats.
func compare(got, want *tensor.Tensor) (steps int, relative float64, err error) {
	if got.Len() != want.Len() || got.DType != want.DType {
		return 0, 0, fmt.Errorf("%s instead of %s", got.Type(), want.Type())
	}
	var off, norm float64
	for i := range got.Len() {
		if want.DType.IsFloat() {
			d := got.Float(i) - want.Float(i)
			off, norm = off+d*d, norm+want.Float(i)*want.Float(i)
			continue
		}
		steps = max(steps, int(max(got.Int(i)-want.Int(i), want.Int(i)-got.Int(i))))
	}
	if norm == 0 {
		norm = 1
	}
	if relative = math.Sqrt(off / norm); math.IsNaN(relative) {
		return 0, 0, fmt.Errorf("not a number")
	}
	return steps, relative, nil
}
