package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestDigitProducts multiplies float32 by constant weights of bytes that have a scale for each column, with data as digits: by dot products where
// this machine has them, and by registers of matrices, emulated. What follows is computed from the joined sums.
func TestDigitProducts(t *testing.T) {
	t.Parallel()
	runs := map[string]execute{}
	options := map[string]compile.Options{}
	for _, name := range []string{"llvm", "llvm -mcpu=x86-64-v4 -mattr=+avx512vnni"} {
		if tgt := targettest.Runnable(t, name); tgt.HasDot {
			runs[name], options[name] = Execute, compile.Options{Target: tgt}
		}
	}
	for _, tgt := range matrixTargets(t) {
		runs[tgt.String()], options[tgt.String()] = onMatrices(t, tgt), compile.Options{Target: tgt}
	}
	for name, run := range runs {
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, 77))
			rows, depth, columns := []int{1, 1, 3, 20}[r.IntN(4)], 1+r.IntN(300), 1+r.IntN(150)
			t.Run(fmt.Sprintf("%s/%dx%dx%d", name, rows, depth, columns), func(t *testing.T) {
				g := &graph.Graph{Name: "main"}
				x := g.Input("x", types.Of(types.F32, rows, depth))
				weights := tensor.New(types.I8, depth, columns)
				for i := range weights.Len() {
					weights.SetInt(i, int64(r.IntN(256)-128))
				}
				scale := graph.NewConst("", random(r, types.Of(types.F32, columns)))
				w := apply(t, g, ops.Dequantize, ops.DequantizeAttrs{Axis: 1}, graph.NewConst("w", weights), scale).Out[0]
				y := apply(t, g, ops.Negative, op.None{}, apply(t, g, ops.Matmul, ops.MatmulAttrs{}, x, w).Out[0]).Out[0]
				y.Name, g.Outputs = "y", []*graph.Value{y}
				o := options[name]
				o.Level, o.Workers, o.Choices = 3, 2, map[string]choice.Point{"nn.matmul": {"weights": "digits"}}
				in := []*tensor.Tensor{random(r, x.Type)}
				res, want := withReference(t, g, in, o)
				if rulesOf(res, ops.QnnMatmul) == nil {
					t.Error("there is no product of integers")
				}
				for _, workers := range []int{1, 2} {
					got, err := run(res, in, workers)
					if err != nil {
						t.Fatal(err)
					}
					if diff, err := difference(want[0], got[0]); err != nil || diff > networkTolerance {
						t.Errorf("%d workers: it differs by %g: %v", workers, diff, err)
					}
				}
				for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					in[0].SetFloat(0, odd)
					got, err := run(res, in, 1)
					if err != nil {
						t.Fatal(err)
					}
					for i := range got[0].Len() {
						if y := got[0].Float(i); math.IsNaN(y) != (i < columns) {
							t.Fatalf("with %g in the first row of %d columns, number %d is %g", odd, columns, i, y)
						}
					}
				}
			})
		}
	}
}
