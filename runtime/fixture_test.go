package runtime

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"lathe/internal/bundle"
)

const fixtureN = 1024

// compileFixture builds testdata/fixture.c once per test process, plain and with EXTRA=7. Without a C compiler the
// libraries are nil.
var compileFixture = sync.OnceValues(func() ([2][]byte, error) {
	var libs [2][]byte
	cc, err := exec.LookPath("cc")
	if err != nil {
		return libs, nil
	}
	dir, err := os.MkdirTemp("", "lathe-fixture")
	if err != nil {
		return libs, err
	}
	defer os.RemoveAll(dir)
	for i, define := range []string{"-DEXTRA=0", "-DEXTRA=7"} {
		so := filepath.Join(dir, "mod.so")
		cmd := exec.Command(cc, "-shared", "-fPIC", "-O1", "-nostdlib", "-fvisibility=hidden", "-fno-stack-protector",
			"-Wl,-z,defs", define, "-o", so, "testdata/fixture.c")
		if out, err := cmd.CombinedOutput(); err != nil {
			return libs, fmt.Errorf("%v\n%s", err, out)
		}
		if libs[i], err = os.ReadFile(so); err != nil {
			return libs, err
		}
	}
	return libs, nil
})

// fixtureLibraries returns the library and the one that adds 7.
func fixtureLibraries(t testing.TB) (plain, seven []byte) {
	libs, err := compileFixture()
	if err != nil {
		t.Fatalf("compiling testdata/fixture.c: %v", err)
	}
	if libs[0] == nil {
		t.Skip("no C compiler (cc) to build the library for this test")
	}
	return libs[0], libs[1]
}

func floatBytes(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// fixture returns the contents of a package around testdata/fixture.c: y = reverse(x*scale) + bias.
func fixture(t testing.TB) *bundle.Contents {
	library, _ := fixtureLibraries(t)
	scale := make([]float32, fixtureN)
	for i := range scale {
		scale[i] = float32(i%7) - 3
	}
	return &bundle.Contents{
		Manifest: &bundle.Manifest{
			Format: bundle.FormatVersion, ABI: bundle.ABIVersion, Lathe: "test", Module: "fixture",
			Workspace: 4 * fixtureN, Scratch: 100, Symbols: 1,
			Steps: []bundle.Step{{Name: "scale", Nodes: []string{"mul"}, FLOPs: fixtureN}, {Name: "reverse"}, {Name: "positive", Workers: 1}, {Name: "stress"}},
			Inputs: []bundle.TensorInfo{
				{Name: "x", DType: "float32", Shape: []int{1, fixtureN}},
				{Name: "fault", DType: "int32", Shape: []int{}},
			},
			Outputs: []bundle.TensorInfo{
				{Name: "y", DType: "float32", Shape: []int{1, fixtureN}},
				{Name: "positive", DType: "int64", Shape: []int{fixtureN}, Symbols: []int{0}},
			},
		},
		Graph:   &bundle.GraphJSON{NodeRowPtr: []int{0}},
		Library: library,
		Params: []bundle.Param{
			{Name: "scale", DType: "float32", Shape: []int{fixtureN}, Data: floatBytes(scale)},
			{Name: "bias", DType: "float32", Data: floatBytes([]float32{0.5})},
		},
	}
}

// writeFixture writes the package after change, which may be nil.
func writeFixture(t testing.TB, change func(*bundle.Contents)) string {
	c := fixture(t)
	if change != nil {
		change(c)
	}
	path := filepath.Join(t.TempDir(), "fixture.tar")
	if err := bundle.Write(path, c); err != nil {
		t.Fatal(err)
	}
	return path
}

func openFixture(t testing.TB, opts ...Option) *Module {
	m, err := Open(writeFixture(t, nil), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// setFixture sets both inputs; x depends on seed.
func setFixture(t testing.TB, m *Module, seed int, fault int32) []float32 {
	x := make([]float32, fixtureN)
	for i := range x {
		x[i] = float32((i*31+seed)%101)/8 - 6
	}
	xt, err := NewTensor(x, 1, fixtureN)
	if err != nil {
		t.Fatal(err)
	}
	ft, err := NewTensor([]int32{fault})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.SetInput("x", xt); err != nil {
		t.Fatal(err)
	}
	if err := m.SetInputIndex(1, ft); err != nil {
		t.Fatal(err)
	}
	return x
}

// checkFixture compares both outputs with the model's definition.
func checkFixture(t testing.TB, m *Module, x []float32) { t.Helper(); checkFixturePlus(t, m, x, 0) }

// checkFixturePlus is checkFixture for a library that adds extra.
func checkFixturePlus(t testing.TB, m *Module, x []float32, extra float32) {
	t.Helper()
	want := make([]float32, fixtureN)
	positive := []int64{}
	for i := range want {
		j := fixtureN - 1 - i
		want[i] = x[j]*(float32(j%7)-3) + 0.5 + extra
		if want[i] > 0 {
			positive = append(positive, int64(i))
		}
	}
	y, err := m.Output(0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := y.Float32s()
	if err != nil || !slices.Equal(got, want) || !slices.Equal(y.Shape, []int{1, fixtureN}) {
		t.Errorf("y is wrong (shape %v, error %v)", y.Shape, err)
	}
	p, err := m.Output(1)
	if err != nil {
		t.Fatal(err)
	}
	index, err := p.Int64s()
	if err != nil || !slices.Equal(index, positive) || !slices.Equal(p.Shape, []int{len(positive)}) {
		t.Errorf("positive is wrong (shape %v, want %d, error %v)", p.Shape, len(positive), err)
	}
}
