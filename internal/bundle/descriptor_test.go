package bundle

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"lathe/internal/toolchain"
)

// describedLibrary is a library with a descriptor of a module with one input, one output, a constant and a step.
func describedLibrary(t testing.TB) []byte {
	t.Helper()
	m, err := toolchain.Open(toolchain.Options{Triple: "x86_64-linux-gnu"})
	if err != nil {
		t.Fatal(err)
	}
	object, err := m.Compile(`
%tensor = type { ptr, ptr, ptr, i64, i32, i32 }
%param = type { i32, i64, i64 }
%step = type { i32, i32 }
%library = type { i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32, i64, i64, ptr, i64, ptr, i32, i32 }
@s = private constant [31 x i8] c"default\00lathe 1\00x\00y\00w\00a\0Ab\00avx2\00"
@shape = private constant [2 x i64] [i64 2, i64 3]
@in = private constant %tensor { ptr getelementptr (i8, ptr @s, i64 16), ptr @shape, ptr null, i64 24, i32 2, i32 544 }
@out = private constant %tensor { ptr getelementptr (i8, ptr @s, i64 18), ptr @shape, ptr null, i64 24, i32 2, i32 544 }
@param = private constant %param { i32 20, i64 4, i64 64 }
@step = private constant %step { i32 20, i32 22 }
define i32 @lathe_default_run() {
  ret i32 0
}
@lathe_library = constant %library { i32 2, i32 160, ptr @s, ptr getelementptr (i8, ptr @s, i64 8), ptr getelementptr (i8, ptr @s, i64 20),
  ptr getelementptr (i8, ptr @s, i64 20), ptr getelementptr (i8, ptr @s, i64 26), ptr @in, ptr @out, ptr @param, ptr @step, ptr @s,
  i32 1, i32 1, i32 1, i32 1, i32 0, i32 0, i64 64, i64 0, ptr null, i64 0, ptr @lathe_default_run, i32 0, i32 0 }
`, "")
	if err != nil {
		t.Fatal(err)
	}
	lib, err := toolchain.Link([]toolchain.Object{object}, toolchain.LinkOptions{Triple: "x86_64-linux-gnu", Exports: []string{"lathe_default_run", LibraryAlias}})
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// A library with a descriptor is no package of TVM, whatever lies beside it.
func TestDescribed(t *testing.T) {
	dir := t.TempDir()
	so := put(t, dir, "net.so", describedLibrary(t))
	put(t, dir, "net.json", []byte(tvmGraph))
	_, err := Open(so)
	wantError(t, err, "net.params is missing: it holds the weights (copy it beside net.so)")
	put(t, dir, "net.params", mustParams(t, []Param{{Name: "w", DType: "float32", Shape: []int{1}, Data: []byte("abcd")}}))
	p, err := Open(so)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	m := p.Manifest
	if m.Module != "default" || m.Lathe != "1" || len(m.Inputs) != 1 || m.Inputs[0].Name != "x" || m.Outputs[0].Shape[1] != 3 || m.Workspace != 64 ||
		m.Steps[0].Nodes[1] != "b" || string(p.Params[0].Data) != "abcd" || m.Target.Features[0] != "avx2" {
		t.Errorf("%+v", m)
	}
	wantError(t, p.Check(), "holds no digests")
}

// Any bytes of a descriptor give a manifest that was checked, or an error, in time and memory that are the file's.
func FuzzDescribedBy(f *testing.F) {
	lib := describedLibrary(f)
	f.Add(lib)
	r := rand.New(rand.NewPCG(2, 1))
	for range 300 {
		b := append([]byte{}, lib...)
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := describedBy(b)
		if err == nil && m != nil && m.check() != nil {
			t.Error("a manifest that was not checked")
		}
	})
}

// What C runs, the Go runtime opens: a folder with mod.so and mod.params.
func TestDescribedFolder(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "mod.so", describedLibrary(t))
	put(t, dir, "mod.params", mustParams(t, []Param{{Name: "w", DType: "float32", Shape: []int{1}, Data: []byte("abcd")}}))
	p, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if err := os.Remove(filepath.Join(dir, "mod.params")); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir)
	wantError(t, err, dir, "mod.params is missing")
}
