package dnnl_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lathe"
	"lathe/runtime"
	"lathe/runtime/dnnl"
)

// here skips where there is no oneDNN.
func here(t *testing.T) {
	t.Helper()
	if err := dnnl.Available(); err != nil {
		t.Skipf("%v", err)
	}
}

// tolerance is for the relative L2 distance of what oneDNN and the compiler's own kernels compute.
const tolerance = 1e-5

// TestNetworks compares what oneDNN computes of whole networks with the compiler's own kernels: the demo's, and those of the folder LATHE_ZOO
// whose names LATHE_DNNL_NETWORKS lists.
func TestNetworks(t *testing.T) {
	here(t)
	files := []string{filepath.Join("..", "..", "..", "examples", "demo", "digits.onnx")}
	if zoo := os.Getenv("LATHE_ZOO"); zoo != "" {
		for name := range strings.FieldsSeq(os.Getenv("LATHE_DNNL_NETWORKS")) {
			files = append(files, filepath.Join(zoo, name+".onnx"))
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			m, err := lathe.Load(file, lathe.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			pkg, err := lathe.Compile(context.Background(), m, lathe.CompileOptions{Target: "dnnl -select=all, llvm"})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "net.tar")
			if err := pkg.Save(path); err != nil {
				t.Fatal(err)
			}
			taken := 0
			left := map[string]int{}
			for _, o := range pkg.Offloads() {
				if o.Generator != "" {
					taken++
				} else {
					left[fmt.Sprint(o.Operator, o.Refusals)]++
				}
			}
			own, ownTime := outputs(t, path, "off")
			got, took := outputs(t, path, "require")
			for i := range own {
				d := distance(own[i], got[i])
				t.Logf("%d of %d nodes in %d regions; output %d is off by %.2g; %v, our own kernels %v; left %v", taken, len(pkg.Offloads()), len(pkg.Info().External), i, d, took, ownTime, left)
				if d > tolerance {
					t.Errorf("output %d is off by %g", i, d)
				}
			}
		})
	}
}

// outputs runs a package on random numbers, and returns its outputs and the shortest time of a run.
func outputs(t *testing.T, path, mode string) (list [][]float32, least time.Duration) {
	t.Setenv(runtime.ExternalVariable, mode)
	m, err := runtime.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r := rand.New(rand.NewPCG(7, 7))
	for i, info := range m.Inputs() {
		n := 1
		for _, d := range info.Shape {
			n *= d
		}
		var x runtime.Tensor
		if info.DType == "int64" {
			v := make([]int64, n)
			for i := range v {
				v[i] = int64(r.IntN(100))
			}
			x, err = runtime.NewTensor(v, info.Shape...)
		} else {
			v := make([]float32, n)
			for i := range v {
				v[i] = float32(r.NormFloat64())
			}
			x, err = runtime.NewTensor(v, info.Shape...)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := m.SetInputIndex(i, x); err != nil {
			t.Fatal(err)
		}
	}
	least = time.Hour
	for range 7 {
		start := time.Now()
		if err := m.Run(); err != nil {
			t.Fatal(err)
		}
		least = min(least, time.Since(start))
	}
	for i := range m.Outputs() {
		y, err := m.Output(i)
		if err != nil {
			t.Fatal(err)
		}
		v, err := y.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, append([]float32{}, v...))
	}
	return list, least
}

func distance(want, got []float32) float64 {
	off, size := 0.0, 0.0
	for i := range want {
		if want[i] != want[i] && got[i] != got[i] || want[i] == got[i] {
			continue // NaN, or infinite
		}
		d := float64(got[i]) - float64(want[i])
		off += d * d
	}
	for i := range want {
		if math.IsNaN(float64(want[i])) || math.IsInf(float64(want[i]), 0) {
			continue
		}
		size += float64(want[i]) * float64(want[i])
	}
	return math.Sqrt(off / max(size, 1e-30))
}
