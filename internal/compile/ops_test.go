package compile

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/toolchain"
	"lathe/internal/types"
	"lathe/runtime"
)

var dbg bool

// resolve makes a target from a string, with this machine as host.
func resolve(t *testing.T, s string) *target.Target {
	t.Helper()
	spec, err := target.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	tgt, err := spec.Resolve(func() (target.Host, error) {
		cpu, features := toolchain.HostCPU()
		return target.Host{Triple: toolchain.HostTriple(), CPU: cpu, Features: features, Cores: 2}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tgt
}

// run compiles g, which it changes, and executes it.
func run(t *testing.T, g *graph.Graph, o Options, workers int, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	t.Helper()
	res, err := Compile(context.Background(), g, o)
	if dbg && res != nil {
		fmt.Println(res.Code["tir"])
		fmt.Println(res.Code["ll"])
	}
	if err != nil {
		return nil, err
	}
	path := filepath.Join(t.TempDir(), "m.tar")
	if err := bundle.Write(path, &res.Contents); err != nil {
		return nil, err
	}
	m, err := runtime.Open(path, runtime.WithWorkers(workers))
	if err != nil {
		return nil, err
	}
	defer m.Close()
	for i, x := range in {
		if err := m.SetInputIndex(i, runtime.Tensor{DType: x.DType.String(), Shape: x.Shape, Data: x.Data}); err != nil {
			return nil, err
		}
	}
	if err := m.Run(); err != nil {
		return nil, err
	}
	var outs []*tensor.Tensor
	for i := range m.Outputs() {
		y, err := m.Output(i)
		if err != nil {
			return nil, err
		}
		y = y.Clone()
		d, err := types.ParseDType(y.DType)
		if err != nil {
			return nil, err
		}
		outs = append(outs, &tensor.Tensor{DType: d, Shape: y.Shape, Data: y.Data})
	}
	return outs, nil
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

// difference is the relative L2 distance of floats, or the number of different elements otherwise.
func difference(want, got *tensor.Tensor) (float64, error) {
	if !want.Type().Equal(got.Type()) {
		return 0, fmt.Errorf("got %s, want %s", got.Type(), want.Type())
	}
	var num, den float64
	for i := range want.Len() {
		if !want.DType.IsFloat() {
			if want.Int(i) != got.Int(i) {
				num++
			}
			continue
		}
		a, b := want.Float(i), got.Float(i)
		if a == b || a != a && b != b {
			continue
		}
		num += (a - b) * (a - b)
		if !math.IsInf(a, 0) {
			den += a * a
		}
	}
	if !want.DType.IsFloat() {
		return num, nil
	}
	if num == 0 {
		return 0, nil
	}
	for i := range want.Len() {
		if a, b := want.Float(i), got.Float(i); a == b && !math.IsInf(a, 0) {
			den += a * a
		}
	}
	return math.Sqrt(num / max(den, 1e-30)), nil
}

// tolerance of an operator's result, by element type: DESIGN's bound for single operators.
func tolerance(d types.DType) float64 {
	switch d {
	case types.F16:
		return 1e-3
	case types.BF16:
		return 1e-2
	case types.F64:
		return 1e-9
	case types.F32:
		return 1e-5
	}
	return 0
}

// TestOperators compiles random uses of every operator and compares with the oracle.
func TestOperators(t *testing.T) {
	samples := 6
	if testing.Short() {
		samples = 2
	}
	for _, tgt := range []string{"llvm", "llvm -mcpu=core-avx2"} {
		o := Options{Target: resolve(t, tgt), Level: 3, Workers: 2}
		for _, d := range ops.All {
			if d.Compute == nil || d.Sample == nil {
				continue
			}
			t.Run(strings.ReplaceAll(tgt+"/"+d.Name, " ", ""), func(t *testing.T) {
				for seed := range uint64(samples) {
					r := rand.New(rand.NewPCG(seed, 7))
					attrs, in := d.Sample(r)
					testOperator(t, r, d, attrs, in, o, seed)
				}
			})
		}
	}
}

func testOperator(t *testing.T, r *rand.Rand, d *op.Def, attrs any, in []types.Tensor, o Options, seed uint64) {
	t.Helper()
	g := &graph.Graph{Name: "main"}
	var vals []*tensor.Tensor
	var args []*graph.Value
	for i, ty := range in {
		vals = append(vals, random(r, ty))
		args = append(args, g.Input(fmt.Sprintf("x%d", i), ty))
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
	if err := d.Eval(attrs, vals, want); err != nil {
		t.Fatalf("seed %d: eval: %v", seed, err)
	}
	use := fmt.Sprintf("seed %d: %s%v %+v", seed, d.Name, in, attrs)
	got, err := run(t, g, o, 1+int(seed%3), vals)
	if err != nil {
		t.Errorf("%s: %v", use, err)
		return
	}
	for i := range want {
		diff, err := difference(want[i], got[i])
		if err != nil {
			t.Errorf("%s: result %d: %v", use, i, err)
		} else if !(diff <= tolerance(want[i].DType)) {
			t.Errorf("%s: result %d differs by %g", use, i, diff)
		}
	}
}
