package verify

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// A transposedCase is a transposed convolution: data, weights per group, and attributes.
type transposedCase struct {
	x, w  []int
	attrs ops.ConvTransposeAttrs
}

// drawTransposed draws one whose kernels are smaller than, equal to or larger than strides, with channels that fill vectors or not.
func drawTransposed(r *rand.Rand) transposedCase {
	channels := func() int { return []int{1, 3, 5, 8, 16, 24, 32}[r.IntN(7)] }
	for {
		rank := 1 + r.IntN(3)
		c := transposedCase{x: []int{1 + r.IntN(2), channels()}, w: []int{0, channels()}, attrs: ops.ConvTransposeAttrs{Groups: 1, Padding: make([]int, 2*rank)}}
		if r.IntN(3) == 0 {
			c.attrs.Groups = 1 + r.IntN(4)
		}
		c.x[1] *= c.attrs.Groups
		c.w[0] = c.x[1]
		for k := range rank {
			c.x, c.w = append(c.x, 1+r.IntN(16/rank)), append(c.w, 1+r.IntN(9-2*rank))
			c.attrs.Strides, c.attrs.Dilation = append(c.attrs.Strides, 1+r.IntN(4)), append(c.attrs.Dilation, 1)
			if r.IntN(4) == 0 {
				c.attrs.Dilation[k] = 1 + r.IntN(3)
			}
			c.attrs.OutputPadding = append(c.attrs.OutputPadding, r.IntN(max(c.attrs.Strides[k], c.attrs.Dilation[k])))
			c.attrs.Padding[k], c.attrs.Padding[rank+k] = r.IntN(3), r.IntN(3)
		}
		if types.Count(c.x)*types.Count(c.w[1:]) > 1<<20 {
			continue
		}
		if _, err := c.graph(r, true); err == nil {
			return c
		}
	}
}

// graph is x → conv_transpose → scale → relu → concatenate with a second input, as in a U-Net, with constant weights or not.
func (c transposedCase) graph(r *rand.Rand, constant bool) (*graph.Graph, error) {
	g := &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, c.x...))
	w := graph.NewConst("w", random(r, types.Of(types.F32, c.w...)))
	if !constant {
		w = g.Input("w", w.Type)
	}
	channels := c.w[1] * c.attrs.Groups
	y, err := g.Apply(ops.ConvTranspose[len(c.x)-2], c.attrs, x, w, graph.NewConst("b", random(r, types.Of(types.F32, channels))))
	if err != nil {
		return nil, err
	}
	column := slices.Repeat([]int{1}, len(c.x)-1)
	column[0] = channels
	for _, s := range []struct {
		op    *op.Def
		attrs any
		other *graph.Value
	}{
		{ops.Multiply, op.None{}, graph.NewConst("s", random(r, types.Of(types.F32, column...)))},
		{ops.Relu, op.None{}, nil},
		{ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, g.Input("skip", y.Out[0].Type)},
	} {
		in := []*graph.Value{y.Out[0]}
		if s.other != nil {
			in = append(in, s.other)
		}
		if y, err = g.Apply(s.op, s.attrs, in...); err != nil {
			return nil, err
		}
	}
	y.Out[0].Name, y.Origin = "y", []string{"y"}
	g.Outputs = slices.Clone(y.Out)
	return g, nil
}

// TestTransposedConvolutions: random ones compute what the definition says, as written and as convolutions of their phases, for
// vectors of three widths and none.
func TestTransposedConvolutions(t *testing.T) {
	t.Parallel()
	cases := 40
	if testing.Short() {
		cases = 8
	}
	targets := []string{"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"}
	for seed := range uint64(cases) {
		c := drawTransposed(rand.New(rand.NewPCG(seed, 17)))
		constant := seed%4 > 0
		var want []*tensor.Tensor
		for i, level := range []int{3, 0, 3} {
			r := rand.New(rand.NewPCG(seed, 18))
			g, err := c.graph(r, constant)
			if err != nil {
				t.Fatal(err)
			}
			var in []*tensor.Tensor
			for _, v := range g.Inputs {
				in = append(in, random(r, v.Type))
			}
			if want == nil {
				if want, err = grapheval.Eval(g, in); err != nil {
					t.Fatal(err)
				}
			}
			o := compile.Options{Target: targettest.Runnable(t, targets[(int(seed)+i)%3]), Level: level, Workers: 2}
			got, err := run(t, g, o, 1+int(seed%2), in)
			if err != nil {
				t.Fatalf("seed %d: %+v at -O%d: %v", seed, c, level, err)
			}
			if diff, err := difference(want[0], got[0]); err != nil || diff > networkTolerance {
				t.Errorf("seed %d: %+v on %s at -O%d: differs by %g: %v", seed, c, targets[(int(seed)+i)%3], level, diff, err)
			}
		}
	}
}

// TestTransposedConvolutionRules: products of transposed convolutions with constant weights are computed in tiles, of about as
// many operations as the definition has.
func TestTransposedConvolutionRules(t *testing.T) {
	t.Parallel()
	o := compile.Options{Target: targettest.Runnable(t, "llvm -mcpu=x86-64-v3"), Level: 3}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 17))
		c := drawTransposed(r)
		g, err := c.graph(r, true)
		if err != nil {
			t.Fatal(err)
		}
		products := 2 * float64(types.Count(c.x)*types.Count(c.w[1:])) // of each element by each tap
		res, err := compile.Compile(context.Background(), g, o)
		if err != nil {
			t.Fatal(err)
		}
		flops := 0.0
		for _, k := range res.Contents.Manifest.Steps {
			if k.Rule == "serial" || k.Rule == "rows" {
				t.Errorf("seed %d: %+v: %s by rule %s", seed, c, k.Name, k.Rule)
			}
			flops += float64(k.FLOPs)
		}
		if allowed := 20*products + 1e6; flops > allowed {
			t.Errorf("seed %d: %+v: %.0f operations for %.0f", seed, c, flops, products)
		}
	}
}

// TestTransposedColumns: random ones without strides, to few channels, compute what the definition says as products of all taps that are
// added up, which are vectors along lines where these are long.
func TestTransposedColumns(t *testing.T) {
	t.Parallel()
	targets := []string{"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 19))
		c := drawTransposed(r)
		for len(c.x) != 4 || c.attrs.Groups > 1 {
			c = drawTransposed(r)
		}
		c.w[1], c.x[3], c.attrs.Strides, c.attrs.OutputPadding = 1+r.IntN(3), 9+r.IntN(30), []int{1, 1}, []int{0, 0}
		g, err := c.graph(r, true)
		if err != nil {
			continue // nothing is left of the result
		}
		g.Nodes[0].Origin = []string{"conv"}
		in := []*tensor.Tensor{random(r, g.Inputs[0].Type), random(r, g.Inputs[1].Type)}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		o := compile.Options{Target: targettest.Runnable(t, targets[seed%3]), Level: 3, Workers: 2, Choices: map[string]choice.Point{"conv": {"phases": impl.SumsColumns}}}
		res, err := compile.Compile(context.Background(), g, o)
		if err != nil {
			t.Fatal(err)
		}
		sums := 0
		for _, k := range res.Contents.Manifest.Steps {
			if strings.Contains(k.Name, "col2im") {
				sums++
				if k.Rule == "serial" || k.Rule == "rows" {
					t.Errorf("seed %d: %+v: %s by rule %s", seed, c, k.Name, k.Rule)
				}
			}
		}
		got, err := Execute(res, in, 1+int(seed%2))
		if err != nil {
			t.Fatal(err)
		}
		if diff, err := difference(want[0], got[0]); err != nil || diff > networkTolerance || sums != 1 {
			t.Errorf("seed %d: %+v on %s: differs by %g, %d sums of columns: %v", seed, c, targets[seed%3], diff, sums, err)
		}
	}
}
