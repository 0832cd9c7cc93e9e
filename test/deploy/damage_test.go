package deploy

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"lathe"
	"lathe/internal/bundle"
)

// TestCDamage changes bytes of the code and of the weights in every form of a package that C opens.
func TestCDamage(t *testing.T) {
	program := buildRuntime(t, "damage.c")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	compileDemo(t, "llvm", in("net.tar"), lathe.CompileOptions{})
	compileDemo(t, "llvm", in("net.so"), lathe.CompileOptions{})
	compileDemo(t, "llvm", in("alone.so"), lathe.CompileOptions{Weights: lathe.WeightsInside})
	damage := func(pack, file string, from, to int, how string) {
		t.Helper()
		step := max(1, (to-from)/150)
		output(t, exec.Command(program, pack, file, strconv.Itoa(from), strconv.Itoa(to), strconv.Itoa(step), how))
	}
	whole := func(pack, file, how string) {
		t.Helper()
		damage(pack, file, 0, len(readFile(t, file)), how)
	}
	whole(in("net.so"), in("net.so"), "open")
	whole(in("net.so"), in("net.params"), "open")
	whole(in("alone.so"), in("alone.so"), "open")
	b := readFile(t, in("net.tar"))
	r := bytes.NewReader(b)
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == bundle.LibraryName || h.Name == bundle.ParamsName {
			at := len(b) - r.Len()
			damage(in("net.tar"), in("net.tar"), at, at+int(h.Size), "open")
		}
	}
	if err := os.Truncate(in("net.so"), int64(len(readFile(t, in("net.so")))-1)); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, in("net.so"), in("net.so"), "0", "0", "1", "sound")
	if out, err := c.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("has lost the digest at its end")) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestCNoDigests opens what older compilers wrote: a library without a seal whose descriptor ends before the digests.
func TestCNoDigests(t *testing.T) {
	program := buildRuntime(t, "damage.c")
	dir := t.TempDir()
	path := filepath.Join(dir, "mod.so")
	writeFile(t, path, fixtureLibrary(t, "-DOLD"))
	writeParams(t, filepath.Join(dir, "mod.params"), fixtureParams())
	output(t, exec.Command(program, path, path, "0", "0", "1", "none"))
}
