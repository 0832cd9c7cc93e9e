package formats

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/frontend/tensorflow"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/tool/npz"
	"lathe/internal/types"
)

// layerGraphs is the number of graphs of a few nodes beside the models.
const layerGraphs = 73

// TestConformanceTensorFlowLayers compiles and runs graphs of a few nodes, and compares those that have inputs and outputs beside them.
func TestConformanceTensorFlowLayers(t *testing.T) {
	dir, _ := cases(t, "pb")
	files, err := filepath.Glob(filepath.Join(dir, "ops", "*_net.pb"))
	if err != nil || len(files) != layerGraphs {
		t.Fatalf("%d files instead of %d (%v)", len(files), layerGraphs, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), "_net.pb")
		t.Run(name, func(t *testing.T) { layerGraph(t, strings.TrimSuffix(file, "_net.pb")) })
	}
}

func layerGraph(t *testing.T, stem string) {
	m, err := tensorflow.Format.Read(stem + "_net.pb")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	given, want := layerArray(t, stem+"_in.npy"), layerArray(t, stem+"_out.npy")
	o := frontend.Options{}
	if given != nil && len(m.Graph.Inputs) == 1 {
		o.Shapes = map[string][]int{m.Graph.Inputs[0].Name: given.Shape}
	}
	g, err := frontend.Import(m, o)
	if err != nil {
		t.Fatal(err)
	}
	in := []*tensor.Tensor{given}
	if given == nil || len(g.Inputs) != 1 {
		in = zeros(g)
	} else if in[0], _ = given.Convert(g.Inputs[0].Type.DType); g.Inputs[0].Type.Rank() != len(given.Shape) {
		t.Fatalf("input %s of %v", g.Inputs[0].Type, given.Shape)
	}
	for _, level := range []int{0, 3} {
		out := run(t, g, level, in)
		if want == nil || given == nil {
			continue
		}
		got, _ := out[0].Convert(types.F32)
		far, err := distance(got, want)
		if err != nil && len(got.Shape) == 4 && len(want.Shape) == 2 { // the rest of a picture without its sides
			far, err = distance(got.Reshape(want.Shape...), want)
		}
		bound := relative
		if strings.HasPrefix(filepath.Base(stem), "fp16") { // computed in other steps of 11 bits
			bound = 2e-3
		}
		if t.Logf("-O%d: %.2g", level, far); err != nil || !(far <= bound) {
			t.Errorf("-O%d: relative distance %.3g (%v)", level, far, err)
		}
	}
}

// layerArray is an array, with the channels of a picture last, which has them first in the file; nil where there is no file.
func layerArray(t *testing.T, file string) *tensor.Tensor {
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer // an .npy is a member of an .npz
	w := zip.NewWriter(&archive)
	member, err := w.Create("x.npy")
	if err == nil {
		_, err = member.Write(data)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	list, err := npz.Read(archive.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	a := list[0]
	d, err := types.ParseDType(a.DType)
	if err != nil {
		t.Fatal(err)
	}
	x, err := tensor.Wrap(d, a.Shape, a.Data)
	if err != nil {
		t.Fatal(err)
	}
	s := a.Shape
	if len(s) < 4 || strings.Contains(file, "_nchw_") { // of graphs that have channels first too
		return x
	}
	pixels := types.Count(s[2:])
	y := tensor.New(d, append(append([]int{s[0]}, s[2:]...), s[1])...)
	for n := range s[0] {
		for c := range s[1] {
			for p := range pixels {
				y.SetFloat((n*pixels+p)*s[1]+c, x.Float((n*s[1]+c)*pixels+p))
			}
		}
	}
	return y
}

// zeros are inputs of a graph.
func zeros(g *graph.Graph) []*tensor.Tensor {
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		in = append(in, tensor.New(v.Type.DType, slices.Clone(v.Type.Shape)...))
	}
	return in
}
