package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/testkit/golden"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/npz"
	"lathe/runtime"
	"lathe/runtime/dnnl"
)

var demo = filepath.Join("..", "..", "examples", "demo", "digits.onnx")

// TestDumpOffloads: who computes what is told in tvmc's form, on standard output or in a file, and in each form of a package.
func TestDumpOffloads(t *testing.T) {
	dir := t.TempDir()
	out, errs, code := latheCommand(t, "compile", "--target", "dnnl, llvm", "--dump-offloads", "-", "-o", filepath.Join(dir, "net.tar"), demo)
	if code != cli.ExitOK || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	golden.Check(t, "offloads", []byte(out))
	file := filepath.Join(dir, "offloads.txt")
	if _, errs, code = latheCommand(t, "compile", "--target", "dnnl, llvm", "--target-dnnl-select", "all", "--dump-offloads", file, "-o", filepath.Join(dir, "net.so"), demo); code != cli.ExitOK {
		t.Fatal(errs)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != out {
		t.Errorf("%v\n%s", err, text)
	}
	p, err := bundle.Open(filepath.Join(dir, "net.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if len(p.External) != 1 || p.Manifest.Format != bundle.ExternalFormatVersion || p.Manifest.External[0].WhenFaster || !strings.HasPrefix(p.Manifest.Target.String, "dnnl -select=all, llvm ") {
		t.Errorf("%+v, target %s", p.Manifest.External, p.Manifest.Target.String)
	}
	if out, _, code := latheCommand(t, "compile", "--dump-offloads", "-", "-o", filepath.Join(dir, "net.tar"), demo); code != cli.ExitOK || !strings.Contains(out, "Total: 0\ngeneric: 0\n") {
		t.Errorf("without generators: exit code %d\n%s", code, out)
	}
}

// TestExternalMistakes: each ends with one line that says what to do.
func TestExternalMistakes(t *testing.T) {
	to := filepath.Join(t.TempDir(), "net")
	extensions := map[string]string{"|c": ".c", "sm": ".wasm"}
	for _, c := range []struct {
		args string
		want string
	}{
		{"--target|dnnl", `write "dnnl, llvm"`},
		{"--target|llvm, dnnl", `write "dnnl, llvm"`},
		{"--target|llvm, c", "llvm is no external code generator"},
		{"--target|ethos-u, llvm", "external code generator ethos-u is not supported (there are: dnnl, "},
		{"--target|dnl, llvm", `unknown external code generator "dnl"; did you mean dnnl?`},
		{"--target|dnnl -select=some, llvm", "option -select=some: must be faster or all"},
		{"--target|dnnl -selct=all, llvm", "did you mean select?"},
		{"--target|dnnl, c|-f|c", "dnnl: its library is called on 64-bit machines with Linux only"},
		{"--target|dnnl, wasm32|-f|wasm", "dnnl: its library is called on 64-bit machines with Linux only"},
		{"--target|dnnl, llvm|-f|tar", "output format tar is none (leave dnnl out of the target)"},
		{"--target|dnnl, llvm|--embed-params", "which has all inside with --embed-params (leave it out)"},
		{"--target-dnnl-select|all", `flag --target-dnnl-select: the target is of kind llvm (the flag needs --target "dnnl, llvm")`},
	} {
		_, errs, code := latheCommand(t, append(append([]string{"compile"}, strings.Split(c.args, "|")...), "-o", to+extensions[c.args[len(c.args)-2:]], demo)...)
		if code == cli.ExitOK || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, %s", c.args, code, errs)
		}
	}
}

// outputOf is the output of a package for the same input, and what run tells.
func outputOf(t *testing.T, pkg, mode string) (data []byte, notes string) {
	t.Helper()
	t.Setenv(runtime.ExternalVariable, mode)
	to := filepath.Join(t.TempDir(), "out.npz")
	_, errs, code := latheCommand(t, "run", "-o", to, pkg)
	if code != cli.ExitOK {
		return nil, errs
	}
	arrays, err := npz.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return arrays[0].Data, errs
}

// TestExample: the generator of examples/codegen takes a sum of the demo network, which gives the same numbers by its code as by ours.
func TestExample(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "lathe-codegen-arith"), "lathe/examples/codegen").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("LATHE_PLUGINS", dir)
	pkg := filepath.Join(dir, "net.tar")
	out, errs, code := latheCommand(t, "compile", "--target", "arith, llvm", "--dump-offloads", "-", "-o", pkg, demo)
	if code != cli.ExitOK || !strings.Contains(out, "arith: 1\n") || !strings.Contains(out, "arith   <- add /residual/Add\n") || !strings.Contains(out, "(arith: Relu is not Add, Sub, Mul or Div)") {
		t.Fatalf("exit code %d: %s\n%s", code, errs, out)
	}
	own, _ := outputOf(t, pkg, "off")
	got, notes := outputOf(t, pkg, "require")
	if own == nil || !bytes.Equal(own, got) {
		t.Errorf("%x instead of %x: %s", got, own, notes)
	}
	first, err := os.ReadFile(pkg)
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code := latheCommand(t, "compile", "--target", "arith, llvm", "-o", pkg, demo); code != cli.ExitOK {
		t.Fatal(errs)
	}
	if second, err := os.ReadFile(pkg); err != nil || !bytes.Equal(first, second) {
		t.Error("the same network becomes another package")
	}
	for _, c := range []struct{ target, to, want string }{
		{"arith, llvm", "net.a.tar", "output format tar is none (leave arith out of the target)"},
		{"arith, wasm32", "net.wasm", "output format wasm is none (leave arith out of the target)"},
		{"arith -form=c, llvm", "net.tar", `a module of kind "c": C source is for target c`},
		{"arith -form=ir, c", "net.c", `a module of kind "ir": target c takes C source alone, kind c`},
		{"arith -form=program, c", "net.c", `a module of kind "blob": target c takes C source alone, kind c`},
	} {
		args := []string{"compile", "--target", c.target, "-o", filepath.Join(dir, c.to)}
		if c.to == "net.a.tar" {
			args = append(args, "-f", "tar")
		}
		if _, errs, code := latheCommand(t, append(args, demo)...); code == cli.ExitOK || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s to %s: exit code %d, %s", c.target, c.to, code, errs)
		}
	}
}

// TestNoFallback: without steps of the package's own its weights are those of the module alone, the module computes the same, and without
// it nothing runs.
func TestNoFallback(t *testing.T) {
	if err := dnnl.Available(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	compiled := func(name string, args ...string) string {
		pkg := filepath.Join(dir, name)
		if _, errs, code := latheCommand(t, append(append([]string{"compile", "--target", "dnnl -select=all, llvm", "-o", pkg}, args...), demo)...); code != cli.ExitOK {
			t.Fatal(errs)
		}
		return pkg
	}
	whole, alone := compiled("whole.tar"), compiled("alone.tar", "--external-fallback=false")
	want, _ := outputOf(t, whole, "require")
	for _, mode := range []string{"", "require"} {
		if got, notes := outputOf(t, alone, mode); got == nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %x instead of %x: %s", mode, got, want, notes)
		}
	}
	weights := func(pkg string) (bytes, external int) {
		p, err := bundle.Open(pkg)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for _, q := range p.Params {
			bytes += len(q.Data)
		}
		for _, b := range p.External {
			external += len(b)
		}
		return bytes, external
	}
	all, blob := weights(whole)
	if left, same := weights(alone); all-left < blob*9/10 || same != blob {
		t.Errorf("%d bytes of weights, and %d without those of a module of %d", all, left, blob)
	}
	const off = "LATHE_EXTERNAL=off, and the package has no steps of its own for it (--external-fallback=false)"
	if data, errs := outputOf(t, alone, "off"); data != nil || !strings.Contains(errs, off) || strings.Count(errs, "\n") != 1 {
		t.Errorf("%x %s", data, errs)
	}
	if out, errs, code := latheCommand(t, "inspect", alone); code != cli.ExitOK || !strings.Contains(out, ", and nothing in its place") {
		t.Errorf("%s%s", out, errs)
	}
	beside := compiled("beside.so", "--external-fallback=false")
	if err := os.Remove(strings.TrimSuffix(beside, ".so") + ".lathe.json"); err != nil {
		t.Fatal(err)
	}
	if data, errs := outputOf(t, beside, ""); data != nil || !strings.Contains(errs, "lathe.json is missing") || strings.Count(errs, "\n") != 1 {
		t.Errorf("%x %s", data, errs)
	}
	if _, errs, code := latheCommand(t, "compile", "--external-fallback=false", "-o", filepath.Join(dir, "x.tar"), demo); code == cli.ExitOK || !strings.Contains(errs, "has no generator (leave the flag out)") {
		t.Error(errs)
	}
}

// TestMissingLibrary: where there is no oneDNN, run says so and the CPU computes; LATHE_EXTERNAL=require makes that an error.
func TestMissingLibrary(t *testing.T) {
	if dnnl.Available() == nil {
		t.Skip("there is one here")
	}
	pkg := filepath.Join(t.TempDir(), "net.tar")
	if _, errs, code := latheCommand(t, "compile", "--target", "dnnl, llvm", "-o", pkg, demo); code != cli.ExitOK {
		t.Fatal(errs)
	}
	if data, notes := outputOf(t, pkg, ""); data == nil || !strings.Contains(notes, "note: dnnl: region") || !strings.Contains(notes, "there is no libdnnl.so.2 on this machine") {
		t.Error(notes)
	}
	if data, errs := outputOf(t, pkg, "require"); data != nil || !strings.Contains(errs, "there is no libdnnl.so.2 on this machine") {
		t.Error(errs)
	}
}
