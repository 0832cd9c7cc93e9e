package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"lathe"
	"lathe/internal/testkit/tflitetest"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/markdown"
	"lathe/internal/tool/npz"
)

const repository = "../.."

// What stands for what in the commands of pages: the demo network for every model, its picture and labels for every other.
var (
	standIns = map[string]string{
		"model.onnx": "digits.onnx", "resnet50.onnx": "digits.onnx", "resnet50-v2-7.onnx": "digits.onnx", "resnet18.onnx": "digits.onnx",
		"net.onnx": "digits.onnx", "squeezenet1.1-7.onnx": "digits.onnx", "cat.png": "sample.png", "synset.txt": "labels.txt",
	}
	packages  = []string{"digits.tar", "squeezenet.tar"}
	spellings = strings.NewReplacer(
		"[1,3,224,224]", "[1,3,64,64]", "...", "-o digits.tar model.onnx", "=FILE", "=file", "NAME.wasm", "net.wasm", "INPUT=test_data_set_0/input_N.pb", "data=0", "/path/to/", "/", "COMMAND", "compile",
	)
	placeholders = map[string]string{"MODEL": "model.onnx", "PACKAGE": "digits.tar", "FILE": "choices.json"}
)

// notRun are programs of pages that are no matter of this test.
var notRun = map[string]string{
	"apt-get": "installs", "sudo": "installs", "curl": "fetches", "python3": "trains for minutes", "go": "is the subject of other tests",
	"cmake": "in make deploytest", "build/run_model": "in make deploytest",
}

var assignment = regexp.MustCompile(`^[A-Z_]+=\S* `)

// program is the first word of a command behind assignments of variables.
func program(command string) string {
	for assignment.MatchString(command) {
		command = strings.TrimSpace(assignment.ReplaceAllString(command, ""))
	}
	word, _, _ := strings.Cut(command, " ")
	return word
}

// tried are programs whose commands are run.
var tried = []string{"lathe", "make", "cc", "tar", "mkdir", "ls", "cp"}

func isCommand(line string) bool {
	_, other := notRun[program(line)]
	return other || slices.Contains(tried, program(line))
}

// mentioned completes a command within a text, which need not name its file; "" is no more than a name.
func mentioned(span string) string {
	fields := strings.Fields(span)
	if program(span) != "lathe" || len(fields) < 2 {
		return ""
	}
	file := map[string]string{"compile": "model.onnx", "verify": "model.onnx", "inspect": "digits.tar", "run": "digits.tar", "evaluate": "digits.tar", "quantize": "model.onnx"}[fields[1]]
	named := slices.ContainsFunc(fields, func(f string) bool {
		return f == "..." || f == "--help" || f == "MODEL" || f == "PACKAGE" || strings.HasSuffix(f, ".onnx") || strings.HasPrefix(f, "net.") || f == "NAME.wasm" || f == file
	})
	switch {
	case fields[1] == "tune", fields[1] == "records", file != "" && len(fields) == 2:
		return ""
	case fields[len(fields)-1] == "--image":
		return span + " sample.png " + file
	case !named:
		return span + " " + file
	}
	return span
}

func fill(command string) string {
	command = spellings.Replace(command)
	fields := strings.Split(command, " ")
	for i, f := range fields {
		if to, ok := placeholders[f]; ok {
			fields[i] = to
		}
	}
	return strings.Join(fields, " ")
}

// stage makes the folder in which a page's commands run.
func stage(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	demo := os.DirFS(repository + "/examples/demo")
	for _, to := range []string{dir, filepath.Join(dir, "demo"), filepath.Join(dir, "examples/demo")} {
		for _, name := range []string{"digits.onnx", "labels.txt", "sample.png", "experiments.json"} {
			b, err := fs.ReadFile(demo, name)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(to, name), b)
		}
		if err := os.CopyFS(filepath.Join(to, "glyphs"), os.DirFS(repository+"/examples/demo/glyphs")); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(standIns)) {
		b, err := fs.ReadFile(demo, standIns[name])
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), b)
	}
	if err := os.CopyFS(dir, os.DirFS(repository+"/examples/shapes")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"include", "examples/codegen/module"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(repository, name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "build"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "choices.json"), []byte("{}"))
	keras, err := os.ReadFile(repository + "/internal/frontend/keras/testdata/small.h5")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "net.h5"), keras)
	const negative, float = 59, 0 // numbers of the operator and of the element type
	tensors := []tflitetest.Tensor{{Name: "x", Type: float, Shape: []int32{2, 3}}, {Name: "y", Type: float, Shape: []int32{2, 3}}}
	operators := []tflitetest.Operator{{Code: negative, In: []int32{0}, Out: []int32{1}}}
	write(t, filepath.Join(dir, "net.tflite"), tflitetest.Model(tflitetest.Graph{Tensors: tensors, Inputs: []int32{0}, Outputs: []int32{1}, Operators: operators}))
	accept, err := npz.ReadFile(repository + "/examples/demo/accept.npz")
	if err != nil {
		t.Fatal(err)
	}
	accept = slices.DeleteFunc(accept, func(a npz.Array) bool { return a.Name != "data" })
	if err := cli.WriteFile(filepath.Join(dir, "imagenet_cat.npz"), func(w io.Writer) error { return npz.Write(w, accept) }); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "lathe")); err != nil {
		t.Fatal(err)
	}
	env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "LATHE_MACHINE="+filepath.Join(bin, "machine.json")) // what is measured beside other tests is no fact
	b, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range packages {
		write(t, filepath.Join(dir, name), b)
	}
	return dir, env
}

// compiled is the package of the demo network.
var compiled = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "lathe")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	m, err := lathe.Load(repository+"/examples/demo/digits.onnx", lathe.LoadOptions{})
	if err != nil {
		return nil, err
	}
	p, err := lathe.Compile(context.Background(), m, lathe.CompileOptions{})
	if err != nil {
		return nil, err
	}
	if err := p.Save(filepath.Join(dir, "digits.tar")); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "digits.tar"))
})

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func shell(dir string, env []string, command string) (string, error) {
	c := exec.Command("bash", "-euo", "pipefail", "-c", command)
	c.Dir, c.Env = dir, env
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestDocs runs every command of every page: those in blocks and those within the text, with the demo network in place of other
// models. Verbs of make are looked up and not run. The scripts of docs/deploy-*.md, which want other tools, are run by make
// deploytest; so is examples/cpp.
func TestDocs(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) < 20 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, page := range pages {
		name, err := filepath.Rel(repository, page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "CHANGELOG") {
			continue // tells of what was
		}
		t.Run(name, func(t *testing.T) { runPage(t, page, name) })
	}
}

// paragraphs divides indented blocks at empty lines: commands stand above what they print.
func paragraphs(blocks []markdown.Block) []markdown.Block {
	var list []markdown.Block
	for _, b := range blocks {
		if b.Fenced {
			list = append(list, b)
			continue
		}
		for text := range strings.SplitSeq(b.Text, "\n\n") {
			list = append(list, markdown.Block{Text: text, Line: b.Line})
			b.Line += strings.Count(text, "\n") + 2
		}
	}
	return list
}

func runPage(t *testing.T, page, name string) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	var samples []markdown.Block
	for _, b := range paragraphs(markdown.Blocks(string(b))) {
		lines := b.Commands()
		switch {
		case b.Fenced && (b.Language != "sh" || strings.HasPrefix(name, "docs/deploy-")):
		case !b.Fenced && (len(lines) == 0 || !isCommand(lines[0])):
			samples = append(samples, b)
		default:
			for _, line := range lines {
				if !isCommand(line) {
					t.Errorf("%s:%d: %q: neither run nor known", name, b.Line, line)
				}
				commands = append(commands, line)
			}
		}
	}
	for _, span := range markdown.Spans(string(b)) {
		if c := mentioned(span); c != "" || program(span) == "make" && span != "make" {
			commands = append(commands, max(c, span))
		}
	}
	if len(commands) == 0 {
		return
	}
	dir, env := stage(t)
	if strings.Contains(string(b), "NAME.wasm") {
		if out, err := shell(dir, env, "lathe compile -o net.wasm digits.onnx"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, c := range commands {
		switch why := notRun[program(c)]; {
		case why != "":
			t.Logf("%s (not run: %s)", c, why)
			continue
		case program(c) == "make":
			c = strings.Replace(c, "make", "make -n", 1)
			if out, err := shell(filepath.Dir(page), env, c); err != nil && strings.Contains(out, "No rule to make") {
				if out, err := shell(repository, env, c); err != nil {
					t.Errorf("%s: %v\n%s", c, err, out)
				}
			}
			continue
		}
		if strings.HasPrefix(name, "examples/cpp") && strings.Contains(c, "../demo/") {
			c = strings.ReplaceAll(c, "../demo/", "demo/")
		}
		out, err := shell(dir, env, fill(c))
		if err != nil && !(strings.Contains(c, "stop=") && strings.Contains(out, "stopped")) {
			t.Errorf("%s\nas %s: %v\n%s", c, fill(c), err, out)
		}
	}
	if check := sampleOf[name]; check != nil {
		for _, s := range samples {
			check(t, fmt.Sprintf("%s:%d", name, s.Line), dir, s.Text)
		}
	}
}

// sampleOf compares what pages show with what their commands have written.
var sampleOf = map[string]func(t *testing.T, at, dir, sample string){
	"docs/debugging.md":    sampleOfFiles,
	"docs/ARCHITECTURE.md": sampleOfDumps,
}

// sampleOfFiles is a list of files, each with a remark.
func sampleOfFiles(t *testing.T, at, dir, sample string) {
	folder := ""
	for line := range strings.Lines(sample) {
		file, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(line, " ") {
			folder = ""
		}
		if strings.HasSuffix(file, "/") {
			folder = file
		} else {
			file = folder + file
		}
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
}

var (
	numbered = regexp.MustCompile(`%[a-z]*[0-9]+|%r[a-z]+|\.LBB[0-9_]+|-?\b[0-9]+\(`)
	remark   = regexp.MustCompile(`\s+#.*`)
)

// sampleOfDumps is a part of what --dump-code wrote, with other blanks, and registers and numbers of values of another time; "..."
// leaves the rest out, and single lines may be missing.
func sampleOfDumps(t *testing.T, at, dir, sample string) {
	if strings.HasPrefix(sample, "int32_t") || strings.Contains(sample, "→") {
		return // a declaration, a drawing
	}
	plain := func(text string, asm bool) []string {
		var lines []string
		for line := range strings.Lines(text) {
			if asm {
				line = remark.ReplaceAllString(line, "")
			}
			if line = strings.Join(strings.Fields(line), " "); line == "" {
				continue
			}
			if strings.HasPrefix(line, "...") {
				break
			}
			lines = append(lines, numbered.ReplaceAllString(line, "_"))
		}
		return lines
	}
	most, missing := 0, ""
	for _, format := range dumpFormats {
		b, err := os.ReadFile(filepath.Join(dir, "demo.tar."+format))
		if err != nil {
			t.Fatal(err)
		}
		have, want := plain(string(b), format == "asm"), plain(sample, false)
		for i := range have {
			n, gap := 0, 0
			for j := i; j < len(have) && n < len(want) && gap < 6; j++ {
				if have[j] == want[n] {
					n, gap = n+1, 0
				} else {
					gap++
				}
			}
			if n == len(want) {
				return
			}
			if n >= most {
				most, missing = n, want[n]
			}
		}
	}
	t.Errorf("%s: the dumps hold %d lines of this sample; the next is %q", at, most, missing)
}
