package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// crowded are targets whose caches hold little of small networks, for vectors of three widths.
var crowded = []string{"llvm -caches=2,4,8", "llvm -mcpu=x86-64-v3 -caches=2,4,8", "llvm -mcpu=x86-64-v2 -caches=2,4,8"}

// TestStreamed reduces random operands that no cache of the target holds over lines of any length: vectors times matrices as they lie, and
// folds over axes that are not the last, with rests of the vectors of a line and of the lines that are summed together.
func TestStreamed(t *testing.T) {
	t.Parallel()
	samples := uint64(24)
	if testing.Short() {
		samples = 8
	}
	for _, tgt := range crowded {
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 47))
			t.Run(fmt.Sprintf("%s/%d", tgt, seed), func(t *testing.T) {
				g := &graph.Graph{Name: "main"}
				input := func(name string, shape ...int) *graph.Value { return g.Input(name, types.Of(types.F32, shape...)) }
				var y *graph.Value
				lines, line := 17+r.IntN(60), 64+r.IntN(300)
				if seed%2 == 0 {
					many := 1 + r.IntN(3)
					y = apply(t, g, ops.Matmul, ops.MatmulAttrs{}, input("x", many, 1, lines), input("w", many, lines, line)).Out[0]
				} else {
					a := ops.ReduceAttrs{Axis: [][]int{{1}, {0}, {1, 2}}[r.IntN(3)], KeepDims: r.IntN(2) == 0}
					fold := []*op.Def{ops.Sum, ops.Mean, ops.Max, ops.Min}[r.IntN(4)]
					y = apply(t, g, fold, a, input("x", 1+r.IntN(3), lines, 1+r.IntN(4), line)).Out[0]
				}
				y = apply(t, g, ops.Abs, op.None{}, y).Out[0]
				steps := stepsWithin(t, tolerance(types.F32), r, g, y, tgt)
				if !slices.ContainsFunc(steps, func(s bundle.Step) bool { return s.Rule == "streamed" }) {
					t.Errorf("%d lines of %d are not streamed: %v", lines, line, steps)
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
	for _, tgt := range crowded {
		several := false
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 59))
			g := &graph.Graph{Name: "main"}
			depth, columns := 1+r.IntN(300), 1+r.IntN(900)
			x := g.Input("x", types.Of(types.F32, 1, depth))
			w := graph.NewConst("w", random(r, types.Of([]types.DType{types.F32, types.F32, types.F16}[r.IntN(3)], depth, columns)))
			if w.Type.DType != types.F32 {
				w = apply(t, g, ops.Cast, ops.CastAttrs{DType: types.F32}, w).Out[0]
			}
			y := apply(t, g, ops.Matmul, ops.MatmulAttrs{}, x, w).Out[0]
			y = apply(t, g, ops.Relu, op.None{}, y).Out[0]
			for _, s := range stepsWithin(t, tolerance(types.F32), r, g, y, tgt) {
				n := s.Point["streams"]
				several = several || n != "" && n != "1"
			}
		}
		if !several {
			t.Errorf("%s: no tile reads several streams", tgt)
		}
	}
}
