package llvm_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/codegen/llvm"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/looppass"
	"lathe/internal/sched"
	"lathe/internal/target"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/tetest"
	"lathe/internal/types"
)

// kernels are small functions, one for each thing that emission has to do.
var kernels = []struct{ name, text string }{
	{"conv_tile", `func conv_tile(x: float32[4,16] align 64, w: float32[4,16] align 64, b: float32[16], y: float32[3,16] align 64) {
  parallel o in 0..1 {
    alloc acc: float32[3,16] reg
    unroll i in 0..3 { unroll j in 0..2 { vector v in 0..8 { acc[i, ((j * 8) + v)] = 0.0 } } }
    for k in 0..4 { unroll i in 0..3 { unroll j in 0..2 { vector v in 0..8 {
      acc[i, ((j * 8) + v)] = (acc[i, ((j * 8) + v)] + (x[k, i] * w[k, ((j * 8) + v)])) } } } }
    unroll i in 0..3 { unroll j in 0..2 { vector v in 0..8 {
      y[i, ((j * 8) + v)] = max((acc[i, ((j * 8) + v)] + b[((j * 8) + v)]), 0.0) } } } } }`},
	{"masked_tail", `func masked_tail(x: float32[13], y: float32[13]) {
  for o in 0..2 { vector v in 0..8 { if (((o * 8) + v) < 13) { y[((o * 8) + v)] = (x[((o * 8) + v)] * 2.0) } } } }`},
	{"masked_select", `func masked_select(x: float32[8], y: float32[8]) {
  vector v in 0..8 { y[v] = select(((v - 3) >= 0), x[(v - 3)], -1.0) } }`},
	{"stored_between", `func stored_between(x: float32[2], y: float32[5]) {
  parallel i in 0..1 {
    alloc t: float32[1] worker { t[0] = x[0] y[0] = t[0] t[0] = x[1] y[1] = t[0] y[2] = t[0] }
    alloc r: float32[1] reg { r[0] = x[0] y[3] = r[0] if (x[1] > x[0]) { r[0] = x[1] } y[4] = r[0] } } }`},
	{"jammed", `func jammed(x: float32[4,8], b: float32[8], y: float32[4,8]) {
  for i in 0..2 { jam j in 0..2 { vector v in 0..8 { y[((i * 2) + j), v] = exp((x[((i * 2) + j), v] * b[v])) } } } }`},
	{"jammed_planes", `func jammed_planes(x: float32[3,2,4], y: float32[3,2,4]) {
  parallel i in 0..1 { jam j in 0..3 { jam k in 0..2 { vector v in 0..4 { y[j, k, v] = (x[j, k, v] * x[2, k, v]) } } } } }`},
	{"jammed_tails", `func jammed_tails(x: float32[13], y: float32[13]) {
  jam o in 0..2 { vector v in 0..8 { if (((o * 8) + v) < 13) { y[((o * 8) + v)] = (x[((o * 8) + v)] * 2.0) } } } }`},
	{"jammed_branches", `func jammed_branches(x: float32[2], y: float32[2]) {
  jam o in 0..2 { if (x[o] > 1.0) { y[o] = (x[o] * 2.0) } else { y[o] = 0.0 } } }`},
	{"gather", `func gather(x: float32[7], at: int32[8], y: float32[8]) {
  vector v in 0..8 { y[v] = x[max(min(int64(at[v]), 6), 0)] } }`},
	{"strided_store", `func strided_store(x: float32[4], y: float32[8]) {
  vector v in 0..4 { y[(v * 2)] = x[v] y[((v * 2) + 1)] = (0.0 - x[v]) } }`},
	{"strided_load", `func strided_load(x: float32[3,16], y: float32[3,8]) {
  for i in 0..3 { vector v in 0..8 { y[i, v] = max(x[i, (v * 2)], x[i, ((v * 2) + 1)]) } } }`},
	{"strided_load_odd", `func strided_load_odd(x: float32[15], y: float32[7]) {
  vector v in 0..7 { y[v] = (x[(v * 2)] - x[(14 - v)]) } }`},
	{"horizontal_sum", `func horizontal_sum(x: float32[2,8], y: float32[2]) {
  for i in 0..2 { y[i] = 0.0 vector v in 0..8 { y[i] = (y[i] + x[i, v]) } } }`},
	{"horizontal_vectors", `func horizontal_vectors(x: float32[32], y: float32[1]) {
  y[0] = -inf unroll i in 0..4 { vector v in 0..8 { y[0] = max(y[0], x[((i * 8) + v)]) } } }`},
	{"register_part", `func register_part(x: float32[21], y: float32[1]) {
  y[0] = 0.0
  alloc acc: float32[8] reg {
    vector v in 0..8 { acc[v] = 0.0 }
    for o in 0..2 { vector v in 0..8 { acc[v] = (acc[v] + x[((o * 8) + v)]) } }
    vector v in 0..5 { acc[v] = (acc[v] + x[(v + 16)]) }
    vector v in 0..8 { y[0] = (y[0] + acc[v]) } } }`},
	{"register_rows", `func register_rows(x: float32[3], w: float32[4,16], y: float32[3,11]) {
  alloc acc: float32[3,11] reg {
    unroll i in 0..3 { unroll j in 0..2 { vector v in 0..8 { if (((j * 8) + v) < 11) { acc[i, ((j * 8) + v)] = 0.0 } } } }
    for k in 0..4 { unroll i in 0..3 { unroll j in 0..2 { vector v in 0..8 { if (((j * 8) + v) < 11) {
      acc[i, ((j * 8) + v)] = (acc[i, ((j * 8) + v)] + (x[i] * w[k, ((j * 8) + v)])) } } } } }
    unroll i in 0..3 { unroll j in 0..2 { vector v in 0..8 { if (((j * 8) + v) < 11) {
      y[i, ((j * 8) + v)] = acc[i, ((j * 8) + v)] } } } } } }`},
	{"register_columns", `func register_columns(x: float32[3], w: float32[4,16], y: float32[3,9]) {
  alloc acc: float32[3,9,1] reg {
    unroll i in 0..3 { unroll j in 0..2 { vector v in 0..8 { if (((j * 8) + v) < 9) { acc[i, ((j * 8) + v), 0] = 0.0 } } } }
    for k in 0..4 { unroll i in 0..3 { unroll j in 0..2 { vector v in 0..8 { if (((j * 8) + v) < 9) {
      acc[i, ((j * 8) + v), 0] = (acc[i, ((j * 8) + v), 0] + (x[i] * w[k, ((j * 8) + v)])) } } } } }
    unroll i in 0..3 { unroll j in 0..2 { vector v in 0..8 { if (((j * 8) + v) < 9) {
      y[i, ((j * 8) + v)] = acc[i, ((j * 8) + v), 0] } } } } } }`},
	{"scratch_end", `func scratch_end(x: float32[3,13], y: float32[3,13]) {
  parallel i in 0..3 { alloc t: float32[13] worker {
    vector v in 0..8 { t[v] = (x[i, v] + 1.0) }
    vector v in 0..5 { t[(v + 8)] = (x[i, (v + 8)] + 1.0) }
    vector v in 0..8 { y[i, v] = (t[v] * t[(v + 5)]) }
    vector v in 0..5 { y[i, (v + 8)] = (t[(v + 8)] * t[v]) } } } }`},
	{"horizontal_max_masked", `func horizontal_max_masked(x: int8[11], y: int8[1]) {
  y[0] = -128:int8 for o in 0..2 { vector v in 0..8 { if (((o * 8) + v) < 11) { y[0] = max(y[0], x[((o * 8) + v)]) } } } }`},
	{"horizontal_min_uint64", `func horizontal_min_uint64(x: uint64[3], y: uint64[1]) {
  y[0] = not(0:uint64)
  vector v in 0..4 { if (v < 3) { y[0] = min(y[0], (((x[v] & 7:uint64) + 9223372036854775807:uint64) + 5:uint64)) } } }`},
	{"horizontal_and", `func horizontal_and(x: int32[3], y: int32[1]) {
  y[0] = 126:int32 vector v in 0..4 { if (v < 3) { y[0] = (y[0] & (x[v] | 70:int32)) } } }`},
	{"half", `func half(x: float16[8], y: float16[8]) { vector v in 0..8 { y[v] = (x[v] * 0.5) } }`},
	{"bfloat", `func bfloat(x: bfloat16[8], y: bfloat16[8]) { vector v in 0..8 { y[v] = (x[v] * 0.5) } }`},
	{"integer_division", `func integer_division(a: int32[8], b: int32[8], q: int32[8], r: int32[8], f: int32[8]) {
  vector v in 0..8 { q[v] = (a[v] / b[v]) r[v] = (a[v] % b[v]) f[v] = floordiv(a[v], b[v]) } }`},
	{"division_by_constant", `func division_by_constant(x: float32[24], y: float32[24]) {
  for i in 0..24 { y[i] = x[((floormod(i, 4) * 6) + floordiv(i, 4))] } }`},
	{"bool", `func bools(a: bool[8], x: float32[8], y: bool[8]) {
  vector v in 0..8 { y[v] = (not(a[v]) & (x[v] > 0.0)) } }`},
	{"scalar_condition", `func scalar_condition(x: float32[4], n: int64[1], y: float32[4]) {
  for i in 0..4 { if (i < n[0]) { y[i] = x[i] } else { y[i] = -1.0 } } }`},
	{"divided_inner", `func divided_inner(x: float32[3,8,4], y: float32[3,8,4]) {
  for i in 0..3 { parallel j in 0..8 { vector v in 0..4 { y[i, j, v] = (x[i, j, v] + 1.0) } } } }`},
	{"scratch", `func scratch(x: float32[3,8], y: float32[3,8]) {
  parallel i in 0..3 { alloc t: float32[8] worker
    vector v in 0..8 { t[v] = (x[i, v] + 1.0) }
    vector w in 0..8 { y[i, w] = (t[(7 - w)] * t[w]) } } }`},
	{"prefetch", `func prefetch(x: float32[4,32] align 64, y: float32[4]) {
  for i in 0..4 { prefetch x at ((i * 32) + 32) lines 2 prefetch y at (i + 1) lines 1 write y[i] = (x[i, 0] + x[i, 31]) } }`},
	{"transposed", `func transposed(x: float32[9,13], scale: float32[13], y: float32[13,9]) {
  for io in 0..2 { for jo in 0..3 { unroll i in 0..4 { vector j in 0..4 {
    y[((jo * 4) + j), ((io * 4) + i)] = (x[((io * 4) + i), ((jo * 4) + j)] * scale[((jo * 4) + j)]) } } } }
  for k in 0..12 { y[k, 8] = x[8, k] } for k in 0..9 { y[12, k] = x[k, 12] } }`},
	{"transposed_guarded", `func transposed_guarded(x: float16[5,16], y: float16[16,8]) {
  for jo in 0..2 { unroll i in 0..8 { vector j in 0..8 {
    y[((jo * 8) + j), i] = select((i < 5), x[i, ((jo * 8) + j)], 0.0) } } } }`},
	{"transposed_part", `func transposed_part(x: uint8[16,9], y: float32[9,16]) {
  unroll i in 0..16 { vector j in 0..9 { y[j, i] = float32(x[i, j]) } } }`},
	{"transposed_in_place", `func transposed_in_place(x: float32[4,4], y: float32[4,4]) {
  for k in 0..4 { vector v in 0..4 { y[k, v] = x[k, v] } }
  unroll i in 0..4 { vector j in 0..4 { y[j, i] = (y[i, j] + 1.0) } } }`},
	{"dot", `func dot(x: uint8[2,8], w: int8[2,8,4], y: int32[2,8]) {
  for i in 0..2 { alloc acc: int32[8] reg
    vector v in 0..8 { acc[v] = 7:int32 }
    for k in 0..2 { vector v in 0..8 { acc[v] = (acc[v] + dot4(x[i, (k * 4)], 1, w[k, v, 0], 2)) } }
    vector v in 0..8 { y[i, v] = acc[v] } } }`},
	{"dot_masked", `func dot_masked(x: uint8[4], w: int8[11,4], y: int32[11]) {
  for o in 0..2 { vector v in 0..8 { if (((o * 8) + v) < 11) { y[((o * 8) + v)] = dot4(x[0], 0, w[((o * 8) + v), 0], 1) } } } }`},
	{"dot_interleaved", `func dot_interleaved(x: int8[6,8], w: uint8[8,4], y: int32[3,8]) {
  for i in 0..3 { vector v in 0..8 { y[i, v] = dot4(x[i, v], 0, w[v, 0], 1) } } }`},
	{"dot_scalar", `func dot_scalar(x: int8[7], w: int8[4], y: int32[4]) {
  for i in 0..4 { y[i] = dot4(x[i], 0, w[0], 0) } }`},
	{"dot_pairs", `func dot_pairs(x: int16[2,8], w: int8[4,8,2], y: int32[2,8]) {
  for i in 0..2 { alloc acc: int32[8] reg
    vector v in 0..8 { acc[v] = 7:int32 }
    for k in 0..4 { vector v in 0..8 { acc[v] = (acc[v] + dot2(x[i, (k * 2)], 1, w[k, v, 0], 2)) } }
    vector v in 0..8 { y[i, v] = acc[v] } } }`},
	{"dot_pairs_masked", `func dot_pairs_masked(x: uint8[2], w: int16[11,2], u: int8[11,2], s: int16[2], y: int32[11]) {
  for o in 0..2 { vector v in 0..8 { if (((o * 8) + v) < 11) {
    y[((o * 8) + v)] = (dot2(x[0], 0, w[((o * 8) + v), 0], 1) + dot2(s[0], 0, u[((o * 8) + v), 0], 1)) } } } }`},
	{"dot_pairs_interleaved", `func dot_pairs_interleaved(x: int16[4,8], w: uint8[8,2], y: int32[3,8]) {
  for i in 0..3 { vector v in 0..8 { y[i, v] = dot2(x[i, v], 0, w[v, 0], 1) } } }`},
	{"dot_pairs_scalar", `func dot_pairs_scalar(x: int16[5], w: int8[2], y: int32[4]) {
  for i in 0..4 { y[i] = dot2(x[i], 0, w[0], 0) } }`},
	{"requantize", `func requantize(x: int32[8], s: float32[8], y: uint8[8]) {
  vector v in 0..8 { y[v] = uint8((round((float32(x[v]) * s[v])) + 3.0)) } }`},
	{"requantize_float", `func requantize_float(x: int32[8], s: float32[8], y: float32[8]) {
  vector v in 0..8 { y[v] = float32((int32(uint8((round((float32(x[v]) * s[v])) + 3.0))) - 3:int32)) } }`},
	{"let", `func lets(x: float32[8], y: float32[8]) {
  for i in 0..8 { let s: float32 = (x[i] * x[i]) y[i] = (s + (s * s)) } }`},
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
	for _, c := range kernels {
		t.Run(c.name, func(t *testing.T) {
			f := parse(t, c.text)
			k, err := llvm.Emit(f, llvm.Options{Symbol: c.name, VectorBits: 256})
			if err != nil {
				t.Fatal(err)
			}
			text := "; " + strings.ReplaceAll(strings.TrimSpace(f.String()), "\n", "\n; ") + "\n"
			golden.Check(t, c.name, []byte(text+k.Text))
		})
	}
}

// TestDotInstructions checks which instruction serves a dot product on what target.
func TestDotInstructions(t *testing.T) {
	for _, c := range []struct{ target, want string }{
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server", "@llvm.x86.avx512.vpdpbusd.256"},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=alderlake", "@llvm.x86.avx512.vpdpbusd.256"},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", "@llvm.x86.avx2.pmadd.wd"},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=nehalem", "mul <8 x i32>"},
		{"llvm -mtriple=aarch64-linux-gnu", "mul <8 x i32>"},
	} {
		spec, err := target.Parse(c.target)
		if err != nil {
			t.Fatal(err)
		}
		tgt, err := spec.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kernels {
			if k.name != "dot" {
				continue
			}
			code, err := llvm.Emit(parse(t, k.text), llvm.Options{Symbol: k.name, Target: tgt})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(code.Text, c.want) {
				t.Errorf("%s: no %q in\n%s", c.target, c.want, code.Text)
			}
		}
	}
}

// TestKernels runs the same kernels.
func TestKernels(t *testing.T) {
	var funcs []*loop.Func
	for _, c := range kernels {
		funcs = append(funcs, parse(t, c.text))
	}
	sameAsInterpreted(t, funcs)
}

// TestRectangles: rectangles of all sides are transposed, whether in registers, padded, or element by element.
func TestRectangles(t *testing.T) {
	var funcs []*loop.Func
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 21))
		rows, lanes, from := 2+r.IntN(16), 2+r.IntN(16), r.IntN(3)
		d := []string{"uint8", "float32", "float16", "int64"}[r.IntN(4)]
		funcs = append(funcs, parse(t, fmt.Sprintf(`func rectangle_%[1]d(x: %[2]s[%[3]d,%[5]d], y: %[2]s[%[5]d,%[6]d]) {
  unroll i in 0..%[3]d { vector j in 0..%[4]d { y[(j + %[7]d), (i + 1)] = x[i, (j + %[7]d)] } } }`, seed, d, rows, lanes, lanes+from, rows+2, from)))
	}
	sameAsInterpreted(t, funcs)
}

// TestLetsOfLanes: places that memory gives through variables, some of whose values are numbers in some lanes, are each lane's own, whether
// all lanes are computed at once, or one by one under a mask.
func TestLetsOfLanes(t *testing.T) {
	var funcs []*loop.Func
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 33))
		lanes, size := 2+r.IntN(7), 3+r.IntN(9)
		first, behind := r.IntN(lanes), 1+r.IntN(lanes)
		place := func(name string) string {
			return fmt.Sprintf("max(min(let(%[1]s:int64 = int64(select(((v >= %[2]d) & (v < %[3]d)), at[v], %[4]d:int32)); select((%[1]s < 0), (%[1]s + %[5]d), %[1]s)), %[6]d), 0)",
				name, first, behind, r.IntN(size), size, size-1)
		}
		x := func(name string) string {
			return []string{"x[" + place(name) + "]", fmt.Sprintf("x[%s]", "max(min(int64(x["+place(name)+"]), "+fmt.Sprint(size-1)+"), 0)")}[r.IntN(2)]
		}
		funcs = append(funcs, parse(t, fmt.Sprintf(`func lets_%[1]d(x: float32[%[2]d], at: int32[%[3]d], y: float32[%[3]d]) {
  vector v in 0..%[3]d { y[v] = select((%[4]s < 0.0), (%[5]s + 100.0), %[6]s) } }`, seed, size, lanes, x("a"), x("b"), x("c"))))
	}
	sameAsInterpreted(t, funcs)
}

// sameAsInterpreted runs functions for one worker and three, and compares every byte of every operand with the interpreter's.
func sameAsInterpreted(t *testing.T, funcs []*loop.Func) {
	t.Helper()
	code := load(t, funcs)
	for i, f := range funcs {
		for _, workers := range []int{1, 3} {
			r := rand.New(rand.NewPCG(uint64(i), 8))
			var want, got []*tensor.Tensor
			for _, p := range f.Params {
				x := tensor.New(p.DType, p.Shape...)
				for j := range x.Len() {
					if p.DType.IsFloat() {
						x.SetFloat(j, r.NormFloat64())
					} else {
						x.SetInt(j, int64(r.IntN(20)-10))
					}
				}
				want, got = append(want, x), append(got, tensor.Over(x.DType, x.Shape, append([]byte(nil), x.Bytes()...)))
			}
			if err := interp.Run(f, want, workers); err != nil {
				t.Fatal(err)
			}
			if err := code.run(i, got, workers); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
			for j, p := range f.Params {
				for e := range want[j].Len() {
					if !close(want[j], got[j], e) {
						t.Errorf("%s, %d workers: %s[%d] is %v, interpreted %v", f.Name, workers, p.Name, e, got[j].Float(e), want[j].Float(e))
						break
					}
				}
			}
		}
	}
}

// TestBusiest: no worker runs more iterations of a parallel loop than the first, by whose time a search judges a kernel.
func TestBusiest(t *testing.T) {
	for _, extent := range []int{1, 2, 3, 5, 7, 8, 31} {
		f := parse(t, fmt.Sprintf("func ones(y: float32[%[1]d]) { parallel i in 0..%[1]d { y[i] = 1.0 } }", extent))
		code := load(t, []*loop.Func{f})
		for _, workers := range []int{1, 2, 3, 4, 8} {
			var first, all int
			for w := range workers {
				y := tensor.New(types.F32, extent)
				if err := code.share(0, []*tensor.Tensor{y}, w, w+1, workers); err != nil {
					t.Fatal(err)
				}
				n := 0
				for i := range y.Len() {
					n += int(y.Float(i))
				}
				if w == 0 {
					first = n
				}
				if all += n; n > first {
					t.Errorf("worker %d of %d runs %d of %d iterations, the first %d", w, workers, n, extent, first)
				}
			}
			if all != extent {
				t.Errorf("%d workers run %d iterations of %d", workers, all, extent)
			}
		}
	}
}

// close allows fused multiply-adds and the order of horizontal sums, in float32.
func close(want, got *tensor.Tensor, i int) bool {
	a, b := want.Float(i), got.Float(i)
	if !want.DType.IsFloat() {
		return want.Int(i) == got.Int(i)
	}
	d := a - b
	return a == b || a != a && b != b || d*d <= 1e-12*(a*a+1)
}

// TestRandom emits random computations under rules' schedules for three widths and under random schedules, and compares
// the results of the code, with one worker and with several, to the expressions'.
func TestRandom(t *testing.T) {
	samples := uint64(24)
	if testing.Short() {
		samples = 6
	}
	type trial struct {
		*tetest.Case
		text string
		args func() ([]*tensor.Tensor, error)
	}
	var trials []trial
	var funcs []*loop.Func
	for _, kind := range tetest.Kinds() {
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 9))
			c := tetest.New(r, kind)
			k := c.Lower()
			s := sched.New(&loop.Func{Name: k.Func.Name, Params: k.Func.Params, Body: k.Func.Body})
			if seed%4 != 3 {
				bits := []int{128, 256, 512}[seed%4]
				plan, err := algorithms.Table.Choose(k, &target.Target{VectorBits: bits, VectorRegs: bits / 16, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, bits)}, nil)
				if err != nil {
					t.Fatalf("%s, seed %d: %v", kind, seed, err)
				}
				if n := len(plan.Divisions); n > 0 {
					if err := plan.DivideBy(plan.Divisions[r.IntN(n)]); err != nil {
						t.Fatalf("%s, seed %d: %v", kind, seed, err)
					}
				}
				s = plan.Schedule
			} else {
				for range 3 + r.IntN(8) {
					randomStep(r, s, k.Blocks[r.IntN(len(k.Blocks))])
				}
			}
			for _, p := range looppass.Table {
				if err := p.Run(s.Func); err != nil {
					t.Fatalf("%s, seed %d: %v", kind, seed, err)
				}
			}
			funcs = append(funcs, s.Func)
			trials = append(trials, trial{Case: c, text: te.String(c.Out) + s.String() + s.Func.String(), args: func() ([]*tensor.Tensor, error) { return c.Args(k) }})
		}
	}
	code := load(t, funcs)
	for i, c := range trials {
		for _, workers := range []int{1, 3} {
			args, err := c.args()
			if err == nil {
				err = code.run(i, args, workers)
			}
			if err == nil {
				err = c.Compare(args[len(args)-1])
			}
			if err != nil {
				t.Errorf("%s, seed %d, %d workers: %v\n%s", c.Name, uint64(i)%samples, workers, err, c.text)
				break
			}
		}
	}
}

// randomStep tries a step on a loop of a block.
func randomStep(r *rand.Rand, s *sched.Schedule, block string) {
	nest := s.Loops(block)
	if len(nest) == 0 {
		return
	}
	on, last := nest[r.IntN(len(nest))], nest[len(nest)-1]
	switch r.IntN(6) {
	case 0, 1:
		s.Split(on, 1+r.IntN(8))
	case 2:
		r.Shuffle(len(nest), func(i, j int) { nest[i], nest[j] = nest[j], nest[i] })
		s.Reorder(nest...)
	case 3:
		if s.Extent(on) <= 8 {
			s.Unroll(on)
		}
	case 4:
		s.DecomposeReduction(block, nest[0])
		s.Vectorize(last)
	case 5:
		s.Parallel(nest[0])
	}
}

// TestRefused lists what emission reports instead of emitting something else.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"open_unroll", `func f(n: int64[1], y: float32[8]) { for i in 0..8 { unroll j in i..+2 { y[j] = 1.0 } } }`, "not constant"},
		{"register_index", `func f(y: float32[8]) { alloc t: float32[8] reg for i in 0..8 { t[i] = 1.0 } for j in 0..8 { y[j] = t[j] } }`, "is not constant"},
		{"block", `func f(y: float32[8]) { for i in 0..8 { block y(a: 8 = i) { y[a] = 1.0 } } }`, "loop.Block"},
		{"no_reduction", `func f(x: float32[8], y: float32[1]) { vector v in 0..8 { y[0] = (x[v] * 2.0) } }`, "no reduction"},
	} {
		f, err := loop.Parse(c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, err := llvm.Emit(f, llvm.Options{Symbol: "f"}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
