package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/testkit/golden"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/cli/run"
)

// TestDPUMistakes: what cannot be done for a DPU is one line that says what to do.
func TestDPUMistakes(t *testing.T) {
	dir := t.TempDir()
	model, glyphs := repository+"/examples/demo/digits.onnx", repository+"/examples/demo/glyphs"
	open, plain := filepath.Join(dir, "open.tar"), filepath.Join(dir, "plain.tar")
	for pkg, target := range map[string]string{open: "DPUCZDX8G-zcu104, llvm", plain: "llvm"} {
		if _, errs, code := latheCommand(t, "compile", "--target", target, "-o", pkg, model); code != cli.ExitOK {
			t.Fatal(errs)
		}
	}
	table := filepath.Join(dir, "table.json")
	if err := os.WriteFile(table, []byte(`{"version": 1, "samples": 3, "regions": [{"hash": "0", "tensors": []}]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.tar")
	for _, c := range []struct {
		env, want string
		args      []string
	}{
		{"", "no region of the package is to be calibrated", []string{"run", "--data", glyphs, plain}},
		{"PX_QUANT_SIZE=many", `PX_QUANT_SIZE is "many"`, []string{"run", "--data", glyphs, open}},
		{"PX_BUILD_DIR=/proc", "/proc/positions.json", []string{"run", "--data", glyphs, open}},
		{"PX_BUILD_DIR=/proc", "/proc/positions.json", []string{"compile", "--target", "DPUCZDX8G-zcu104, llvm", "--calibration", glyphs, "-o", out, model}},
		{"", "absent: no such file", []string{"run", "--data", "absent", open}},
		{"", "has no external code generator that calibrates", []string{"compile", "--calibration", glyphs, "-o", out, model}},
		{"", "flag --resize needs --calibration", []string{"compile", "--resize", "32", "-o", out, model}},
		{"", "of another model", []string{"compile", "--target", "DPUCZDX8G-zcu104, llvm", "--target-vitis-ai-load_runtime_module", table, "-o", out, model}},
		{"", "it is not calibrated: --calibration SAMPLES", []string{"compile", "-f", "qdq", "--target", "DPUCZDX8G-zcu104, llvm", "-o", filepath.Join(dir, "x.onnx"), model}},
		{"", "-f xmodel writes .xmodel files", []string{"compile", "-f", "xmodel", "--target", "DPUCZDX8G-zcu104, llvm", "-o", filepath.Join(dir, "x.onnx"), model}},
		{"", "no part of the network is for a device", []string{"compile", "-f", "xmodel", "-o", filepath.Join(dir, "x.xmodel"), model}},
		{"", "did you mean DPUCZDX8G-zcu104", []string{"compile", "--target", "vitis-ai -dpu=DPUCZDX8G-zcu14, llvm", "-o", out, model}},
		{"", "-compile=1 is for -f xmodel alone", []string{"compile", "--target", "DPUCZDX8G-zcu104 -compile=1, llvm", "-o", out, model}},
		{"", "no DPU is named", []string{"compile", "--target", "vitis-ai, llvm", "-o", out, model}},
		{"", "unknown option", []string{"compile", "--pass-config", "relay.ext.vitis_ai.options.traget=x", "-o", out, model}},
		{"", "relay.ext.vitis_ai.options.*", []string{"compile", "--pass-config", "tir.disable_vectorize=1", "-o", out, model}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			if name, value, ok := strings.Cut(c.env, "="); ok {
				t.Setenv(name, value)
			}
			_, errs, code := latheCommand(t, c.args...)
			var lines []string
			for line := range strings.Lines(errs) {
				if !strings.Contains(line, "lathe: note:") && !strings.Contains(line, "--help") {
					lines = append(lines, line)
				}
			}
			if code == cli.ExitOK || len(lines) != 1 || !strings.Contains(errs, c.want) {
				t.Errorf("exit code %d, %q is not in\n%s", code, c.want, errs)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("something was written")
			}
		})
	}
}

// TestVendorCompiler: with -compile=1 the program lathe-codegen-vitis-ai has vai_c_xir compile what -f xmodel writes. A script stands for
// AMD's compiler: it writes which device it is for before what it was given.
func TestVendorCompiler(t *testing.T) {
	dir := t.TempDir()
	plugins, tools := filepath.Join(dir, "plugins"), filepath.Join(dir, "tools")
	if out, err := exec.Command("go", "build", "-o", filepath.Join(plugins, "lathe-codegen-vitis-ai"), "lathe/cmd/lathe-codegen-vitis-ai").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(tools, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+":/usr/bin:/bin")
	glyphs := repository + "/examples/demo/glyphs"
	table, arch := filepath.Join(dir, "table.json"), filepath.Join(dir, "arch.json")
	if err := os.WriteFile(arch, []byte(`{"target":"board"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	export := func(name, dpu string) (string, string) {
		out := filepath.Join(dir, name)
		_, errs, code := latheCommand(t, "compile", "-f", strings.TrimPrefix(filepath.Ext(name), "."), "--target", dpu+" -load_runtime_module="+table+", llvm", "-o", out, demo)
		if code != cli.ExitOK {
			return "", errs
		}
		b, err := os.ReadFile(filepath.Join(dir, strings.TrimSuffix(name, ".xmodel")+"_0.xmodel"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b), errs
	}
	if _, errs, code := latheCommand(t, "compile", "--target", "DPUCZDX8G-zcu104 -export_runtime_module="+table+", llvm", "--calibration", glyphs, "-o", filepath.Join(dir, "net.tar"), demo); code != cli.ExitOK {
		t.Fatal(errs)
	}
	plain, errs := export("plain.xmodel", "DPUCZDX8G-zcu104")
	if plain == "" {
		t.Fatal(errs)
	}
	const copies = `while [ $# -gt 0 ]; do case $1 in -x) x=$2;; -a) a=$2;; -o) o=$2;; -n) n=$2;; esac; shift 2; done
(cat "$a"; echo; cat "$x") >"$o/$n.xmodel"
`
	for _, c := range []struct {
		script, dpu, begins, fails string
		without                    bool // the program
	}{
		{script: copies, dpu: "DPUCZDX8G-zcu104 -compile=1", begins: `{"fingerprint":"0x101000016010407"}` + "\n"},
		{script: copies, dpu: "vitis-ai -dpu=0x101000016010407 -compile=1", begins: `{"fingerprint":"0x101000016010407"}` + "\n"},
		{script: copies, dpu: "DPUCZDX8G-zcu104 -compile=1 -arch=" + arch, begins: `{"target":"board"}` + "\n"},
		{script: copies, dpu: "DPUCZDX8G-B1024 -compile=1", fails: "the fingerprint of DPUCZDX8G-B1024 is not known (-arch=arch.json names the board's file)"},
		{script: copies, dpu: "DPUCZDX8G-zcu104 -compile=1 -arch=/nowhere", fails: "stat /nowhere: no such file"},
		{script: "echo begins; echo no such op >&2; exit 3", dpu: "DPUCZDX8G-zcu104 -compile=1", fails: "vai_c_xir: exit status 3: no such op"},
		{script: "exit 0", dpu: "DPUCZDX8G-zcu104 -compile=1", fails: "it did not write tvmgen_default_vitis_ai_main_0.xmodel"},
		{dpu: "DPUCZDX8G-zcu104 -compile=1", fails: "vai_c_xir is not in PATH (it is part of AMD's Vitis AI"},
		{dpu: "DPUCZDX8G-zcu104 -compile=1", fails: "there is no program lathe-codegen-vitis-ai beside lathe, in a folder of LATHE_PLUGINS or in PATH", without: true},
	} {
		t.Setenv("LATHE_PLUGINS", plugins)
		if c.without {
			t.Setenv("LATHE_PLUGINS", "")
		}
		script := filepath.Join(tools, "vai_c_xir")
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+c.script), 0o777); err != nil {
			t.Fatal(err)
		}
		if c.script == "" {
			if err := os.Remove(script); err != nil {
				t.Fatal(err)
			}
		}
		got, errs := export("compiled.xmodel", c.dpu)
		if c.fails == "" && got != c.begins+plain || c.fails != "" && (got != "" || !strings.Contains(errs, c.fails)) {
			t.Errorf("%s: %d bytes, %s", c.dpu, len(got), errs)
		}
	}
}

// TestFullFolder: where PX_BUILD_DIR cannot hold the package that a calibration makes, one line says so and nothing half-written is left; a run that
// brings no samples goes on in float32.
// Files may not be larger than 64 KiB, as on a disk with so much left.
func TestFullFolder(t *testing.T) {
	dir := t.TempDir()
	pkg, build := filepath.Join(dir, "open.tar"), filepath.Join(dir, "build")
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(demo))); err != nil { // the model beside the package
		t.Fatal(err)
	}
	if _, errs, code := latheCommand(t, "compile", "--target", "DPUCZDX8G-zcu104, llvm", "-o", pkg, filepath.Join(dir, "digits.onnx")); code != cli.ExitOK {
		t.Fatal(errs)
	}
	for _, c := range []struct {
		args []string
		goes bool // on, in float32
	}{
		{[]string{"run", "--data", filepath.Join(dir, "glyphs"), pkg}, false},
		{[]string{"run", pkg}, true},
	} {
		run := exec.Command("sh", "-c", `ulimit -f 128 && exec "$0" -test.run 'TestSignalChild$'`, os.Args[0])
		run.Env = append(os.Environ(), childVariable+"=command", childVariable+"_READY="+filepath.Join(dir, "ready"), "PX_QUANT_SIZE=4", "PX_BUILD_DIR="+build,
			childVariable+"_ARGS="+strings.Join(c.args, "\n"))
		var errs strings.Builder
		run.Stderr = &errs
		err := run.Run()
		if (err == nil) != c.goes || !strings.Contains(errs.String(), "file too large") || strings.Contains(errs.String(), "computes in float32") != c.goes || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%v: %v: %s", c.args, err, errs.String())
		}
		if left := golden.Names(t, build); left != "positions.json" {
			t.Errorf("%v: there are %q", c.args, left)
		}
	}
}

// TestCalibrateWithoutCompiler: lathe-run writes the table and says so.
func TestCalibrateWithoutCompiler(t *testing.T) {
	dir := t.TempDir()
	pkg, build := filepath.Join(dir, "open.tar"), filepath.Join(dir, "build")
	if _, errs, code := latheCommand(t, "compile", "--target", "DPUCZDX8G-zcu104, llvm", "-o", pkg, repository+"/examples/demo/digits.onnx"); code != cli.ExitOK {
		t.Fatal(errs)
	}
	t.Setenv("PX_BUILD_DIR", build)
	t.Setenv("PX_QUANT_SIZE", "5")
	var out, errs bytes.Buffer
	a := &cli.App{Name: "lathe-run", Out: &out, Err: &errs}
	cmd := run.Command(a, "lathe-run", nil, nil)
	cmd.SetArgs([]string{"--data", repository + "/examples/demo/glyphs", pkg})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(errs.String(), "the positions are in "+build) {
		t.Errorf("it says %q", errs.String())
	}
	if b, err := os.ReadFile(filepath.Join(build, "positions.json")); err != nil || !bytes.Contains(b, []byte(`"samples": 5`)) {
		t.Errorf("%v\n%s", err, b)
	}
}
