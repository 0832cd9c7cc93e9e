package compile

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/targettest"
)

// TestSave: what Save writes is what Compile and Write do, in every format and place of weights.
func TestSave(t *testing.T) {
	for name, tc := range map[string]struct {
		target string
		o      Options
		file   string
	}{
		"tar":      {"llvm -mtriple=x86_64-linux-gnu", Options{}, "x.tar"},
		"so":       {"llvm -mtriple=aarch64-linux-gnu", Options{}, "x.so"},
		"embedded": {"llvm -mtriple=x86_64-linux-gnu", Options{Weights: WeightsInside}, "x.so"},
		"static":   {"llvm -mtriple=x86_64-linux-gnu", Options{Format: "tar", Weights: WeightsBeside}, "x.tar"},
		"wasm":     {"wasm32", Options{}, "x.wasm"},
		"c":        {"c", Options{}, "x.c"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Target, tc.o.Level, tc.o.Workers = targettest.Resolve(t, tc.target), 3, 2
			whole, saved := t.TempDir(), t.TempDir()
			r, err := Compile(t.Context(), digits(t), tc.o)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Write(t.Context(), filepath.Join(whole, tc.file)); err != nil {
				t.Fatal(err)
			}
			if r, err = Save(t.Context(), digits(t), tc.o, filepath.Join(saved, tc.file)); err != nil {
				t.Fatal(err)
			}
			names := golden.Names(t, whole)
			if got := golden.Names(t, saved); got != names || names == "" {
				t.Fatalf("files %s, want %s", got, names)
			}
			files, err := os.ReadDir(whole)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				a, err := os.ReadFile(filepath.Join(whole, f.Name()))
				b, errB := os.ReadFile(filepath.Join(saved, f.Name()))
				if err != nil || errB != nil || !bytes.Equal(a, b) {
					t.Errorf("%s differs: %v, %v", f.Name(), err, errB)
				}
			}
			if err := r.Write(t.Context(), filepath.Join(whole, tc.file)); err != nil {
				t.Errorf("what is saved is not written again: %v", err)
			}
		})
	}
}

// TestSaveInterrupted: a compilation that ends while constants are being written leaves nothing behind.
func TestSaveInterrupted(t *testing.T) {
	for _, file := range []string{"x.tar", "x.so"} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		o := Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 2, at: func(phase string) {
			if phase == "code of a kernel" {
				cancel()
			}
		}}
		if _, err := Save(ctx, digits(t), o, filepath.Join(dir, file)); err == nil {
			t.Error("no error")
		}
		if got := golden.Names(t, dir); got != "" {
			t.Errorf("files: %s", got)
		}
	}
}
