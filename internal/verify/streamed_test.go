package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestStreamed reduces random operands that no cache of the target holds over lines of any length: vectors times matrices as they lie, and
// folds over axes that are not the last, with rests of the vectors of a line and of the lines that are summed together.
func TestStreamed(t *testing.T) {
	t.Parallel()
	samples := uint64(24)
	if testing.Short() {
		samples = 8
	}
	for _, tgt := range []string{"llvm -caches=2,4,8", "llvm -mcpu=x86-64-v3 -caches=2,4,8", "llvm -mcpu=x86-64-v2 -caches=2,4,8"} {
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 47))
			t.Run(fmt.Sprintf("%s/%d", tgt, seed), func(t *testing.T) {
				g := &graph.Graph{Name: "main"}
				var y *graph.Value
				var of *op.Def
				in := []*tensor.Tensor{}
				add := func(name string, shape ...int) *graph.Value {
					v := g.Input(name, types.Of(types.F32, shape...))
					in = append(in, random(r, v.Type))
					return v
				}
				lines, line := 17+r.IntN(60), 64+r.IntN(300)
				if seed%2 == 0 {
					of = ops.Matmul
					many := 1 + r.IntN(3)
					y = apply(t, g, of, ops.MatmulAttrs{}, add("x", many, 1, lines), add("w", many, lines, line)).Out[0]
				} else {
					of = []*op.Def{ops.Sum, ops.Mean, ops.Max, ops.Min}[r.IntN(4)]
					a := ops.ReduceAttrs{Axis: [][]int{{1}, {0}, {1, 2}}[r.IntN(3)], KeepDims: r.IntN(2) == 0}
					y = apply(t, g, of, a, add("x", 1+r.IntN(3), lines, 1+r.IntN(4), line)).Out[0]
				}
				y = apply(t, g, ops.Abs, op.None{}, y).Out[0]
				y.Name = "y"
				g.Outputs = []*graph.Value{y}
				res, want := withReference(t, g, in, compile.Options{Target: targettest.Runnable(t, tgt), Level: 3, Workers: 2})
				if rules := rulesOf(res, of); !slices.Contains(rules, "streamed") {
					t.Errorf("%s of %d lines of %d by rules %v", of.Name, lines, line, rules)
				}
				if err := outputsWithin(tolerance(types.F32), res, in, want, 1, 2, 3); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestStreams multiplies random vectors by constant matrices that no cache of the target holds, of any number of columns: a tile reads several
// panels at once, of which the last tiles have fewer.
func TestStreams(t *testing.T) {
	t.Parallel()
	samples := uint64(16)
	if testing.Short() {
		samples = 6
	}
	for _, tgt := range []string{"llvm -caches=2,4,8", "llvm -mcpu=x86-64-v3 -caches=2,4,8", "llvm -mcpu=x86-64-v2 -caches=2,4,8"} {
		several := false
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 59))
			g := &graph.Graph{Name: "main"}
			depth, columns := 1+r.IntN(300), 1+r.IntN(900)
			x := g.Input("x", types.Of(types.F32, 1, depth))
			w := graph.NewConst("w", random(r, types.Of([]types.DType{types.F32, types.F32, types.F16}[r.IntN(3)], depth, columns)))
			wide := w
			if w.Type.DType != types.F32 {
				wide = apply(t, g, ops.Cast, ops.CastAttrs{DType: types.F32}, w).Out[0]
			}
			y := apply(t, g, ops.Matmul, ops.MatmulAttrs{}, x, wide).Out[0]
			y = apply(t, g, ops.Relu, op.None{}, y).Out[0]
			y.Name = "y"
			g.Outputs = []*graph.Value{y}
			in := []*tensor.Tensor{random(r, x.Type)}
			res, want := withReference(t, g, in, compile.Options{Target: targettest.Runnable(t, tgt), Level: 3, Workers: 2})
			for _, s := range res.Contents.Manifest.Steps {
				n := s.Point["streams"]
				several = several || n != "" && n != "1"
			}
			if err := outputsWithin(tolerance(types.F32), res, in, want, 1, 2, 3); err != nil {
				t.Errorf("%s, seed %d, %d by %d: %v", tgt, seed, depth, columns, err)
			}
		}
		if !several {
			t.Errorf("%s: no tile reads several streams", tgt)
		}
	}
}
