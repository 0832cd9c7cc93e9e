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

// imported reads a model for the inputs that are given.
func imported(t *testing.T, file string, given set) *graph.Graph {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := tflite.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string][]int{}
	for i, v := range m.Graph.Inputs {
		if x := given.find(v.Name, i); x != nil {
			shapes[v.Name] = x.Shape
		}
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

// A set is the arrays for the inputs, or the outputs, of a model.
type set []named

type named struct {
	name string
	*tensor.Tensor
}

// find is the array of a name, or the only one there is: some sets have the names of signatures.
func (s set) find(name string, i int) *tensor.Tensor {
	for _, a := range s {
		if a.name == name {
			return a.Tensor
		}
	}
	if len(s) == 1 && i == 0 {
		return s[0].Tensor
	}
	return nil
}

// arrays reads an archive of arrays named in:NAME and out:NAME.
func arrays(t *testing.T, file string) (in, out set) {
	t.Helper()
	list, err := npz.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		d, err := types.ParseDType(a.DType)
		if err != nil {
			t.Fatal(err)
		}
		x, err := tensor.Wrap(d, a.Shape, a.Data)
		if err != nil {
			t.Fatal(err)
		}
		role, name, _ := strings.Cut(strings.ReplaceAll(a.Name, "|", "/"), ":")
		if role == "in" {
			in = append(in, named{name, x})
		} else {
			out = append(out, named{name, x})
		}
	}
	return in, out
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
