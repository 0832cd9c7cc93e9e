package main

import (
	"context"
	"path/filepath"
	"testing"

	"lathe"
	"lathe/bench/model"
)

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
			if _, err := theirs.block(1); err != nil {
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
