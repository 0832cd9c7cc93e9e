package onnx

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	frontend "lathe/internal/frontend/onnx"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/realmodels"
)

// shapesOf gives models the shapes without which they cannot be imported.
var shapesOf = map[string]map[string][]int{
	"silero_vad_v5_16k_op15.onnx": {"input": {1, 576}, "state": {2, 1, 128}},
}

// TestConformanceRoundTrip imports every model, writes it and imports it again: that gives the same graph, with the same
// names of values. Models that are not imported do not count.
func TestConformanceRoundTrip(t *testing.T) {
	root := realmodels.Folder(t)
	imported := 0
	for _, folder := range []string{"onnx", "onnx_backend"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".onnx" {
				return err
			}
			name := strings.TrimPrefix(path, root+"/")
			m, err := frontend.ReadFile(path)
			if err != nil {
				return nil
			}
			defer m.Close()
			g, err := frontend.Import(m, frontend.Options{Shapes: shapesOf[filepath.Base(path)]})
			if err != nil {
				return nil
			}
			imported++
			t.Run(name, func(t *testing.T) { roundTrip(t, g) })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("%d models", imported); imported < 1000 {
		t.Errorf("only %d models were imported", imported)
	}
}

// spelled are operators that importers use and ONNX says with several. A graph with one comes back as another, which
// computes the same.
var spelled = []*op.Def{ops.NotEqual, ops.Repeat, ops.Rsqrt}

func roundTrip(t *testing.T, g *graph.Graph) {
	var b bytes.Buffer
	if err := Write(&b, g, Options{}); err != nil {
		t.Fatal(err)
	}
	back := decode(t, b.Bytes())
	sameNames(t, g, back, "")
	if slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return slices.Contains(spelled, n.Op) }) {
		sameValues(t, g, back)
		return
	}
	if graph.Hash(back, graph.ByValue) != graph.Hash(g, graph.ByValue) {
		t.Errorf("%s\nbecame\n%s", g, back)
		return
	}
	// Equal graphs may list independent nodes in another order, but name the same values.
	names := map[string]string{}
	for _, n := range back.Nodes {
		for _, v := range n.Out {
			names[v.Name] = v.Type.String()
		}
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			if v.Name != "" && names[v.Name] != v.Type.String() {
				t.Errorf("%s: %s became %s", v.Name, v.Type, names[v.Name])
			}
		}
	}
}

// sameValues compares what two graphs compute.
func sameValues(t *testing.T, g, back *graph.Graph) {
	r := rand.New(rand.NewPCG(1, 7))
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		in = append(in, random(r, v.Type))
	}
	want, err := grapheval.Eval(g, in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := grapheval.Eval(back, in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if err := differ(got[i], want[i]); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
}
