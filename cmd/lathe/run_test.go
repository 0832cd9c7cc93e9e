package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/testkit/golden"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/npz"
	"lathe/runtime"
)

func f32(v ...float32) []byte {
	var b []byte
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

func saveNpz(t *testing.T, arrays ...npz.Array) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.npz")
	if err := cli.WriteFile(path, func(w io.Writer) error { return npz.Write(w, arrays) }); err != nil {
		t.Fatal(err)
	}
	return path
}

var data14 = bundle.TensorInfo{Name: "data", DType: "float32", Shape: []int{1, 4}}

// The commands of the tutorial, with --output for --outputs.
func TestRunTutorial(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14)
	in := saveNpz(t, npz.Array{Name: "data", DType: "float32", Shape: []int{1, 4}, Data: f32(1, 4, 2, 3)})
	to := filepath.Join(t.TempDir(), "predictions.npz")
	out, errs, code := latheCommand(t, "run", "--inputs", in, "--output", to, "--print-time", "--repeat", "100", pkg)
	if code != cli.ExitOK || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	block := regexp.MustCompile(`^Execution time summary:\n mean \(ms\)   median \(ms\)    max \(ms\)     min \(ms\)     std \(ms\)  \n` +
		`( +\d+\.\d{4} +){5}\n$`)
	if !block.MatchString(out) {
		t.Errorf("printed %q", out)
	}
	got, err := npz.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Name != "output_0" || string(got[0].Data) != string(f32(1, 4, 2, 3)) {
		t.Errorf("outputs %+v", got)
	}
}

func TestRunPrintTop(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4, 1, 1}, data14)
	in := saveNpz(t, npz.Array{Name: "data", DType: "float32", Shape: []int{1, 4}, Data: f32(1, 4, 2, 3)})
	out, _, code := latheCommand(t, "run", "-i", in, "--print-top", "3", pkg)
	if want := "[[1. 3. 2.]\n [4. 3. 2.]]\n"; code != cli.ExitOK || out != want {
		t.Errorf("exit code %d, printed %q, want %q", code, out, want)
	}
}

// The lines of the C++ runner.
func TestRunPicture(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 12, 9))
	for y := range 9 {
		for x := range 12 {
			img.SetNRGBA(x, y, color.NRGBA{uint8(20 * x), uint8(25 * y), 90, 255})
		}
	}
	dir := t.TempDir()
	cat, labels := filepath.Join(dir, "cat.png"), filepath.Join(dir, "labels.txt")
	if err := cli.WriteFile(cat, func(w io.Writer) error { return png.Encode(w, img) }); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(labels, []byte("n02123045 tabby, tabby cat\nn02123159 tiger cat\nlynx\n"+strings.Repeat("another\n", 9)), 0o666); err != nil {
		t.Fatal(err)
	}
	pkg := copyPackage(t, []int{1, 12}, bundle.TensorInfo{Name: "input0", DType: "float32", Shape: []int{1, 3, 2, 2}})
	out, errs, code := latheCommand(t, "run", "--image", cat, "--preprocess", "imagenet-square", "--resize", "4x4", "--labels", labels, "--print-top", "2", pkg)
	if code != cli.ExitOK || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	golden.Check(t, "run-picture", []byte(out))
}

func TestRunFill(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14, bundle.TensorInfo{Name: "mask", DType: "int64", Shape: []int{2}})
	to := filepath.Join(t.TempDir(), "out.npz")
	read := func(args ...string) []byte {
		t.Helper()
		_, errs, code := latheCommand(t, append([]string{"run", "-o", to, pkg}, args...)...)
		if code != cli.ExitOK {
			t.Fatal(errs)
		}
		got, err := npz.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Data
	}
	if got := read("--fill-mode", "ones"); string(got) != string(f32(1, 1, 1, 1)) {
		t.Errorf("ones: % x", got)
	}
	if got := read("--fill", "zeros"); string(got) != string(f32(0, 0, 0, 0)) {
		t.Errorf("zeros: % x", got)
	}
	random := read()
	if string(random) != string(read()) {
		t.Error("random inputs differ from run to run")
	}
	for i := 0; i < 16; i += 4 {
		if v := math.Float32frombits(binary.LittleEndian.Uint32(random[i:])); v < -1 || v >= 1 || v == 0 {
			t.Errorf("random value %v", v)
		}
	}
}

func TestRunConverts(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14)
	var wide []byte
	for _, v := range []float64{0.1, 1, 2, 3} {
		wide = binary.LittleEndian.AppendUint64(wide, math.Float64bits(v))
	}
	in := saveNpz(t, npz.Array{Name: "data", DType: "float64", Shape: []int{1, 4}, Data: wide})
	to := filepath.Join(t.TempDir(), "out.npz")
	_, errs, code := latheCommand(t, "run", "-i", in, "-o", to, pkg)
	if want := "lathe: note: input \"data\" is float64 and the model expects float32: converted\n"; code != cli.ExitOK || errs != want {
		t.Fatalf("exit code %d, printed %q, want %q", code, errs, want)
	}
	got, err := npz.ReadFile(to)
	if err != nil || string(got[0].Data) != string(f32(0.1, 1, 2, 3)) {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestRunErrors(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14, bundle.TensorInfo{Name: "ids", DType: "int32", Shape: []int{1}})
	unknown := saveNpz(t, npz.Array{Name: "dta", DType: "float32", Shape: []int{1}, Data: f32(1)})
	shape := saveNpz(t, npz.Array{Name: "data", DType: "float32", Shape: []int{4}, Data: f32(1, 2, 3, 4)})
	value := saveNpz(t, npz.Array{Name: "ids", DType: "int64", Shape: []int{1}, Data: []byte{0, 0, 0, 0, 1, 0, 0, 0}})
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown input", []string{"-i", unknown}, "the input tensor 'dta' is not in the graph. Expected inputs: 'data', 'ids'"},
		{"shape", []string{"-i", shape}, "got float32[4], the model expects float32[1,4]: add the batch dimension in front"},
		{"value", []string{"-i", value}, "cannot hold the value 4.294967296e+09 at position 0"},
		{"no file", []string{"-i", "absent.npz"}, "absent.npz"},
		{"picture", []string{"--image", "absent.png"}, "no input is left for a picture"},
		{"labels", []string{"--labels", "absent.txt"}, "absent.txt"},
		{"output", []string{"-o", filepath.Join(t.TempDir(), "no", "such", "dir.npz")}, "writing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, errs, code := latheCommand(t, append([]string{"run", pkg}, c.args...)...)
			if code != cli.ExitFailed || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
				t.Errorf("exit code %d, printed %q, want %q", code, errs, c.want)
			}
		})
	}
}

func TestRunProfile(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14)
	out, errs, code := latheCommand(t, "run", "--profile", "--repeat", "3", pkg)
	if code != cli.ExitOK || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	for _, want := range []string{"Time (us)", "Share (%)", "Lost (us)", "GFLOP/s", "Bytes", "copy (Identity_0)", "sum"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	for name, begin := range map[string]string{"p.html": "<!DOCTYPE html>", "p.txt": "Profile of fixture", "p.json": "{\n  \"model\": \"fixture.onnx\"", "p.csv": "index,name,"} {
		file := filepath.Join(t.TempDir(), name)
		out, errs, code = latheCommand(t, "run", "--profile="+file, pkg)
		if code != cli.ExitOK || out+errs != "" {
			t.Fatalf("exit code %d, printed %q, %s", code, out, errs)
		}
		if b, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(b), begin) || !strings.Contains(string(b), "Identity_0") {
			t.Errorf("%s: %v, %.200s", name, err, b)
		}
	}
}

// The page says the same time of a run as --print-time.
func TestProfileIsOfTheRuns(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14)
	out, errs, code := latheCommand(t, "run", "--json", "--profile", "--print-time", "--repeat", "5", "--number", "3", pkg)
	var r struct {
		Times struct {
			All []float64 `json:"all"`
		} `json:"times_ms"`
		Profile struct {
			Runs []float64 `json:"runs_us"`
		} `json:"profile"`
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.ExitOK || len(r.Times.All) != 5 || len(r.Profile.Runs) != 15 {
		t.Fatalf("exit code %d, %v, %s%s", code, err, errs, out)
	}
	for i, ms := range r.Times.All {
		sum := 0.0
		for _, us := range r.Profile.Runs[3*i : 3*i+3] {
			sum += us / 3e3
		}
		if math.Abs(sum-ms) > 1e-6*ms {
			t.Errorf("measurement %d is %v ms, the profile's runs are %v", i, ms, sum)
		}
	}
}

// Names of classes that are not as many as the classes are another network's, whatever the order of checks.
func TestRunLabels(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14)
	for n := 1; n < 8; n++ {
		labels := filepath.Join(t.TempDir(), "labels.txt")
		if err := os.WriteFile(labels, []byte(strings.Repeat("name\n", n)), 0o666); err != nil {
			t.Fatal(err)
		}
		out, errs, code := latheCommand(t, "run", "--labels", labels, pkg)
		if n == 4 {
			if code != cli.ExitOK || !strings.Contains(out, "Predicted class") {
				t.Errorf("exit code %d, %s", code, errs)
			}
		} else if code != cli.ExitFailed || out != "" || !strings.Contains(errs, "the output has 4 classes") {
			t.Errorf("%d names: exit code %d, %q, %s", n, code, out, errs)
		}
	}
}

// Inputs may come from several files, each from one.
func TestRunSeveralInputs(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14, bundle.TensorInfo{Name: "mask", DType: "float32", Shape: []int{1}})
	data := saveNpz(t, npz.Array{Name: "data", DType: "float32", Shape: []int{1, 4}, Data: f32(1, 4, 2, 3)})
	mask := saveNpz(t, npz.Array{Name: "mask", DType: "float32", Shape: []int{1}, Data: f32(1)})
	for _, order := range [][]string{{data, mask}, {mask, data}} {
		out, errs, code := latheCommand(t, "run", "-i", order[0], "--inputs", order[1], "--print-top", "1", pkg)
		if code != cli.ExitOK || errs != "" || out != "[[1.]\n [4.]]\n" {
			t.Errorf("exit code %d, %q, %s", code, out, errs)
		}
	}
	again := saveNpz(t, npz.Array{Name: "data", DType: "float32", Shape: []int{1, 4}, Data: f32(0, 0, 0, 0)})
	if _, errs, code := latheCommand(t, "run", "-i", data, "-i", again, pkg); code != cli.ExitFailed || !strings.Contains(errs, `"data" is in `) {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// What is no number is told.
func TestRunNaN(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14)
	nan := float32(math.NaN())
	in := saveNpz(t, npz.Array{Name: "data", DType: "float32", Shape: []int{1, 4}, Data: f32(1, nan, nan, 3)})
	if _, errs, code := latheCommand(t, "run", "-i", in, pkg); code != cli.ExitOK || errs != "lathe: note: output \"out\" has 2 NaN\n" {
		t.Errorf("exit code %d, %q", code, errs)
	}
	out, _, code := latheCommand(t, "run", "-i", in, "--json", "--print-top", "4", pkg)
	if code != cli.ExitOK || !json.Valid([]byte(out)) || !strings.Contains(out, `"nan": 2`) || !strings.Contains(out, `"value": null`) {
		t.Errorf("exit code %d, %s", code, out)
	}
}

func TestRunThreads(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14)
	cpus := runtime.CPUs()
	_, errs, code := latheCommand(t, "run", "--threads", fmt.Sprint(cpus+7), pkg)
	if code != cli.ExitOK || strings.Count(errs, fmt.Sprintf("--threads %d: this machine has %d core", cpus+7, cpus)) != 1 {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if _, errs, code := latheCommand(t, "run", "--threads", fmt.Sprint(cpus), pkg); code != cli.ExitOK || errs != "" {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// --check looks at every byte, and exits as other wrong packages do.
func TestCheckPackage(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14)
	for _, args := range [][]string{{"inspect", "--check", pkg}, {"run", "--check", pkg}} {
		if _, errs, code := latheCommand(t, args...); code != cli.ExitOK || errs != "" {
			t.Fatalf("%s: exit code %d, %s", args[0], code, errs)
		}
	}
	b, err := os.ReadFile(pkg)
	if err != nil {
		t.Fatal(err)
	}
	b[2000] ^= 4 // of mod.so
	if err := os.WriteFile(pkg, b, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"inspect", "--check", pkg}, {"run", "--check", pkg}, {"run", pkg}} {
		_, errs, code := latheCommand(t, args...)
		if code != cli.ExitFailed || !strings.Contains(errs, "mod.so is damaged") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, %s", args[0], code, errs)
		}
	}
}

func TestInspectPackage(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14)
	out, errs, code := latheCommand(t, "inspect", "--steps", pkg)
	if code != cli.ExitOK || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	out = regexp.MustCompile(`(library +)\d.*`).ReplaceAllString(out, "${1}SIZE")
	golden.Check(t, "inspect-package", []byte(out))
}
