package formats

import (
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/frontend/formats"
	"lathe/internal/tensor"
	"lathe/internal/testkit/modeltest"
)

// torchModels is the number of files of PyTorch.
const torchModels = 8

// roundsData are networks whose data are rounded to 8 bits: what lies between two integers can become either, so that they agree to less, and in
// the greatest output.
var roundsData = map[string]bool{"mobilenet_quantized_ios.pt": true, "silero_model_micro.jit": true}

// TestConformanceTorch compiles, runs and compares every program; weights alone are refused, with what to do.
func TestConformanceTorch(t *testing.T) {
	dir, list := cases(t, "torch")
	if len(list) != torchModels {
		t.Errorf("%d models instead of %d", len(list), torchModels)
	}
	for _, c := range list {
		t.Run(c.Model, func(t *testing.T) {
			path := filepath.Join(dir, c.Model)
			f, err := formats.Of(path)
			if err != nil || f == nil || f.Name != "pytorch" {
				t.Fatalf("taken for %v (%v)", f, err)
			}
			if len(c.Expected) == 0 {
				if _, err := f.Read(path); err == nil || !strings.Contains(err.Error(), "a state dictionary") || !strings.Contains(err.Error(), "torch.export.save") {
					t.Errorf("error %v", err)
				}
			}
			for _, e := range c.Expected {
				in, out := modeltest.Read(t, filepath.Join(dir, e))
				compareProgram(t, f, path, in, out)
			}
		})
	}
}

func compareProgram(t *testing.T, f *frontend.Format, path string, given, want modeltest.Arrays) {
	m, err := f.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	o := frontend.Options{Shapes: map[string][]int{}, Values: map[string]*tensor.Tensor{}}
	for _, in := range m.Graph.Inputs {
		x := given.Of(t, []string{in.Name})[0]
		if in.Ranked && len(in.Dims) == 0 { // a number, on which control flow depends
			o.Values[in.Name] = x
		} else {
			o.Shapes[in.Name] = x.Shape
		}
	}
	g, err := frontend.Import(m, o)
	if err != nil {
		t.Fatal(err)
	}
	most := tolerance
	rounds := roundsData[filepath.Base(path)]
	if rounds {
		most.Relative = 5e-2
	}
	expected := want.Of(t, modeltest.Names(g.Outputs))
	for _, level := range []int{0, 3} {
		for i, got := range modeltest.Run(t, g, level, given.Of(t, modeltest.Names(g.Inputs))) {
			far, err := modeltest.Compare(got, expected[i], most)
			if t.Logf("-O%d: %s", level, far); err != nil {
				t.Errorf("-O%d output %d: %v", level, i, err)
			}
			if rounds && greatest(got) != greatest(expected[i]) {
				t.Errorf("-O%d: the greatest output is %d instead of %d", level, greatest(got), greatest(expected[i]))
			}
		}
	}
}

// greatest is the place of the greatest element.
func greatest(x *tensor.Tensor) (at int) {
	for i := range x.Len() {
		if x.Float(i) > x.Float(at) {
			at = i
		}
	}
	return at
}
