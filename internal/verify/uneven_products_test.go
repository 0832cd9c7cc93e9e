package verify

import (
	"fmt"
	"math/rand/v2"
	"regexp"
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

// TestUnevenProducts multiplies few rows, or by a single column, in sizes that no vector and no panel divides: by constants, and by inputs whose
// columns lie as rows beside data whose rows lie as columns. No sum is left to a loop of one element at a time.
func TestUnevenProducts(t *testing.T) {
	t.Parallel()
	samples := uint64(12)
	if testing.Short() {
		samples = 4
	}
	for _, tgt := range []string{"llvm", "llvm -mcpu=core-avx2"} {
		o := compile.Options{Target: targettest.Runnable(t, tgt), Workers: 2, Level: 3, Code: []string{"tir"}}
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 61))
			m, k, n := 1+r.IntN(4), 64+r.IntN(200), 17+r.IntN(600)
			constant := r.IntN(2) == 0
			if seed%4 == 0 {
				m, k, n, constant = 200+r.IntN(400), 16+r.IntN(50), 1, true
			}
			t.Run(fmt.Sprintf("%s/%d, %dx%dx%d, constant %v", tgt, seed, m, k, n, constant), func(t *testing.T) {
				g := &graph.Graph{Name: "main"}
				shape, attrs := []int{k, m}, ops.MatmulAttrs{TransposeA: true, TransposeB: true}
				if constant {
					shape, attrs = []int{m, k}, ops.MatmulAttrs{TransposeB: true}
				}
				x, w := g.Input("x", types.Of(types.F32, shape...)), types.Of(types.F32, n, k)
				weight, in := graph.NewConst("w", random(r, w)), []*tensor.Tensor{random(r, x.Type)}
				if !constant {
					weight = g.Input("w", w)
					in = append(in, random(r, w))
				}
				y, err := g.Apply(ops.Matmul, attrs, x, weight)
				if err != nil {
					t.Fatal(err)
				}
				if y, err = g.Apply(ops.Sigmoid, op.None{}, y.Out[0]); err != nil {
					t.Fatal(err)
				}
				y.Out[0].Name = "y"
				g.Outputs = slices.Clone(y.Out)
				res, want := withReference(t, g, in, o)
				if sum := alone.FindString(res.Code["tir"]); sum != "" {
					t.Errorf("a sum of one element at a time:\n%s", sum)
				}
				if err := sameOutputs(res, in, want, 1, 3); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// alone is a loop of a reduction, without vectors, whose body is a sum.
var alone = regexp.MustCompile(`(?m)^ *for \S*_r0\S* in .*\n *(dense|matmul)\S*\[.*$`)
