package verify

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// extremes are numbers at which conversions round, saturate, wrap or lose the sign, in whichever type holds them.
func extremes(t types.DType) *tensor.Tensor {
	if !t.IsFloat() {
		list := []int64{0, 1, 2, 3, 7, 127, 128, 255, 256, 2049, 65504, 65519, 65520, 65535, 65536, 1<<24 + 1, 1<<31 - 1, 1 << 31, 1<<53 + 1, math.MaxInt64, -1, -128, -129, -32769, -1<<31 - 1, math.MinInt64}
		x := tensor.New(t, len(list))
		for i, v := range list {
			if t == types.Bool {
				v &= 1
			}
			x.SetInt(i, v)
		}
		return x
	}
	var list []float64
	for _, v := range []float64{
		0, 0.5, 1, 1.5, 2.5, 1.0009765625, 1.00048828125, 1.00146484375, 1.00390625, 1.01171875, 1.0 / 3, math.Pi, 127.5, 255.5, 2049, 65504, 65519.996, 65520, 1e5, 3e38, 3.4e38, 1e300,
		0x1p-14, 0x1.ffcp-15, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-26, 0x1p-126, 0x1p-133, 0x1p-134, 0x1p-149, 0x1p-1074, 0x1p31, 0x1p53 + 2, 0x1p63, 0x1p64, math.Inf(1),
	} {
		list = append(list, v, -v)
	}
	list = append(list, math.NaN())
	x := tensor.New(t, len(list))
	for i, v := range list {
		x.SetFloat(i, v)
	}
	return x
}

// TestCastPairs: what a model converts to another type and back has that type's rounding, at every -O level and wherever
// the conversion stands: between pointwise nodes, in a sum, of every element.
func TestCastPairs(t *testing.T) {
	t.Parallel()
	targets := []*target.Target{targettest.Resolve(t, "llvm")}
	if runtime.GOARCH == "amd64" {
		targets = append(targets, targettest.Resolve(t, "llvm -mattr=-avx512f")) // the same where instructions are missing
	}
	for _, from := range types.DTypes() {
		x := extremes(from)
		build := func() *graph.Graph {
			g := &graph.Graph{Name: "main"}
			in := g.Input("x", x.Type())
			apply := func(n *graph.Node, err error) *graph.Value {
				if err != nil {
					t.Fatal(err)
				}
				return n.Out[0]
			}
			cast := func(v *graph.Value, to types.DType) *graph.Value {
				return apply(g.Apply(ops.Cast, ops.CastAttrs{DType: to}, v))
			}
			wide := from
			if from == types.F16 || from == types.BF16 {
				wide = types.F32
			}
			for _, to := range types.DTypes() {
				y := cast(cast(cast(in, wide), to), wide)
				if wide != types.Bool {
					y = apply(g.Apply(ops.Minimum, op.None{}, y, y)) // arithmetic behind
				}
				y.Name = fmt.Sprintf("%s_%s", from, to)
				g.Outputs = append(g.Outputs, y)
				if wide.IsFloat() {
					// A row at a time: the converted elements are read by a reduction.
					row := apply(g.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{x.Len(), 1}}, cast(cast(in, wide), to)))
					z := apply(g.Apply(ops.Max, ops.ReduceAttrs{Axis: []int{1}}, cast(row, wide)))
					z.Name = y.Name + "_max"
					g.Outputs = append(g.Outputs, z)
				}
			}
			return g
		}
		want, err := grapheval.Eval(build(), []*tensor.Tensor{x})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 * len(targets) {
			level, tgt := []int{0, 1, 3}[i%3], targets[i/3]
			got, err := run(t, build(), compile.Options{Target: tgt, Level: level, Workers: 2, Denormals: compile.DenormalsKeep}, 1, []*tensor.Tensor{x})
			if err != nil {
				t.Fatalf("%s, -O%d for %s: %v", from, level, tgt, err)
			}
			for i, w := range want {
				name := build().Outputs[i].Name
				for j := range w.Len() {
					if !sameElement(w, got[i], j) {
						t.Errorf("%s, -O%d: %v becomes %v instead of %v", name, level, element(x, j), element(got[i], j), element(w, j))
						break
					}
				}
			}
		}
	}
}

func element(x *tensor.Tensor, i int) any {
	if x.DType.IsFloat() {
		return x.Float(i)
	}
	return x.Int(i)
}

func sameElement(a, b *tensor.Tensor, i int) bool {
	if !a.DType.IsFloat() {
		return a.Int(i) == b.Int(i)
	}
	x, y := a.Float(i), b.Float(i)
	return x != x && y != y || math.Float64bits(x) == math.Float64bits(y)
}
