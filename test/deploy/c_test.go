package deploy

import (
	"bytes"
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"lathe"
	"lathe/internal/bundle"
	"lathe/internal/tensor"
	"lathe/internal/testkit/realmodels"
	"lathe/internal/types"
	"lathe/runtime"
)

// TestC uses the whole interface of the C runtime.
func TestC(t *testing.T) {
	output(t, exec.Command(buildRuntime(t, "api.c"), fixtureFolder(t)))
}

// TestDeployC does so with condition variables in place of futexes, and under tools that see wrong uses of memory, undefined
// behaviour and races. Some of these do not follow a fork.
func TestDeployC(t *testing.T) {
	long(t)
	dir := fixtureFolder(t)
	for name, flags := range map[string][]string{
		"condvar": {"-DLATHE_NO_FUTEX"},
		"address": addressSanitizer,
		"thread":  {"-fsanitize=thread"},
		"both":    {"-fsanitize=thread", "-DLATHE_NO_FUTEX"},
	} {
		t.Run(name, func(t *testing.T) {
			output(t, exec.Command(buildRuntime(t, "api.c", flags...), dir, "no fork"))
		})
	}
	t.Run("valgrind", func(t *testing.T) {
		output(t, exec.Command(tool(t, "valgrind"), append(valgrind, buildRuntime(t, "api.c"), dir, "no fork")...))
	})
}

var (
	addressSanitizer = []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all"}
	valgrind         = []string{"-q", "--error-exitcode=9", "--leak-check=full"}
)

// TestCpp uses the C++ interface.
func TestCpp(t *testing.T) {
	dir := fixtureFolder(t)
	object := compileC(t, filepath.Join(dir, "lathe.o"), "-O1", "-c", filepath.Join(root, "src/lathe.c"))
	program := filepath.Join(dir, "api-cpp")
	args := append([]string{"-std=c++17", "-O1", "-I", filepath.Join(root, "include"), "-o", program}, warnings...)
	output(t, exec.Command(tool(t, "c++"), append(args, "testdata/api.cpp", object, "-ldl", "-lpthread")...))
	output(t, exec.Command(program, dir))
}

// TestCLinked links two libraries into one program, with the smaller builds of the runtime as well.
func TestCLinked(t *testing.T) {
	dir := t.TempDir()
	a := compileC(t, filepath.Join(dir, "a.o"), "-O1", "-c", "-DWEIGHTS", "testdata/fixture.c")
	b := compileC(t, filepath.Join(dir, "b.o"), "-O1", "-c", "-DMODULE=other", "-DEXTRA=7", "testdata/fixture.c")
	for _, flags := range [][]string{nil, {"-DLATHE_NO_FILES"}, {"-DLATHE_NO_THREADS"}, {"-DLATHE_NO_FILES", "-DLATHE_NO_THREADS"}} {
		output(t, exec.Command(buildRuntime(t, "static.c", append(flags, a, b)...)))
	}
}

// TestCSources compiles the header by itself as C and C++, the runtime for a machine without an operating system, of 64 and of
// 32 bits, with GCC and, where it is installed, Clang; and holds the runtime to 40 KB of code, and to 48 KB with run-time modules.
func TestCSources(t *testing.T) {
	dir := t.TempDir()
	object := filepath.Join(dir, "lathe.o")
	compilers := []string{"cc"}
	if _, err := exec.LookPath("clang"); err == nil {
		compilers = []string{"clang", "cc"}
	}
	for _, compiler := range compilers {
		for _, flags := range [][]string{{"-ffreestanding"}, {"-ffreestanding", "-m32"}, {"-DLATHE_NO_EXTERNAL"}, nil} {
			args := append(append([]string{"-O2", "-c"}, warnings...), flags...)
			compileWith(t, compiler, object, append(args, filepath.Join(root, "src/lathe.c"))...)
			most := uint64(40 << 10)
			if flags == nil {
				most = 48 << 10
			}
			if n := sizeOf(t, object); compiler == "cc" && n >= most {
				t.Errorf("%v: code and constants of the runtime take %d bytes", flags, n)
			}
		}
	}
	for file, language := range map[string][]string{"lathe.h": {"-x", "c"}, "lathe_external.h": {"-x", "c"}, "lathe.hpp": nil} {
		if language != nil {
			compileC(t, object, append(append([]string{"-c"}, warnings...), append(language, filepath.Join(root, "include", file))...)...)
		}
		args := append([]string{"-std=c++17", "-x", "c++", "-fsyntax-only"}, warnings...)
		output(t, exec.Command(tool(t, "c++"), append(args, filepath.Join(root, "include", file))...))
	}
}

// sizeOf is the bytes of an object that a program has in memory, without those that are zero.
func sizeOf(t *testing.T, object string) (size uint64) {
	t.Helper()
	f, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS {
			size += s.Size
		}
	}
	return size
}

// TestCContext holds the compiler's layout of the run context to that of the C compiler.
func TestCContext(t *testing.T) {
	dir := t.TempDir()
	wide, narrow := bundle.ContextOf(8), bundle.ContextOf(4)
	var b strings.Builder
	b.WriteString("#include \"lathe.h\"\n")
	for i, field := range []string{"abi", "size", "inputs", "outputs", "params", "workspace", "scratch", "scratch_stride", "team", "parts", "symbols",
		"status", "spin", "wait", "wake", "external", "user"} {
		fmt.Fprintf(&b, "_Static_assert(offsetof(lathe_ctx, %s) == (sizeof(void *) == 8 ? %d : %d), \"%s\");\n", field, contextOffsets(wide)[i], contextOffsets(narrow)[i], field)
	}
	fmt.Fprintf(&b, "_Static_assert(sizeof(lathe_ctx) == (sizeof(void *) == 8 ? %d : %d), \"size\");\n", wide.Size, narrow.Size)
	fmt.Fprintf(&b, "_Static_assert(sizeof(lathe_library) == (sizeof(void *) == 8 ? %d : %d), \"descriptor\");\n", bundle.DescriptorSize(8), bundle.DescriptorSize(4))
	for field, offset := range map[string]int{
		"lathe_team, done": bundle.TeamDone, "lathe_team, asleep": bundle.TeamAsleep, "lathe_part, claim": bundle.PartClaim,
		"lathe_part, base": bundle.PartBase, "lathe_part, seen": bundle.PartSeen, "lathe_part, mine": bundle.PartMine,
	} {
		fmt.Fprintf(&b, "_Static_assert(offsetof(%s) == %d, \"%s\");\n", field, offset, field)
	}
	fmt.Fprintf(&b, "_Static_assert(sizeof(lathe_team) == %d && sizeof(lathe_part) == %d, \"team\");\n", bundle.TeamSize, bundle.PartSize)
	fmt.Fprintf(&b, "_Static_assert(LATHE_ABI == %d && LATHE_ALIGNMENT == %d, \"constants\");\n", bundle.ABIVersion, bundle.Alignment)
	for _, name := range []string{"int8", "int16", "int32", "int64", "bool", "int4", "uint4", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bfloat16",
		"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"} {
		code, err := bundle.DTypeCode(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "_Static_assert(LATHE_%s == %d, \"%s\");\n", strings.ToUpper(name), code, name)
	}
	source := filepath.Join(dir, "layout.c")
	writeFile(t, source, []byte(b.String()))
	for _, bits := range []string{"-m64", "-m32"} {
		compileC(t, filepath.Join(dir, "layout.o"), "-ffreestanding", bits, "-c", source)
	}
}

// contextOffsets are the offsets in the order of the fields.
func contextOffsets(c bundle.Context) []int {
	return []int{c.ABI, c.Bytes, c.Inputs, c.Outputs, c.Params, c.Workspace, c.Scratch, c.ScratchStride, c.Team, c.Parts, c.Symbols,
		c.Status, c.Spin, c.Wait, c.Wake, c.External, c.User}
}

// compareC runs a package with the runtimes of Go and of C and compares the outputs bit for bit.
func compareC(t *testing.T, program, path string, prefix ...string) {
	t.Helper()
	m, err := runtime.Open(path, runtime.WithWorkers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r := rand.New(rand.NewPCG(1, 2))
	var files []string
	for i, info := range m.Inputs() {
		d, err := types.ParseDType(info.DType)
		if err != nil {
			t.Fatal(err)
		}
		x := tensor.New(d, info.Shape...)
		for k := range x.Len() {
			if d.IsFloat() {
				x.SetFloat(k, r.NormFloat64())
			} else {
				x.SetInt(k, int64(r.IntN(2)))
			}
		}
		if err := m.SetInputIndex(i, runtime.Tensor{DType: info.DType, Shape: info.Shape, Data: x.Bytes()}); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "input")
		writeFile(t, file, x.Bytes())
		files = append(files, file)
	}
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	for i, info := range m.Outputs() {
		y, err := m.Output(i)
		if err != nil {
			t.Fatal(err)
		}
		want.WriteString(info.Name + " " + info.DType)
		for _, n := range y.Shape {
			want.WriteString(" " + strconv.Itoa(n))
		}
		want.WriteByte('\n')
		want.Write(y.Data)
	}
	for workers := 1; workers <= 3; workers++ {
		args := append(append(prefix, program, "-w", strconv.Itoa(workers), path), files...)
		c := exec.Command(args[0], args[1:]...)
		c.Stderr = os.Stderr
		got, err := c.Output()
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s: %d workers: other outputs than the Go runtime's", filepath.Base(path), workers)
		}
	}
}

// TestCModel compares the demo network, compiled as a tar and as files side by side.
func TestCModel(t *testing.T) {
	program := buildRuntime(t, "run.c")
	for _, name := range []string{"digits.tar", "digits.so"} {
		path := filepath.Join(t.TempDir(), name)
		compileDemo(t, "llvm", path, lathe.CompileOptions{})
		compareC(t, program, path)
	}
}

// TestCSleepers checks that workers are kept from the CPU of who wakes them, and let go.
func TestCSleepers(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sleepers")
	compileC(t, program, "-O1", "-I"+filepath.Join(root, "src"), filepath.Join("testdata", "sleepers.c"), "-ldl", "-lpthread")
	output(t, exec.Command(program))
}

// TestCStrength checks that as many workers come to take part in runs as make them the fastest.
func TestCStrength(t *testing.T) {
	program := filepath.Join(t.TempDir(), "strength")
	compileC(t, program, "-O1", "-I"+filepath.Join(root, "src"), filepath.Join("testdata", "strength.c"), "-ldl", "-lpthread")
	output(t, exec.Command(program))
}

// TestDeployCModels compares real networks, and runs two of them under valgrind, which knows AVX2.
func TestDeployCModels(t *testing.T) {
	long(t)
	program := buildRuntime(t, "run.c")
	models := realmodels.Folder(t)
	files, err := filepath.Glob(filepath.Join(models, "onnx", "*", "*.onnx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no models in %s: %v", models, err)
	}
	for _, name := range []string{"resnet18", "mobilenet_v2_int8", "shufflenet_v2_x1_0"} {
		if file := filepath.Join(os.Getenv("LATHE_ZOO"), name+".onnx"); exists(file) {
			files = append(files, file)
		}
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".onnx")
		t.Run(name, func(t *testing.T) {
			m, err := lathe.Load(file, lathe.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if m.Err() != nil {
				t.Skip(m.Err())
			}
			path := filepath.Join(t.TempDir(), "net.tar")
			compileModel(t, file, "llvm", path, lathe.CompileOptions{})
			compareC(t, program, path)
			if strings.Contains(name, "micro_kws") || strings.Contains(name, "mnist") {
				compileModel(t, file, "llvm -mcpu=x86-64-v3", path, lathe.CompileOptions{})
				compareC(t, program, path, append([]string{tool(t, "valgrind")}, valgrind...)...)
			}
		})
	}
}

// TestDeployCMachines runs the demo network with the runtime built for other machines, in emulators; compiled code that needs
// more than the emulated processor has is refused.
func TestDeployCMachines(t *testing.T) {
	long(t)
	for _, m := range []struct {
		machine, compiler, target, cpu string
		missing, wants                 string // a target that the emulated CPU lacks a feature of
	}{
		{"aarch64", "aarch64-linux-gnu-gcc", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a53", "cortex-a53", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76", "dotprod fullfp16"},
		{"arm", "arm-linux-gnueabihf-gcc", "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a7", "cortex-a7", "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a53", "fp-armv8"},
		{"riscv64", "riscv64-linux-gnu-gcc", "llvm -mtriple=riscv64-linux-gnu", "rv64", "llvm -mtriple=riscv64-linux-gnu -mcpu=sifive-x280", " v "},
	} {
		t.Run(m.machine, func(t *testing.T) {
			program := buildRuntimeWith(t, m.compiler, "run.c")
			sysroot := "/usr/" + strings.TrimSuffix(m.compiler, "-gcc")
			path, in := filepath.Join(t.TempDir(), "net.tar"), filepath.Join(t.TempDir(), "in")
			writeFile(t, in, demoTensor(t, "data").Data)
			run := func(target string) ([]byte, error) {
				compileDemo(t, target, path, lathe.CompileOptions{})
				return exec.Command(tool(t, "qemu-"+m.machine+"-static"), "-cpu", m.cpu, "-L", sysroot, program, "-w", "2", path, in).CombinedOutput()
			}
			out, err := run(m.target)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			_, logits, _ := bytes.Cut(out, []byte("\n"))
			if d := distance(floats(logits), floats(demoTensor(t, "logits").Data)); !(d <= 1e-4) {
				t.Errorf("relative distance from the expected logits %g", d)
			}
			out, err = run(m.missing)
			if err == nil || !bytes.Contains(out, []byte("needs the CPU features")) || !bytes.Contains(out, []byte(m.wants)) {
				t.Errorf("a package for a larger CPU: %v, %s", err, out)
			}
		})
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// TestCDamaged shortens packages and changes bytes that say where things are: the runtime refuses them, or computes the same.
func TestCDamaged(t *testing.T) { damage(t, buildRuntime(t, "fuzz.c"), 300) }

// TestDeployCDamaged does so for longer, and sees reads beyond the end.
func TestDeployCDamaged(t *testing.T) {
	long(t)
	damage(t, buildRuntime(t, "fuzz.c", addressSanitizer...), 4000)
}

func damage(t *testing.T, program string, rounds int) {
	t.Helper()
	dir := t.TempDir()
	tar, stem := filepath.Join(dir, "fixture.tar"), filepath.Join(dir, "fixture")
	library := fixtureLibrary(t)
	writeFixture(t, tar, library)
	writeFixture(t, stem+".so", library)
	b := readFile(t, tar)
	run := func(mode, file string, offsets []int) {
		t.Helper()
		list := filepath.Join(dir, "offsets")
		writeFile(t, list, []byte(strings.Trim(fmt.Sprint(offsets), "[]")))
		out := output(t, exec.Command(program, mode, file, list, strconv.Itoa(rounds)))
		var n, refused int
		if _, err := fmt.Sscanf(out, "%d rounds, %d refused", &n, &refused); err != nil || n != rounds || mode == "flip" && refused < n/10 {
			t.Errorf("%s %s: %s (%v)", mode, filepath.Base(file), out, err)
		}
	}
	run("cut", tar, []int{bytes.LastIndexByte(b, '}')}) // what follows the last member may be missing
	params := readFile(t, stem+".params")
	run("cut", stem+".params", []int{len(params) - 1})

	var headers []int
	for at := 0; at+512 <= len(b) && b[at] != 0; {
		for i := range 512 {
			headers = append(headers, at+i)
		}
		size, err := strconv.ParseInt(string(regexp.MustCompile(`^[0-7]+`).Find(b[at+124:at+136])), 8, 64)
		if err != nil {
			t.Fatal(err)
		}
		at += 512 + (int(size)+511)/512*512
	}
	run("flip", tar, headers)
	run("flip", stem+".params", structure(t, params))
}

// TestCTruncated opens libraries that end too early: a dynamic linker would crash on some.
func TestCTruncated(t *testing.T) {
	program, so := buildRuntime(t, "run.c"), filepath.Join(t.TempDir(), "alone.so")
	library := fixtureLibrary(t, "-DWEIGHTS")
	for n := 1; n < len(library)-64; n += 1 + len(library)/200 {
		writeFile(t, so, library[:n])
		c := exec.Command(program, so)
		out, err := c.CombinedOutput()
		if err != nil && !bytes.HasPrefix(out, []byte("lathe: ")) {
			t.Errorf("a library of %d instead of %d bytes: %v\n%s", n, len(library), err, out)
		}
	}
}

// structure lists the bytes of a parameter blob that are not the constants' data.
func structure(t *testing.T, blob []byte) []int {
	t.Helper()
	params, err := bundle.ParseParams(blob)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]bool, len(blob))
	for _, p := range params {
		at := int(uintptr(unsafe.Pointer(&p.Data[0])) - uintptr(unsafe.Pointer(&blob[0])))
		for i := range p.Data {
			data[at+i] = true
		}
	}
	var offsets []int
	for i, d := range data {
		if !d {
			offsets = append(offsets, i)
		}
	}
	return offsets
}

// TestCProgramOfTheSameName opens NAME where that is the program itself: the package is NAME.so, and without one there is none.
func TestCProgramOfTheSameName(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "digits")
	if err := os.Rename(buildRuntime(t, "run.c"), name); err != nil {
		t.Fatal(err)
	}
	compileDemo(t, "llvm", name+".so", lathe.CompileOptions{})
	output(t, exec.Command(name, name))
	if err := os.Remove(name + ".so"); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "copied.so")
	writeFile(t, copied, readFile(t, name))
	for _, path := range []string{name, copied} {
		if out, err := exec.Command(name, path).CombinedOutput(); err == nil || !bytes.Contains(out, []byte("is a program, not a package")) {
			t.Errorf("%s: %v: %s", path, err, out)
		}
	}
}
