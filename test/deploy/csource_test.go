package deploy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/testkit/cctest"
	"lathe/internal/testkit/realmodels"
	"lathe/runtime"
)

// A sourceProgram is a model as C source, net.c and net.h in a folder, with a program run.c that calls it: it reads all
// inputs from one file and writes all outputs, then the extents that depend on data, to another.
type sourceProgram struct {
	dir     string
	inputs  []lathe.Tensor
	outputs []lathe.Tensor
	symbols int
}

// elementBytes are the sizes of elements by numpy's names.
func elementBytes(t *testing.T, dtype string) int {
	t.Helper()
	for size, names := range map[int]string{1: "bool int8 uint8", 2: "int16 uint16 float16 bfloat16", 4: "int32 uint32 float32", 8: "int64 uint64 float64"} {
		if slices.Contains(strings.Fields(names), dtype) {
			return size
		}
	}
	t.Fatalf("element type %s", dtype)
	return 0
}

func tensorBytes(t *testing.T, x lathe.Tensor) int {
	n := elementBytes(t, x.DType)
	for _, d := range x.Shape {
		n *= d
	}
	return n
}

var symbolParameter = regexp.MustCompile(`int64_t \*\w+`)

func sourceOf(t *testing.T, model string) *sourceProgram {
	t.Helper()
	return sourceFor(t, model, "c")
}

// sourceFor is for target c and external code generators before it.
func sourceFor(t *testing.T, model, target string) *sourceProgram {
	t.Helper()
	p := &sourceProgram{dir: t.TempDir()}
	m := loadShaped(t, model)
	p.inputs, p.outputs = m.Inputs(), m.Outputs()
	c, err := lathe.Compile(t.Context(), m, lathe.CompileOptions{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Save(filepath.Join(p.dir, "net.c")); err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile(filepath.Join(p.dir, "net.h"))
	if err != nil {
		t.Fatal(err)
	}
	_, prototype, _ := strings.Cut(string(header), "int32_t lathe_default(")
	prototype, _, _ = strings.Cut(prototype, ";")
	p.symbols = len(symbolParameter.FindAllString(prototype, -1)) - int64s(p.outputs)
	if strings.Contains(prototype, "const int64_t") {
		p.symbols -= int64s(p.inputs)
	}
	p.writeMain(t)
	return p
}

// shapes are those of inputs that models leave open and that matter: a sentence has more than one word.
var shapes = map[string]map[string][]int{
	"bert_toy_optimized.onnx": {"input_ids": {2, 24}, "token_type_ids": {2, 24}, "input_mask": {2, 24}},
}

func loadShaped(t *testing.T, model string) *lathe.Model {
	t.Helper()
	m, err := lathe.Load(model, lathe.LoadOptions{Shapes: shapes[filepath.Base(model)]})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// int64s counts tensors of that type, whose parameters look as those of extents.
func int64s(ts []lathe.Tensor) int {
	n := 0
	for _, x := range ts {
		if x.DType == "int64" {
			n++
		}
	}
	return n
}

func (p *sourceProgram) writeMain(t *testing.T) {
	t.Helper()
	var b, args, read, write strings.Builder
	b.WriteString("#include <stdio.h>\n#include \"net.h\"\n")
	piece := func(name string, bytes int, to *strings.Builder, do string) {
		fmt.Fprintf(&b, "static _Alignas(8) unsigned char %s[%d];\n", name, max(bytes, 1))
		fmt.Fprintf(to, "  if (%s(%s, 1, %d, f) != %d) return 2;\n", do, name, bytes, bytes)
		if args.Len() > 0 {
			args.WriteString(", ")
		}
		args.WriteString("(void *)" + name)
	}
	for i, x := range p.inputs {
		piece(fmt.Sprintf("in%d", i), tensorBytes(t, x), &read, "fread")
	}
	for i, x := range p.outputs {
		piece(fmt.Sprintf("out%d", i), tensorBytes(t, x), &write, "fwrite")
	}
	for i := range p.symbols {
		piece(fmt.Sprintf("extent%d", i), 8, &write, "fwrite")
	}
	fmt.Fprintf(&b, "int main(int argc, char **argv) {\n  FILE *f = argc == 3 ? fopen(argv[1], \"rb\") : NULL;\n  if (f == NULL) return 1;\n%s  fclose(f);\n", read.String())
	fmt.Fprintf(&b, "  if (lathe_default(%s) != 0) return 3;\n  f = fopen(argv[2], \"wb\");\n  if (f == NULL) return 4;\n%s  return fclose(f);\n}\n", args.String(), write.String())
	if err := os.WriteFile(filepath.Join(p.dir, "run.c"), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// build compiles the program and returns its path. -Wcast-qual is not among the flags: the caller casts.
func (p *sourceProgram) build(t *testing.T, compiler string, flags ...string) string {
	t.Helper()
	program := filepath.Join(p.dir, "run-"+regexp.MustCompile(`\W`).ReplaceAllString(filepath.Base(compiler)+strings.Join(flags, ""), "_"))
	c := exec.Command(tool(t, compiler), slices.Concat(cctest.Strict, flags, []string{"-o", program, "net.c", "run.c"})...)
	c.Dir = p.dir
	output(t, c)
	return program
}

// run runs a program, in an emulator if one is given, and returns what it wrote.
func (p *sourceProgram) run(t *testing.T, inputs [][]byte, command ...string) []byte {
	t.Helper()
	in, out := filepath.Join(p.dir, "in"), filepath.Join(p.dir, "out")
	if err := os.WriteFile(in, bytes.Join(inputs, nil), 0o666); err != nil {
		t.Fatal(err)
	}
	output(t, exec.Command(command[0], append(command[1:], in, out)...))
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// randomInputs are the same in every run: floats around 0, bytes of all values, other integers that are small enough for
// indices.
func (p *sourceProgram) randomInputs(t *testing.T) [][]byte {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var list [][]byte
	for _, x := range p.inputs {
		b := make([]byte, tensorBytes(t, x))
		size := elementBytes(t, x.DType)
		for at := 0; at < len(b); at += size {
			switch {
			case x.DType == "float32":
				binary.LittleEndian.PutUint32(b[at:], math.Float32bits(float32(r.NormFloat64())))
			case x.DType == "bool":
				b[at] = byte(r.IntN(2))
			case size == 1:
				b[at] = byte(r.IntN(256))
			case x.DType == "int32" || x.DType == "int64":
				b[at] = byte(r.IntN(6))
			default:
				t.Fatalf("input of type %s", x.DType)
			}
		}
		list = append(list, b)
	}
	return list
}

// runPackage runs a package for this machine.
func runPackage(t *testing.T, model string, inputs [][]byte) []runtime.Tensor {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.tar")
	p, err := lathe.Compile(t.Context(), loadShaped(t, model), lathe.CompileOptions{Target: "llvm"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	m, err := runtime.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i, x := range m.Inputs() {
		if err := m.SetInputIndex(i, runtime.Tensor{DType: x.DType, Shape: x.Shape, Data: inputs[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	var outputs []runtime.Tensor
	for i := range m.Outputs() {
		y, err := m.Output(i)
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, y.Clone())
	}
	return outputs
}

// split cuts what a program wrote into outputs of the sizes that the runtime's have.
func (p *sourceProgram) split(t *testing.T, b []byte, like []runtime.Tensor) [][]byte {
	t.Helper()
	var list [][]byte
	for i, x := range p.outputs {
		n := tensorBytes(t, x)
		list = append(list, b[:len(like[i].Data)])
		b = b[n:]
	}
	return list
}

// TestSourceOfDemo builds the demo network as C source and compares with the package for this machine and with what the
// network's makers computed.
func TestSourceOfDemo(t *testing.T) {
	tool(t, "cc")
	p := sourceOf(t, demo)
	in := demoTensor(t, "data").Data
	got := floats(p.run(t, [][]byte{in}, p.build(t, "cc", "-O2")))
	if d := distance(got, floats(runPackage(t, demo, [][]byte{in})[0].Data)); !(d <= 1e-6) {
		t.Errorf("relative distance from the package %g", d)
	}
	if d := distance(got, floats(demoTensor(t, "logits").Data)); !(d <= 1e-5) {
		t.Errorf("relative distance from the expected logits %g", d)
	}
}

// TestDeploySourceBits: the demo network and a quantised one have the same bits with every compiler, level and
// architecture.
func TestDeploySourceBits(t *testing.T) {
	long(t)
	models := []string{demo}
	if dir := os.Getenv("LATHE_MODELS"); dir != "" {
		models = append(models, dir+"/onnx/micro_kws_m/micro_kws_m_static_qoperator.onnx")
	}
	for _, model := range models {
		t.Run(filepath.Base(model), func(t *testing.T) {
			p := sourceOf(t, model)
			in := p.randomInputs(t)
			want := p.run(t, in, p.build(t, "cc", "-O2"))
			for _, c := range []struct {
				compiler, emulator string
				flags              []string
			}{
				{"cc", "", []string{"-O0"}},
				{"cc", "", []string{"-O3", "-march=native"}},
				{"cc", "", []string{"-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover"}},
				{"clang", "", []string{"-O2"}},
				{"clang", "", []string{"-O3", "-march=native", "-std=gnu11"}},
				{"arm-linux-gnueabihf-gcc", "qemu-arm-static", []string{"-O2", "-static"}},
				{"arm-linux-gnueabihf-gcc", "qemu-arm-static", []string{"-Os", "-static", "-mcpu=cortex-a7", "-mfpu=neon-vfpv4"}},
				{"aarch64-linux-gnu-gcc", "qemu-aarch64-static", []string{"-O2", "-static"}},
				{"riscv64-linux-gnu-gcc", "qemu-riscv64-static", []string{"-O2", "-static"}},
			} {
				command := []string{p.build(t, c.compiler, c.flags...)}
				if c.emulator != "" {
					command = append([]string{tool(t, c.emulator)}, command...)
				}
				if got := p.run(t, in, command...); !bytes.Equal(got, want) {
					t.Errorf("%s %v: other bits than cc -O2: relative distance %g", c.compiler, c.flags, distance(floats(got), floats(want)))
				}
			}
		})
	}
}

// borrowed are functions that compilers call by themselves, even where there is no C library.
var borrowed = regexp.MustCompile(`^(mem(set|cpy|move)|__aeabi_\w+)$`)

// TestDeploySourceFreestanding compiles for microcontrollers, where nothing is there but the compiler.
func TestDeploySourceFreestanding(t *testing.T) {
	long(t)
	p := sourceOf(t, demo)
	for _, c := range []struct {
		compiler string
		flags    []string
		most     int // bytes of code
	}{
		{"arm-none-eabi-gcc", []string{"-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-Os"}, 9000},
		{"arm-none-eabi-gcc", []string{"-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-d16", "-O2"}, 12000},
		{"arm-none-eabi-gcc", []string{"-mcpu=cortex-m0plus", "-mthumb", "-Os"}, 16000},
		{"arm-linux-gnueabihf-gcc", []string{"-O2"}, 16000},
	} {
		flags := slices.Concat(cctest.Strict, c.flags, []string{"-ffreestanding", "-fstack-usage", "-c", "net.c", "-o", "net.o"})
		compile := exec.Command(tool(t, c.compiler), flags...)
		compile.Dir = p.dir
		output(t, compile)
		object := filepath.Join(p.dir, "net.o")
		binutils := strings.TrimSuffix(c.compiler, "gcc")
		for symbol := range strings.FieldsSeq(strings.ReplaceAll(output(t, exec.Command(tool(t, binutils+"nm"), "-u", object)), " U ", "")) {
			if !borrowed.MatchString(symbol) {
				t.Errorf("%s %v: it needs %s", c.compiler, c.flags, symbol)
			}
		}
		code := 0
		for line := range strings.Lines(output(t, exec.Command(tool(t, binutils+"size"), "-A", object))) {
			var name string
			var n int
			if _, err := fmt.Sscan(line, &name, &n); err == nil && strings.HasPrefix(name, ".text") {
				code += n
			}
		}
		if code == 0 || code > c.most {
			t.Errorf("%s %v: %d bytes of code, at most %d are expected", c.compiler, c.flags, code, c.most)
		}
		stack, deepest := 0, ""
		usage, err := os.ReadFile(filepath.Join(p.dir, "net.su"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(usage)) {
			fields := strings.Fields(line)
			var n int
			if _, err := fmt.Sscan(fields[1], &n); err != nil {
				t.Fatal(err)
			}
			if n > stack {
				stack, deepest = n, fields[0]
			}
		}
		if stack > 400 {
			t.Errorf("%s %v: %s takes %d bytes of stack", c.compiler, c.flags, deepest, stack)
		}
		t.Logf("%s %v: %d bytes of code, at most %d of stack in one function", c.compiler, c.flags, code, stack)
	}
}

// sourceModels are the real models that are tested as C source: those of up to 6 MB, which is 25 MB of source.
func sourceModels(t *testing.T) []string {
	dir := realmodels.Folder(t)
	files, err := filepath.Glob(filepath.Join(dir, "onnx", "*", "*.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool {
		st, err := os.Stat(f)
		return err != nil || st.Size() > 6e6
	})
	if len(files) < 15 {
		t.Fatalf("%d models in %s", len(files), dir)
	}
	return files
}

// integers are quantised models of which every sum is one of integers; others end in floats.
var integers = regexp.MustCompile(`kws_m_static_q|mobilenetv2_qdq`)

// TestDeploySourceModels compares real models as C source with their packages for this machine.
func TestDeploySourceModels(t *testing.T) {
	long(t)
	for _, model := range sourceModels(t) {
		t.Run(filepath.Base(filepath.Dir(model))+"/"+filepath.Base(model), func(t *testing.T) {
			if err := loadShaped(t, model).Err(); err != nil {
				t.Skipf("it does not compile for any target: %v", err)
			}
			p := sourceOf(t, model)
			in := p.randomInputs(t)
			want := runPackage(t, model, in)
			got := p.split(t, p.run(t, in, p.build(t, "cc", "-O2")), want)
			for i, w := range want {
				same := bytes.Equal(got[i], w.Data)
				if integers.MatchString(model) && !same {
					t.Errorf("output %d: a network of integers has other bits than its package", i)
				}
				if w.DType != "float32" {
					if !same {
						t.Errorf("output %d of type %s has other values than the package's", i, w.DType)
					}
					continue
				}
				d := distance(floats(got[i]), floats(w.Data))
				t.Logf("output %d: same bits: %v, relative distance %.2g", i, same, d)
				if !same && !(d <= 1e-4) { // what verify allows networks
					t.Errorf("output %d: relative distance %g", i, d)
				}
			}
		})
	}
}
