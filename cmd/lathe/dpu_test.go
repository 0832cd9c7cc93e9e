package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
