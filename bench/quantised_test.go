package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"lathe"
	"lathe/bench/model"
	"lathe/internal/dataset"
	"lathe/internal/tool/picture"
	"lathe/runtime"
)

// TestPeerRunsCalibratedConformance quantises networks with real samples, writes them as ONNX files, and gives these and the samples to ONNX Runtime: every
// output has the same greatest number and is within 5e-2 of what Lathe computes. Networks of others are compared where LATHE_MODELS names them.
func TestPeerRunsCalibratedConformance(t *testing.T) {
	peerLibrary(t)
	models := os.Getenv("LATHE_MODELS")
	for _, c := range []struct {
		model, samples, preset string
		load                   lathe.LoadOptions
		raw                    dataset.Raw
		compared               int // samples
	}{
		{"../examples/demo/digits.onnx", "../examples/demo/glyphs", "signed", lathe.LoadOptions{}, dataset.Raw{}, 108},
		{"tflite/mlperf_tiny/ic_resnet8_fp32.tflite", "images/cifar10", "raw", lathe.LoadOptions{Shapes: map[string][]int{"input_1": {1, 32, 32, 3}}}, dataset.Raw{}, 100},
		{"tflite/mlperf_tiny/kws_ref_fp32.tflite", "datasets/kws01", "unit", lathe.LoadOptions{FormatOptions: map[string]string{"hybrid": "float"}, Shapes: map[string][]int{"input_1": {1, 49, 10, 1}}}, dataset.Raw{Scale: 0.584702909, Zero: 83}, 200},
		{"onnx/squeezenet1.1/squeezenet1.1-rebuilt.onnx", "images/cifar10", "imagenet", lathe.LoadOptions{}, dataset.Raw{}, 10},
	} {
		t.Run(filepath.Base(c.model), func(t *testing.T) {
			if c.model[0] != '.' {
				if models == "" {
					t.Skip("LATHE_MODELS is unset: it names the folder of models")
				}
				c.model, c.samples = filepath.Join(models, c.model), filepath.Join(models, c.samples)
			}
			settings, ok := picture.FindPreset(c.preset)
			if !ok {
				t.Fatal(c.preset)
			}
			settings.Chosen = true
			m, err := lathe.Load(c.model, c.load)
			if err != nil {
				t.Fatal(err)
			}
			q, _, err := lathe.Quantize(t.Context(), m, lathe.QuantizeOptions{Calibration: c.samples, Size: 16, CalibrateMode: "minmax", Pictures: settings, Raw: c.raw})
			if err != nil {
				t.Fatal(err)
			}
			written := filepath.Join(t.TempDir(), "q.onnx")
			if err := q.SaveONNX(t.Context(), written); err != nil {
				t.Fatal(err)
			}
			p, err := lathe.Compile(t.Context(), q, lathe.CompileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			pack := filepath.Join(t.TempDir(), "q.tar")
			if err := p.Save(pack); err != nil {
				t.Fatal(err)
			}
			module, err := runtime.Open(pack)
			if err != nil {
				t.Fatal(err)
			}
			own := ours{module}
			defer own.close()
			set, err := dataset.Open(c.samples, dataset.Options{})
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i := range c.compared {
				in := runtime.Tensor{DType: module.Inputs()[0].DType, Shape: module.Inputs()[0].Shape}
				v, err := set.Read(i * len(set.Samples) / c.compared)
				if err == nil {
					in.Data, err = v.Fill(dataset.Input{Name: module.Inputs()[0].Name, DType: in.DType, Shape: in.Shape, Raw: c.raw}, settings)
				}
				if err == nil {
					err = module.SetInputIndex(0, in)
				}
				if err == nil {
					err = module.Run()
				}
				if err != nil {
					t.Fatal(err)
				}
				theirs, err := onnxRuntime{}.open(written, 1, []runtime.Tensor{in}, module)
				if err != nil {
					t.Fatal(err)
				}
				_, err = theirs.block(1, 0)
				if err != nil {
					t.Fatal(err)
				}
				want, err := theirs.outputs()
				if err != nil {
					t.Fatal(err)
				}
				if err := theirs.close(); err != nil {
					t.Fatal(err)
				}
				got, err := own.outputs()
				if err != nil {
					t.Fatal(err)
				}
				d := distance(got[0], want[0])
				worst = max(worst, d)
				if !(d <= 5e-2) || top(got[0]) != top(want[0]) {
					t.Errorf("sample %s: outputs are %.2g apart, and the greatest is %d for Lathe and %d for ONNX Runtime", set.Samples[i*len(set.Samples)/c.compared].Name, d, top(got[0]), top(want[0]))
				}
			}
			t.Logf("outputs of %d samples are at most %.2g apart", c.compared, worst)
		})
	}
}

// TestPeerRunsQuantised quantises a small network in all modes that need no samples, writes it in all forms, and gives the files to ONNX
// Runtime: it computes what Lathe does of the same file.
func TestPeerRunsQuantised(t *testing.T) {
	peerLibrary(t)
	dir := t.TempDir()
	b := model.New("quantised")
	h := b.Do("Relu", b.Linear(b.Input(7, 200), 200, 96))
	b.Output(b.Do("Relu", b.Linear(h, 96, 64)))
	file, err := b.Save(dir, "float", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	// ONNX Runtime makes MatMulNBits of DequantizeLinear and MatMul, with data of 8 bits unless session.qdq_matmulnbits_accuracy_level says otherwise.
	const fused = 1e-2
	for _, c := range []struct {
		name      string
		o         lathe.QuantizeOptions
		tolerance float64
	}{
		{"int4_qdq", lathe.QuantizeOptions{Mode: "weight-only", Bits: 4, Int4Form: "qdq"}, fused},
		{"int4_zeros_qdq", lathe.QuantizeOptions{Mode: "weight-only", Bits: 4, ZeroPoints: true, Int4Form: "qdq"}, fused},
		{"int8_qdq", lathe.QuantizeOptions{Mode: "weight-only", Bits: 8, Block: 64, Int4Form: "qdq"}, fused},
		{"int4_nbits", lathe.QuantizeOptions{Mode: "weight-only", Bits: 4, Int4Form: "matmulnbits"}, 1e-5},
		{"int4_zeros_nbits", lathe.QuantizeOptions{Mode: "weight-only", Bits: 4, ZeroPoints: true, Block: 16, Int4Form: "matmulnbits"}, 1e-5},
		{"int8_nbits", lathe.QuantizeOptions{Mode: "weight-only", Bits: 8, Int4Form: "matmulnbits"}, 1e-5},
		{"dynamic", lathe.QuantizeOptions{Mode: "dynamic"}, 1e-2}, // ties may round otherwise
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := lathe.Load(file, lathe.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c.o.Least = 1000
			q, _, err := lathe.Quantize(ctx, m, c.o)
			if err != nil {
				t.Fatal(err)
			}
			path, pack := filepath.Join(dir, "float.onnx"), filepath.Join(dir, c.name+".tar")
			written := filepath.Join(dir, c.name+".onnx")
			if err := q.SaveONNX(ctx, written); err != nil {
				t.Fatal(err)
			}
			back, err := lathe.Load(written, lathe.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := lathe.Compile(ctx, back, lathe.CompileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Save(pack); err != nil {
				t.Fatal(err)
			}
			own, inputs, err := openOurs(pack, path, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer own.close()
			theirs, err := onnxRuntime{}.open(written, 1, inputs, own.Module)
			if err != nil {
				t.Fatal(err)
			}
			defer theirs.close()
			if _, err := theirs.block(1, 0); err != nil {
				t.Fatal(err)
			}
			got, err := own.outputs()
			if err != nil {
				t.Fatal(err)
			}
			want, err := theirs.outputs()
			if err != nil {
				t.Fatal(err)
			}
			if d := distance(got[0], want[0]); !(d <= c.tolerance) {
				t.Errorf("outputs are %.2g apart", d)
			}
		})
	}
}
