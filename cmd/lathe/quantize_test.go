package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/quant"
)

// TestQuantize: from the command line to an ONNX file, a package and reports; both compute and say the same.
func TestQuantize(t *testing.T) {
	demo, err := filepath.Abs(filepath.Join(repository, "examples", "demo"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	network, samples := filepath.Join(demo, "digits.onnx"), filepath.Join(demo, "glyphs")
	common := []string{"quantize", "--calibration", samples, "--calibration-size", "12", "--preprocess", "signed", "--calibrate-mode", "minmax"}
	run := func(args ...string) string {
		t.Helper()
		out, errs, code := latheCommand(t, append(append([]string{}, common...), args...)...)
		if code != 0 || errs != "" && !strings.Contains(errs, "--measure returns layers") { // a machine with other work may be slower with integers
			t.Fatalf("%v: exit code %d, %s%s", args, code, out, errs)
		}
		return out
	}
	out := run("--skip", "first", "--report", "report.json", "-o", "q.onnx", network)
	for _, want := range []string{"10 of 11 on integers", "/stem/stem.0/Conv (nn.conv2d): it was asked to stay float"} {
		if !strings.Contains(out, want) {
			t.Errorf("printed no %q: %s", want, out)
		}
	}
	b, err := os.ReadFile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	var report quant.Report
	if err := json.Unmarshal(b, &report); err != nil || report.Samples != 12 || len(report.Layers) != 11 || report.Layers[0].Bits != 32 || report.SQNR < 20 {
		t.Errorf("%v: %s", err, b)
	}
	var printed quant.Report
	if err := json.Unmarshal([]byte(run("--skip", "first", "--json", "-o", "q.tar", network)), &printed); err != nil || printed.SQNR != report.SQNR {
		t.Errorf("--json gives %v dB instead of %v (%v)", printed.SQNR, report.SQNR, err)
	}
	if _, errs, code := latheCommand(t, "compile", "-o", "again.tar", "q.onnx"); code != 0 {
		t.Fatal(errs)
	}
	var answers []string
	for _, pkg := range []string{"q.tar", "again.tar"} {
		out, errs, code := latheCommand(t, "run", "--image", filepath.Join(demo, "sample.png"), "--preprocess", "signed", "--print-top", "3", pkg)
		if code != 0 {
			t.Fatal(errs)
		}
		_, best, _ := strings.Cut(out, "Top-3") // what stands before has times
		answers = append(answers, best)
	}
	if answers[0] != answers[1] || !strings.Contains(answers[0], "id=7") {
		t.Errorf("the package says %s, the compiled file %s", answers[0], answers[1])
	}
	run("--io", "uint8", "-o", "bytes.onnx", network)
	run("--io", "uint8", "-o", "bytes.tar", network)
	if _, errs, code := latheCommand(t, "compile", "-o", "bytes-again.tar", "bytes.onnx"); code != 0 {
		t.Fatal(errs)
	}
	answers = nil
	for _, pkg := range []string{"bytes.tar", "bytes-again.tar"} { // the scales are in the package, and in the nodes of the file
		out, errs, code := latheCommand(t, "run", "--image", filepath.Join(demo, "sample.png"), "--preprocess", "signed", "--print-top", "3", pkg)
		if code != 0 {
			t.Fatal(errs)
		}
		_, best, _ := strings.Cut(out, "Top-3")
		answers = append(answers, best)
		if out, _, _ := latheCommand(t, "inspect", pkg); !strings.Contains(out, "uint8[1,3,64,64]") || !strings.Contains(out, "uint8[1,36]") {
			t.Errorf("%s: inputs and outputs are no bytes: %s", pkg, out)
		}
	}
	if answers[0] != answers[1] || !strings.Contains(answers[0], "id=7  p=0.9") {
		t.Errorf("the package says %s, the compiled file %s", answers[0], answers[1])
	}
	run("--report", "report.html", "-o", "q.onnx", network)
	if page, err := os.ReadFile("report.html"); err != nil || !strings.Contains(string(page), "/classify/Gemm") {
		t.Errorf("the page does not name a layer (%v)", err)
	}
	if _, errs, code := latheCommand(t, append(append([]string{}, common...), "--skip", "op=nn.conv3d", "-o", "q.onnx", network)...); code == 0 || !strings.Contains(errs, `no layer to skip is "op=nn.conv3d"`) {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// TestQuantizeGPTQ: weights rounded by samples, from the command line; the flag needs them, and its mode.
func TestQuantizeGPTQ(t *testing.T) {
	demo, err := filepath.Abs(filepath.Join(repository, "examples", "demo"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	network, samples := filepath.Join(demo, "digits.onnx"), filepath.Join(demo, "glyphs")
	out, errs, code := latheCommand(t, "quantize", "--mode", "weight-only", "--bits", "4", "--least-weights", "1000", "--gptq", "--calibration", samples, "--calibration-size", "12", "--preprocess", "signed",
		"--report", "report.txt", "-o", "q.tar", network)
	if code != 0 || !strings.Contains(out, "1 of 11 layers, weights of 4 bits") || !strings.Contains(out, "of the layers' results on 12 samples") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	for want, args := range map[string][]string{
		"flag --calibration is needed":                            {"--mode", "weight-only", "--gptq"},
		"flag --gptq is for --mode weight-only":                   {"--gptq", "--calibration", samples},
		"flag --calibration is for --mode static, and for --gptq": {"--mode", "weight-only", "--calibration", samples},
		"flag --percentile is for --mode static":                  {"--mode", "weight-only", "--gptq", "--calibration", samples, "--percentile", "99"},
	} {
		if _, errs, code := latheCommand(t, append(append([]string{"quantize"}, args...), "-o", "q.onnx", network)...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, %s", args, code, errs)
		}
	}
}
