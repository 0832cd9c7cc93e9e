package looppass_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/looppass"
	"lathe/internal/pipeline"
	"lathe/internal/sched"
	"lathe/internal/target"
	"lathe/internal/te"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/tetest"
	"lathe/internal/types"
)

func TestTable(t *testing.T) {
	if err := pipeline.CheckOrder(looppass.Table, looppass.Order); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	for _, p := range looppass.Table {
		fmt.Fprintf(&b, "%s: %s\n", p.Name, p.Doc)
	}
	golden.Check(t, "passes", b.Bytes())
}

// run runs the pass of the table with the given name.
func run(t testing.TB, name string, f *loop.Func) {
	t.Helper()
	for _, p := range looppass.Table {
		if p.Name != name {
			continue
		}
		if err := p.Run(f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return
	}
	t.Fatalf("no pass %q", name)
}

// TestGolden shows each pass on the smallest function that needs it.
func TestGolden(t *testing.T) {
	for _, c := range []struct{ name, pass, text string }{
		{"blocks", "LowerBlocks", `func f(p: float32[4,6], y: float32[4]) {
			for i in 0..4 { for k in 0..6 {
				block y(a: 4 = i, r: reduce 6 = k) { init y[a] = 0.0 y[a] = (y[a] + p[a, r]) } } } }`},
		{"guarded_sum", "LowerBlocks", `func f(p: float32[8], y: float32[8]) {
			for i in 0..8 { for k in 0..3 {
				block y(a: 8 = i, r: reduce 3 = k) { init y[a] = 0.0
					y[a] = (y[a] + select(((((a + r) - 1) >= 0) & (((a + r) - 1) < 8)), p[((a + r) - 1)], 0.0)) } } } }`},
		{"guarded_max", "LowerBlocks", `func f(p: int8[8], y: int8[8]) {
			for i in 0..8 { for k in 0..3 {
				block y(a: 8 = i, r: reduce 3 = k) { init y[a] = -128:int8
					y[a] = max(y[a], select((((a + r) - 1) >= 0), p[max(min(((a + r) - 1), 7), 0)], -128:int8)) } } } }`},
		{"guarded_other", "LowerBlocks", `func f(p: float32[8], y: float32[8]) {
			for i in 0..8 { for k in 0..3 {
				block y(a: 8 = i, r: reduce 3 = k) { init y[a] = 0.0
					y[a] = (y[a] + select(((a + r) < 8), p[min((a + r), 7)], 1.0)) } } } }`},
		{"where", "LowerBlocks", `func f(x: float32[10], y: float32[10]) {
			for i.o in 0..3 { for i.i in 0..4 {
				block y(a: 10 = ((i.o * 4) + i.i)) where (a < 10) { y[a] = x[a] } } } }`},
		{"parts", "NameParts", `func f(x: float32[12], y: float32[12]) {
			parallel p in 0..12 { y[((floormod(p, 4) * 3) + floordiv(p, 4))] = (x[p] + x[floormod(floordiv(p, 4), 2)]) } }`},
		{"bounds", "HoistGuards", `func f(x: float32[8], y: float32[8]) {
			for i in 0..8 { for k in 0..3 { if ((((i + k) - 1) >= 0) & (((i + k) - 1) < 8)) { y[i] = (y[i] + x[((i + k) - 1)]) } } } }`},
		{"bounds_behind_prefetch", "HoistGuards", `func f(x: float32[8], y: float32[8]) {
			for i in 0..8 { for k in 0..3 { prefetch x at (i + k) lines 1 if (k < 2) { prefetch y at i lines 1 write } if (((i + k) - 1) >= 0) { y[i] = (y[i] + x[((i + k) - 1)]) } } } }`},
		{"common", "HoistGuards", `func f(x: float32[8], y: float32[8]) {
			for i in 0..3 { alloc t: float32[4] worker {
				for j in 0..4 { if (((i * 4) + 1) < 8) { t[j] = 0.0 } }
				for j in 0..4 { if ((((i * 4) + 1) < 8) & (j > 1)) { t[j] = (t[j] + x[j]) } }
				for j in 0..4 { if (((i * 4) + 1) < 8) { y[j] = t[j] } } } } }`},
		{"common_behind_copy", "HoistGuards", `func f(x: float32[8], y: float32[8]) {
			for i in 0..3 { alloc t: float32[4] worker {
				for j in 0..4 { if (((i * 4) + 1) < 8) { t[j] = x[j] } }
				alloc c: float32[4] worker {
					for j in 0..4 { c[j] = t[j] }
					for j in 0..4 { if (((i * 4) + 1) < 8) { y[j] = c[j] } } } } } }`},
		{"strided_bounds", "HoistGuards", `func f(x: float32[8], y: float32[20]) {
			for i in 0..20 { if ((((3 * i) - 7) >= 0) & (((3 * i) - 7) < 8)) { y[i] = x[((3 * i) - 7)] } } }`},
		{"invariant", "HoistGuards", `func f(x: float32[8], y: float32[8]) {
			for i in 0..8 { vector j in 0..8 { if (i < 5) { y[j] = (y[j] + x[i]) } } } }`},
		{"vector_bounds_stay", "HoistGuards", `func f(x: float32[8], y: float32[8]) {
			for i in 0..8 { vector j in 0..8 { if (j < i) { y[j] = (y[j] + x[i]) } } } }`},
		{"lane_condition_stays", "HoistGuards", `func f(x: float32[8,8], y: float32[8]) {
			vector j in 0..8 { for i in 0..8 { if (i < j) { y[j] = (y[j] + x[i, j]) } } } }`},
		{"written_condition_stays", "HoistGuards", `func f(c: bool[1], y: float32[8]) {
			for i in 0..8 { if c[0] { y[i] = 1.0 } } }`},
		{"borders", "LoopPartition", `func f(x: float32[16], y: float32[16]) {
			for i in 0..4 { unroll j in 0..4 { if (((((i * 4) + j) - 1) >= 0) & ((((i * 4) + j) + 1) < 16)) { y[((i * 4) + j)] = x[(((i * 4) + j) + 1)] } } } }`},
		{"tail", "LoopPartition", `func f(x: float32[30], y: float32[30]) {
			for i in 0..4 { vector j in 0..8 { if (((i * 8) + j) < 30) { y[((i * 8) + j)] = x[((i * 8) + j)] } } } }`},
		{"part_tail", "LoopPartition", `func f(x: float32[60], y: float32[60]) {
			parallel p in 0..8 { let q: int64 = floordiv(p, 4) let i: int64 = floormod(p, 4)
				vector j in 0..8 { if (((i * 8) + j) < 30) { y[(((q * 30) + (i * 8)) + j)] = x[((i * 8) + j)] } } } }`},
		{"part_borders", "LoopPartition", `func f(x: float32[30], y: float32[16]) {
			parallel p in 0..4 { let i: int64 = floormod(p, 4)
				for k in 0..3 { unroll j in 0..4 { if (((((i * 4) + j) + k) >= 1) & ((((i * 4) + j) + k) < 17)) { y[((i * 4) + j)] = (y[((i * 4) + j)] + x[((((i * 4) + j) + k) - 1)]) } } } } }`},
		{"joint", "JoinSplits", `func f(x: float32[70], y: float32[64]) {
			parallel p in 0..4 { let q: int64 = floormod(p, 4) for i in 0..4 { prefetch x at ((q * 16) + (i * 4)) lines 1
				unroll j in 0..4 { if (((((q * 16) + (i * 4)) + j) - 3) >= 0) { y[(((q * 16) + (i * 4)) + j)] = x[((((q * 16) + (i * 4)) + j) - 3)] } } } } }`},
		{"joint_mostly_border", "JoinSplits", `func f(x: float32[70], y: float32[64]) {
			parallel p in 0..4 { for i in 0..4 { unroll j in 0..4 { if (((((p * 16) + (i * 4)) + j) - 30) >= 0) { y[(((p * 16) + (i * 4)) + j)] = x[((((p * 16) + (i * 4)) + j) - 30)] } } } } }`},
		{"joint_of_taps", "JoinSplits", `func f(x: float32[70], y: float32[64]) {
			for i in 0..16 { for k in 0..3 { unroll j in 0..4 { if (((((i * 4) + k) + j) - 1) >= 0) { y[((i * 4) + j)] = (y[((i * 4) + j)] + x[((((i * 4) + k) + j) - 1)]) } } } } }`},
		{"joint_of_vectors", "JoinSplits", `func f(x: float32[70], y: float32[62]) {
			parallel p in 0..4 { let q: int64 = floormod(p, 4) for i in 0..4 { vector j in 0..4 { if ((((q * 16) + (i * 4)) + j) < 62) { y[(((q * 16) + (i * 4)) + j)] = x[(((q * 16) + (i * 4)) + j)] } } } } }`},
		{"quotient_of_piece", "LoopPartition", `func f(a: float32[7,8], b: float32[9,8], y: float32[16,8]) {
			parallel o in 0..4 { for i in 0..8 { vector j in 0..4 { y[((o * 4) + floordiv(((i * 4) + j), 8)), floormod(((i * 4) + j), 8)] = select((((o * 4) + floordiv(((i * 4) + j), 8)) < 7), a[((o * 4) + floordiv(((i * 4) + j), 8)), floormod(((i * 4) + j), 8)], b[(((o * 4) + floordiv(((i * 4) + j), 8)) - 7), floormod(((i * 4) + j), 8)]) } } } }`},
		{"joint_borders", "LoopPartition", `func f(x: float32[70], y: float32[64]) {
			parallel p in 0..4 { for i in 0..4 { let q: int64 = ((p * 4) + i)
				unroll j in 0..4 { if (((((q * 4) + j) - 5) >= 0) & (((q * 4) + j) < 43)) { y[((q * 4) + j)] = x[(((q * 4) + j) - 5)] } } } } }`},
		{"wide_border", "LoopPartition", `func f(x: float32[64], y: float32[64]) {
			for i in 0..16 { vector j in 0..4 { if ((((i * 4) + j) - 20) >= 0) { y[((i * 4) + j)] = x[(((i * 4) + j) - 20)] } } } }`},
		{"reflected_lanes", "LoopPartition", `func f(x: float32[40], y: float32[46]) {
			for i in 0..11 { vector j in 0..4 { y[((i * 4) + j)] = x[max(min(max((((i * 4) + j) - 3), ((3 - (i * 4)) - j)), ((81 - (i * 4)) - j)), 0)] } } }`},
		{"copied_vectors", "LoopPartition", `func f(x: float32[14,8], y: float32[8,16]) {
			for i in 0..4 { unroll t in 0..4 { vector v in 0..8 { y[v, ((i * 4) + t)] = select((((i * 4) + t) < 14), x[((i * 4) + t), v], 0.0) } } } }`},
		{"joined_lanes", "LoopPartition", `func f(x: float32[24], z: float32[20], w: float32[20], y: float32[64]) {
			for i in 0..16 { vector j in 0..4 { y[((i * 4) + j)] = select((((i * 4) + j) < 24), x[((i * 4) + j)], select((floordiv(((i * 4) + j), 2) < 22), z[(((i * 4) + j) - 24)], w[(((i * 4) + j) - 44)])) } } }`},
		{"joined_parts", "LoopPartition", `func f(x: float32[2,24], z: float32[2,40], y: float32[2,64]) {
			parallel p in 0..32 { let q: int64 = floordiv(p, 16) let i: int64 = floormod(p, 16)
				vector j in 0..4 { y[q, ((i * 4) + j)] = select((((i * 4) + j) < 24), x[q, ((i * 4) + j)], z[q, (((i * 4) + j) - 24)]) } } }`},
		{"joined_parts_within", "LoopPartition", `func f(x: float32[2,26], z: float32[2,38], y: float32[2,64]) {
			parallel p in 0..32 { let q: int64 = floordiv(p, 16) let i: int64 = floormod(p, 16)
				vector j in 0..4 { y[q, ((i * 4) + j)] = select((((i * 4) + j) < 26), x[q, ((i * 4) + j)], z[q, (((i * 4) + j) - 26)]) } } }`},
		{"joined_parts_tail", "LoopPartition", `func f(x: float32[1,26], z: float32[1,36], y: float32[1,62]) {
			parallel p in 0..16 { vector j in 0..4 { if (((p * 4) + j) < 62) {
				y[0, ((p * 4) + j)] = select((((p * 4) + j) < 26), x[0, ((p * 4) + j)], z[0, (((p * 4) + j) - 26)]) } } } }`},
		{"spare_lanes", "FillSpareLanes", `func f(x: float32[3,8], y: float32[5]) {
			alloc t: float32[8] reg { vector v in 0..8 { if (v < 5) { t[v] = 0.0 } }
				for k in 0..3 { vector v in 0..8 { if (v < 5) { t[v] = (t[v] + x[k, v]) } } }
				vector v in 0..8 { if (v < 5) { y[v] = t[v] } } } }`},
		{"spare_lanes_of_parts", "FillSpareLanes", `func f(x: float32[3,2,8], y: float32[13]) {
			alloc t: float32[16] worker { unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 13) { t[((u * 8) + v)] = 0.0 } } }
				for k in 0..3 { alloc p: float32[16] reg {
					unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 13) { p[((u * 8) + v)] = (x[k, u, v] * 2.0) } } }
					unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 13) { t[((u * 8) + v)] = (t[((u * 8) + v)] + p[((u * 8) + v)]) } } } } }
				unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 13) { y[((u * 8) + v)] = t[((u * 8) + v)] } } } } }`},
		{"spare_lanes_outside_stay", "FillSpareLanes", `func f(x: float32[3,5], y: float32[5]) {
			alloc t: float32[8] reg { vector v in 0..8 { if (v < 5) { t[v] = 0.0 } }
				for k in 0..3 { vector v in 0..8 { if (v < 5) { t[v] = (t[v] + x[k, v]) } } }
				vector v in 0..8 { if (v < 5) { y[v] = t[v] } } } }`},
		{"spare_lanes_read_stay", "FillSpareLanes", `func f(x: float32[3,8], y: float32[8]) {
			alloc t: float32[8] reg { vector v in 0..8 { t[v] = 0.0 }
				for k in 0..3 { vector v in 0..8 { if (v < 5) { t[v] = (t[v] + x[k, v]) } } }
				vector v in 0..8 { y[v] = t[v] } } }`},
		{"spare_lanes_of_taps", "FillSpareLanes", `func f(x: float32[9], y: float32[7]) {
			alloc t: float32[8] reg { vector v in 0..8 { if (v < 7) { t[v] = 0.0 } }
				vector v in 0..8 { if ((v < 7) & (v >= 1)) { t[v] = (t[v] + x[v]) } }
				vector v in 0..8 { if (v < 7) { y[v] = t[v] } } } }`},
		{"spare_lanes_unwritten_stay", "FillSpareLanes", `func f(z: float32[13], x: float32[3,16], y: float32[13]) {
			alloc t: float32[16] reg { unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 13) { t[((u * 8) + v)] = z[((u * 8) + v)] } } }
				for k in 0..3 { unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 13) { t[((u * 8) + v)] = (t[((u * 8) + v)] + x[k, ((u * 8) + v)]) } } } }
				unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 13) { y[((u * 8) + v)] = t[((u * 8) + v)] } } } } }`},
		{"spare_lanes_of_dots_stay", "FillSpareLanes", `func f(a: int8[3,20], w: int8[20], y: int32[5]) {
			alloc t: int8[20] worker { unroll u in 0..5 { vector v in 0..4 { t[((u * 4) + v)] = a[0, ((u * 4) + v)] } }
				unroll u in 0..5 { vector v in 0..4 { if (((u * 4) + v) < 17) { t[((u * 4) + v)] = a[1, ((u * 4) + v)] } } }
				for i in 0..5 { if ((i * 4) < 17) { y[i] = dot4(t[(i * 4)], 0, w[(i * 4)], 0) } } } }`},
		{"spare_lanes_of_places_stay", "FillSpareLanes", `func f(p: int64[5], x: float32[8], y: float32[5]) {
			alloc t: float32[2,8] worker { for i in 0..2 { vector v in 0..8 { t[i, v] = 0.0 } }
				for k in 0..2 { vector v in 0..8 { if (v < 5) { t[max(min(p[v], 1), 0), v] = x[v] } } }
				vector v in 0..8 { if (v < 5) { y[v] = t[1, v] } } } }`},
		{"spare_lanes_chosen_stay", "FillSpareLanes", `func f(p: int64[13], x: float32[16], y: float32[13]) {
			alloc t: float32[16] worker { unroll u in 0..2 { vector v in 0..8 { t[((u * 8) + v)] = 0.0 } }
				unroll u in 0..2 { vector v in 0..8 { if ((((u * 8) + v) < 13) & (p[((u * 8) + v)] > 2)) { t[((u * 8) + v)] = x[((u * 8) + v)] } } }
				unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 13) { y[((u * 8) + v)] = t[((u * 8) + v)] } } } } }`},
		{"spare_lanes_of_other_vectors_stay", "FillSpareLanes", `func f(x: float32[3,16], y: float32[9]) {
			alloc t: float32[16] reg { unroll u in 0..4 { vector v in 0..4 { if (((u * 4) + v) < 9) { t[((u * 4) + v)] = 0.0 } } }
				for k in 0..3 { unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 9) { t[((u * 8) + v)] = (t[((u * 8) + v)] + x[k, ((u * 8) + v)]) } } } }
				unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 9) { y[((u * 8) + v)] = t[((u * 8) + v)] } } } } }`},
		{"spare_vectors", "FillSpareLanes", `func f(x: float32[3,16], y: float32[5]) {
			alloc t: float32[16] reg { unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 5) { t[((u * 8) + v)] = 0.0 } } }
				for k in 0..3 { unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 5) { t[((u * 8) + v)] = (t[((u * 8) + v)] + x[k, ((u * 8) + v)]) } } } }
				unroll u in 0..2 { vector v in 0..8 { if (((u * 8) + v) < 5) { y[((u * 8) + v)] = t[((u * 8) + v)] } } } } }`},
		{"choices", "HoistChoices", `func f(x: float32[8,8], z: float32[8], y: float32[8,8]) {
			parallel p in 0..8 { for i in 0..2 { vector j in 0..4 {
				y[p, ((i * 4) + j)] = select(((p < 3) & (((i * 4) + j) > 2)), x[p, ((i * 4) + j)], select((p > 5), z[((i * 4) + j)], 1.0)) } } } }`},
		{"choices_within", "HoistChoices", `func f(x: float32[8,8], z: float32[8], y: float32[8,8]) {
			parallel p in 0..8 { for i in 0..2 { vector j in 0..4 {
				y[p, ((i * 4) + j)] = ((select(((p < 3) & (((i * 4) + j) > 2)), x[p, ((i * 4) + j)], 0.0) * z[((i * 4) + j)]) + 1.0) } } } }`},
		{"choices_between_stay", "HoistChoices", `func f(x: float32[8,8], z: float32[8], y: float32[8,8]) {
			parallel p in 0..8 { for i in 0..2 { vector j in 0..4 {
				y[p, ((i * 4) + j)] = (select((p < 3), x[p, ((i * 4) + j)], z[((i * 4) + j)]) + 1.0) } } } }`},
		{"read_choices_stay", "HoistChoices", `func f(c: bool[1], x: float32[8], y: float32[8]) {
			for i in 0..2 { vector j in 0..4 { y[((i * 4) + j)] = select(c[0], x[((i * 4) + j)], 1.0) } } }`},
		{"places", "HoistPlaces", `func f(p: int64[4], x: float32[9,16], y: float32[4,16]) {
			parallel i in 0..4 { for k in 0..2 { for j in 0..2 { vector l in 0..4 {
				y[i, (((k * 8) + (j * 4)) + l)] = x[max(min((p[i] + 2), 8), 0), (((k * 8) + (j * 4)) + l)] } } } } }`},
		{"places_stay", "HoistPlaces", `func f(p: int64[4], q: int64[4], x: float32[9,16], y: float32[4,16]) {
			for i in 0..4 { for j in 0..4 { if (i > 2) { y[i, (j * 4)] = x[max(min(p[i], 8), 0), (j * 4)] } y[i, j] = select((j > 1), x[max(min(p[i], 8), 0), 0], x[max(min(q[0], 8), 0), 1]) q[i] = (q[i] + 1) } } }`},
		{"serial_stays", "LoopPartition", `func f(x: float32[8], y: float32[8]) {
			for i in 0..8 { if (i > 0) { y[i] = x[(i - 1)] } } }`},
		{"sum_of_zeros", "LowerBlocks", `func f(y: int32[4]) {
			for i in 0..4 { for k in 0..3 { block y(a: 4 = i, r: reduce 3 = k) { init y[a] = 0:int32 y[a] = (y[a] + 0:int32) } } } }`},
		{"taps_around_workers", "TightenBorders", `func f(x: float32[8], y: float32[8,4]) {
			for k in 0..3 { parallel i in 0..4 { unroll j in 0..4 { if (((j + k) - 1) >= 0) { y[j, i] = (y[j, i] + x[((j + k) - 1)]) } } } } }`},
		{"taps", "TightenBorders", `func f(x: float32[8], y: float32[8]) {
			for k in 0..3 { unroll j in 0..4 { if (((j + k) - 1) >= 0) { y[j] = (y[j] + x[((j + k) - 1)]) } } } }`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := loop.Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			before := f.String()
			run(t, c.pass, f)
			if err := loop.Verify(f); err != nil {
				t.Error(err)
			}
			golden.Check(t, c.name, []byte("// "+c.pass+"\n"+before+"\n"+f.String()))
		})
	}
}

// TestRandom runs the passes one by one on random schedules and on those that rules choose: each keeps the result.
func TestRandom(t *testing.T) {
	samples := uint64(60)
	if testing.Short() {
		samples = 10
	}
	for _, kind := range tetest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			for seed := range samples {
				r := rand.New(rand.NewPCG(seed, 3))
				c := tetest.New(r, kind)
				k := c.Lower()
				s := sched.New(&loop.Func{Name: k.Func.Name, Params: k.Func.Params, Body: k.Func.Body})
				if seed%2 == 0 {
					bits := 128 << r.IntN(3)
					plan, err := algorithms.Table.Choose(k, &target.Target{VectorBits: bits, VectorRegs: 16, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, bits)}, nil)
					if err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					if n := len(plan.Divisions); n > 0 {
						if err := plan.DivideBy(plan.Divisions[r.IntN(n)]); err != nil {
							t.Fatalf("seed %d: %v", seed, err)
						}
					}
					s = plan.Schedule
				} else {
					for range 2 + r.IntN(8) {
						randomStep(r, s, k.Blocks[r.IntN(len(k.Blocks))])
					}
				}
				passes(t, seed, c, k.Blocks, func(f *loop.Func) error { return c.Check(k, f, 2) }, s)
			}
		})
	}
}

// passes runs the table on the scheduled function, checking after every pass.
func passes(t *testing.T, seed uint64, c *tetest.Case, blocks []string, check func(*loop.Func) error, s *sched.Schedule) {
	t.Helper()
	f := s.Func
	before := f.String()
	for _, p := range looppass.Table {
		run(t, p.Name, f)
		if err := loop.Verify(f, loop.NoBlocks); err != nil {
			t.Fatalf("seed %d: after %s: %v\n%s\n%s\n%s\n%s", seed, p.Name, err, te.String(c.Out), s, before, f)
		}
		if err := check(f); err != nil {
			t.Fatalf("seed %d: after %s: %v\n%s\n%s\n%s\n%s", seed, p.Name, err, te.String(c.Out), s, before, f)
		}
		before = f.String()
	}
}

// randomStep tries a step that tiles, orders or marks loops of a block.
func randomStep(r *rand.Rand, s *sched.Schedule, block string) {
	nest := s.Loops(block)
	if len(nest) == 0 {
		return
	}
	on := nest[r.IntN(len(nest))]
	switch r.IntN(6) {
	case 0, 1:
		s.Split(on, 1+r.IntN(8))
	case 2:
		r.Shuffle(len(nest), func(i, j int) { nest[i], nest[j] = nest[j], nest[i] })
		s.Reorder(nest[:1+r.IntN(len(nest))]...)
	case 3:
		s.Unroll(on)
	case 4:
		last := nest[len(nest)-1]
		s.DecomposeReduction(block, nest[0])
		s.Vectorize(last)
	case 5:
		s.Parallel(nest[0])
	}
}

// TestInteriorHasNoTest is the promise of partition: after all passes, the loop over the interior of a padded 3x3
// convolution tests nothing.
func TestInteriorHasNoTest(t *testing.T) {
	x := te.Input("x", types.Of(types.F32, 1, 16, 28, 28).With("ABCD8b"))
	w := te.Input("w", types.Of(types.F32, 16, 16, 3, 3).With("ABCD8b8a"))
	in := func(e expr.Expr) expr.Expr { return expr.And(expr.GE(e, expr.Index(0)), expr.LT(e, expr.Index(28))) }
	conv := te.Fold("conv", types.Of(types.F32, 1, 16, 28, 28).With("ABCD8b"), te.Sum, []int{16, 3, 3}, func(i, r []expr.Expr) expr.Expr {
		h, v := expr.Sub(expr.Add(i[2], r[1]), expr.Index(1)), expr.Sub(expr.Add(i[3], r[2]), expr.Index(1))
		return expr.If(expr.And(in(h), in(v)), expr.Mul(x.At(i[0], r[0], h, v), w.At(i[1], r[0], r[1], r[2])), expr.Const(types.F32, 0))
	})
	c := tetest.Of(rand.New(rand.NewPCG(1, 1)), "conv", conv)
	k := c.Lower()
	avx2 := &target.Target{VectorBits: 256, VectorRegs: 16, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 256)}
	plan, err := algorithms.Table.Choose(k, avx2, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan.Divide(avx2, nil, nil)
	f := plan.Schedule.Func
	for _, p := range looppass.Table {
		run(t, p.Name, f)
	}
	if err := c.Check(k, f, 1); err != nil {
		t.Error(err)
	}
	golden.Check(t, "interior", []byte(plan.Schedule.String()+"\n"+f.String()))
	// The interior is the loop over tiles of a row: the widest serial loop of constant bounds that starts after a border.
	interiors := 0
	loop.Walk(f.Body, func(s loop.Stmt) bool {
		l, ok := s.(*loop.For)
		if !ok || l.Kind != loop.Serial || !interiorOf(l) {
			return true
		}
		interiors++
		loop.Walk(l.Body, func(s loop.Stmt) bool {
			if i, ok := s.(*loop.If); ok {
				t.Errorf("the interior tests %s", expr.String(i.Cond))
			}
			if st, ok := s.(*loop.Store); ok {
				expr.Walk(st.Value, func(e expr.Expr) bool {
					if sel, ok := e.(*expr.Select); ok {
						t.Errorf("the interior selects by %s", expr.String(sel.Cond))
					}
					return true
				})
			}
			return true
		})
		return false
	})
	if interiors == 0 {
		t.Error("there is no interior loop")
	}
}

// TestInteriorIsOne: a line whose tiles two loops count has code for its interior once, and for each border tile.
func TestInteriorIsOne(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 11))
	for range 20 {
		taps, dilation, inside := 3+r.IntN(4), 1+r.IntN(3), 3+r.IntN(4)
		tiles := inside * (4 + r.IntN(4))
		n := 8*tiles - r.IntN(8)
		pad := (taps - 1) * dilation / 2
		x := te.Input("x", types.Of(types.F32, 8, n))
		w := te.Input("w", types.Of(types.F32, taps, 8))
		conv := te.Fold("conv", types.Of(types.F32, n, 8), te.Sum, []int{8, taps}, func(i, r []expr.Expr) expr.Expr {
			at := expr.Sub(expr.Add(i[0], expr.Mul(r[1], expr.Index(dilation))), expr.Index(pad))
			return expr.If(expr.And(expr.GE(at, expr.Index(0)), expr.LT(at, expr.Index(n))), expr.Mul(x.At(r[0], at), w.At(r[1], i[1])), expr.Const(types.F32, 0))
		})
		c := tetest.Of(r, "conv", conv)
		k := c.Lower()
		s := sched.New(&loop.Func{Name: k.Func.Name, Params: k.Func.Params, Body: k.Func.Body})
		block := k.Blocks[0]
		nest := s.Loops(block)
		line, tile, _ := s.Split(nest[0], 8)
		part, line, _ := s.Split(line, inside)
		s.Reorder(part, line, nest[2], nest[3], tile, nest[1])
		s.Unroll(tile)
		s.Vectorize(nest[1])
		s.DecomposeReduction(block, nest[2])
		f := s.Func
		for _, p := range looppass.Table {
			run(t, p.Name, f)
		}
		if err := c.Check(k, f, 2); err != nil {
			t.Fatal(err)
		}
		before := (pad + 7) / 8
		behind := tiles - 1 - (n-8-(taps-1)*dilation+pad)/8
		initial := 0
		loop.Walk(f.Body, func(s loop.Stmt) bool {
			st, ok := s.(*loop.Store)
			if ok {
				if _, zero := st.Value.(*expr.Float); zero {
					initial++
				}
			}
			return true
		})
		if want := 1 + before + behind; initial != want {
			t.Errorf("%d places, %d taps, dilation %d, %d tiles inside: %d copies, want %d\n%s", n, taps, dilation, inside, initial, want, f)
		}
	}
}

// interiorOf reports whether l runs over tiles between two borders.
func interiorOf(l *loop.For) bool {
	lo, ok := expr.IntOf(l.Min)
	_, known := expr.IntOf(l.Extent)
	return ok && known && lo > 0
}

// TestSquaresAtBorders: of a matrix that is transposed with lines of zeros behind it, as keys and panels of weights are, only the squares across
// its end choose, however the rest is divided; a square whose vectors choose is no transposition in registers.
func TestSquaresAtBorders(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 12))
	machine := &target.Target{VectorBits: 256, VectorRegs: 16, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 256)}
	for range 30 {
		lines, depth := 9+r.IntN(80), 8*(1+r.IntN(6))
		padded := (lines + 7) / 8 * 8
		x := te.Input("x", types.Of(types.F32, lines, depth))
		y := te.Compute("y", types.Of(types.F32, depth, padded), func(i []expr.Expr) expr.Expr {
			return expr.If(expr.LT(i[1], expr.Index(lines)), x.At(i[1], i[0]), expr.Const(types.F32, 0))
		})
		c := tetest.Of(r, "y", y)
		k := c.Lower()
		plan, err := algorithms.Table.Choose(k, machine, nil)
		if err != nil {
			t.Fatal(err)
		}
		plan.Divide(machine, nil, nil)
		f := plan.Schedule.Func
		for _, p := range looppass.Table {
			run(t, p.Name, f)
		}
		if err := c.Check(k, f, 2); err != nil {
			t.Fatal(err)
		}
		choosing := 0 // squares whose vectors choose, in a run
		var visit func(s loop.Stmt, times int, copied bool)
		visit = func(s loop.Stmt, times int, copied bool) {
			switch s := s.(type) {
			case *loop.Seq:
				for _, t := range s.List {
					visit(t, times, copied)
				}
			case *loop.Let:
				visit(s.Body, times, copied)
			case *loop.For:
				if n, ok := expr.IntOf(s.Extent); ok && !s.Kind.Copied() {
					times *= int(n)
				}
				visit(s.Body, times, s.Kind.Copied())
			case *loop.If:
				if copied {
					choosing += times
				} else {
					visit(s.Then, times, false)
					if s.Else != nil {
						visit(s.Else, times, false)
					}
				}
			}
		}
		visit(f.Body, 1, false)
		if squares := depth / 8; choosing > squares || lines%8 == 0 && choosing > 0 {
			t.Errorf("%d lines of %d: %d squares choose\n%s\n%s", lines, depth, choosing, plan.Schedule, f)
		}
	}
}
