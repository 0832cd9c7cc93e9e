package lathe_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe"
	"lathe/runtime"
)

// TestSession runs a package for a DPU: in float32 for as many runs as PX_QUANT_SIZE says, in integers from then on and in the next session,
// with the same bits for any number of threads. A folder with the table of another model is refused, and so is one that cannot be
// written, or a model that has changed: of that, one run tells, and the next goes on in float32.
func TestSession(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PX_QUANT_SIZE", "3")
	t.Setenv("PX_BUILD_DIR", filepath.Join(dir, "build"))
	model := filepath.Join(dir, "digits.onnx")
	copyFile(t, "examples/demo/digits.onnx", model)
	m, err := lathe.Load(model, lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := lathe.Compile(t.Context(), m, lathe.CompileOptions{Target: "DPUCZDX8G-zcu104, llvm"})
	if err != nil {
		t.Fatal(err)
	}
	pkg := filepath.Join(dir, "digits.tar")
	if err := p.Save(pkg); err != nil {
		t.Fatal(err)
	}
	s, err := lathe.NewSession(t.Context(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	picture := func() runtime.Tensor {
		x := runtime.Tensor{DType: "float32", Shape: []int{1, 3, 64, 64}, Data: make([]byte, 4*3*64*64)}
		for i := range x.Data {
			x.Data[i] = []byte{byte(r.IntN(256)), byte(r.IntN(256)), byte(r.IntN(128)), 62}[i%4]
		}
		return x
	}
	first := picture()
	run := func(s *lathe.Session, x runtime.Tensor) []byte {
		m, err := s.Module()
		if err != nil {
			t.Fatal(err)
		}
		if err := m.SetInputIndex(0, x); err != nil {
			t.Fatal(err)
		}
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		y, err := m.Output(0)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Clone(y.Data)
	}
	float := run(s, first)
	run(s, picture())
	if s.Calibrated() {
		t.Error("calibrated after two runs of three")
	}
	if last := run(s, first); !bytes.Equal(last, float) || !s.Calibrated() {
		t.Error("the third run is not the last in float32")
	}
	fixed := run(s, first)
	if bytes.Equal(fixed, float) {
		t.Error("nothing was quantised")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = lathe.NewSession(t.Context(), pkg); err != nil {
		t.Fatal(err)
	}
	if again := run(s, first); !bytes.Equal(again, fixed) {
		t.Error("the next session computes otherwise")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 2, 5} {
		m, err := runtime.Open(filepath.Join(dir, "build", "module.tar"), runtime.WithWorkers(workers))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.SetInputIndex(0, first); err != nil {
			t.Fatal(err)
		}
		for run := range 60 { // how many of them take part is tried meanwhile
			if err := m.Run(); err != nil {
				t.Fatal(err)
			}
			if y, err := m.Output(0); err != nil || !bytes.Equal(y.Data, fixed) {
				t.Fatalf("%d threads compute otherwise in run %d: %v", workers, run, err)
			}
		}
		m.Close()
	}
	table := filepath.Join(dir, "build", "positions.json")
	b, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(table, bytes.ReplaceAll(b, []byte(`"hash": "`), []byte(`"hash": "0`)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := lathe.NewSession(t.Context(), pkg); err == nil || !strings.Contains(err.Error(), "of another model") {
		t.Errorf("the table of another model: %v", err)
	}
	if _, err := lathe.Compile(t.Context(), m, lathe.CompileOptions{Target: "DPUCZDX8G-zcu104, llvm"}); err == nil || !strings.Contains(err.Error(), "of another model") {
		t.Errorf("compiling with the table of another model: %v", err)
	}
	if err := os.Remove(table); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(model, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PX_QUANT_SIZE", "1")
	for folder, want := range map[string]string{"/proc": "/proc/positions.json", filepath.Join(dir, "new"): "neither beside it nor"} {
		t.Setenv("PX_BUILD_DIR", folder)
		s, err := lathe.NewSession(t.Context(), pkg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		m, err := s.Module()
		if err != nil {
			t.Fatal(err)
		}
		if err := m.SetInputIndex(0, first); err != nil {
			t.Fatal(err)
		}
		if err := s.Run(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", folder, err)
		}
		if y, err := m.Output(0); err != nil || !bytes.Equal(y.Data, float) {
			t.Errorf("%s: the run that found no room has other outputs: %v", folder, err)
		}
		if again := run(s, first); !bytes.Equal(again, float) || s.Calibrated() {
			t.Errorf("%s: the next run is not one in float32", folder)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o666); err != nil {
		t.Fatal(err)
	}
}
