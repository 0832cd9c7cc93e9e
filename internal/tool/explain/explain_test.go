package explain

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/testkit/golden"
)

// manifest has kernels that are limited by arithmetic, by what stays in a cache, and by streaming constants.
func manifest() *bundle.Manifest {
	return &bundle.Manifest{
		Target: bundle.Target{String: "llvm -mtriple=x86_64-linux-gnu -mcpu=znver5 -num-cores=2"},
		Source: bundle.Source{File: "net.onnx"}, FLOPs: 500e6,
		Steps: []bundle.Step{
			{
				Name: "fused_nn_conv2d_nn_relu", Ops: []string{"nn.conv2d", "nn.relu"}, Attrs: []string{"{strides=[1,1]}", ""}, Nodes: []string{"/conv", "/relu"},
				Choice: []string{"nn.conv2d: direct 800, F(4x4) 900"}, FLOPs: 231e6, Bytes: 1_700_000, Constants: 100_000, Rule: "tile", Why: "14 x 2 accumulators of 16 lanes", Multiply: "float32",
				Reads: []string{"float32[1,64,56,56]:ABCD16b", "const float32[64,64,3,3]:ABCD16b32a"}, Writes: []string{"float32[1,64,56,56]:ABCD16b"},
			},
			{Name: "fused_add", Ops: []string{"add"}, Nodes: []string{"/add"}, FLOPs: 1000, Bytes: 600_000, Rule: "pointwise", Workers: 1},
			{Name: "fused_nn_dense", Ops: []string{"nn.dense"}, FLOPs: 100e6, Bytes: 200e6, Constants: 200e6, Rule: "tile", Multiply: "float32"},
			{Name: "fused_qnn_dense", Ops: []string{"qnn.dense"}, FLOPs: 100e6, Bytes: 1000, Multiply: "uint8"},
		},
	}
}

func TestText(t *testing.T) {
	r, err := Explain(manifest(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "report", b.Bytes())
}

// TestLoop: a loop takes its iterations' time, and shows the steps of one behind it.
func TestLoop(t *testing.T) {
	m := manifest()
	body := m.Steps[:2]
	loop := bundle.Step{Name: "fused_loop", Ops: []string{"nn.conv2d", "nn.relu", "add"}, Nodes: []string{"/scan"}, Rule: "loop", Trips: 10, Body: body}
	for _, b := range body {
		loop.FLOPs += 10 * b.FLOPs
		loop.Bytes += 10 * b.Bytes
	}
	inside, err := Explain(&bundle.Manifest{Target: m.Target, Steps: body}, 2)
	if err != nil {
		t.Fatal(err)
	}
	m.Steps = []bundle.Step{loop}
	r, err := Explain(m, 2)
	if err != nil {
		t.Fatal(err)
	}
	if k := r.Kernels[0]; len(r.Kernels) != 1 || len(k.Inside) != 2 || math.Abs(k.Ms-10*inside.Sum.Ms) > 1e-9 {
		t.Errorf("%d kernels inside take %g ms, ten times %g", len(k.Inside), k.Ms, inside.Sum.Ms)
	}
	var b bytes.Buffer
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "loop", b.Bytes())
}

// TestElsewhere: of a region that the package has no steps for, nothing is expected.
func TestElsewhere(t *testing.T) {
	m := manifest()
	m.Steps = []bundle.Step{{Name: "fused_external", Nodes: []string{"/conv"}, Rule: "external", Trips: 1, Reads: []string{"float32[1,4]"}, Writes: []string{"float32[1,4]"}}}
	r, err := Explain(m, 2)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "elsewhere", b.Bytes())
}

func TestExpected(t *testing.T) {
	one, err := Explain(manifest(), 1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Explain(manifest(), 2)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		ms    float64
		limit string
		gain  float64 // of the second worker
	}{
		{231 / 262.4, "compute", 2},
		{0.6 / 131.2, "memory", 1},
		{200.0 / 30, "memory", 2},
		{100 / 1049.6, "compute", 2},
	} {
		k := one.Kernels[i]
		if gain := k.Ms / two.Kernels[i].Ms; k.Ms < 0.999*want.ms || k.Ms > 1.001*want.ms || k.Limit != want.limit || gain < 0.999*want.gain || gain > 1.001*want.gain {
			t.Errorf("%s: %.4f ms by %s, %.2f times as fast by two workers; want %+v", k.Name, k.Ms, k.Limit, gain, want)
		}
	}
	if r := one.Rules; len(r) != 3 || r[0].Rule != "tile" || r[0].Kernels != 2 || one.Sum.Kernels != 4 {
		t.Errorf("rules %+v", r)
	}
}

// A package for a machine that is left open cannot be explained without that machine.
func TestOpenTarget(t *testing.T) {
	m := manifest()
	m.Target.String = "llvm"
	if _, err := Explain(m, 0); err == nil || !strings.Contains(err.Error(), "leaves the machine open") {
		t.Errorf("error %v", err)
	}
}
