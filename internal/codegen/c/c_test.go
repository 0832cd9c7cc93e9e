package c_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/codegen/c"
	"lathe/internal/expr"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/looppass"
	"lathe/internal/target"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/testkit/cctest"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/tetest"
	"lathe/internal/types"
)

// kernels are small functions, one for each thing that emission has to do.
var kernels = []struct{ name, text string }{
	{"tile", `func tile(x: float32[4,16], w: float32[4,16], b: float32[16], y: float32[3,16]) {
  parallel o in 0..8 {
    alloc acc: float32[3,2] reg
    unroll i in 0..3 { unroll j in 0..2 { acc[i, j] = 0.0 } }
    for k in 0..4 { unroll i in 0..3 { unroll j in 0..2 {
      acc[i, j] = (acc[i, j] + (x[k, i] * w[k, ((o * 2) + j)])) } } }
    unroll i in 0..3 { unroll j in 0..2 {
      y[i, ((o * 2) + j)] = max((acc[i, j] + b[((o * 2) + j)]), 0.0) } } } }`},
	{"matrix", `func matrix_product(x: uint8[4,8], w: int8[2,3,4], y: int32[4,3]) {
  alloc acc: int32[1,4,3] tiles
  matrix m in 0..4 { matrix n in 0..3 { acc[0, m, n] = 0:int32 } }
  matrix m in 0..4 { matrix n in 0..3 { matrix k in 0..2 { acc[0, m, n] = (acc[0, m, n] + dot4(x[m, (k * 4)], 1, w[k, n, 0], 2)) } } }
  matrix m in 0..4 { matrix n in 0..3 { y[m, n] = acc[0, m, n] } } }`},
	{"vectors", `func vectors(x: float32[4,16] align 64, y: float32[16]) {
  alloc acc: float32[16] reg
  unroll j in 0..2 { vector v in 0..8 { acc[((j * 8) + v)] = 0.0 } }
  for k in 0..4 { unroll j in 0..2 { vector v in 0..8 { acc[((j * 8) + v)] = (acc[((j * 8) + v)] + x[k, ((j * 8) + v)]) } } }
  unroll j in 0..2 { vector v in 0..8 { y[((j * 8) + v)] = acc[((j * 8) + v)] } } }`},
	{"bounds", `func bounds(x: float32[9], y: float32[9]) {
  for i in 0..9 { y[i] = 0.0
    for k in max((1 - i), 0)..+(min((10 - i), 3) - max((1 - i), 0)) { y[i] = (y[i] + x[((i + k) - 1)]) } } }`},
	{"select", `func selects(x: float32[8], y: float32[8]) {
  for v in 0..8 { y[v] = select((((v - 3) >= 0) & (v < 7)), x[(v - 3)], -1.0) } }`},
	{"guarded_let", `func guarded_let(x: float32[8], y: float32[8]) {
  for v in 0..8 { y[v] = select((v < 5), let(s:float32 = x[(v + 3)]; (s * s)), 0.5) } }`},
	{"gather", `func gather(x: float32[7], at: int64[8], y: float32[8]) {
  for v in 0..8 { y[v] = x[max(min(at[v], 6), 0)] } }`},
	{"wrapping", `func wrapping(a: int32[8], b: int8[8], w: int8[8], s: int32[8], p: int8[8]) {
  for i in 0..8 { s[i] = (a[i] + (int32(b[i]) * int32(w[i]))) p[i] = ((b[i] * w[i]) - 3:int8) } }`},
	{"half", `func half(x: float16[8], y: float16[8], z: bfloat16[8]) { for v in 0..8 { y[v] = (x[v] * 0.5) z[v] = (x[v] - 2.0) } }`},
	{"integer_division", `func integer_division(a: int32[8], b: int32[8], q: int32[8], r: int32[8], f: int32[8], m: uint16[8]) {
  for v in 0..8 { q[v] = (a[v] / b[v]) r[v] = (a[v] % 7:int32) f[v] = floordiv(a[v], b[v]) m[v] = floormod(uint16(a[v]), 10:uint16) } }`},
	{"division_by_constant", `func division_by_constant(x: float32[24], y: float32[24]) {
  for i in 0..24 { y[i] = x[((floormod(i, 4) * 6) + floordiv(i, 4))] } }`},
	{"bool", `func bools(a: bool[8], x: float32[8], y: bool[8]) {
  for v in 0..8 { y[v] = ((not(a[v]) & (x[v] > 0.0)) | isnan(x[v])) } }`},
	{"truth_as_number", `func truth_as_number(a: bool[8], y: int32[8], z: int64[8]) {
  for v in 0..8 { y[v] = not(int32(a[v])) z[v] = not(int64(a[v])) } }`},
	{"scalar_condition", `func scalar_condition(x: float32[4], n: int64[1], y: float32[4]) {
  for i in 0..4 { if (i < n[0]) { y[i] = x[i] } else { y[i] = -1.0 } } }`},
	{"data_bound", `func data_bound(n: int64[1], y: float32[4]) {
  for i in 0..4 { y[i] = 0.0 } for i in 0..+max(min(n[0], 4), 0) { y[i] = 1.5 } }`},
	{"scratch", `func scratch(x: float32[3,8], y: float32[3,8]) {
  parallel i in 0..3 { alloc t: float32[8] worker
    for v in 0..8 { t[v] = (x[i, v] + 1.0) }
    for w in 0..8 { y[i, w] = (t[(7 - w)] * t[w]) } } }`},
	{"prefetch", `func prefetch(x: float32[4,32] align 64, y: float32[4]) {
  for i in 0..4 { prefetch x at ((i * 32) + 32) lines 2 prefetch y at (i + 1) lines 1 write y[i] = (x[i, 0] + x[i, 31]) } }`},
	{"dot_pairs", `func dot_pairs(x: int16[2,4], w: int8[2,8,2], y: int32[2,8]) {
  for i in 0..2 { for v in 0..8 { for k in 0..2 { y[i, v] = (y[i, v] + dot2(x[i, (k * 2)], 1, w[k, v, 0], 2)) } } } }`},
	{"dot", `func dot(x: uint8[2,8], w: int8[2,8,4], y: int32[2,8]) {
  for i in 0..2 { for v in 0..8 { y[i, v] = 7:int32
    for k in 0..2 { y[i, v] = (y[i, v] + dot4(x[i, (k * 4)], 1, w[k, v, 0], 2)) } } } }`},
	{"requantize", `func requantize(x: int32[8], s: float32[8], y: uint8[8]) {
  for v in 0..8 { y[v] = uint8((round((float32(x[v]) * s[v])) + 3.0)) } }`},
	{"functions", `func functions(x: float32[8], y: float32[8]) {
  for v in 0..8 { y[v] = (sigmoid(x[v]) + (tanh(x[v]) / sqrt((exp(x[v]) - inf)))) } }`},
	{"let", `func lets(x: float32[8], y: float32[8]) {
  for i in 0..8 { let s: float32 = (x[i] * x[i]) y[i] = (s + (s * s)) } }`},
	{"names", `func names(double: float32[8], exp_f32: float32[8]) {
  for while in 0..8 { let double.x: float32 = (double[while] * 2.0) exp_f32[while] = exp(double.x) } }`},
	{"large", `func large(x: float32[70000,40000], y: float32[70000]) {
  for i in 0..70000 { y[i] = x[i, 39999] } }`},
}

func parse(t testing.TB, text string) *loop.Func {
	t.Helper()
	f, err := loop.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := loop.Verify(f, loop.NoBlocks); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestGolden pins the text for each kernel.
func TestGolden(t *testing.T) {
	for _, k := range kernels {
		t.Run(k.name, func(t *testing.T) {
			f := parse(t, k.text)
			fn, err := c.Emit(f, k.name)
			if err != nil {
				t.Fatal(err)
			}
			text := "// " + strings.ReplaceAll(strings.TrimSpace(f.String()), "\n", "\n// ") + "\n\n" + fn.Text
			golden.Check(t, k.name, []byte(text+fmt.Sprintf("\n// calls %v\n", fn.Support)))
		})
	}
}

// TestSupport pins the text of functions that C lacks, with what they call.
func TestSupport(t *testing.T) {
	golden.Check(t, "support", []byte(c.Support([]string{
		"exp_f32", "sqrt_f64", "floor_f32", "ceil_f32", "trunc_f32", "max_f32", "u8_of_f32", "i32_of_f64", "u64_of_f32", "f16_of_f32",
		"f32_of_f16", "bf16_of_f32", "f32_of_bf16", "div_i32", "floormod_i8", "shl_i16", "shr_u64", "popcnt_u8", "clz_i32", "add_i32",
	})))
}

// TestSharedScratch: pieces of scratch that are used one after the other share memory, and are not restrict then; those that are used together are.
func TestSharedScratch(t *testing.T) {
	for text, restrict := range map[string]int{
		`func f(y: float32[64]) { alloc a: float32[64] worker { a[0] = 1.0 y[0] = a[0] } alloc b: int64[64] worker { b[1] = 2:int64 b[2] = (b[1] + 1:int64) } }`: 0,
		`func f(y: float32[64]) { alloc a: float32[64] worker { a[0] = 1.0 alloc b: float32[64] worker { b[1] = a[0] y[1] = b[1] } } }`:                          2,
	} {
		f, err := loop.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		fn, err := c.Emit(f, "f")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(fn.Text, "restrict") - 1; got != restrict { // besides the result
			t.Errorf("%d of the pieces are restrict, want %d:\n%s", got, restrict, fn.Text)
		}
	}
}

// TestKernels runs the same kernels and compares every byte of every operand with the interpreter's.
func TestKernels(t *testing.T) {
	var funcs []*loop.Func
	for _, k := range kernels {
		if k.name != "large" {
			funcs = append(funcs, parse(t, k.text))
		}
	}
	l := load(t, funcs)
	for i, f := range funcs {
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 3))
			var want, got []*tensor.Tensor
			for _, p := range f.Params {
				x := tensor.New(p.DType, p.Shape...)
				for j := range x.Len() {
					switch {
					case p.DType.IsFloat():
						x.SetFloat(j, r.NormFloat64()*2)
					case p.DType.Bits() > 1:
						x.SetInt(j, int64(r.Uint64())>>(64-p.DType.Bits()))
						if seed%2 == 0 {
							x.SetInt(j, int64(r.IntN(9)-2))
						}
					default:
						x.SetInt(j, int64(r.IntN(2)))
					}
				}
				want = append(want, x)
				got = append(got, tensor.Over(x.DType, x.Shape, slices.Clone(x.Bytes())))
			}
			if err := interp.Run(f, want, 1); err != nil {
				t.Fatal(err)
			}
			l.run(t, i, got)
			for j := range want {
				if !near(want[j], got[j], slices.Contains([]string{"functions", "names"}, f.Name)) {
					t.Errorf("%s, seed %d: parameter %s differs", f.Name, seed, f.Params[j].Name)
				}
			}
		}
	}
}

// near compares bytes or, of functions that are approximated, numbers.
func near(a, b *tensor.Tensor, approximate bool) bool {
	if !approximate || !a.DType.IsFloat() {
		return string(a.Bytes()) == string(b.Bytes())
	}
	for i := range a.Len() {
		x, y := a.Float(i), b.Float(i)
		if d := x - y; !(d*d <= 1e-12*(1+x*x)) && !(x != x && y != y) {
			return false
		}
	}
	return true
}

// A library holds the C functions of kernels.
type library struct {
	*cctest.Library
	scratch [][]c.Scratch
}

// load compiles kernels such that undefined behaviour ends the test.
func load(t *testing.T, funcs []*loop.Func) *library {
	t.Helper()
	l := &library{}
	var support []string
	var texts strings.Builder
	for i, f := range funcs {
		fn, err := c.Emit(f, fmt.Sprintf("k%d", i))
		if err != nil {
			t.Fatalf("%v\n%s", err, f)
		}
		texts.WriteString(strings.Replace(fn.Text, "static void", "void", 1))
		support = append(support, fn.Support...)
		l.scratch = append(l.scratch, fn.Scratch)
	}
	source := "#include <stdint.h>\n" + c.Support(support) + texts.String()
	l.Library = cctest.Build(t, source, slices.Concat(cctest.Strict, cctest.Trapping, []string{"-O1", "-ffp-contract=off"})...)
	return l
}

const canary = 0xc5

// run calls kernel i on copies of args with canaries behind them, and copies them back.
func (l *library) run(t *testing.T, i int, args []*tensor.Tensor) {
	t.Helper()
	var buffers [][]byte
	add := func(b []byte, n int) {
		buf := make([]byte, n+64)
		for j := range buf {
			buf[j] = canary
		}
		copy(buf, b)
		buffers = append(buffers, buf)
	}
	for _, a := range args {
		add(a.Bytes(), len(a.Bytes()))
	}
	for _, s := range l.scratch[i] {
		add(nil, s.Bytes)
	}
	l.Call(t, fmt.Sprintf("k%d", i), buffers...)
	for j, b := range buffers {
		n := len(b) - 64
		if j < len(args) {
			copy(args[j].Bytes(), b)
		}
		if slices.ContainsFunc(b[n:], func(x byte) bool { return x != canary }) {
			t.Errorf("kernel %d writes behind operand %d", i, j)
		}
	}
}

// machines are those whose schedules are written as C: of every rule, with vectors and without.
var machines = []*target.Target{
	{VectorBits: 512, VectorRegs: 32, HasDot: true, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 512)},
	{VectorBits: 256, VectorRegs: 16, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 256)},
	{VectorBits: 128, VectorRegs: 32, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 128)},
	{VectorRegs: 12, L1: 16 << 10, L2: 16 << 10, Core: target.ClassOf(target.CSource, 0)},
}

// TestScheduled: C written from the schedules of random computations for any machine computes what they define.
func TestScheduled(t *testing.T) {
	samples := uint64(24)
	if testing.Short() {
		samples = 4
	}
	type sample struct {
		*tetest.Case
		k    interface{ String() string }
		args []*tensor.Tensor
		at   string
	}
	var funcs []*loop.Func
	var cases []sample
	for _, kind := range tetest.Kinds() {
		for seed := range samples {
			x := tetest.New(rand.New(rand.NewPCG(seed, 23)), kind)
			k := x.Lower()
			plan, err := algorithms.Table.Choose(k, machines[seed%uint64(len(machines))], nil)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, te.String(x.Out))
			}
			f := plan.Schedule.Func
			for _, p := range looppass.Table {
				if err := p.Run(f); err != nil {
					t.Fatal(err)
				}
			}
			args, err := x.Args(k)
			if err != nil {
				t.Fatal(err)
			}
			funcs = append(funcs, f)
			cases = append(cases, sample{x, f, args, fmt.Sprintf("%s, seed %d, rule %s", kind, seed, plan.Rule)})
		}
	}
	l := load(t, funcs)
	for i, s := range cases {
		l.run(t, i, s.args)
		if err := s.Compare(s.args[len(s.args)-1]); err != nil {
			t.Errorf("%s: %v\n%s\n%s", s.at, err, te.String(s.Out), s.k)
		}
	}
}

// TestEveryFunction writes every operator and function on every type that it takes, unexpanded, and compiles all that they
// call: none is missing.
func TestEveryFunction(t *testing.T) {
	var support []string
	var texts strings.Builder
	n := 0
	add := func(d types.DType, value func(x, y expr.Expr) expr.Expr) {
		x, y := &loop.Buffer{Name: "x", DType: d, Shape: []int{1}}, &loop.Buffer{Name: "y", DType: d, Shape: []int{1}}
		at := []expr.Expr{expr.Index(0)}
		v := value(&expr.Load{From: x, Index: at}, &expr.Load{From: y, Index: at})
		z := &loop.Buffer{Name: "z", DType: v.DType(), Shape: []int{1}}
		fn, err := c.Emit(&loop.Func{Name: "f", Params: []*loop.Buffer{x, y, z}, Body: &loop.Store{To: z, Index: at, Value: v}}, fmt.Sprintf("f%d", n))
		if err != nil {
			t.Errorf("%s: %v", expr.String(v), err)
		}
		n++
		support = append(support, fn.Support...)
		texts.WriteString(strings.Replace(fn.Text, "static void", "void", 1))
	}
	for _, d := range types.DTypes() {
		if d != d.Compute() {
			continue
		}
		for _, o := range expr.Ops() {
			if o.Takes(d) {
				add(d, func(x, y expr.Expr) expr.Expr { return expr.Bin(o, x, y) })
			}
		}
		for _, f := range expr.Fns() {
			if f.Takes(d) {
				add(d, func(x, _ expr.Expr) expr.Expr { return expr.Call(f, x) })
			}
		}
	}
	if n < 200 {
		t.Fatalf("%d functions only", n)
	}
	cctest.Build(t, "#include <stdint.h>\n"+c.Support(support)+texts.String(), cctest.Strict...)
}

// TestIdentifier: whatever a tensor is called, its identifier is one of C and of C++.
func TestIdentifier(t *testing.T) {
	for name, want := range map[string]string{
		"data": "data", "serving_default_input:0": "serving_default_input_0", "": "v", "0": "v0", "7/x": "v7_x", "_": "v", "__a__b": "a_b",
		"float": "float_", "class": "class_", "int32_t": "int32_t_", "exp_f32": "exp_f32_", "größe": "gr_e", "a\nb*/": "a_b_", "x__bits": "x_bits_",
	} {
		if got := c.Identifier(name); got != want {
			t.Errorf("%q: %q, not %q", name, got, want)
		}
	}
}
