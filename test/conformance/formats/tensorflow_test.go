package formats

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/frontend/tensorflow"
	"lathe/internal/tensor"
	"lathe/internal/testkit/modeltest"
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
	m, err := tensorflow.Format.Open(stem+"_net.pb", frontend.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	given, want := layerArray(t, stem+"_in.npy"), layerArray(t, stem+"_out.npy")
	if given == nil || want == nil || len(m.Graph.Inputs) != 1 {
		runs(t, m, 3)
		return
	}
	name := m.Graph.Inputs[0].Name
	g := modeltest.Import(t, m, modeltest.Arrays{{Name: name, Tensor: given}})
	given, _ = given.Convert(g.Inputs[0].Type.DType)
	most := tolerance
	if strings.HasPrefix(filepath.Base(stem), "fp16") { // computed in other steps of 11 bits
		most.Relative = 2e-3
	}
	for _, level := range []int{0, 3} {
		got := modeltest.Run(t, g, level, []*tensor.Tensor{given})[0]
		got, _ = got.Convert(types.F32)
		if len(got.Shape) == 4 && len(want.Shape) == 2 { // a picture of one pixel
			got = got.Reshape(want.Shape...)
		}
		far, err := modeltest.Compare(got, want, most)
		if t.Logf("-O%d: %s", level, far); err != nil {
			t.Errorf("-O%d: %v", level, err)
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
