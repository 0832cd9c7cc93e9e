package deploy

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"lathe/internal/bundle"
)

const fixtureN = 1024

// warnings are the flags that C and C++ of Lathe compile with.
var warnings = []string{"-Wall", "-Wextra", "-Werror", "-Wshadow", "-pedantic"}

// compileC compiles to a file with the repository's include folder. It skips the test where there is no C compiler.
func compileC(t *testing.T, to string, args ...string) string {
	t.Helper()
	return compileWith(t, "cc", to, args...)
}

// compileWith is compileC with another compiler.
func compileWith(t *testing.T, compiler, to string, args ...string) string {
	t.Helper()
	// The cache of tests follows the files that this process looks at, not those that a compiler reads.
	for _, pattern := range []string{"include/*", "src/*.c", "src/lathe/*", "test/deploy/testdata/*"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			readFile(t, f)
		}
	}
	all := append([]string{"-std=c11", "-I", filepath.Join(root, "include"), "-o", to}, args...)
	output(t, exec.Command(tool(t, compiler), all...))
	return to
}

// buildRuntime compiles a program of testdata with the runtime.
func buildRuntime(t *testing.T, program string, flags ...string) string {
	t.Helper()
	return buildRuntimeWith(t, "cc", program, flags...)
}

func buildRuntimeWith(t *testing.T, compiler, program string, flags ...string) string {
	t.Helper()
	args := append([]string{"-O2", "-g"}, warnings...)
	args = append(append(args, flags...), filepath.Join("testdata", program), filepath.Join(root, "src/lathe.c"), "-ldl", "-lpthread")
	return compileWith(t, compiler, filepath.Join(t.TempDir(), "program"), args...)
}

// fixtureLibrary compiles testdata/fixture.c as the compiler would write it.
func fixtureLibrary(t *testing.T, defines ...string) []byte {
	t.Helper()
	so := filepath.Join(t.TempDir(), "mod.so")
	args := append([]string{"-shared", "-fPIC", "-O1", "-nostdlib", "-fvisibility=hidden", "-fno-stack-protector",
		"-Wl,-z,defs", "-Wl,-Bsymbolic", "-DSHARED"}, defines...)
	compileC(t, so, append(args, "testdata/fixture.c")...)
	return readFile(t, so)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fixtureParams() []bundle.Param {
	var scale []byte
	for i := range fixtureN {
		scale = binary.LittleEndian.AppendUint32(scale, math.Float32bits(float32(i%7)-3))
	}
	bias := binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.5))
	return []bundle.Param{
		{Name: "scale", DType: "float32", Shape: []int{fixtureN}, Data: scale},
		{Name: "bias", DType: "float32", Data: bias},
	}
}

// writeFixture writes a package around a library.
func writeFixture(t *testing.T, path string, library []byte) {
	t.Helper()
	c := &bundle.Contents{
		Manifest: &bundle.Manifest{
			Format: bundle.FormatVersion, ABI: bundle.ABIVersion, Lathe: "test", Module: "fixture",
			Workspace: 4 * fixtureN, Scratch: 100, Symbols: 1,
			Inputs:  []bundle.TensorInfo{{Name: "x", DType: "float32", Shape: []int{1, fixtureN}}, {Name: "fault", DType: "int32"}},
			Outputs: []bundle.TensorInfo{{Name: "y", DType: "float32", Shape: []int{1, fixtureN}}, {Name: "positive", DType: "int64", Shape: []int{fixtureN}, Symbols: []int{0}}},
		},
		Graph:   &bundle.GraphJSON{NodeRowPtr: []int{0}},
		Library: library,
		Params:  fixtureParams(),
	}
	if err := bundle.Write(path, c); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func writeParams(t *testing.T, path string, params []bundle.Param) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := bundle.WriteParams(f, params); err != nil {
		t.Fatal(err)
	}
}

// fixtureFolder writes what testdata/api.c opens.
func fixtureFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	library := fixtureLibrary(t)
	writeFixture(t, in("fixture.tar"), library)
	writeFixture(t, in("fixture.so"), library)
	writeFixture(t, in("other.tar"), fixtureLibrary(t, "-DEXTRA=7"))
	writeFile(t, in("alone.so"), fixtureLibrary(t, "-DWEIGHTS"))
	if err := os.Mkdir(in("unpacked"), 0o777); err != nil {
		t.Fatal(err)
	}
	output(t, exec.Command(tool(t, "tar"), "xf", in("fixture.tar"), "-C", in("unpacked")))
	output(t, exec.Command(tool(t, "tar"), "cf", in("repacked.tar"), "-C", in("unpacked"), "."))
	output(t, exec.Command(tool(t, "tar"), "cf", in("tvm.tar"), "-C", in("unpacked"), "mod.so", "mod.json", "mod.params"))

	writeFixture(t, in("abi.tar"), fixtureLibrary(t, "-DABI=7"))
	writeFixture(t, in("large.tar"), fixtureLibrary(t, "-DWORKSPACE=1UL<<52"))
	writeFixture(t, in("absurd.tar"), fixtureLibrary(t, "-DWORKSPACE=~0UL"))
	writeFixture(t, in("features.tar"), fixtureLibrary(t, `-DFEATURES="made-up another-one"`))
	machine := fixtureLibrary(t)
	binary.LittleEndian.PutUint16(machine[18:], 258)
	writeFixture(t, in("machine.tar"), machine)
	foreign := filepath.Join(t.TempDir(), "foreign")
	writeFile(t, foreign+".c", []byte("int f(void) { return 1; }\n"))
	writeFixture(t, in("foreign.tar"), readFile(t, compileC(t, foreign+".so", "-shared", "-fPIC", "-nostdlib", foreign+".c")))
	compileC(t, in("object.so"), "-c", foreign+".c")

	writeFile(t, in("lonely.so"), library)
	params := fixtureParams()
	for _, name := range []string{"other-params", "swapped-params", "more-params"} {
		writeFile(t, in(name+"/mod.so"), library)
	}
	writeParams(t, in("other-params/mod.params"), params[:1])
	writeParams(t, in("swapped-params/mod.params"), []bundle.Param{{Name: "scale", DType: "float32", Data: params[1].Data}, params[1]})
	writeParams(t, in("more-params/mod.params"), append(params, bundle.Param{Name: "third", DType: "int8", Data: []byte{1}}))
	writeFile(t, in("net.tar.gz"), []byte("\x1f\x8b\x08some"))
	writeFile(t, in("net.onnx"), []byte("\x08\x09model"))
	writeFile(t, in("empty.tar"), nil)
	writeFile(t, in("text.so"), []byte("hello"))
	if err := os.Mkdir(in("empty-folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
