package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/bundle"
	"lathe/internal/tool/cli"
	"lathe/runtime"
)

// shortenVariable makes the test program run a package whose weights are cut off once it is open.
const shortenVariable = "LATHE_TEST_SHORTEN"

func runShortened(path string) {
	fail := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	fail(runtime.OnFault(func(f *runtime.Fault) {
		fmt.Println(f)
		os.Exit(cli.ExitFailed)
	}))
	m, err := runtime.Open(path)
	fail(err)
	for i, in := range m.Inputs() {
		n, err := in.ByteSize()
		fail(err)
		fail(m.SetInputIndex(i, runtime.Tensor{DType: in.DType, Shape: in.Shape, Data: make([]byte, n)}))
	}
	fail(os.Truncate(strings.TrimSuffix(path, ".so")+".params", 10))
	fail(m.Run())
	os.Exit(cli.ExitOK)
}

// A file that becomes shorter while its weights are in use raises SIGBUS.
func TestShortenedWeights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.so")
	if _, errs, code := latheCommand(t, "compile", "-o", path, "../../examples/demo/digits.onnx"); code != cli.ExitOK {
		t.Fatal(errs)
	}
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), shortenVariable+"="+path)
	b, _ := c.CombinedOutput()
	if want := "net.so: the package's code faulted (SIGBUS) in step "; c.ProcessState.ExitCode() != cli.ExitFailed ||
		!strings.Contains(string(b), want) || !strings.HasSuffix(string(b), "or was shortened while it was in use\n") {
		t.Errorf("exit code %d, printed %s", c.ProcessState.ExitCode(), b)
	}
}

// argsVariable makes the test program be lathe.
const argsVariable = "LATHE_TEST_ARGS"

// TestMain lets the test program be lathe: where it is called so, for shells that run pages, or where the variable has arguments.
func TestMain(m *testing.M) {
	if child, err := lathe.TuneChild(); child {
		if err != nil {
			os.Exit(cli.ExitFailed)
		}
		return
	}
	if filepath.Base(os.Args[0]) == "lathe" {
		main()
	}
	var args []string
	if path := os.Getenv(shortenVariable); path != "" {
		runShortened(path)
	}
	if text := os.Getenv(argsVariable); text == "" {
		os.Exit(m.Run())
	} else if err := json.Unmarshal([]byte(text), &args); err != nil {
		panic(err)
	}
	a := &app{&cli.App{Name: "lathe", Out: os.Stdout, Err: os.Stderr}}
	os.Exit(a.run(context.Background(), args))
}

// latheProcess runs lathe as a process of its own.
func latheProcess(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), argsVariable+"="+string(text))
	b, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(b), c.ProcessState.ExitCode()
}

// overwrite writes code over the beginning of a kernel in the package at path, with digests that are right. It
// returns the kernel's name.
func overwrite(t *testing.T, path string, step int, code []byte) string {
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
	name := p.Manifest.Steps[step].Name
	for _, s := range symbols {
		if s.Name == "lathe_default_"+name {
			section := f.Sections[s.Section]
			copy(lib[s.Value-section.Addr+section.Offset:], code)
			p.Manifest.Digests = nil
			if err := bundle.Write(path, &bundle.Contents{Manifest: p.Manifest, Graph: g, Library: lib, Params: p.Params}); err != nil {
				t.Fatal(err)
			}
			return name
		}
	}
	t.Fatalf("no kernel %s", name)
	return ""
}

var note = regexp.MustCompile("(?m)^lathe: note: .*\n")

// TestFaults overwrites kernels with what raises each signal: lathe run ends with one line and the code of wrong packages, on
// one thread and on several.
func TestFaults(t *testing.T) {
	if goruntime.GOARCH != "amd64" {
		t.Skip("the code is x86-64's")
	}
	m, err := lathe.Load("../../examples/demo/digits.onnx", lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := lathe.Compile(t.Context(), m, lathe.CompileOptions{Target: "llvm"})
	if err != nil {
		t.Fatal(err)
	}
	pkg.Info().MaxWorkers = 0 // so small a network would keep to one
	for _, c := range []struct {
		name, signal string
		code         string
	}{
		{"load from 0", "SIGSEGV", "\x48\x8b\x04\x25\x00\x00\x00\x00"},
		{"jump to 0", "SIGSEGV", "\x31\xc0\xff\xe0"},
		{"stack beyond addresses", "SIGBUS", "\x48\xbd\x00\x00\x00\x00\x00\x00\x80\x80\x48\x8b\x45\x00"},
		{"no instruction", "SIGILL", "\x0f\x0b"},
		{"divide by 0", "SIGFPE", "\x31\xc9\x31\xd2\x89\xc8\xf7\xf1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "net.tar")
			if err := pkg.Save(path); err != nil {
				t.Fatal(err)
			}
			kernel := overwrite(t, path, 3, []byte(c.code))
			where := `in step (\d+ or )*3( or \d+)* \(kernel ` + kernel + `\)` // steps of equal code share a kernel
			if c.name == "jump to 0" {
				where = "outside of its kernels"
			}
			for _, threads := range []string{"1", "3"} {
				out, code := latheProcess(t, "run", "--threads", threads, path)
				out = note.ReplaceAllString(out, "") // about fewer cores
				want := "^lathe: " + regexp.QuoteMeta(path) + `: the package's code faulted \(` + c.signal + `\) ` + where + ": the file may be damaged[^\n]*\n$"
				if code != cli.ExitFailed || !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("%s threads: exit code %d, printed %q; want %q", threads, code, out, want)
				}
			}
		})
	}
}

// TestFaultInGo: a fault in Go code beside a model is none of the package's.
func TestFaultInGo(t *testing.T) {
	if os.Getenv("LATHE_TEST_GO_FAULT") == "" {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaultInGo$")
		c.Env = append(os.Environ(), "LATHE_TEST_GO_FAULT=1")
		b, err := c.CombinedOutput()
		if err == nil || !regexp.MustCompile(`nil pointer dereference[\s\S]*goroutine`).Match(b) || bytes.Contains(b, []byte("the package's code")) {
			t.Errorf("%v: %s", err, b)
		}
		return
	}
	pkg := copyPackage(t, []int{1, 4}, data14)
	if _, errs, code := latheCommand(t, "run", pkg); code != cli.ExitOK {
		t.Fatal(errs)
	}
	var nothing *int
	*nothing = 1
}
