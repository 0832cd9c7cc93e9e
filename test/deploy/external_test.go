package deploy

import (
	"archive/tar"
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"lathe"
	"lathe/internal/bundle"
	"lathe/runtime"
	"lathe/runtime/external"
)

// buildGenerator builds the generator of examples/codegen, lathe-codegen-arith, where lathe finds it.
func buildGenerator(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	output(t, exec.Command("go", "build", "-o", filepath.Join(dir, "lathe-codegen-arith"), "lathe/examples/codegen"))
	t.Setenv("LATHE_PLUGINS", dir)
}

// buildModule builds the run-time module of that generator's regions from a file in C, and returns its folder.
func buildModule(t *testing.T, source string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	compileC(t, filepath.Join(dir, external.LibraryName("arith")), append(append([]string{"-std=c11", "-O2", "-shared", "-fPIC"}, flags...), source)...)
	return dir
}

const exampleModule = root + "/examples/codegen/module/arith.c"

// TestCExternal: the C runtime opens packages with regions of external code generators. It runs the regions by machine code in the package,
// or by run-time modules in C, as the Go runtime does, and by the package's own steps where there is no module.
func TestCExternal(t *testing.T) {
	program := buildRuntime(t, "run.c")
	buildGenerator(t)
	for _, c := range []struct{ target, mode string }{
		{"dnnl -select=all, llvm", "off"},
		{"dnnl -select=all, llvm", ""}, // the C runtime has no oneDNN
		{"arith, llvm", "require"},
		{"arith -form=program, llvm", "require"},
		{"arith -form=program, llvm", "off"},
	} {
		for _, name := range []string{"digits.tar", "digits.so"} {
			path := filepath.Join(t.TempDir(), name)
			compileDemo(t, c.target, path, lathe.CompileOptions{})
			t.Setenv(external.PathVariable, buildModule(t, exampleModule))
			t.Setenv(runtime.ExternalVariable, c.mode)
			if strings.HasPrefix(c.target, "dnnl") {
				t.Setenv(runtime.ExternalVariable, "off") // of the Go runtime, whose outputs are compared
			}
			compareC(t, program, path)
		}
	}
}

// TestCExternalAlone: without steps of the package's own, its modules compute the same.
func TestCExternalAlone(t *testing.T) {
	program := buildRuntime(t, "run.c")
	buildGenerator(t)
	t.Setenv(external.PathVariable, buildModule(t, exampleModule))
	path := filepath.Join(t.TempDir(), "digits.tar")
	compileDemo(t, "arith -form=program, llvm", path, lathe.CompileOptions{})
	want := output(t, exec.Command(program, path))
	compileDemo(t, "arith -form=program, llvm", path, lathe.CompileOptions{NoExternalFallback: true})
	if got := output(t, exec.Command(program, path)); got != want {
		t.Error("other outputs without steps in its place")
	}
	compareC(t, program, path)
}

// TestRecompileAlone: a package without steps of its own for its regions is compiled again without them, and others with them.
func TestRecompileAlone(t *testing.T) {
	buildGenerator(t)
	for _, alone := range []bool{false, true} {
		m, err := lathe.Load(demo, lathe.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := lathe.Compile(t.Context(), m, lathe.CompileOptions{Target: "arith, llvm", NoExternalFallback: alone})
		if err != nil {
			t.Fatal(err)
		}
		again, err := lathe.Recompile(t.Context(), demo, p.Info(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if list := again.Info().External; len(list) == 0 || list[0].NoFallback != alone {
			t.Errorf("without steps: %v, and compiled again %+v", alone, list)
		}
	}
}

// TestSourceExternal: a region that a generator writes in C is a function of the source file, computes the same, and compiles without a
// warning.
func TestSourceExternal(t *testing.T) {
	tool(t, "cc")
	buildGenerator(t)
	own, taken := sourceOf(t, demo), sourceFor(t, demo, "arith, c")
	if text := string(readFile(t, filepath.Join(taken.dir, "net.c"))); !strings.Contains(text, "// by external code generator arith: ") || !strings.Contains(text, "tvmgen_default_arith_main_0(in, out, 0, 1);") {
		t.Error("no region in the source file")
	}
	in := own.randomInputs(t)
	want := own.run(t, in, own.build(t, "cc", "-O2"))
	if got := taken.run(t, in, taken.build(t, "cc", "-O2")); !bytes.Equal(got, want) {
		t.Errorf("relative distance %g", distance(floats(got), floats(want)))
	}
}

// TestCExternalUnpacked: a package that was unpacked into a folder has its modules in it.
func TestCExternalUnpacked(t *testing.T) {
	program := buildRuntime(t, "run.c")
	buildGenerator(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "digits.tar")
	compileDemo(t, "arith, llvm", path, lathe.CompileOptions{})
	folder := filepath.Join(dir, "unpacked")
	for r := tar.NewReader(bytes.NewReader(readFile(t, path))); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(folder, h.Name), b)
	}
	t.Setenv(runtime.ExternalVariable, "require")
	output(t, exec.Command(program, folder))
}

// TestCExternalFailures: what is missing or fails is told in one line. The package's own steps take over, unless LATHE_EXTERNAL=require or
// the run has begun.
func TestCExternalFailures(t *testing.T) {
	program := buildRuntime(t, "run.c")
	buildGenerator(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "digits.so")
	compileDemo(t, "arith -form=program, llvm", path, lathe.CompileOptions{})
	member := filepath.Join(dir, "digits.000_arith.bin")
	kept := readFile(t, member)
	failing, refusing, old := buildModule(t, "testdata/module.c"), buildModule(t, "testdata/module.c", "-DREFUSE"), buildModule(t, "testdata/module.c", "-DVERSION=2")
	empty := t.TempDir()
	region := "external region tvmgen_default_arith_main_0 (arith): "
	for _, c := range []struct {
		folders string
		member  []byte
		note    string // where the package's own steps take over
		fails   string // where they do not
		require bool
		alone   bool // compiled without steps of its own
	}{
		{folders: empty, member: kept, fails: region + "there is no liblathe_ext_arith.so in ", alone: true},
		{folders: "", member: kept, note: region + "there is no liblathe_ext_arith.so in any folder (LATHE_EXTERNAL_PATH)"},
		{folders: empty + "::relative", member: kept, note: region + "there is no liblathe_ext_arith.so in " + empty},
		{folders: empty, member: kept, fails: region + "there is no liblathe_ext_arith.so in ", require: true},
		{folders: refusing, member: kept, note: region + "no device is there"},
		{folders: refusing, member: kept, fails: region + "no device is there", require: true},
		{folders: empty + ":" + old, member: kept, note: "is made for version 2 of lathe_external.h, and this runtime calls version 1"},
		{folders: failing, member: kept, fails: region + "status 7: the device has gone"},
		{folders: failing, member: nil, note: region + "its file is missing"},
		{folders: failing, member: kept[:len(kept)-4], fails: "ext/000_arith.bin is damaged"},
	} {
		path, member := path, member
		if c.alone {
			path, member = filepath.Join(dir, "alone.so"), filepath.Join(dir, "alone.000_arith.bin")
			compileDemo(t, "arith -form=program, llvm", path, lathe.CompileOptions{NoExternalFallback: true})
		}
		if c.member == nil {
			if err := os.Remove(member); err != nil {
				t.Fatal(err)
			}
		} else {
			writeFile(t, member, c.member)
		}
		run := exec.Command(program, "-w", "2", path)
		run.Env = append(os.Environ(), external.PathVariable+"="+c.folders)
		if c.require {
			run.Env = append(run.Env, runtime.ExternalVariable+"=require")
		}
		var said bytes.Buffer
		run.Stderr = &said
		err := run.Run()
		if want := c.note + c.fails; (err == nil) != (c.fails == "") || !strings.Contains(said.String(), want) || strings.Count(said.String(), "\n") != 1 {
			t.Errorf("%+v: %v, %q", c, err, said.String())
		}
	}
	alone := exec.Command(program, filepath.Join(dir, "alone.so"))
	alone.Env = append(os.Environ(), runtime.ExternalVariable+"=off")
	if out, err := alone.CombinedOutput(); err == nil || !strings.Contains(string(out), "and the package has no steps of its own for it") {
		t.Errorf("%v: %s", err, out)
	}
	wrong := exec.Command(program, path)
	wrong.Env = append(os.Environ(), runtime.ExternalVariable+"=maybe")
	writeFile(t, member, kept)
	if out, err := wrong.CombinedOutput(); err == nil || !strings.Contains(string(out), `LATHE_EXTERNAL="maybe": must be off, require or auto`) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestDeployCExternal does the same under tools that see wrong uses of memory and races.
func TestDeployCExternal(t *testing.T) {
	long(t)
	buildGenerator(t)
	path := filepath.Join(t.TempDir(), "digits.tar")
	compileDemo(t, "arith -form=program, llvm", path, lathe.CompileOptions{})
	t.Setenv(external.PathVariable, buildModule(t, exampleModule))
	t.Setenv(runtime.ExternalVariable, "require")
	for name, flags := range map[string][]string{"address": addressSanitizer, "thread": {"-fsanitize=thread"}} {
		t.Run(name, func(t *testing.T) { compareC(t, buildRuntime(t, "run.c", flags...), path) })
	}
}

// TestModuleDamaged: a run-time module gets a program that somebody changed: it refuses it, or computes something.
func TestModuleDamaged(t *testing.T) {
	buildGenerator(t)
	dir := t.TempDir()
	compileDemo(t, "arith -form=program, llvm", filepath.Join(dir, "digits.so"), lathe.CompileOptions{})
	whole := readFile(t, filepath.Join(dir, "digits.000_arith.bin"))
	t.Setenv(external.PathVariable, buildModule(t, exampleModule))
	r, err := external.Load("arith")
	if err != nil {
		t.Fatal(err)
	}
	m, err := runtime.Open(filepath.Join(dir, "digits.so"))
	if err != nil {
		t.Fatal(err)
	}
	e := m.Info().External[0]
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	tensors := func(list []bundle.Operand) (bare, full []external.Tensor) {
		for _, o := range list {
			b := external.Tensor{DType: o.DType, Bytes: 4}
			for _, n := range o.Shape {
				b.Shape, b.Bytes = append(b.Shape, int64(n)), b.Bytes*n
			}
			bare = append(bare, b)
			data := make([]float32, b.Bytes/4)
			b.Data = unsafe.Pointer(&data[0])
			full = append(full, b)
		}
		return bare, full
	}
	inBare, in := tensors(e.Inputs)
	outBare, out := tensors(e.Outputs)
	random, opened := rand.New(rand.NewPCG(3, 4)), 0
	for range 2000 {
		b := bytes.Clone(whole)
		for range 1 + random.IntN(3) {
			b[random.IntN(len(b))] = byte(random.IntN(8))
		}
		b = b[:len(b)-random.IntN(2)*random.IntN(len(b))]
		if len(b) == 0 {
			continue
		}
		opening, err := r.Open(b, external.Info{Symbol: e.Symbol, Inputs: inBare, Outputs: outBare, Workers: 1})
		if err != nil {
			continue
		}
		opened++
		if err := opening.Run(in, out, 1); err != nil {
			t.Error(err)
		}
		opening.Close()
	}
	if opened == 0 || opened == 2000 {
		t.Errorf("%d of 2000 programs are opened", opened)
	}
}
