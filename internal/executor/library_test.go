package executor

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ebitengine/purego"
)

// TestLoadFromTemp loads code the way that is left when memory files are forbidden.
func TestLoadFromTemp(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) to build the library for this test")
	}
	dir := t.TempDir()
	source, so := filepath.Join(dir, "x.c"), filepath.Join(dir, "x.so")
	if err := os.WriteFile(source, []byte("int answer(void) { return 42; }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-nostdlib", "-o", so, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	library, err := os.ReadFile(so)
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	_, handle, err := loadFromTemp(code{library: library})
	if err != nil {
		t.Fatal(err)
	}
	defer purego.Dlclose(handle)
	answer, err := purego.Dlsym(handle, "answer")
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _ := purego.SyscallN(answer); int32(got) != 42 {
		t.Errorf("the library answers %d", int32(got))
	}
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("%s stays behind", left[0].Name())
	}
}
