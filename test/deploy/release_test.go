package deploy

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The released program compiles and runs on a machine that has a C library and nothing else: no LLVM, no linker, no shell.
// The machine is a folder that the program gets as its root, with /proc.
func TestDeployRelease(t *testing.T) {
	long(t)
	output(t, exec.Command(tool(t, "make"), "-C", root, "release"))
	sums := exec.Command(tool(t, "sha256sum"), "--check", "--strict", "SHA256SUMS")
	sums.Dir = filepath.Join(root, "build")
	if out := output(t, sums); strings.Count(out, ": OK") != 4 {
		t.Errorf("SHA256SUMS: %s", out)
	}
	machine := t.TempDir()
	for file, from := range map[string]string{
		"lathe": root + "/build/lathe", "digits.onnx": demo, "sample.png": root + "/examples/demo/sample.png", "labels.txt": root + "/examples/demo/labels.txt",
	} {
		copyFile(t, filepath.Join(machine, file), from)
	}
	libraries(t, root+"/build/lathe", machine)
	if err := os.Mkdir(filepath.Join(machine, "proc"), 0o777); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		script := `mount --rbind /proc "$0/proc" && exec chroot "$0" /lathe "$@"`
		c := exec.Command(tool(t, "unshare"), append([]string{"--map-root-user", "--mount", "sh", "-c", script, machine}, args...)...)
		c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
		return output(t, c)
	}
	run("compile", "--target", "llvm", "-o", "demo.tar", "digits.onnx")
	out := run("run", "--image", "sample.png", "--preprocess", "signed", "--filter", "point", "--labels", "labels.txt", "demo.tar")
	if !strings.Contains(out, "Predicted class: 7 (digit 7)") {
		t.Errorf("printed\n%s", out)
	}
	run("compile", "--target", "llvm -mtriple=aarch64-linux-gnu", "-o", "arm.tar", "digits.onnx")
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o777); err != nil {
		t.Fatal(err)
	}
}

// libraries copies the loader and the shared libraries of a program to a machine, under the same paths, and fails where
// they are more than a C library.
func libraries(t *testing.T, program, machine string) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	libc := []string{"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
	for _, l := range needed {
		if !slices.Contains(libc, l) {
			t.Errorf("the program needs %s", l)
		}
	}
	interp, err := f.Section(".interp").Data()
	if err != nil {
		t.Fatal(err)
	}
	loader := string(bytes.TrimRight(interp, "\x00"))
	copyFile(t, filepath.Join(machine, loader), loader)
	for _, line := range strings.Split(output(t, exec.Command(tool(t, "ldd"), program)), "\n") {
		if m := regexp.MustCompile(`=> (/\S+)`).FindStringSubmatch(line); m != nil {
			copyFile(t, filepath.Join(machine, m[1]), m[1])
		}
	}
}
