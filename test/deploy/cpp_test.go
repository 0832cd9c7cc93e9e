package deploy

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/cli/run"
	"lathe/internal/tool/profile"

	"github.com/spf13/cobra"
)

// buildExample builds examples/cpp with the warnings of this repository as errors, and returns run_model.
func buildExample(t *testing.T, options ...string) string {
	t.Helper()
	build := t.TempDir()
	args := append([]string{"-S", root + "/examples/cpp", "-B", build, "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror"}, options...)
	output(t, exec.Command(tool(t, "cmake"), args...))
	output(t, exec.Command("cmake", "--build", build))
	return filepath.Join(build, "run_model")
}

// latheRun is the output of 'lathe run' with a picture.
func latheRun(t *testing.T, pkg, picture, labels, preset string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a := &cli.App{Name: "lathe", Out: &out, Err: &errs}
	code := a.Run(t.Context(), func() *cobra.Command {
		c := run.Command(a, "lathe run", func(_ int, work func() error) (profile.Peaks, error) { return profile.Peaks{}, work() }, nil)
		a.Finish(c)
		return c
	}, []string{"--image", picture, "--preprocess", preset, "--labels", labels, pkg})
	if code != cli.ExitOK {
		t.Fatal(errs.String())
	}
	return out.String()
}

var number = regexp.MustCompile(`-?\d+(\.\d+)?(e-?\d+)?`)

// sameReport compares two outputs: all words are the same, and numbers differ by rounding at most.
func sameReport(t *testing.T, got, want string) {
	t.Helper()
	if g, w := number.ReplaceAllString(got, "N"), number.ReplaceAllString(want, "N"); g != w {
		t.Fatalf("printed\n%s\n'lathe run' prints\n%s", got, want)
	}
	g, w := number.FindAllString(got, -1), number.FindAllString(want, -1)
	for i := range g {
		a, _ := strconv.ParseFloat(g[i], 64)
		b, _ := strconv.ParseFloat(w[i], 64)
		if math.Abs(a-b) > 1e-4*max(1, math.Abs(b)) {
			t.Errorf("%s, and 'lathe run' says %s, in\n%s", g[i], w[i], got)
		}
	}
}

// The program in C++ prints what 'lathe run' prints, for models in files and for one that is linked in.
func TestDeployCpp(t *testing.T) {
	long(t)
	artifacts, unpacked := t.TempDir(), t.TempDir()
	type network struct{ name, file, input, picture, labels string }
	networks := []network{{"digits", demo, "data", root + "/examples/demo/sample.png", root + "/examples/demo/labels.txt"}}
	if models := os.Getenv("LATHE_MODELS"); models != "" {
		networks = append(networks, network{
			"squeezenet", models + "/onnx/squeezenet1.1/squeezenet1.1-rebuilt.onnx", "data", models + "/images/cat.png", models + "/images/labels/imagenet_synset.txt",
		})
	}
	for _, n := range networks {
		compileModel(t, n.file, "llvm", filepath.Join(artifacts, n.name+"_tvm.so"), lathe.CompileOptions{})
	}
	// The same network with its weights inside, as one file and in a tar.
	inside := lathe.CompileOptions{Weights: lathe.WeightsInside}
	compileDemo(t, "llvm", filepath.Join(artifacts, "one.so"), inside)
	compileDemo(t, "llvm", filepath.Join(artifacts, "packed.tar"), inside)
	static := filepath.Join(t.TempDir(), "digits.tar")
	compileDemo(t, "llvm", static, lathe.CompileOptions{Format: "tar", ModuleName: "linked"})
	output(t, exec.Command(tool(t, "tar"), "-C", unpacked, "-xf", static))

	// The model in the program needs no folder.
	program := buildExample(t, "-DLATHE_STATIC="+unpacked, "-DLATHE_MODULE=linked")
	for _, name := range []string{"linked", "one", "packed"} {
		networks = append(networks, network{name, "", "data", networks[0].picture, networks[0].labels})
	}
	for _, n := range networks {
		t.Run(n.name, func(t *testing.T) {
			folder, file := artifacts, n.name
			if n.file == "" {
				file = networks[0].name
			}
			if n.name == "linked" {
				folder = "-"
			}
			for _, flags := range [][]string{{"--normalize"}, {"--preprocess", "imagenet"}, {"--preprocess", "signed"}, {"--preprocess", "unit"}} {
				want := latheRun(t, filepath.Join(artifacts, file+"_tvm.so"), n.picture, n.labels, strings.Replace(flags[len(flags)-1], "--normalize", "imagenet", 1))
				want = strings.Replace(want, "Running "+file+"_tvm", "Running "+n.name, 1)
				sameReport(t, output(t, exec.Command(program, append([]string{n.name, folder, n.picture, n.labels, n.input}, flags...)...)), want)
			}
		})
	}

	short := filepath.Join(t.TempDir(), "short.txt")
	writeFile(t, short, []byte("a\nb\nc\n"))
	if help := output(t, exec.Command(program, "--help")); !strings.HasPrefix(help, "usage: run_model NAME") {
		t.Errorf("--help prints %s", help)
	}
	// Errors are one line that says what to do, and wrong use shows the usage.
	d := networks[0]
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"digits"}, "usage: run_model NAME"},
		{[]string{"digits", artifacts, d.picture, d.labels, "data", "--norm"}, "unknown flag --norm"},
		{[]string{"absent", artifacts, d.picture, d.labels, "data"}, "absent_tvm.tar exists (lathe compile -o writes it)"},
		{[]string{"digits", artifacts, d.picture, d.labels, "input0"}, `input0`},
		{[]string{"digits", artifacts, "absent.png", d.labels, "data"}, "picture absent.png: "},
		{[]string{"digits", artifacts, d.labels, d.labels, "data"}, "unknown image type"},
		{[]string{"digits", artifacts, d.picture, "absent.txt", "data"}, "labels absent.txt: cannot read the file"},
		{[]string{"digits", artifacts, d.picture, short, "data"}, "the file has 3 names, the output has 36 classes"},
		{[]string{"digits", artifacts, d.picture, d.labels, "data", "--preprocess", "caffe"}, "must be unit, signed or imagenet"},
	} {
		out, err := exec.Command(program, c.args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v, printed %s, want %q", c.args, err, out, c.want)
		}
	}

	// Valgrind knows no AVX-512.
	compileDemo(t, "llvm -mcpu=x86-64-v3", filepath.Join(artifacts, "plain.tar"), lathe.CompileOptions{})
	output(t, exec.Command(tool(t, "valgrind"), "-q", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=all", "--errors-for-leak-kinds=all",
		program, "plain", artifacts, d.picture, d.labels, "data", "--normalize", "--threads", "2"))
}
