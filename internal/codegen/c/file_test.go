package c_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lathe/internal/codegen/c"
	"lathe/internal/testkit/cctest"
	"lathe/internal/testkit/golden"
	"lathe/internal/types"
)

// small is a file with everything that files have: every element type, numbers that C has no constant for, names that C
// does not allow or that collide, scratch, an extent that depends on data.
func small(t *testing.T) *c.File {
	t.Helper()
	emit := func(name, text string) c.Kernel {
		fn, err := c.Emit(parse(t, text), c.SymbolMark)
		if err != nil {
			t.Fatal(err)
		}
		return c.Kernel{Name: name, Function: fn, Comment: []string{name + " */ of a \\ comment ??/"}}
	}
	weight := func(name string, d types.DType, values any) c.Weight {
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, values); err != nil {
			t.Fatal(err)
		}
		return c.Weight{Name: name, Comment: name + ": " + d.String(), DType: d, Data: b.Bytes()}
	}
	nan, inf := math.NaN(), math.Inf(1)
	return &c.File{
		Module: "small", Head: []string{"a small file\nof two lines"}, Workspace: 48, Symbols: []string{"count"},
		Inputs:  []c.Tensor{{Name: "float", DType: types.F32, Shape: []int{2, 4}}, {Name: "x:0", DType: types.Bool}},
		Outputs: []c.Tensor{{Name: "x.0", DType: types.F16, Shape: []int{8}, Extents: []int{0}}},
		Weights: []c.Weight{
			weight("float", types.F32, []float32{0, float32(math.Copysign(0, -1)), 1, -0.1, 1e-45, math.MaxFloat32, 16777216, 1e6}),
			weight("mask", types.F32, []float32{float32(-inf), 1, float32(nan), 3, 4, 5, 6, 7}),
			weight("f64", types.F64, []float64{0.1, -5e-324, math.MaxFloat64}), weight("wide", types.F64, []float64{inf}),
			weight("i8", types.I8, []int8{-128, 127}), weight("i16", types.I16, []int16{-32768}),
			weight("i32", types.I32, []int32{math.MinInt32, math.MaxInt32}), weight("i64", types.I64, []int64{math.MinInt64, math.MaxInt64, 5}),
			weight("u8", types.U8, []uint8{255}), weight("u16", types.U16, []uint16{65535}),
			weight("u32", types.U32, []uint32{math.MaxUint32}), weight("u64", types.U64, []uint64{math.MaxUint64, 7}),
			weight("f16", types.F16, []uint16{0x3c00}), weight("bool", types.Bool, []uint8{1, 0}), weight("none", types.F32, []float32{}),
		},
		Kernels: []c.Kernel{
			emit("add", `func k(x: float32[8], w: float32[8], y: float32[8]) {
  alloc t: float32[8] worker for i in 0..8 { t[i] = (x[i] + w[i]) } for i in 0..8 { y[i] = (t[(7 - i)] * 2.0) } }`),
			emit("narrow", `func k(x: float32[8], m: float32[8], flag: bool[1], y: float16[8], n: int64[1]) {
  for i in 0..8 { y[i] = (select(flag[0], x[i], m[i]) + log(x[i])) } n[0] = 3 }`),
		},
		Calls: []c.Call{
			{Kernel: 0, Comment: "first", Scratch: 32, Args: []c.Place{{Kind: c.Input}, {Kind: c.WeightOf}, {Kind: c.Workspace, DType: types.F32}}},
			{Kernel: 1, Comment: "second", Args: []c.Place{{Kind: c.Workspace, DType: types.F32, Const: true}, {Kind: c.WeightOf, Index: 1}, {Kind: c.Input, Index: 1}, {Kind: c.Output}, {Kind: c.Symbol}}},
		},
	}
}

// TestFile pins a file and its header, and compiles both as strictly as compilers can, in C and in C++.
func TestFile(t *testing.T) {
	f := small(t)
	var source, header bytes.Buffer
	if err := f.Write(&source); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteHeader(&header); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "file", source.Bytes())
	golden.Check(t, "header", header.Bytes())
	for i, l := range bytes.Split(source.Bytes(), []byte("\n")) {
		if len(l) > 100 {
			t.Errorf("line %d has %d columns: %s", i+1, len(l), l)
		}
	}
	cc, dir := cctest.Compiler(t), t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("small.c", source.String())
	write("small.h", header.String())
	write("both.c", "#include \"small.h\"\n#include \"small.c\"\n#include \"small.h\"\nint main(void) { static float x[8]; uint8_t f = 1; uint16_t y[8]; int64_t n = 0; "+
		"static _Alignas(8) char memory[LATHE_SMALL_WORKSPACE_BYTES + 1]; "+
		"return lathe_small(x, &f, y, &n) != 0 || n != 3 || lathe_small_in(memory + 1, x, &f, y, &n) != -1 || lathe_small_in(memory, x, &f, y, &n) != 0; }\n")
	write("header.cc", "#include \"small.h\"\nint main() { return LATHE_SMALL_FLOAT_ELEMENTS + LATHE_SMALL_X_0_ELEMENTS - 9; }\n")
	cctest.Run(t, dir, cc, slices.Concat(cctest.Strict, []string{"-O2", "-o", "both", "both.c"})...)
	cctest.Run(t, dir, filepath.Join(dir, "both"))
	cctest.Run(t, dir, cc, slices.Concat(cctest.Strict, []string{"-Wno-unused-const-variable", "-DLATHE_CALLER_WORKSPACE", "-O2", "-c", "small.c"})...)
	cctest.Run(t, dir, cctest.Tool(t, "c++"), "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "header.cc")
}

// TestWeights reads back the constants of the file: the bits are those of the data.
func TestWeights(t *testing.T) {
	f := small(t)
	var source bytes.Buffer
	if err := f.Write(&source); err != nil {
		t.Fatal(err)
	}
	names := []string{"float_1", "mask.values", "f64", "wide.values", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bool_"}
	for i, w := range f.Weights[:len(names)] {
		source.WriteString("\nvoid get_" + w.Name + "(unsigned char *to);\nvoid get_" + w.Name + "(unsigned char *to) {\n")
		source.WriteString("  const unsigned char *from = (const unsigned char *)" + names[i] + ";\n")
		source.WriteString("  for (unsigned i = 0; i < sizeof " + names[i] + "; i++) to[i] = from[i];\n}\n")
	}
	l := cctest.Build(t, source.String(), append(slices.Clone(cctest.Strict), "-Wno-unused-const-variable", "-O1")...)
	for _, w := range f.Weights[:len(names)] {
		got := cctest.Aligned(len(w.Data))
		l.Call(t, "get_"+w.Name, got)
		if !bytes.Equal(got, w.Data) {
			t.Errorf("%s: % x instead of % x", w.Name, got, w.Data)
		}
	}
}
