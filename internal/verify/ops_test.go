package verify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/impl/algorithms"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// run compiles g, which it changes, and executes it.
func run(t *testing.T, g *graph.Graph, o compile.Options, workers int, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	t.Helper()
	res, err := compile.Compile(context.Background(), g, o)
	if err != nil {
		return nil, err
	}
	return Execute(res, in, workers)
}

// random fills a tensor of type t with values that suit most operators: around zero for floats, small for integers.
func random(r *rand.Rand, t types.Tensor) *tensor.Tensor {
	x := tensor.NewOf(t)
	for i := range x.Len() {
		switch {
		case t.DType.IsFloat():
			x.SetFloat(i, r.NormFloat64())
		case t.DType == types.Bool:
			x.SetInt(i, int64(r.IntN(2)))
		case t.DType.IsUnsigned():
			x.SetInt(i, int64(r.IntN(8)))
		default:
			x.SetInt(i, int64(r.IntN(11)-5))
		}
	}
	return x
}

// implemented reports whether kernels can be made of an operator.
func implemented(d *op.Def) bool { return algorithms.Table.HasExtern(d) || d.Compute != nil }

// TestOperators compiles random uses of every operator and compares with the oracle.
func TestOperators(t *testing.T) {
	t.Parallel()
	samples := 6
	if testing.Short() {
		samples = 2
	}
	for _, tgt := range []string{"llvm", "llvm -mcpu=core-avx2"} {
		o := compile.Options{Target: targettest.Runnable(t, tgt), Level: 3, Workers: 2}
		for _, d := range ops.All {
			if !implemented(d) {
				t.Errorf("%s has no implementation", d.Name)
				continue
			}
			if d.Sample == nil {
				continue
			}
			t.Run(strings.ReplaceAll(tgt+"/"+d.Name, " ", ""), func(t *testing.T) {
				for seed := range uint64(samples) {
					r := rand.New(rand.NewPCG(seed, 7))
					attrs, in := d.Sample(r)
					testOperator(t, r, d, attrs, in, o, seed, Execute)
				}
			})
		}
	}
}

// An execute runs a compiled module on this machine, or on another.
type execute func(r *compile.Result, in []*tensor.Tensor, workers int) ([]*tensor.Tensor, error)

func testOperator(t *testing.T, r *rand.Rand, d *op.Def, attrs any, in []types.Tensor, o compile.Options, seed uint64, run execute) {
	t.Helper()
	var vals []*tensor.Tensor
	for _, ty := range in {
		vals = append(vals, random(r, ty))
	}
	testUse(t, d, attrs, vals, vals, o, seed, run, func(want, got *tensor.Tensor) error {
		diff, err := difference(want, got)
		if err == nil && !(diff <= tolerance(want.DType)) {
			err = fmt.Errorf("differs by %g", diff)
		}
		return err
	})
}

// testUse runs a compiled operator on vals and compares each result with what the oracle gives for the operands, which are vals or
// what the code takes them for.
func testUse(t *testing.T, d *op.Def, attrs any, vals, operands []*tensor.Tensor, o compile.Options, seed uint64, run execute, compare func(want, got *tensor.Tensor) error) {
	t.Helper()
	g := &graph.Graph{Name: "main"}
	var args []*graph.Value
	var in []types.Tensor
	for i, x := range vals {
		in = append(in, x.Type())
		args = append(args, g.Input(fmt.Sprintf("x%d", i), x.Type()))
	}
	n, err := g.Apply(d, attrs, args...)
	if err != nil {
		t.Fatalf("seed %d: sample: %v", seed, err)
	}
	n.Origin = []string{d.Name}
	var want []*tensor.Tensor
	for i, y := range n.Out {
		y.Name = fmt.Sprintf("y%d", i)
		want = append(want, tensor.NewOf(y.Type))
		g.Outputs = append(g.Outputs, y)
	}
	if err := d.Eval(attrs, operands, want); err != nil {
		t.Fatalf("seed %d: eval: %v", seed, err)
	}
	use := fmt.Sprintf("seed %d: %s%v %+v", seed, d.Name, in, attrs)
	res, err := compile.Compile(context.Background(), g, o)
	if err != nil {
		t.Errorf("%s: %v", use, err)
		return
	}
	got, err := run(res, vals, 1+int(seed%3))
	if errors.Is(err, errNotCompared) {
		return
	}
	if err != nil {
		t.Errorf("%s: %v", use, err)
		return
	}
	for i := range want {
		if err := compare(actualResult(n, want, i), got[i]); err != nil {
			t.Errorf("%s: result %d: %v", use, i, err)
		}
	}
}
