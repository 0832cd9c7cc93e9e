package deploy

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe"
)

// strict are the warnings that C code of the tests and of users' builds is compiled with.
var strict = []string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-I" + root + "/include", "-Itestdata"}

// cc builds a C program and returns its path.
func cc(t *testing.T, args ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	output(t, exec.Command(tool(t, "cc"), append(append([]string{"-o", program}, strict...), args...)...))
	return program
}

// demoInput is a file with the bytes of the demo network's input.
func demoInput(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input.bin")
	if err := os.WriteFile(path, demoTensor(t, "data").Data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkLogits compares the bytes in a file with the demo network's expected output, and with those that are given.
func checkLogits(t *testing.T, path string, bits []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := distance(floats(b), floats(demoTensor(t, "logits").Data)); !(d <= 1e-4) {
		t.Errorf("%s: relative distance from the expected logits %g", filepath.Base(path), d)
	}
	if bits != nil && string(b) != string(bits) {
		t.Errorf("%s: other bits than the runtime's in Go", filepath.Base(path))
	}
}

// twoModels are options of two compilations of one network whose kernels have the same names and other code.
var twoModels = []struct {
	module string
	o      lathe.CompileOptions
}{
	{"first", lathe.CompileOptions{ModuleName: "first", Weights: lathe.WeightsInside}},
	{"second", lathe.CompileOptions{ModuleName: "second", Weights: lathe.WeightsInside, DisabledPasses: []string{"Winograd", "AlterOpLayout"}}},
}

// A library with its weights inside is one file, which needs no runtime: a C program loads two of them at once and calls
// them. The Go runtime opens the same files.
func TestCompleteLibraries(t *testing.T) {
	dir := t.TempDir()
	args, want := []string{demoInput(t)}, map[string][]byte{}
	for _, m := range twoModels {
		path := filepath.Join(dir, m.module+".so")
		compileDemo(t, "llvm", path, m.o)
		want[m.module] = runHere(t, path)
		args = append(args, path, m.module, filepath.Join(dir, m.module+".out"))
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(files) != 2 {
		t.Fatalf("files: %v, %v", files, err)
	}
	output(t, exec.Command(cc(t, "testdata/loaded.c", "-ldl"), args...))
	for _, m := range twoModels {
		checkLogits(t, filepath.Join(dir, m.module+".out"), want[m.module])
	}
}

// Two static libraries are linked into one program, with the C library static as well.
func TestStaticLibraries(t *testing.T) {
	for _, mode := range []string{"-static", "-pie"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			args := []string{"testdata/linked.c", "-I" + dir, mode, "-fPIE"}
			for _, m := range twoModels {
				o := m.o
				o.Format, o.Weights = "tar", lathe.WeightsByFormat
				pkg := filepath.Join(dir, m.module+".tar")
				compileDemo(t, "llvm", pkg, o)
				output(t, exec.Command(tool(t, "tar"), "-C", dir, "-xf", pkg))
				args = append(args, filepath.Join(dir, "liblathe_"+m.module+".a"))
			}
			first, second := filepath.Join(dir, "first.out"), filepath.Join(dir, "second.out")
			output(t, exec.Command(cc(t, args...), demoInput(t), first, second))
			checkLogits(t, first, nil)
			checkLogits(t, second, nil)
		})
	}
}

// A static library without its weights gets them from the program; all that the build needs is in the tar.
func TestStaticLibraryWeightsBeside(t *testing.T) {
	dir := t.TempDir()
	pkg, out := filepath.Join(dir, "beside.tar"), filepath.Join(dir, "out")
	compileDemo(t, "llvm", pkg, lathe.CompileOptions{Format: "tar", ModuleName: "beside", Weights: lathe.WeightsBeside})
	output(t, exec.Command(tool(t, "tar"), "-C", dir, "-xf", pkg))
	program := filepath.Join(dir, "program")
	output(t, exec.Command(tool(t, "cc"), "-Wall", "-Wextra", "-Werror", "-I"+dir, "-o", program, "testdata/beside.c",
		filepath.Join(dir, "lathe.c"), filepath.Join(dir, "liblathe_beside.a"), "-pthread", "-ldl"))
	output(t, exec.Command(program, filepath.Join(dir, "mod.params"), demoInput(t), out))
	checkLogits(t, out, nil)
}

// A library carries little besides its kernels, their symbols and weights, whatever the network. Constants of kernels lie
// among the strings and count as carried.
func TestDeployLibrarySize(t *testing.T) {
	models := []string{demo}
	if zoo := os.Getenv("LATHE_ZOO"); zoo != "" && os.Getenv("LATHE_DEPLOY") != "" {
		for _, m := range []string{"resnet50", "resnet101", "densenet121", "efficientnet_b0", "bert_base", "resnet50_int8"} {
			models = append(models, filepath.Join(zoo, m+".onnx"))
		}
	}
	for _, model := range models {
		path := filepath.Join(t.TempDir(), "net.so")
		compileModel(t, model, "llvm -mcpu=x86-64-v3", path, lathe.CompileOptions{Weights: lathe.WeightsInside})
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		rest := st.Size()
		var sizes []string
		for _, s := range f.Sections {
			if slices.Contains([]string{".text", ".symtab", ".strtab", "mod.params"}, s.Name) {
				rest -= int64(s.Size)
			}
			sizes = append(sizes, fmt.Sprint(s.Name, " ", s.FileSize))
		}
		f.Close()
		t.Logf("%s: %d bytes besides kernels and weights", filepath.Base(model), rest)
		if rest >= 64<<10 {
			t.Errorf("%s: %d bytes besides kernels and weights: %s", model, rest, strings.Join(sizes, ", "))
		}
	}
}
