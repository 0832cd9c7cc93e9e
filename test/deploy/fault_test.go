package deploy

import (
	"bytes"
	"debug/elf"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/bundle"
)

// Zeros are no instruction on AArch64 and RISC-V, and a store to nowhere on x86-64: lathe-run says so in one line everywhere.
func TestDeployFaults(t *testing.T) {
	long(t)
	for _, m := range []struct{ arch, machine, signal string }{{"amd64", "x86_64", "SIGSEGV"}, {"arm64", "aarch64", "SIGILL"}, {"riscv64", "riscv64", "SIGILL"}} {
		t.Run(m.arch, func(t *testing.T) {
			var command []string
			if m.arch != goruntime.GOARCH {
				command = []string{tool(t, "qemu-"+m.machine+"-static"), "-L", "/usr/" + m.machine + "-linux-gnu"}
			}
			output(t, exec.Command(tool(t, "make"), "-C", root, "build/lathe-run-"+m.arch))
			pkg := filepath.Join(t.TempDir(), "net.tar")
			compileDemo(t, "llvm -mtriple="+m.machine+"-linux-gnu", pkg, lathe.CompileOptions{})
			kernel := overwriteKernel(t, pkg)
			for _, threads := range []string{"1", "2"} {
				args := append(command, filepath.Join(root, "build", "lathe-run-"+m.arch), "--threads", threads, pkg)
				c := exec.Command(args[0], args[1:]...)
				b, _ := c.CombinedOutput()
				out := string(b)
				if c.ProcessState.ExitCode() != 4 || strings.Count(out, "\n") != 1 ||
					!strings.Contains(out, "the package's code faulted ("+m.signal+") in step ") || !strings.Contains(out, "(kernel "+kernel+")") {
					t.Errorf("%s threads: exit code %d, printed %s", threads, c.ProcessState.ExitCode(), out)
				}
			}
		})
	}
}

// overwriteKernel writes zeros over the beginning of the first step's kernel, with digests that are right.
func overwriteKernel(t *testing.T, path string) (kernel string) {
	t.Helper()
	p, err := bundle.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	g, err := p.Graph()
	if err != nil {
		t.Fatal(err)
	}
	lib := bytes.Clone(p.Library)
	f, err := elf.NewFile(bytes.NewReader(lib))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	kernel = p.Manifest.Steps[0].Name
	for _, s := range symbols {
		if s.Name == "lathe_default_"+kernel {
			section := f.Sections[s.Section]
			copy(lib[s.Value-section.Addr+section.Offset:], make([]byte, 16))
		}
	}
	p.Manifest.Digests = nil
	if err := bundle.Write(path, &bundle.Contents{Manifest: p.Manifest, Graph: g, Library: lib, Params: p.Params}); err != nil {
		t.Fatal(err)
	}
	return kernel
}
