package models

import (
	"path/filepath"
	"testing"

	"lathe"
	"lathe/internal/testkit/realmodels"
	"lathe/internal/tool/picture"
)

// TestConformanceQuantize: real networks as integers keep the classes of real pictures, and their outputs the ratio of signal to noise
// that quantisation with corrections reaches; the ONNX file compiles to the same package.
func TestConformanceQuantize(t *testing.T) {
	root := realmodels.Folder(t)
	pictures := realmodels.Folder(t, "images", "cifar10")
	for _, c := range []struct {
		model, preset string
		shapes        map[string][]int
		size          int
		sqnr, same    float64 // least
	}{
		{"tflite/mlperf_tiny/ic_resnet8_fp32.tflite", "raw", map[string][]int{"input_1": {1, 32, 32, 3}}, 100, 29, 97},
		{"onnx/squeezenet1.1/squeezenet1.1-rebuilt.onnx", "imagenet", nil, 40, 35, 90},
	} {
		t.Run(filepath.Base(c.model), func(t *testing.T) {
			m, err := lathe.Load(filepath.Join(root, filepath.FromSlash(c.model)), lathe.LoadOptions{Shapes: c.shapes})
			if err != nil {
				t.Fatal(err)
			}
			settings, ok := picture.FindPreset(c.preset)
			if !ok {
				t.Fatal(c.preset)
			}
			settings.Chosen = true
			q, r, err := lathe.Quantize(t.Context(), m, lathe.QuantizeOptions{Calibration: pictures, Size: c.size, Evaluation: pictures, Pictures: settings})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%.1f dB, %.0f %% keep their class", r.SQNR, r.Judged.Agreement())
			if r.SQNR < c.sqnr || r.Judged.Agreement() < c.same {
				t.Errorf("%.1f dB and %.1f %% instead of %g and %g", r.SQNR, r.Judged.Agreement(), c.sqnr, c.same)
			}
			if r.Quantised() != len(r.Layers) {
				t.Errorf("%d of %d layers are on integers", r.Quantised(), len(r.Layers))
			}
			if float64(r.Bytes) > 0.27*float64(r.FloatBytes) {
				t.Errorf("constants take %d bytes instead of %d", r.Bytes, r.FloatBytes)
			}
			file := filepath.Join(t.TempDir(), "q.onnx")
			if err := q.SaveONNX(t.Context(), file); err != nil {
				t.Fatal(err)
			}
			back, err := lathe.Load(file, lathe.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var kernels [2]int
			for i, m := range []*lathe.Model{q, back} {
				p, err := lathe.Compile(t.Context(), m, lathe.CompileOptions{})
				if err != nil {
					t.Fatal(err)
				}
				kernels[i] = p.Info().Kernels()
			}
			if kernels[0] != kernels[1] {
				t.Errorf("the file has %d kernels, the network %d", kernels[1], kernels[0])
			}
		})
	}
}
