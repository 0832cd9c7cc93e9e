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

// TestComputedProducts multiplies matrices that are both computed, whichever way each of them lies, of random shapes with
// and without batches, for vectors of three widths. Products of many rows are in registers, and so are vectors times matrices
// whose rows lie along the result.
func TestComputedProducts(t *testing.T) {
	t.Parallel()
	samples := uint64(16)
	if testing.Short() {
		samples = 5
	}
	for _, tgt := range []string{"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"} {
		o := compile.Options{Target: targettest.Runnable(t, tgt), Workers: 2}
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 47))
			p := product{m: 1 + r.IntN(90), k: 1 + r.IntN(200), n: 1 + r.IntN(150), a: ops.MatmulAttrs{TransposeA: r.IntN(2) == 0, TransposeB: r.IntN(3) > 0}}
			switch r.IntN(4) {
			case 0:
				p.batch = []int{1 + r.IntN(3)}
			case 1:
				p.m, p.n = 1, 400+r.IntN(300)
			case 2:
				p.dense, p.a = true, ops.MatmulAttrs{TransposeB: true}
			}
			o.Level = []int{0, 3, 3}[r.IntN(3)]
			t.Run(fmt.Sprintf("%s/%d: %+v, -O%d", tgt, seed, p, o.Level), func(t *testing.T) { p.test(t, r, o) })
		}
	}
}

type product struct {
	batch   []int
	m, k, n int
	a       ops.MatmulAttrs
	dense   bool
}

func (p product) test(t *testing.T, r *rand.Rand, o compile.Options) {
	matrix := func(rows, columns int, transposed bool) types.Tensor {
		if transposed {
			rows, columns = columns, rows
		}
		return types.Of(types.F32, append(slices.Clone(p.batch), rows, columns)...)
	}
	g := &graph.Graph{Name: "main"}
	x, w := g.Input("x", matrix(p.m, p.k, p.a.TransposeA)), g.Input("w", matrix(p.k, p.n, p.a.TransposeB))
	d, attrs := ops.Matmul, any(p.a)
	if p.dense {
		d, attrs = ops.Dense, op.None{}
	}
	y, err := g.Apply(d, attrs, x, w)
	if err != nil {
		t.Fatal(err)
	}
	if y, err = g.Apply(ops.Relu, op.None{}, y.Out[0]); err != nil {
		t.Fatal(err)
	}
	y.Out[0].Name = "y"
	g.Outputs = []*graph.Value{y.Out[0]}
	in := []*tensor.Tensor{random(r, x.Type), random(r, w.Type)}
	res, want := withReference(t, g, in, o)
	inRegisters := p.n >= 16 && (p.m >= 40 && p.k >= 8 || !p.a.TransposeB)
	for _, rule := range rulesOf(res, d) {
		if o.Level == 3 && inRegisters && rule != "tile" {
			t.Errorf("left to rule %s", rule)
		}
	}
	if err := sameOutputs(res, in, want, 1, 2, 3); err != nil {
		t.Error(err)
	}
}
