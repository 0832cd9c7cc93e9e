package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/tool/cli"
	"lathe/internal/tool/explain"
)

// TestExplain compiles the demo network and reads the explanation in both forms, beside the package and from it.
func TestExplain(t *testing.T) {
	dir := t.TempDir()
	pkg, file := filepath.Join(dir, "m.tar"), filepath.Join(dir, "m.json")
	out, errs, code := latheCommand(t, "compile", "--target", "llvm -mcpu=x86-64-v3", "--explain", "-o", pkg, "../../examples/demo/digits.onnx")
	if code != cli.ExitOK || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	for _, want := range []string{"digits.onnx for llvm", "/classify/Gemm", "tile: ", "const float32[36,160]:AB", "expected", "sum"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	again, errs, code := latheCommand(t, "inspect", "--explain", pkg)
	if code != cli.ExitOK || again != out {
		t.Errorf("inspect: exit code %d, %s%s", code, errs, again)
	}
	if _, errs, code := latheCommand(t, "inspect", "--explain="+file, pkg); code != cli.ExitOK {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, errs, code := latheCommand(t, "inspect", "--explain", "--json", pkg); code != cli.ExitOK || out != string(b) {
		t.Errorf("inspect --json: exit code %d, %s%s", code, errs, out)
	}
	var r explain.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Kernels) == 0 || r.Sum.Kernels != len(r.Kernels) || r.Kernels[0].Rule == "" || r.Sum.Ms <= 0 || r.FLOPs == 0 {
		t.Errorf("report %+v", r)
	}
	link := filepath.Join(dir, "link.txt")
	if err := os.Symlink(pkg, link); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := latheCommand(t, "inspect", "--explain="+link, pkg); code == cli.ExitOK || !strings.Contains(errs, "reads this file") {
		t.Errorf("explanation over the package: exit code %d, %s", code, errs)
	}
}
