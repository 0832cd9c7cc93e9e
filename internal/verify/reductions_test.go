package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestFewResults folds random shapes to one element or a few, alone and between elementwise nodes, for vectors of three
// widths and any number of workers. No reduction is left as it was lowered, and large ones are divided.
func TestFewResults(t *testing.T) {
	t.Parallel()
	samples := uint64(16)
	if testing.Short() {
		samples = 5
	}
	for _, tgt := range []string{"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"} {
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 41))
			large := seed%4 == 0
			shape := []int{1 + r.IntN(9), 1 + r.IntN(40), 1 + r.IntN(90)}[r.IntN(3):]
			if large {
				shape = []int{1 + r.IntN(3), 14 + r.IntN(20), 30000 + r.IntN(100)}
			}
			a := ops.ReduceAttrs{KeepDims: r.IntN(2) == 0}
			if r.IntN(2) == 0 { // a few results
				a.Axis = []int{len(shape) - 1}
				if len(shape) > 1 && (large || r.IntN(2) == 0) {
					a.Axis = []int{len(shape) - 2, len(shape) - 1}
				}
			}
			d := []*op.Def{ops.Sum, ops.Mean, ops.Max, ops.Min}[r.IntN(4)]
			around := r.IntN(2) == 0
			level := []int{0, 3, 3}[r.IntN(3)]
			t.Run(fmt.Sprintf("%s/%d: %s of %v over %v, around %v, -O%d", tgt, seed, d.Name, shape, a.Axis, around, level), func(t *testing.T) {
				fewResults(t, r, d, a, shape, around, compile.Options{Target: targettest.Runnable(t, tgt), Level: level, Workers: 2}, large)
			})
		}
	}
}

func fewResults(t *testing.T, r *rand.Rand, d *op.Def, a ops.ReduceAttrs, shape []int, around bool, o compile.Options, large bool) {
	g := &graph.Graph{Name: "main"}
	y := g.Input("x", types.Of(types.F32, shape...))
	in := []*tensor.Tensor{random(r, y.Type)}
	if around {
		y = apply(t, g, ops.Abs, op.None{}, y).Out[0]
	}
	if y = apply(t, g, d, a, y).Out[0]; around {
		y = apply(t, g, ops.Abs, op.None{}, y).Out[0]
		y = apply(t, g, ops.Sqrt, op.None{}, y).Out[0]
	}
	y.Name = "y"
	g.Outputs = []*graph.Value{y}
	res, want := withReference(t, g, in, o)
	if rules := rulesOf(res, d); slices.Contains(rules, "serial") {
		t.Errorf("left to rules %v", rules)
	}
	divided := slices.ContainsFunc(res.Contents.Manifest.Steps, func(s bundle.Step) bool { return s.Workers != 1 })
	if large && o.Level > 0 && !divided {
		t.Error("one worker does it all")
	}
	if err := outputsWithin(tolerance(types.F32), res, in, want, 1, 2, 3); err != nil {
		t.Error(err)
	}
}

// TestArgMaxOfColumns: extremes along an axis that is not the last are those of columns in lanes, ties and NaN included.
func TestArgMaxOfColumns(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 53))
	for _, tgt := range []string{"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"} {
		for _, level := range []int{0, 3} {
			for range 6 {
				shape := []int{1 + r.IntN(3), 2 + r.IntN(30), 17 + r.IntN(200)}
				a := ops.ArgAttrs{Axis: 1, KeepDims: r.IntN(2) == 0, SelectLastIndex: r.IntN(2) == 0}
				g := &graph.Graph{Name: "main"}
				x := g.Input("x", types.Of([]types.DType{types.F32, types.I8, types.F64}[r.IntN(3)], shape...))
				n, err := g.Apply([]*op.Def{ops.ArgMax, ops.ArgMin}[r.IntN(2)], a, x)
				if err != nil {
					t.Fatal(err)
				}
				n.Out[0].Name = "y"
				g.Outputs = slices.Clone(n.Out)
				in := []*tensor.Tensor{random(r, x.Type)}
				for i := range in[0].Len() / 4 {
					in[0].SetFloat(4*i, []float64{2, -2, math.NaN()}[r.IntN(3)])
				}
				res, want := withReference(t, g, in, compile.Options{Target: targettest.Runnable(t, tgt), Level: level, Workers: 2})
				if rule := res.Contents.Manifest.Steps[0].Rule; rule != "columns" {
					t.Errorf("%s: %v: left to rule %s", tgt, shape, rule)
				}
				if err := sameOutputs(res, in, want, 1, 2, 3); err != nil {
					t.Errorf("%s: -O%d: %+v of %s: %v", tgt, level, a, x.Type, err)
				}
			}
		}
	}
}
