package lathe

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/tensor"
	"lathe/internal/tool/picture"
)

const (
	demoNetwork = "examples/demo/digits.onnx"
	demoSamples = "examples/demo/glyphs"
)

// demoPictures is how pictures become inputs of the demo network.
func demoPictures() picture.Settings {
	s, _ := picture.FindPreset("unit")
	s.Mean, s.Std, s.Normalize, s.Chosen = [3]float64{0.5, 0.5, 0.5}, [3]float64{0.5, 0.5, 0.5}, true, true
	return s
}

func quantizedDemo(t *testing.T, o QuantizeOptions) (*Model, *Model, *QuantizeReport) {
	t.Helper()
	m, err := Load(demoNetwork, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.Calibration, o.Pictures = demoSamples, demoPictures()
	q, r, err := Quantize(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	return m, q, r
}

// opened compiles a model for this machine.
func opened(t *testing.T, m *Model) interface {
	Run([]*tensor.Tensor) []*tensor.Tensor
} {
	t.Helper()
	o, err := CompileOptions{}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.graph()
	if err != nil {
		t.Fatal(err)
	}
	e, err := openGraph(t.Context(), g, o, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return &ran{t, e.(*executable)}
}

type ran struct {
	t *testing.T
	e *executable
}

// Run runs one sample; results are copies.
func (r *ran) Run(in []*tensor.Tensor) []*tensor.Tensor {
	r.t.Helper()
	for i, x := range in {
		if err := r.e.SetInput(i, x); err != nil {
			r.t.Fatal(err)
		}
	}
	out, err := r.e.Run()
	if err != nil {
		r.t.Fatal(err)
	}
	for i, x := range out {
		out[i] = tensor.Over(x.DType, x.Shape, bytes.Clone(x.Bytes()))
	}
	return out
}

// TestQuantize: the demo network as integers names what it names as floats, its outputs keep the ratio that the report says, its weights
// are little more than a quarter, and the ONNX file computes the same bits.
func TestQuantize(t *testing.T) {
	m, q, r := quantizedDemo(t, QuantizeOptions{})
	if r.SQNR < 30 {
		t.Errorf("%.1f dB at the outputs", r.SQNR)
	}
	size := func(m *Model) (n int) {
		g, err := m.graph()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range g.Constants() {
			n += len(c.Const.Bytes())
		}
		return n
	}
	if f, i := size(m), size(q); float64(i) > 0.30*float64(f) { // 13 bytes a channel are scales and biases, which count in so small a network
		t.Errorf("weights are %d bytes instead of %d", i, f)
	}
	file := filepath.Join(t.TempDir(), "q.onnx")
	if err := q.SaveONNX(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	back, err := Load(file, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	samples, err := m.samples(demoSamples, "", 0, QuantizeOptions{Pictures: demoPictures()})
	if err != nil {
		t.Fatal(err)
	}
	float, integer, again := opened(t, m), opened(t, q), opened(t, back)
	same := 0
	for i := range samples.Len() {
		in, err := samples.At(i)
		if err != nil {
			t.Fatal(err)
		}
		want, got, file := float.Run(in)[0], integer.Run(in)[0], again.Run(in)[0]
		if !bytes.Equal(got.Bytes(), file.Bytes()) {
			t.Fatalf("sample %d: the file computes other bits", i)
		}
		if greatest(want) == greatest(got) {
			same++
		}
	}
	if same != samples.Len() {
		t.Errorf("%d of %d samples have the same class", same, samples.Len())
	}
}

func greatest(t *tensor.Tensor) int {
	best := 0
	for i := range t.Len() {
		if t.Float(i) > t.Float(best) {
			best = i
		}
	}
	return best
}

// TestQuantizeWorkers: the network does not depend on the number of threads.
func TestQuantizeWorkers(t *testing.T) {
	var files [][]byte
	for _, workers := range []int{1, 3} {
		_, q, _ := quantizedDemo(t, QuantizeOptions{Workers: workers, Size: 24})
		file := filepath.Join(t.TempDir(), "q.onnx")
		if err := q.SaveONNX(t.Context(), file); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("with one thread and with three the files differ")
	}
}

// TestQuantizeMeasure: whatever a clock finds, a layer that stays float says why, and the network computes the same classes. On a processor without dot
// products of bytes it may find no network that is faster.
func TestQuantizeMeasure(t *testing.T) {
	m, err := Load(demoNetwork, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	q, r, err := Quantize(t.Context(), m, QuantizeOptions{Measure: true, CalibrateMode: "minmax", Size: 36, Calibration: demoSamples, Pictures: demoPictures()})
	if err != nil {
		if !strings.Contains(err.Error(), "no network with layers on integers is faster") {
			t.Fatal(err)
		}
		return
	}
	for _, l := range r.Layers {
		if (l.Bits == 32) != strings.Contains(l.Why, "us as integers") {
			t.Errorf("layer %s has %d bits: %q", l.Name, l.Bits, l.Why)
		}
	}
	samples, err := m.samples(demoSamples, "", 36, QuantizeOptions{Pictures: demoPictures()})
	if err != nil {
		t.Fatal(err)
	}
	float, integer := opened(t, m), opened(t, q)
	for i := range samples.Len() {
		in, err := samples.At(i)
		if err != nil {
			t.Fatal(err)
		}
		if greatest(float.Run(in)[0]) != greatest(integer.Run(in)[0]) {
			t.Errorf("sample %d has another class", i)
		}
	}
}

// TestQuantizeErrors: what cannot be done is an error that says so, and an ended context ends it.
func TestQuantizeErrors(t *testing.T) {
	m, err := Load(demoNetwork, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]QuantizeOptions{
		"no samples":                 {},
		"nowhere":                    {Calibration: "nowhere"},
		"uint8 and int8":             {Calibration: demoSamples, Activations: "int4"},
		"verify runs":                {Calibration: demoSamples, Target: "llvm -mtriple=aarch64-linux-gnu"},
		"calibrate mode \"entropy\"": {Calibration: demoSamples, CalibrateMode: "entropy"},
	} {
		if _, _, err := Quantize(t.Context(), m, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Quantize(ctx, m, QuantizeOptions{Calibration: demoSamples, Pictures: demoPictures()}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, q, _ := quantizedDemo(t, QuantizeOptions{CalibrateMode: "minmax", NoCorrection: true, Size: 4})
	if _, _, err := Quantize(t.Context(), q, QuantizeOptions{Calibration: demoSamples}); err == nil || !strings.Contains(err.Error(), "quantised already") {
		t.Error(err)
	}
}
