package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
)

// TestSmall compiles every operator where it has scalars, axes of no and of one element, on inputs and on computed
// values, at several -O levels: results are the oracle's.
func TestSmall(t *testing.T) {
	t.Parallel()
	count, levels := 2, []int{0, 1, 3}
	if testing.Short() {
		count, levels = 1, []int{1, 3}
	}
	tgt := targettest.Resolve(t, "llvm")
	for _, d := range ops.All {
		t.Run(d.Name, func(t *testing.T) {
			uses := graphtest.Small(rand.New(rand.NewPCG(1, 31)), d, count)
			if len(uses) == 0 {
				t.Fatal("no use with a scalar or an axis of 0 or 1 elements")
			}
			for _, level := range levels {
				testUses(t, uses, compile.Options{Target: tgt, Level: level, Workers: 2}, graphtest.Given, graphtest.Computed)
			}
		})
	}
}

// TestBehindConvolutions compiles every operator that takes images behind convolutions, which choose blocked layouts.
func TestBehindConvolutions(t *testing.T) {
	t.Parallel()
	count := 2
	if testing.Short() {
		count = 1
	}
	o := compile.Options{Target: targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64"), Level: 3, Workers: 2} // blocks of 4
	images := 0
	for _, d := range ops.All {
		t.Run(d.Name, func(t *testing.T) {
			uses := graphtest.Images(rand.New(rand.NewPCG(1, 33)), d, count)
			images += len(uses)
			testUses(t, uses, o, graphtest.Blocked)
		})
	}
	if images < 60*count {
		t.Errorf("only %d uses of images", images)
	}
}

// testUses compiles uses in one graph, which takes less time than one each; those say which one fails.
func testUses(t *testing.T, uses []graphtest.Use, o compile.Options, operands ...graphtest.Operands) {
	t.Helper()
	if len(uses) == 0 || compileUses(uses, o, operands...) == nil {
		return
	}
	for _, u := range uses {
		if err := compileUses([]graphtest.Use{u}, o, operands...); err != nil {
			t.Errorf("-O%d: %s: %v", o.Level, u, err)
		}
	}
}

// compileUses compares a graph of uses with the oracle.
func compileUses(uses []graphtest.Use, o compile.Options, operands ...graphtest.Operands) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	build := func() (*graph.Graph, error) {
		g := &graph.Graph{Name: "main"}
		for _, u := range uses {
			for _, from := range operands {
				if err := u.Apply(g, from); err != nil {
					return nil, err
				}
			}
		}
		return g, nil
	}
	g, err := build()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 32))
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		in = append(in, random(r, v.Type))
	}
	want, err := grapheval.Eval(g, in)
	if err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	outs := slices.Clone(g.Outputs)
	text := g.String()
	res, err := compile.Compile(context.Background(), g, o)
	if err != nil {
		return err
	}
	res.Contents.Manifest.MaxWorkers = 0
	got, err := Execute(res, in, 2)
	if err != nil {
		return err
	}
	for i, w := range want {
		if n := outs[i].Def; len(ops.DynamicResults(n.Op, n.Attrs)) > 0 {
			w = actualResult(n, wantsOf(n, outs, want), outs[i].Index)
		}
		diff, err := difference(w, got[i])
		if err != nil || !(diff <= 10*tolerance(w.DType)) {
			return fmt.Errorf("output %s differs by %g: %v\n%s", outs[i].Name, diff, err, strings.TrimSpace(text))
		}
	}
	return nil
}

// wantsOf are the oracle's values of the results of n, all of which are outputs.
func wantsOf(n *graph.Node, outs []*graph.Value, want []*tensor.Tensor) []*tensor.Tensor {
	list := make([]*tensor.Tensor, len(n.Out))
	for i, v := range outs {
		if v.Def == n {
			list[v.Index] = want[i]
		}
	}
	return list
}
