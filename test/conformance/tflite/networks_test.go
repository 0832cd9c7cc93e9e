package tflite

import (
	"path/filepath"
	"testing"

	"lathe/internal/tensor"
)

// TestConformanceNetworks compiles, runs and compares every network. Each figure is in the log.
func TestConformanceNetworks(t *testing.T) {
	root := folder(t)
	for _, n := range networks {
		t.Run(n.model, func(t *testing.T) {
			for _, set := range n.data {
				given, wanted := arrays(t, filepath.Join(root, "expected", set+".npz"))
				g := imported(t, filepath.Join(root, n.model), given)
				var in []*tensor.Tensor
				for i, v := range g.Inputs {
					in = append(in, given.find(v.Name, i))
				}
				for _, level := range levels {
					out := run(t, g, level, in)
					for i, v := range g.Outputs {
						want := wanted.find(v.Name, i)
						if want == nil {
							t.Fatalf("no expected output %q in %s", v.Name, set)
						}
						steps, relative, err := compare(out[i], want)
						t.Logf("%s -O%d %s: %d steps, %.2g", set, level, v.Name, steps, relative)
						if err != nil || steps > n.steps || relative > n.relative {
							t.Errorf("%s -O%d %s: %d steps off, %d are allowed; relative distance %.2g, %.2g is allowed; %v", set, level, v.Name, steps, n.steps, relative, n.relative, err)
						}
					}
				}
			}
		})
	}
}
