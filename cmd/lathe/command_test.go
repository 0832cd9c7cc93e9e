package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"lathe"
	"lathe/internal/testkit/golden"
	"lathe/internal/tool/cli"
)

func TestHelp(t *testing.T) {
	for _, c := range []string{"", "compile", "run", "tune", "records", "inspect", "import", "verify", "evaluate", "quantize", "sources", "targets", "passes", "ops", "version"} {
		t.Run(c, func(t *testing.T) {
			args := append(strings.Fields(c), "--help")
			out, errs, code := latheCommand(t, args...)
			if code != cli.ExitOK || errs != "" {
				t.Fatalf("exit code %d, %s", code, errs)
			}
			golden.Check(t, "help/"+strings.TrimSpace("lathe "+c), []byte(out))
		})
	}
}

func TestNoCommand(t *testing.T) {
	out, errs, code := latheCommand(t)
	help, _, _ := latheCommand(t, "--help")
	if code != cli.ExitNothingToDo || out != "" || errs != help {
		t.Errorf("exit code %d, printed %q and %q", code, out, errs)
	}
}

// What is typed wrong ends with 2, what is understood and cannot be done with 4, and each says so in a line.
func TestMistakes(t *testing.T) {
	lines := []string{
		"complie model.onnx", "micro", "tune --output records.json model.onnx", "--frob", "--config other compile model.onnx",
		"compile", "compile a b", "compile --ouptut x model.onnx", "compile -output x model.onnx", "compile -tuner x model.onnx", "compile --print-ir x model.onnx",
		"compile --target llvm -mcpu=skylake model.onnx", "compile --target llvm,cuda model.onnx", "compile --target opencl model.onnx",
		"compile --target absent.json model.onnx", "compile --target llvm --target-llvm-mcpu= --target-llvm-jit=orcjit model.onnx",
		"compile --target-cuda-arch=sm_80 model.onnx", "compile --target-llvm-mcup=x model.onnx",
		"compile --target c --target-llvm-mcpu=znver4 model.onnx", "compile --target-c-mcpu=cortex-m4 model.onnx",
		"compile --target c-mcpu=x model.onnx", "compile --target c --target-c-workspace-byte-alignment=16 model.onnx", "verify --target c model.onnx",
		"compile --opt-level 5 model.onnx", "compile -O x model.onnx", "compile --model-format onxn model.onnx",
		"compile --input-shapes data model.onnx", "compile --desired-layout-ops nn.conv2d model.onnx", "compile --desired-layout NHWC --desired-layout-ops nn.dense model.onnx", "compile --dump-code ll,foo model.onnx", "compile --disabled-pass Nothing model.onnx",
		"compile --tuning-records r.json model.onnx", "compile --mixed-precision model.onnx", "compile --executor aot model.onnx",
		"compile --cross-compiler aarch64-linux-gnu-gcc model.onnx", "compile -f mlf model.onnx", "compile absent.onnx", "compile --output",
		"run", "run absent.tar", "run model.onnx", "run --device cuda absent.tar", "run --device gpu absent.tar", "run --fill-mode noise absent.tar",
		"run --rpc-key k absent.tar", "run --repeat 0 absent.tar", "run --threads many absent.tar", "run --preprocess x --image y absent.tar",
		"run --std 0 --image y absent.tar", "run --mean 1 absent.tar", "run --number 3 absent.tar", "version please", "completion", "completion tcsh", "run -o top.json absent.tar",
		"evaluate model.onnx", "evaluate --data absent model.onnx", "evaluate --data . model.onnx", "evaluate --data . --fraction 2 model.onnx", "evaluate --data . --raw 1 model.onnx",
		"quantize model.onnx", "quantize -o q.onnx model.onnx", "quantize --calibration . model.onnx", "quantize --calibration . -o q.so model.onnx", "quantize --calibration . -o model.onnx model.onnx",
		"quantize --calibration . --calibrate-mode entropy -o q.onnx model.onnx", "quantize --calibration . --mode int4 -o q.onnx model.onnx", "quantize --calibration . --max-drop 0 -o q.onnx model.onnx",
		"quantize --calibration . --max-drop x -o q.onnx model.onnx", "quantize --calibration . --max-drop 1 -o q.onnx model.onnx", "quantize --calibration . --percentile 0 -o q.onnx model.onnx", "quantize --calibration . --labels l.csv -o q.onnx model.onnx",
		"quantize --calibration . --activations float16 -o q.onnx model.onnx", "quantize --calibration . --report r.pdf -o q.onnx model.onnx",
		"evaluate --data . --grid opt-level model.onnx", "evaluate --data . --preprocess unti model.onnx", "import model.onnx", "import -o net.tar model.onnx", "import -o model.onnx model.onnx", "import --weights w.bin -o net.onnx model.onnx",
		"records", "records --diff a.json", "records --diff -o x a.json b.json", "records --prune a.json", "records absent.json", "records model.onnx",
	}
	var b strings.Builder
	t.Run("in a folder with a model", func(t *testing.T) {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("model.onnx", []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			_, errs, code := latheCommand(t, strings.Fields(line)...)
			fmt.Fprintf(&b, "$ lathe %s\n%s[%d]\n\n", line, errs, code)
			if code != cli.ExitUsage && code != cli.ExitFailed {
				t.Errorf("%s: exit code %d", line, code)
			}
		}
	})
	// The lists of passes belong to the compiler.
	text := b.String()
	for _, fit := range []func(lathe.PassInfo) bool{anyPass, optionalPass} {
		known := strings.Join(passNames(fit), ", ")
		text = strings.ReplaceAll(text, "(choose from "+known+")", "(choose from PASSES)")
	}
	golden.Check(t, "mistakes", []byte(text))
}

// Abbreviations, lists of values and places of flags are argparse's.
func TestExpand(t *testing.T) {
	for _, c := range []struct{ command, in, want string }{
		{"run", "--output p.npz --input c.npz m.tar", "--outputs=p.npz --inputs=c.npz m.tar"},
		{"run", "m.tar --rep=3 --print-ti", "m.tar --repeat=3 --print-time"},
		{"run", "--pro m.tar", "--profile m.tar"}, // ours is --preprocess, and --pro stays tvmc's
		{"run", "--i x m.tar", "--inputs=x m.tar"},
		{"run", "-i x -o y m.tar", "-i x -o y m.tar"},
		{"compile", "--desired-layout NHWC NCHW model.onnx", "model.onnx --desired-layout=NHWC --desired-layout=NCHW"},
		{"compile", "--desired-layout NHWC -O3 model.onnx", "--desired-layout=NHWC -O3 model.onnx"},
		{"compile", "model.onnx --desired-layout NHWC NCHW", "model.onnx --desired-layout=NHWC --desired-layout=NCHW"},
		{"compile", "--target=llvm --output -x m", "--target=llvm --output=-x m"},
		{"compile", "--target-llvm-mcpu znver4 m", "--target-llvm-mcpu=znver4 m"},
		{"compile", "-O 3 -- --m", "-O 3 -- --m"},
		{"compile", "--dump-c ll --targ llvm m", "--dump-code=ll --target=llvm m"}, // --target-llvm-... are not listed
	} {
		a := &app{&cli.App{}}
		got, err := cli.Normal(a.root(), append([]string{c.command}, strings.Fields(c.in)...))
		if err != nil || strings.Join(got, " ") != c.command+" "+c.want {
			t.Errorf("%s %s:\ngot  %s, %v\nwant %s", c.command, c.in, strings.Join(got, " "), err, c.want)
		}
	}
}

// TestAbbreviations types every beginning of every flag of every command. One that fits exactly one flag of those that help
// lists is a flag, whatever else there is; one that fits several of them is refused with these, unless one of them alone is tvmc's.
func TestAbbreviations(t *testing.T) {
	typed := 0
	for _, cmd := range (&app{&cli.App{}}).root().Commands() {
		if cmd.DisableFlagParsing {
			continue
		}
		var listed, all []string
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			all = append(all, f.Name)
			if !f.Hidden {
				listed = append(listed, f.Name)
			}
		})
		listed, all = append(listed, "help", "verbose"), append(all, "help", "verbose", "config")
		for _, name := range listed {
			for n := 1; n < len(name); n++ {
				beginning := name[:n]
				begins := func(s string) bool { return !strings.HasPrefix(s, beginning) }
				fit := slices.DeleteFunc(slices.Clone(listed), begins)
				if slices.Contains(all, beginning) {
					continue // a flag itself
				}
				typed++
				got, err := cli.Normal((&app{&cli.App{}}).root(), []string{cmd.Name(), "--" + beginning + "=x"})
				if want := "--" + name + "=x"; len(fit) == 1 && (err != nil || got[1] != want) {
					t.Errorf("%s --%s is %v, %v; want %s", cmd.Name(), beginning, got, err, want)
				}
				if err != nil && len(fit) > 1 {
					for _, f := range slices.DeleteFunc(slices.Clone(all), begins) {
						if slices.Contains(fit, f) != strings.Contains(err.Error()+",", "--"+f+",") {
							t.Errorf("%s --%s: %v; lists --%s or not", cmd.Name(), beginning, err, f)
						}
					}
				}
			}
		}
	}
	if typed < 200 {
		t.Errorf("%d beginnings", typed)
	}
}

func TestCompileOptions(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "target.json")
	if err := os.WriteFile(file, []byte(`{"kind": "llvm", "mcpu": "znver3"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	f := &compileFlags{optLevel: 2, dumpCode: "[ll, asm,ll]", moduleName: "net", desiredLayout: []string{"NHWC"}, printTimes: true,
		target: targetFlags{text: file}}
	o, err := f.options(os.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	if o.Target != "llvm -mcpu=znver3" || o.OptLevel != lathe.O2 || o.ModuleName != "net" || o.PrintPassTimes == nil ||
		!slices.Equal(o.DumpCode, []string{"ll", "asm"}) || !slices.Equal(o.DesiredLayout, []string{"NHWC"}) {
		t.Errorf("%+v", o)
	}
}

// What the command reads is not written over, whatever the path is called.
func TestOutputIsNotInput(t *testing.T) {
	t.Chdir(t.TempDir())
	names := []string{"model.onnx", "m.tar", "n.h", "p.params", "q.mjs", "y.asm", "lib.so", "lib.params", "m", "in.npz"}
	for _, name := range names {
		if err := os.WriteFile(name, []byte("kept"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(name, "link-"+name); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"compile -o m.tar m.tar", "compile -o ./link-m.tar m.tar",
		"compile -f c -o n.c n.h", "compile -o p.so p.params", "compile -f wasm -o q.wasm q.mjs", "compile -o y --dump-code asm y.asm",
		"run -o m m", "run -o m link-m", "run -i in.npz -o in.npz m.tar", "run -i link-in.npz -o in.npz m.tar",
	} {
		_, errs, code := latheCommand(t, strings.Fields(line)...)
		if code != cli.ExitFailed || !strings.Contains(errs, "the command reads this file") {
			t.Errorf("%s: exit code %d, %s", line, code, errs)
		}
	}
	for _, name := range names {
		if b, err := os.ReadFile(name); err != nil || string(b) != "kept" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// The name of a file says what is in it: every flag for a file that is written refuses names of something else, empty ones, and
// standard output where that is for text.
func TestOutputNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"model.onnx", "m.tar"} {
		if err := os.WriteFile(name, []byte("kept"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	forms := map[string][]string{
		"compile model.onnx -o ": {"", ".tar", ".so", ".c", ".wasm"}, "run m.tar -o ": {"", ".npz"}, "run m.tar --outputs=": {"", ".npz"},
		"compile model.onnx --explain=": explainForms, "inspect m.tar --explain=": explainForms, "run m.tar --profile=": {".txt", ".html", ".json", ".csv"},
		"sources -o ": {"", ".d"},
	}
	for line, good := range forms {
		for _, ext := range []string{"", ".tar", ".so", ".c", ".wasm", ".npz", ".npy", ".txt", ".html", ".json", ".csv", ".params", ".onnx", ".h", ".zip", ".hpp", ".d"} {
			if line != "sources -o " && ext == ".d" || line == "sources -o " && !slices.Contains(notFolders, ext) && !slices.Contains(good, ext) {
				continue
			}
			_, errs, code := latheCommand(t, strings.Fields(line+"x"+ext)...)
			// The files are no models and no packages: what is not refused fails for that.
			refused := code == cli.ExitUsage
			if refused == slices.Contains(good, ext) {
				t.Errorf("%sx%s: exit code %d, %s", line, ext, code, errs)
			}
		}
		args := strings.Fields(line)
		if flag, ok := strings.CutSuffix(args[len(args)-1], "="); ok {
			args[len(args)-1] = flag + "="
		} else {
			args = append(args, "")
		}
		if _, errs, code := latheCommand(t, args...); code != cli.ExitUsage {
			t.Errorf("%q: exit code %d, %s", args, code, errs)
		}
	}
	for _, line := range []string{"run -o - m.tar", "compile -o - model.onnx"} {
		if _, errs, code := latheCommand(t, strings.Fields(line)...); code != cli.ExitUsage || !strings.Contains(errs, "standard output") {
			t.Errorf("%s: exit code %d, %s", line, code, errs)
		}
	}
}

// Decisions that are no JSON, or say something twice, are refused with the line and in words.
func TestBadChoices(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]string{
		`{"k": {"tile": 3}}`: "line 1: a string is wanted, there is a number", `["k"]`: "line 1: an object is wanted, there is a list", "": "there is no JSON",
		"{\n\"k\": {\"tile\": \"1\",\n\"tile\": \"2\"}}": `line 3: the object has "tile" twice`, "{\"k\": {},\n\"k\": {}}": `line 2: the object has "k" twice`,
		`{"k": {}} x`: "line 1: ", "{\n\"k\" {}}": "line 2: invalid character '{' after object key",
	} {
		if err := os.WriteFile("c.json", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, errs, code := latheCommand(t, "compile", "--choices", "c.json", "model.onnx")
		if code != cli.ExitUsage || !strings.Contains(errs, want) || !strings.Contains(errs, `{"KERNEL": {"DECISION": "VALUE"}}`) || strings.Contains(errs, "Go ") {
			t.Errorf("%s: exit code %d, %s", text, code, errs)
		}
	}
}

// Output that is lost is an error of every command.
func TestLostOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, line := range []string{"--help", "version", "passes"} {
		var errs strings.Builder
		code := (&app{&cli.App{Name: "lathe", Out: full, Err: &errs}}).run(t.Context(), strings.Fields(line))
		if code != cli.ExitFailed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%s: exit code %d, %s", line, code, errs.String())
		}
	}
}
