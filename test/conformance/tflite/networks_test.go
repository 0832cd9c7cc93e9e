package tflite

import (
	"os"
	"path/filepath"
	"testing"

	"lathe/internal/frontend/tflite"
	"lathe/internal/graph"
	"lathe/internal/testkit/modeltest"
	"lathe/internal/testkit/realmodels"
)

// TestConformanceNetworks compiles, runs and compares every network. Each figure is in the log.
func TestConformanceNetworks(t *testing.T) {
	root := realmodels.Folder(t, "tflite")
	for _, n := range networks {
		t.Run(n.model, func(t *testing.T) {
			for _, set := range n.data {
				given, wanted := modeltest.Read(t, filepath.Join(root, "expected", set+".npz"))
				g := imported(t, filepath.Join(root, n.model), given)
				names := modeltest.Names(g.Outputs)
				in, want := given.Of(t, modeltest.Names(g.Inputs)), wanted.Of(t, names)
				for _, level := range levels {
					for i, got := range modeltest.Run(t, g, level, in) {
						far, err := modeltest.Compare(got, want[i], n.tolerance)
						t.Logf("%s -O%d %s: %s", set, level, names[i], far)
						if err != nil {
							t.Errorf("%s -O%d %s: %v", set, level, names[i], err)
						}
					}
				}
			}
		})
	}
}

// imported reads a model for the inputs that are given.
func imported(t *testing.T, file string, given modeltest.Arrays) *graph.Graph {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := tflite.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return modeltest.Import(t, m, given)
}
