package pass

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
)

// TestAxesAlike: every use of every operator that says it treats all axes alike computes the same in another order of
// axes.
func TestAxesAlike(t *testing.T) {
	asked := map[string]bool{}
	for _, d := range ops.All {
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 31))
			attrs, in := d.Sample(r)
			g := &graph.Graph{Name: "main"}
			n := &graph.Node{Op: d, Attrs: attrs}
			var values []*tensor.Tensor
			for i, x := range in {
				n.In = append(n.In, g.Input(fmt.Sprint("x", i), x))
				values = append(values, smallValues(r, x))
			}
			if n.Infer() != nil {
				continue // an operand has to be a constant
			}
			g.Nodes = append(g.Nodes, n)
			g.Outputs = slices.Clone(n.Out)
			a := axesOfRegion(n)
			if a == nil {
				continue
			}
			order := r.Perm(a.Rank)
			if a.Drops != nil && !a.KeepsRest(order) {
				continue
			}
			asked[d.Name] = true
			want, err := grapheval.Eval(g, values)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", d.Name, seed, err)
			}
			for i, o := range g.Outputs {
				o.Name = fmt.Sprint("y", i)
			}
			c := &reordering{Rewriter: rewrite.New(g), g: g}
			before := g.String()
			c.apply(&region{[]*graph.Node{n}, map[*graph.Node]*op.Axes{n: a}}, order)
			if err := c.Finish(); err != nil {
				t.Fatalf("%s, seed %d, order %v: %v\n%s", d.Name, seed, order, err, before)
			}
			if err := graph.Verify(g); err != nil {
				t.Fatalf("%s, seed %d, order %v: %v\n%s\n%s", d.Name, seed, order, err, before, g)
			}
			got, err := grapheval.Eval(g, values)
			if err == nil && sameBytes(got, want) {
				continue
			}
			if err := evaltest.SameValues(g, values, want); err != nil { // another order of sums
				t.Fatalf("%s, seed %d, order %v: %v\n%s\n%s", d.Name, seed, order, err, before, g)
			}
		}
	}
	for _, name := range []string{"add", "where", "nn.prelu", "nn.relu", "qnn.quantize", "qnn.dequantize", "nn.batch_norm", "nn.softmax",
		"split", "concatenate", "nn.pad", "strided_slice", "mean", "max"} {
		if !asked[name] {
			t.Errorf("%s was never asked", name)
		}
	}
}

func sameBytes(a, b []*tensor.Tensor) bool {
	return slices.EqualFunc(a, b, func(x, y *tensor.Tensor) bool { return x.Type().Equal(y.Type()) && bytes.Equal(x.Bytes(), y.Bytes()) })
}

// smallValues are values that are valid for any operator: positive, finite, not far apart.
func smallValues(r *rand.Rand, x types.Tensor) *tensor.Tensor {
	v := tensor.NewOf(x)
	for i := range v.Len() {
		if x.DType.IsFloat() {
			v.SetFloat(i, 0.25+r.Float64())
		} else {
			v.SetInt(i, int64(r.IntN(2)))
		}
	}
	return v
}

// channelsLast rewrites a network as exporters of channels-last frameworks write it: every convolution, pool and
// normalisation of images stands between transposes, everything else computes in NHWC.
func channelsLast(t *testing.T, g *graph.Graph) {
	t.Helper()
	r := rewrite.New(g)
	turned := map[*graph.Value]*graph.Value{} // values in NHWC
	written := map[*graph.Value]bool{}        // those of nodes that are written in NHWC
	order, inverse := ops.TransposeAttrs{Axes: []int{0, 2, 3, 1}}, ops.TransposeAttrs{Axes: []int{0, 3, 1, 2}}
	r.Walk(func(n *graph.Node) {
		a := axesOfRegion(n)
		in := slices.Clone(n.In)
		if a == nil || a.Rank != 4 || a.Drops != nil {
			for i, v := range in {
				if w := turned[v]; w != nil {
					in[i] = r.Apply(ops.Transpose, inverse, w)
				}
			}
			r.Change(n, n.Op, n.Attrs, in...)
			return
		}
		for _, i := range a.In {
			v := in[i]
			if v.IsConst() || len(v.Type.Shape) != 4 {
				in[i] = reordered(r, v, order.Axes)
				continue
			}
			if turned[v] == nil {
				turned[v] = r.Apply(ops.Transpose, order, v)
			}
			in[i] = turned[v]
		}
		y := r.Apply(n.Op, a.Attrs(order.Axes), in...)
		for i, o := range n.Out {
			turned[o], written[o] = y.Def.Out[i], true
		}
	})
	r.AtEnd()
	for _, o := range g.Outputs {
		if written[o] {
			r.ReplaceOutput(o, r.Apply(ops.Transpose, inverse, turned[o]))
		}
	}
	if err := r.Finish(); err != nil {
		t.Fatal(err)
	}
}

// TestConvertLayoutUndoesChannelsLast: a network written channels last transposes no more bytes, behind the pass, than
// the network as it was.
func TestConvertLayoutUndoesChannelsLast(t *testing.T) {
	changed := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 32))
		g := graphtest.New(r)
		in := graphtest.Inputs(r, g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		run(t, "ConvertLayout", g)
		least := transposed4(g)
		channelsLast(t, g)
		if err := graph.Verify(g); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, g)
		}
		before := g.String()
		if transposed4(g) > least {
			changed++
		}
		run(t, "ConvertLayout", g)
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\nbefore:\n%s\nafter:\n%s", seed, err, before, g)
		}
		if n := transposed4(g); n > least {
			t.Errorf("seed %d: %d bytes are transposed instead of %d\nbefore:\n%s\nafter:\n%s", seed, n, least, before, g)
		}
	}
	if changed < 20 {
		t.Errorf("only %d networks had something to undo", changed)
	}
}

// transposed4 is the number of bytes that transposes of images move.
func transposed4(g *graph.Graph) int {
	total := 0
	for _, n := range g.Nodes {
		if n.Op == ops.Transpose && len(n.In[0].Type.Shape) == 4 && !n.In[0].IsConst() {
			total += moved(n.In[0], axesOf(n))
		}
	}
	return total
}
