package sched_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/sched"
	"lathe/internal/tensor"
	"lathe/internal/testkit/golden"
)

const (
	pointwise = `func f(x: float32[6,10], y: float32[6,10]) {
  for i in 0..6 { for j in 0..10 {
    block y(a: 6 = i, b: 10 = j) { y[a, b] = (x[a, b] + 1.0) } } } }`

	matmul = `func f(p: float32[4,6], q: float32[6,8], y: float32[4,8]) {
  for i in 0..4 { for j in 0..8 { for k in 0..6 {
    block y(a: 4 = i, b: 8 = j, r: reduce 6 = k) { init y[a, b] = 0.0 y[a, b] = (y[a, b] + (p[a, r] * q[r, b])) } } } } }`

	// panels is a product whose second operand lies in panels of 16 columns.
	panels = `func f(p: float32[4,8], q: float32[3,8,16], y: float32[4,48]) {
  for j in 0..3 { for i in 0..4 { for k in 0..8 { for l in 0..16 {
    block y(a: 4 = i, b: 3 = j, c: 16 = l, r: reduce 8 = k) { init y[a, ((b * 16) + c)] = 0.0
      y[a, ((b * 16) + c)] = (y[a, ((b * 16) + c)] + (p[a, r] * q[b, r, c])) } } } } } }`
	// taps are windows that have elements in common, on lines apart.
	taps = `func f(x: float32[4,24], y: float32[4,20]) {
  for i in 0..4 { for j in 0..20 { for k in 0..5 {
    block y(a: 4 = i, b: 20 = j, r: reduce 5 = k) { init y[a, b] = 0.0 y[a, b] = (y[a, b] + x[a, (b + r)]) } } } } }`
	// quantized is a guarded product of bytes, the weights in groups of four rows.
	quantized = `func f(p: uint8[4,8], q: int8[2,6,4], y: int32[4,6]) {
  for i in 0..4 { for j in 0..6 { for k in 0..8 {
    block y(a: 4 = i, b: 6 = j, r: reduce 8 = k) { init y[a, b] = 0:int32
      y[a, b] = (y[a, b] + select(((a + b) > 0), (int32(p[a, r]) * int32(q[floordiv(r, 4), b, floormod(r, 4)])), 0:int32)) } } } } }`

	// staged is a product and its rectified sum with a vector.
	staged = `func f(p: float32[4,6], q: float32[6,8], v: float32[8], y: float32[4,8]) {
  alloc acc: float32[4,8] worker
  for acc_i in 0..4 { for acc_j in 0..8 { for k in 0..6 {
    block acc(a: 4 = acc_i, b: 8 = acc_j, r: reduce 6 = k) { init acc[a, b] = 0.0 acc[a, b] = (acc[a, b] + (p[a, r] * q[r, b])) } } } }
  for i in 0..4 { for j in 0..8 {
    block y(a: 4 = i, b: 8 = j) { y[a, b] = max((acc[a, b] + v[b]), 0.0) } } } }`

	// scaled is staged with a factor for three terms of a sum.
	scaled = `func f(p: float32[4,6], q: float32[6,8], s: float32[2,8], y: float32[4,8]) {
  alloc acc: float32[4,8] worker
  for acc_i in 0..4 { for acc_j in 0..8 { for k in 0..6 {
    block acc(a: 4 = acc_i, b: 8 = acc_j, r: reduce 6 = k) { init acc[a, b] = 0.0
      acc[a, b] = (acc[a, b] + ((p[a, r] * q[r, b]) * s[floordiv(r, 3), b])) } } } }
  for i in 0..4 { for j in 0..8 {
    block y(a: 4 = i, b: 8 = j) { y[a, b] = max(acc[a, b], 0.0) } } } }`

	// window reads three neighbours of an intermediate, guarded at both ends.
	window = `func f(x: float32[16], y: float32[16]) {
  alloc t: float32[16] worker
  for t_i in 0..16 { block t(a: 16 = t_i) { t[a] = (x[a] * 2.0) } }
  for i in 0..16 {
    block y(a: 16 = i) { y[a] = (t[a] + (select(((a - 1) >= 0), t[(a - 1)], 0.0) + select(((a + 1) < 16), t[(a + 1)], 0.0))) } } }`

	// chain has an intermediate that feeds another.
	chain = `func f(x: float32[4,5], y: float32[4,5]) {
  alloc most: float32[4] worker
  alloc total: float32[4] worker
  for most_i in 0..4 { for most_r in 0..5 {
    block most(a: 4 = most_i, r: reduce 5 = most_r) { init most[a] = -inf most[a] = max(most[a], x[a, r]) } } }
  for total_i in 0..4 { for total_r in 0..5 {
    block total(a: 4 = total_i, r: reduce 5 = total_r) { init total[a] = 0.0 total[a] = (total[a] + (x[a, r] - most[a])) } } }
  for i in 0..4 { for j in 0..5 {
    block y(a: 4 = i, b: 5 = j) { y[a, b] = ((x[a, b] - most[a]) * total[a]) } } } }`

	// softened has an intermediate as large as the result, which a sum and the result read.
	softened = `func f(x: float32[4,5], y: float32[4,5]) {
  alloc e: float32[4,5] worker
  alloc total: float32[4] worker
  for e_i in 0..4 { for e_j in 0..5 { block e(a: 4 = e_i, b: 5 = e_j) { e[a, b] = (x[a, b] * x[a, b]) } } }
  for total_i in 0..4 { for total_r in 0..5 {
    block total(a: 4 = total_i, r: reduce 5 = total_r) { init total[a] = 0.0 total[a] = (total[a] + e[a, r]) } } }
  for i in 0..4 { for j in 0..5 {
    block y(a: 4 = i, b: 5 = j) { y[a, b] = (e[a, b] * total[a]) } } } }`

	// indirect reads an intermediate at an index that a let computes.
	indirect = `func f(x: float32[8], y: float32[8]) {
  alloc t: float32[8] worker
  for t_i in 0..8 { block t(a: 8 = t_i) { t[a] = (x[a] * 2.0) } }
  for i in 0..8 { block y(a: 8 = i) { y[a] = let(h: int64 = floordiv(a, 2); t[h]) } } }`
)

func parse(t testing.TB, text string) *loop.Func {
	t.Helper()
	f, err := loop.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := loop.Verify(f); err != nil {
		t.Fatal(err)
	}
	return f
}

// steps reads a schedule in the form that Schedule.String prints.
func steps(text string) []sched.Step {
	var list []sched.Step
	for line := range strings.SplitSeq(strings.TrimSpace(text), ";") {
		w := strings.Fields(line)
		s := sched.Step{Op: w[0], On: w[1], Args: w[2:]}
		if last := len(s.Args) - 1; last >= 0 {
			if n, err := strconv.Atoi(s.Args[last]); err == nil {
				s.N, s.Args = n, s.Args[:last]
			}
		}
		list = append(list, s)
	}
	return list
}

// goldens show each primitive before and after.
var goldens = []struct{ name, before, steps string }{
	{"split", pointwise, "split j 5"},
	{"split_tail", pointwise, "split j 4"},
	{"split_tail_twice", pointwise, "split j 4; split j.o 2"},
	{"split_tail_inner", pointwise, "split j 8; split j.i 4"},
	{"split_reduction", matmul, "split k 4"},
	{"fuse", pointwise, "fuse i j"},
	{"fuse_split", pointwise, "fuse i j; split i.j 8"},
	{"reorder", matmul, "reorder k i"},
	{"vector", pointwise, "split j 8; vector j.i"},
	{"vector_reduction", matmul, "decompose_reduction y k; vector k"},
	{"unroll", pointwise, "unroll j"},
	{"jam", pointwise, "split j 5; jam j.i"},
	{"parallel", pointwise, "parallel i"},
	{"parallel_inner", pointwise, "parallel j"},
	{"prefetch", panels, "prefetch y q j k"},
	{"prefetch_then_fuse", panels, "prefetch y q j i; fuse j i; parallel j.i"},
	{"prefetch_split_reduction", panels, "split k 2; unroll k.i; vector l; prefetch y q j k.o"},
	{"prefetch_parts", panels, "split k 2; reorder k.o j i k.i l; prefetch y q j k.i"},
	{"prefetch_parts_of_two", panels, "split k 4; split k.i 2; reorder k.o k.i.o j i k.i.i l; prefetch y q j k.i.i"},
	{"prefetch_ahead", panels, "prefetch_ahead y q k 2"},
	{"prefetch_near", panels, "prefetch_near y q k 2"},
	{"prefetch_windows", taps, "prefetch_near y x i 1"},
	{"prefetch_tile", staged, "split j 4; reorder j.o i; compute_at acc j.o worker; prefetch_tile y y j.o k 8"},
	{"prefetch_tile_by_turns", staged, "split j 4; reorder j.o i; compute_at acc j.o worker; prefetch_tile y y j.o k 2"},
	{"prefetch_operand", staged, "split j 4; reorder j.o i; compute_at acc j.o worker; prefetch_tile y v j.o k 8"},
	{"cut_reduction", staged, "split j 4; unroll i; vector j.i; reorder j.o i; compute_at acc j.o reg; reorder k acc_a.t; split k 3; decompose_reduction acc k.o; cut_reduction acc k.o worker"},
	{"fold_at", staged, "split j 4; reorder j.o i; compute_at acc j.o worker; split acc_b.t 2; split k 3; reorder k.o acc_a.t acc_b.t.o k.i acc_b.t.i; decompose_reduction acc k.o; fold_at acc acc_b.t.o reg"},
	{"factor_reduction", scaled, "split j 4; unroll i; vector j.i; reorder j.o i; compute_at acc j.o reg; reorder k acc_a.t; split k 3; decompose_reduction acc k.o; cut_reduction acc k.o worker; factor_reduction acc"},
	{"stage_factors", scaled, "stage_factors acc acc_i; split j 4; reorder j.o i; compute_at acc j.o worker; compute_at acc.g j.o worker"},
	{"stage_rows", scaled, "stage_rows acc acc_j; split j 4; reorder j.o i; compute_at acc j.o worker; compute_at acc.g j.o worker"},
	{"stage_panels", scaled, "stage_factors acc acc_i 3; split j 3; split j.o 2; reorder j.o.o j.o.i i j.i; compute_at acc i worker; compute_at acc.g j.o.o worker; vector acc.g_b.t"},
	{"rfactor", matmul, "split k 2; decompose_reduction y k.o; rfactor y k.o k.i; vector k.i; vector k.i.z; vector k.i.f"},
	{"decompose_reduction", matmul, "reorder k j; decompose_reduction y k"},
	{"decompose_reduction_tail", matmul, "split j 3; split k 4; reorder k.o j.i k.i; decompose_reduction y k.o"},
	{"tensorize", quantized, "split k 4; tensorize y k.i"},
	{"compute_at", staged, "split i 2; compute_at acc i.o worker"},
	{"compute_at_register", staged, "split j 4; unroll i; vector j.i; reorder j.o i; compute_at acc j.o reg; reorder k acc_a.t; decompose_reduction acc k"},
	{"cache_read", staged, "split j 4; vector j.i; reorder j.o i; compute_at acc j.o reg; reorder k acc_a.t; decompose_reduction acc k; cache_read y acc worker; unroll acc.c_a0; vector acc.c_a1"},
	{"compute_at_window", window, "split i 4; compute_at t i.o worker"},
	{"compute_at_tail", window, "split i 5; compute_at t i.o worker"},
	{"compute_at_chain", chain, "compute_at total i worker; compute_at most i worker"},
	{"compute_at_indirect", indirect, "compute_at t i worker"},
	{"compute_with", softened, "compute_at total i worker; decompose_reduction total total_r; compute_at e i worker; compute_with e_b.t total_r"},
	{"compute_with_vectors", softened, "compute_at total i reg; decompose_reduction total total_r; split total_r 2; rfactor total total_r.o total_r.i; vector total_r.i; vector total_r.i.z; vector total_r.i.f; compute_at e i worker; split e_b.t 2; vector e_b.t.i; compute_with e_b.t.o total_r.o"},
	{"in_place", softened, "compute_at total i worker; compute_at e i worker; in_place e"},
	{"in_place_tile", softened, "split i 3; compute_at total i.o worker; compute_at e i.o worker; in_place e"},
}

// TestGolden pins what the primitives do; the result computes the same.
func TestGolden(t *testing.T) {
	for _, c := range goldens {
		t.Run(c.name, func(t *testing.T) {
			s := sched.New(parse(t, c.before))
			if err := s.Apply(steps(c.steps)); err != nil {
				t.Fatal(err)
			}
			if err := loop.Verify(s.Func); err != nil {
				t.Errorf("%v\n%s", err, s.Func)
			}
			before := parse(t, c.before)
			golden.Check(t, c.name, []byte(before.String()+"\n"+s.String()+"\n"+s.Func.String()))
			text := s.Func.String()
			again, err := loop.Parse(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if again.String() != text {
				t.Errorf("printed again:\n%s", again)
			}
			sameResult(t, before, s.Func)
		})
	}
}

// sameResult runs two forms of a function on the same operands, small integers.
func sameResult(t *testing.T, before, after *loop.Func) {
	t.Helper()
	var outs []*tensor.Tensor
	for _, f := range []*loop.Func{before, after} {
		args := make([]*tensor.Tensor, len(f.Params))
		for i, p := range f.Params {
			args[i] = tensor.New(p.DType, p.Shape...)
			for j := range args[i].Len() {
				args[i].SetInt(j, int64((j*7+i)%11-5))
			}
		}
		if err := interp.Run(f, args, 2); err != nil {
			t.Fatalf("%v\n%s", err, f)
		}
		outs = append(outs, args[len(args)-1])
	}
	if string(outs[0].Bytes()) != string(outs[1].Bytes()) {
		t.Errorf("the schedule changes the result:\n%v\n%v\n%s", tensor.As[float32](outs[0]), tensor.As[float32](outs[1]), after)
	}
}

// TestPrimitives: every primitive has a golden and something that it refuses.
func TestPrimitives(t *testing.T) {
	shown, refused := map[string]bool{}, map[string]bool{}
	for _, c := range goldens {
		for _, s := range steps(c.steps) {
			shown[s.Op] = true
		}
	}
	for _, c := range illegal {
		refused[steps(c.step)[0].Op] = true
	}
	for _, p := range sched.Primitives() {
		if !shown[p.Name] || !refused[p.Name] {
			t.Errorf("%s: in a golden: %v; refused in a test: %v", p.Name, shown[p.Name], refused[p.Name])
		}
	}
}

// dependent has a loop whose bounds depend on another.
const dependent = `func f(y: float32[4,4]) {
  for i in 0..4 { for j in 0..(i + 1) { block y(a: 4 = i, b: 4 = j) { y[a, b] = 1.0 } } } }`

// illegal lists what primitives refuse.
var illegal = []struct{ name, before, done, step, want string }{
	{"split_unknown", pointwise, "", "split z 2", `no loop "z"`},
	{"split_zero", pointwise, "", "split j 0", "split j by 0"},
	{"split_vector", pointwise, "vector j", "split j 2", "a vector loop"},
	{"split_open", dependent, "", "split j 2", "its bounds are not constant"},
	{"split_overlap", matmul, "split k 4", "split k.i 3", "it does not divide 4, and iterations beyond would not leave the domain of block y"},
	{"split_single", matmul, "split i 4", "split i.o 2", "it does not divide 1, and iterations beyond would not leave the domain of block y"},
	{"split_region", staged, "split i 2; compute_at acc i.o worker", "split acc_a.t 3", "would not leave the domain of block acc"},
	{"fuse_apart", matmul, "", "fuse i k", "not perfectly nested"},
	{"fuse_outwards", pointwise, "", "fuse j i", "not perfectly nested"},
	{"fuse_parallel", pointwise, "parallel i", "fuse i j", "only serial loops"},
	{"fuse_open", dependent, "", "fuse i j", "only serial loops with constant bounds"},
	{"reorder_unknown", pointwise, "", "reorder i z", `"z" is not in one perfect nest`},
	{"reorder_nothing", pointwise, "", "reorder z w", `no loop "z"`},
	{"reorder_nests", staged, "", "reorder i acc_i", "not in one perfect nest"},
	{"reorder_twice", matmul, "", "reorder i i j", `"i" is named twice`},
	{"reorder_dependent", dependent, "", "reorder j i", "the bounds of j depend on i"},
	{"reorder_parallel", pointwise, "parallel i", "reorder j i", "parallel loop i would be inside loop j"},
	{"vector_twice", pointwise, "unroll j", "vector j", "a unroll loop already"},
	{"vector_wide", `func f(y: float32[65]) { for i in 0..65 { block y(a: 65 = i) { y[a] = 1.0 } } }`, "", "vector i", "65 lanes"},
	{"vector_in_vector", pointwise, "vector i", "vector j", "vector loop i"},
	{"vector_around_vector", pointwise, "vector j", "vector i", "vector loop j"},
	{"vector_init", matmul, "", "vector k", "decompose_reduction y first"},
	{"vector_alloc", staged, "compute_at acc i worker", "vector i", "acc is allocated in it"},
	{"vector_open", dependent, "", "vector j", "its extent is not constant"},
	{"vector_open_inside", dependent, "", "vector i", "the bounds of j depend on it"},
	{"unroll_open", dependent, "", "unroll j", "its extent is not constant"},
	{"jam_reduction", matmul, "", "jam k", "block y reduces over it"},
	{"jam_stages", staged, "split j 4; compute_at acc j.o worker", "jam j.o", "acc is allocated in it"},
	{"jam_open", dependent, "", "jam j", "its extent is not constant"},
	{"jam_divided", pointwise, "parallel j", "jam i", "a parallel loop is inside"},
	{"unroll_divided", pointwise, "parallel j", "unroll i", "a parallel loop is inside"},
	{"decompose_divided", matmul, "reorder k i j; parallel j", "decompose_reduction y k", "a parallel loop is inside"},
	{"parallel_twice", pointwise, "parallel j", "parallel i", "parallel loop j is inside"},
	{"parallel_unrolled", pointwise, "unroll i", "parallel j", "inside unroll loop i"},
	{"parallel_beside", staged, "split i 2; compute_at acc i.o worker", "parallel i.i", "loop i.o around it holds other work"},
	{"parallel_reduction", matmul, "reorder k i j", "parallel k", "block y reduces over it"},
	{"parallel_shared", staged, "", "parallel i", "acc, which all workers would need"},
	{"parallel_shared_write", staged, "", "parallel acc_i", "acc, which all workers would need"},
	{"prefetch_unknown", panels, "", "prefetch y z j k", "it accesses z 0 times"},
	{"prefetch_outwards", panels, "", "prefetch y q k j", `loop "j" is not inside "k"`},
	{"prefetch_invariant", panels, "", "prefetch y p j k", "its index does not depend on j"},
	{"prefetch_gaps", matmul, "", "prefetch y q j k", "one iteration of j reads with gaps"},
	{"prefetch_overlap", `func f(x: float32[9], y: float32[8]) { for i in 0..8 { for k in 0..2 {
  block y(a: 8 = i, r: reduce 2 = k) { init y[a] = 0.0 y[a] = (y[a] + x[(a + r)]) } } } }`, "", "prefetch y x i k", "one iteration of i reads 2 elements, the next begins 1 on"},
	{"prefetch_vector", panels, "decompose_reduction y k; vector l", "prefetch y q j l", "inside vector loop l"},
	{"prefetch_ahead_nowhere", panels, "", "prefetch_ahead y q z 1", `loop "z" around it`},
	{"prefetch_ahead_invariant", panels, "", "prefetch_ahead y p l 1", "its index does not follow l"},
	{"prefetch_ahead_scratch", staged, "compute_at acc i worker", "prefetch_ahead y acc j 1", "worker buffer acc"},
	{"prefetch_near_nowhere", panels, "", "prefetch_near y q z 1", `prefetch_near y: 1 iterations of loop "z" around it`},
	{"prefetch_tile_elsewhere", staged, "", "prefetch_tile y v i acc_i 8", `loop "i" is not around it and around "acc_i"`},
	{"prefetch_tile_unrolled", staged, "split j 4; reorder j.o i; compute_at acc j.o worker; unroll k", "prefetch_tile y v j.o k 8", "k is no serial loop"},
	{"prefetch_tile_unread", staged, "compute_at acc i worker", "prefetch_tile y p i k 8", "it accesses p 0 times"},
	{"prefetch_tile_scratch", staged, "split j 4; reorder j.o i; compute_at acc j.o worker", "prefetch_tile y acc j.o k 8", "worker buffer acc"},
	{"decompose_pointwise", pointwise, "", "decompose_reduction y i", "it has no initialisation"},
	{"decompose_twice", matmul, "decompose_reduction y k", "decompose_reduction y k", "it has no initialisation"},
	{"decompose_inside", matmul, "reorder k i", "decompose_reduction y j", "reduction loop k is outside j"},
	{"decompose_elsewhere", staged, "", "decompose_reduction acc i", `not inside loop "i"`},
	{"cache_read_unread", staged, "", "cache_read acc y worker", "it does not read y"},
	{"cache_read_apart", staged, "", "cache_read acc acc worker", "the reader's nest must follow"},
	{"vector_prefetch", panels, "prefetch y q j k", "vector i", "a prefetch of q is inside"},
	{"prefetch_divided", panels, "parallel l", "prefetch y q j k", "a parallel loop is inside"},
	{"prefetch_around_divided", `func f(x: float32[4,4], y: float32[4,4]) { for i in 0..4 { for j in 0..2 { for k in 0..2 { block y(a: 4 = i, b: 4 = ((j * 2) + k)) { y[a, b] = x[a, b] } } } } }`, "parallel k", "prefetch_tile y x i j 8", "a parallel loop is inside"},
	{"prefetch_scratch", staged, "", "prefetch y acc i j", "worker buffer acc"},
	{"prefetch_tile_vector", panels, "decompose_reduction y k; vector i", "prefetch_tile y q j k 8", "inside vector loop i"},
	{"cut_unknown", staged, "compute_at acc i worker; decompose_reduction acc k", "cut_reduction acc acc_b.t worker", "is no serial reduction loop around it"},
	{"cut_vector", staged, "decompose_reduction acc acc_i; vector acc_j", "cut_reduction acc k worker", "inside vector loop acc_j"},
	{"cut_fused", staged, "fuse acc_j k; decompose_reduction acc acc_j.k", "cut_reduction acc acc_j.k worker", "loop acc_j.k counts a reduction and a spatial axis"},
	{"cut_whole", staged, "compute_at acc i worker", "cut_reduction acc k worker", "its initialisation is not decomposed"},
	{"cut_apart", matmul, "decompose_reduction y k", "cut_reduction y k worker", "below the allocation"},
	{"fold_unknown", staged, "decompose_reduction acc k", "fold_at acc i reg", "is no serial loop around it"},
	{"fold_whole", staged, "", "fold_at acc acc_j reg", "or initialises it"},
	{"fold_nothing", staged, "decompose_reduction acc k", "fold_at acc k reg", "no reduction is inside"},
	{"fold_vector", matmul, "decompose_reduction y i; vector i", "fold_at y j reg", "inside vector loop i"},
	{"fold_initial", staged, "decompose_reduction acc k", "fold_at acc acc_j reg", "is used otherwise inside"},
	{"fold_fused", staged, "fuse acc_j k; decompose_reduction acc acc_i", "fold_at acc acc_i reg", "counts a reduction and a spatial axis"},
	{"factor_whole", scaled, "compute_at acc i worker; decompose_reduction acc k", "factor_reduction acc", "its reduction is not cut"},
	{"factor_inside", scaled, "compute_at acc i worker; reorder k acc_b.t; split k 2; decompose_reduction acc k.o; cut_reduction acc k.o worker", "factor_reduction acc", "no factor stays the same within a part"},
	{"stage_elsewhere", scaled, "", "stage_factors acc i", "it runs over no axis of the block"},
	{"stage_no_panels", scaled, "", "stage_factors acc acc_i -1", "a panel has at least one element"},
	{"stage_whole", staged, "", "stage_factors acc k", "its factors do not part"},
	{"stage_rows_whole", staged, "", "stage_rows acc k", "its factors do not part"},
	{"stage_twice", scaled, "stage_factors acc acc_i", "stage_factors acc acc_i", "they are staged already"},
	{"stage_chain", chain, "", "stage_factors total total_a", "it runs over no axis of the block"},
	{"stage_divided", matmul, "parallel i", "stage_factors y i", "a parallel loop is inside"},
	{"stage_computed", softened, "", "stage_factors total total_i", "its factors do not part"},
	{"stage_most", chain, "", "stage_factors most most_i", "it is no sum of floats"},
	{"rfactor_unknown", matmul, "decompose_reduction y k", "rfactor y z k", "must be a reduction loop around it"},
	{"rfactor_outwards", matmul, "split k 3; decompose_reduction y k.o", "rfactor y k.i k.o", "must be a reduction loop around it"},
	{"rfactor_whole", matmul, "", "rfactor y k k", "its initialisation decomposed"},
	{"rfactor_spatial", matmul, "decompose_reduction y j", "rfactor y j k", "j is not a reduction loop"},
	{"rfactor_vector", matmul, "decompose_reduction y k; vector j", "rfactor y k k", "inside vector loop j"},
	{"rfactor_start", `func f(x: float32[8], y: float32[1]) { for k in 0..8 {
  block y(a: 1 = 0, r: reduce 8 = k) { init y[a] = 5.0 y[a] = (y[a] + x[r]) } } }`, "decompose_reduction y k", "rfactor y k k", "it does not start from the identity of +"},
	{"tensorize_unknown", quantized, "", "tensorize y z", `"z"`},
	{"decompose_outside", staged, "compute_at acc i worker", "decompose_reduction acc i", "acc is allocated inside loop i"},
	{"decompose_unknown", matmul, "", "decompose_reduction z k", `no block "z"`},
	{"compute_at_unknown", staged, "", "compute_at z i worker", `no block "z"`},
	{"compute_at_no_loop", staged, "", "compute_at acc z worker", `no loop "z"`},
	{"compute_at_itself", staged, "", "compute_at acc acc_j worker", "inside loop acc_j already"},
	{"compute_at_outermost", staged, "", "compute_at acc acc_i worker", "inside loop acc_i already"},
	{"compute_at_result", staged, "", "compute_at y acc_i worker", "nothing in the loop reads it"},
	{"compute_at_unread", chain, "", "compute_at most most_i worker", "inside loop most_i already"},
	{"compute_at_other_reader", chain, "", "compute_at most i worker", "it is also read outside the loop"},
	{"compute_at_vector", staged, "vector j", "compute_at acc j reg", "inside a vector loop"},
	{"compute_at_below_vector", staged, "vector i", "compute_at acc j reg", "inside a vector loop"},
	{"compute_at_decomposed", staged, "decompose_reduction acc k", "compute_at acc i worker", "acc_init also writes"},
	{"compute_at_fused", staged, "fuse acc_j k", "compute_at acc i worker", "loop acc_j.k counts a reduction and a spatial axis"},
	{"compute_at_in_place", softened, "in_place e", "compute_at total i worker", "it reads y, which is stored to again"},
	{"compute_with_unknown", softened, "", "compute_with z total_r", `no loop "z"`},
	{"compute_with_unknown_second", softened, "", "compute_with e_i z", `no loop "z"`},
	{"compute_with_inside", softened, "", "compute_with e_j total_r", "not in the same loops"},
	{"compute_with_lengths", softened, "split total_i 2", "compute_with e_i total_i.o", "only serial loops of as many iterations"},
	{"compute_with_kinds", softened, "vector e_i", "compute_with e_i total_i", "only serial loops"},
	{"compute_with_order", softened, "", "compute_with i e_i", "e_i comes first"},
	{"compute_with_reduction", softened, "", "compute_with total_i i", "the first holds more than a block, or a reduction"},
	{"compute_with_between", softened, "", "compute_with e_i i", "e is read between them"},
	{"compute_with_shape", softened, "split total_r 2", "compute_with e_i total_i", "e is in 2 loops, and total in 3"},
	{"compute_with_inner", softened, "split e_j 4", "compute_with e_j.o total_r", "not in the same loops"},
	{"compute_with_elsewhere", window, "", "compute_with t_i i", "y reads t elsewhere"},
	{"compute_with_sum", softened, "compute_at total i worker; decompose_reduction total total_r; compute_at e i worker; compute_with e_b.t total_r", "compute_with total_r j", "the first holds more than a block, or a reduction"},
	{"in_place_unknown", softened, "", "in_place z", `no block "z"`},
	{"in_place_result", softened, "", "in_place y", "it does not compute scratch"},
	{"in_place_smaller", softened, "", "in_place total", "y is no result of its type"},
	{"in_place_twice", softened, "in_place e", "in_place e", "it does not compute scratch"},
	{"in_place_window", window, "", "in_place t", "y does not read all of t"},
	{"in_place_part", `func f(x: float32[8], y: float32[4]) {
  alloc t: float32[8] worker
  for t_i in 0..8 { block t(a: 8 = t_i) { t[a] = (x[a] * 2.0) } }
  for i in 0..4 { block y(a: 4 = i) { y[a] = t[a] } } }`, "", "in_place t", "y does not read all of t"},
	{"in_place_turned", `func f(x: float32[4,4], y: float32[4,4]) {
  alloc t: float32[4,4] worker
  for t_i in 0..4 { for t_j in 0..4 { block t(a: 4 = t_i, b: 4 = t_j) { t[a, b] = (x[a, b] * 2.0) } } }
  for i in 0..4 { for j in 0..4 { block y(a: 4 = i, b: 4 = j) { y[a, b] = t[b, a] } } } }`, "", "in_place t", "y reads other elements than it stores"},
	{"in_place_type", `func f(x: float32[4], y: int32[4]) {
  alloc t: float32[4] worker
  for t_i in 0..4 { block t(a: 4 = t_i) { t[a] = (x[a] * 2.0) } }
  for i in 0..4 { block y(a: 4 = i) { y[a] = int32(t[a]) } } }`, "", "in_place t", "y is no result of its type"},
	{"compute_at_scope", staged, "", "compute_at acc i global", "no scope of scratch"},
	{"unknown", staged, "", "transmogrify acc", `no schedule primitive "transmogrify"`},
	{"arguments", staged, "", "compute_at acc", "0 arguments instead of 2"},
}

// TestIllegal: a refused step leaves the function and the trace as they were.
func TestIllegal(t *testing.T) {
	for _, c := range illegal {
		t.Run(c.name, func(t *testing.T) {
			s := sched.New(parse(t, c.before))
			if c.done != "" {
				if err := s.Apply(steps(c.done)); err != nil {
					t.Fatal(err)
				}
			}
			text, trace := s.Func.String(), s.String()
			err := s.Apply(steps(c.step))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q\n%s", err, c.want, s.Func)
			}
			if s.Func.String() != text || s.String() != trace {
				t.Errorf("the refused step left a change:\n%s\n%s", s, s.Func)
			}
		})
	}
}

// TestTraceJSON: a trace is stable in JSON, and applied again gives the same function.
func TestTraceJSON(t *testing.T) {
	s := sched.New(parse(t, staged))
	if err := s.Apply(steps("split j 4; reorder j.o i; compute_at acc j.o worker; vector j.i; fuse acc_a.t acc_b.t")); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s.Trace)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"op":"split","on":"j","n":4},{"op":"reorder","on":"j.o","args":["i"]},{"op":"compute_at","on":"acc","args":["j.o","worker"]},` +
		`{"op":"vector","on":"j.i"},{"op":"fuse","on":"acc_a.t","args":["acc_b.t"]}]`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	var trace []sched.Step
	if err := json.Unmarshal(data, &trace); err != nil {
		t.Fatal(err)
	}
	again := sched.New(parse(t, staged))
	if err := again.Apply(trace); err != nil {
		t.Fatal(err)
	}
	if again.Func.String() != s.Func.String() || again.String() != s.String() {
		t.Errorf("applied again:\n%s\nfirst:\n%s", again.Func, s.Func)
	}
}
