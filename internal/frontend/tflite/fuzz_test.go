package tflite

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"lathe/internal/frontend"
	"lathe/internal/testkit/tflitetest"
)

// seeds are small files with all that the reader reads.
func seeds() [][]byte {
	x := tflitetest.Tensor{Name: "x", Shape: []int32{1, 4}}
	y := tflitetest.Tensor{Name: "y", Shape: []int32{1, 4}}
	q := tflitetest.Tensor{Name: "q", Type: 9, Shape: []int32{1, 2, 2, 1}, Scale: []float32{0.5}, Zero: []int64{3}}
	w := tflitetest.Tensor{Name: "w", Type: 9, Shape: []int32{1, 1, 1, 1}, Data: []byte{2}, Scale: []float32{0.25}, Zero: []int64{0}}
	r := tflitetest.Tensor{Name: "r", Type: 9, Shape: []int32{1, 2, 2, 1}, Scale: []float32{1}, Zero: []int64{-1}}
	none := tflitetest.Tensor{Name: "shape", Type: 2, Shape: []int32{2}, Data: []byte{2, 0, 0, 0, 2, 0, 0, 0}}
	code := func(name string) int32 { return int32(codeOf(name)) }
	body := tflitetest.Graph{Tensors: []tflitetest.Tensor{x, y}, Inputs: []int32{0}, Outputs: []int32{1}, Operators: []tflitetest.Operator{{Code: code("ABS"), In: []int32{0}, Out: []int32{1}}}}
	condition := tflitetest.Tensor{Name: "c", Type: 6, Shape: []int32{}}
	return [][]byte{
		tflitetest.Model(body),
		tflitetest.Model(tflitetest.Graph{Tensors: []tflitetest.Tensor{x, none, y}, Inputs: []int32{0}, Outputs: []int32{2},
			Operators: []tflitetest.Operator{{Code: code("RESHAPE"), In: []int32{0, 1}, Out: []int32{2}, Options: tflitetest.Table{0: []int32{2, 2}}}}}),
		tflitetest.Model(tflitetest.Graph{Tensors: []tflitetest.Tensor{q, w, r}, Inputs: []int32{0}, Outputs: []int32{2},
			Operators: []tflitetest.Operator{{Code: code("CONV_2D"), In: []int32{0, 1, -1}, Out: []int32{2}, Options: tflitetest.Table{0: int8(1), 1: int32(1), 2: int32(1)}}}}),
		describedFile(metadataOf("labels.txt", axisLabels)),
		tflitetest.Model(tflitetest.Graph{Tensors: []tflitetest.Tensor{condition, x, y}, Inputs: []int32{0, 1}, Outputs: []int32{2},
			Operators: []tflitetest.Operator{{Code: code("IF"), In: []int32{0, 1}, Out: []int32{2}, Options: tflitetest.Table{0: int32(1), 1: int32(1)}}}}, body),
		tflitetest.Model(tflitetest.Graph{Tensors: []tflitetest.Tensor{x, y}, Inputs: []int32{0}, Outputs: []int32{1},
			Operators: []tflitetest.Operator{{Custom: "TFLite_Detection_PostProcess", In: []int32{0, 0, 0}, Out: []int32{1}, CustomOptions: []byte{1, 0, 36, 1}}}}),
	}
}

// codeOf is the number of a builtin operator.
func codeOf(name string) int {
	for i, n := range builtins {
		if n == name {
			return i
		}
	}
	panic(name)
}

// FuzzRead: damaged files end in an error, without panic, and take memory in proportion to their size.
func FuzzRead(f *testing.F) {
	for _, b := range seeds() {
		f.Add(b)
	}
	if root := os.Getenv("LATHE_MODELS"); root != "" {
		files, _ := filepath.Glob(filepath.Join(root, "tflite/ops/glow/*.tflite"))
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil && len(b) < 1<<14 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := Read(data)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(64*len(data)+1<<18) {
			t.Errorf("%d bytes take %d", len(data), used)
		}
		if err != nil {
			return
		}
		elements := 0
		for _, in := range m.Graph.Inputs {
			n := 1
			for _, d := range in.Dims {
				if n *= int(max(d.Value, 1)); n > 1<<16 || n < 0 {
					return
				}
			}
			if elements += n; elements > 1<<16 {
				return
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		frontend.Import(m, frontend.Options{Context: ctx}) //nolint:errcheck // any error is right, a panic is none
	})
}

// TestDamaged: what is wrong is said.
func TestDamaged(t *testing.T) {
	whole := seeds()[0]
	for n := range whole {
		if _, err := Read(whole[:n]); err == nil {
			t.Errorf("%d bytes of %d: no error", n, len(whole))
		}
	}
}

// TestLying puts offsets and counts that cannot be into every place of a file: what lies far outside, 4 GB, nothing, and a table that is its own list of
// fields. Reading ends, in memory that the file's size bounds.
func TestLying(t *testing.T) {
	for _, file := range seeds() {
		for at := 0; at+4 <= len(file); at += 2 {
			for _, lie := range [][]byte{{0xff, 0xff, 0xff, 0xff}, {0, 0, 0, 0x80}, {0, 0, 0, 0}, {4, 0, 0, 0}} {
				b := append([]byte{}, file...)
				copy(b[at:], lie)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				Read(b) //nolint:errcheck // some lies do no harm
				runtime.ReadMemStats(&after)
				if used := after.TotalAlloc - before.TotalAlloc; used > uint64(64*len(b)+1<<18) {
					t.Fatalf("% x at %d: %d bytes take %d", lie, at, len(b), used)
				}
			}
		}
	}
}
