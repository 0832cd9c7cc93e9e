package pass

import (
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// dividing runs DivideLoops for two workers, with all loops in the most parts that there are if all is set.
func dividing(t *testing.T, g *graph.Graph, all bool) {
	t.Helper()
	two := *machine
	two.NumCores = 2
	c := &Context{Graph: g, Target: &two, Level: 3}
	if all {
		c.Chooser = func(string) choice.Chooser { return lastOf{} }
	}
	runIn(t, "DivideLoops", c)
}

type lastOf struct{}

func (lastOf) Choose(d choice.Decision) (int, error) { return len(d.Values) - 1, nil }

// parted is how many of a graph's loops run in parts.
func parted(g *graph.Graph) (n int) {
	for _, m := range g.Nodes {
		if a, ok := m.Attrs.(graph.LoopAttrs); ok && a.Parts > 1 {
			n++
		}
	}
	return n
}

// TestDivideLoops: loops in as many parts as they can have give the same values.
func TestDivideLoops(t *testing.T) {
	found, loops := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 93))
		g := graphtest.Loops(r)
		in := graphtest.Inputs(r, g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		dividing(t, g, true)
		for _, n := range g.Nodes {
			if n.Op == graph.Loop {
				loops++
			}
		}
		found += parted(g)
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
	}
	if found < 20 || found > loops*3/4 {
		t.Errorf("%d of %d loops run in parts", found, loops)
	}
}

// TestRowsOfLoops: rows are followed through what moves them, and not where one depends on another, or on which it is.
func TestRowsOfLoops(t *testing.T) {
	const text = `graph main(%h: float32[4,6], %x: float32[3,4,6], %m: float32[4,4]) {
	@w = float32[6,6]{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6} @c = float32[4,1]{1, 2, 3, 4} @at = int64[4]{3, 2, 1, 0} @q = float32[6,4]{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}
	%y: float32[4,6], %z: float32[3,4,6] = loop(%h, %x, %m) {trips=3, carried=1, sequences=1} origin "loop"
	  graph body(%h: float32[4,6], %x: float32[4,6], %m: float32[4,4]) { BODY return %r, %s }
	return %y, %z }`
	for _, c := range []struct {
		name, body string
		parts      int
	}{
		{"products", "%0: float32[4,6] = nn.dense(%h, @w) %r: float32[4,6] = add(%0, %x) %s: float32[4,6] = tanh(%r)", 4},
		{"moved and back", "%0: float32[6,4] = transpose(%h) {axes=[1,0]} %1: float32[6,4] = nn.softmax(%0) {axis=0} %2: float32[6,4] = tanh(%1) %r: float32[4,6] = transpose(%2) {axes=[1,0]} %s: float32[4,6] = add(%r, %x)", 4},
		{"reshaped", "%0: float32[4,2,3] = reshape(%h) {new_shape=[4,2,3]} %1: float32[4,2,3] = nn.softmax(%0) {axis=1} %r: float32[4,6] = reshape(%1) {new_shape=[4,6]} %s: float32[4,6] = add(%r, %x)", 4},
		{"sliced", "%0: float32[4,3] = strided_slice(%h) {begin=[0,3], end=[4,6], strides=[1,1]} %1: float32[4,3] = tanh(%0) %r: float32[4,6] = concatenate(%1, %0) {axis=1} %s: float32[4,6] = add(%r, %x)", 4},
		{"rows by a whole sequence", "%0: float32[4,6] = nn.matmul(%m, %x) {transpose_a=false, transpose_b=false} %r: float32[4,6] = add(%h, %0) %s: float32[4,6] = tanh(%r)", 4},
		{"a matrix of as many rows", "%0: float32[4,6] = nn.matmul(%m, %h) {transpose_a=false, transpose_b=false} %r: float32[4,6] = add(%x, %0) %s: float32[4,6] = tanh(%r)", 0},
		{"a matrix read whole", "%0: float32[4] = max(%m) {axis=[0], keep_dims=false} %1: float32[] = sum(%0) {axis=[0], keep_dims=false} %r: float32[4,6] = add(%h, %1) %s: float32[4,6] = add(%r, %x)", 4},
		{"rows of each other", "%0: float32[4,6] = nn.softmax(%h) {axis=0} %r: float32[4,6] = add(%0, %x) %s: float32[4,6] = tanh(%r)", 0},
		{"rows backwards", "%0: float32[4,6] = strided_slice(%h) {begin=[3,0], end=[-1,6], strides=[-1,1]} %r: float32[4,6] = add(%0, %x) %s: float32[4,6] = tanh(%r)", 0},
		{"looked up", "%0: float32[4,6] = take(%h, @at) {axis=0} %r: float32[4,6] = add(%0, %x) %s: float32[4,6] = tanh(%r)", 0},
		{"constants of rows", "%0: float32[4,6] = multiply(%h, @c) %r: float32[4,6] = add(%0, %x) %s: float32[4,6] = tanh(%r)", 0},
		{"rows by their number", "%0: float32[4,4] = nn.matmul(%h, @q) {transpose_a=false, transpose_b=false} %1: float32[4,4] = trilu(%0) {upper=true, k=0} %2: float32[4,1] = mean(%1) {axis=[1], keep_dims=true} %r: float32[4,6] = add(%h, %2) %s: float32[4,6] = add(%r, %x)", 0},
		{"broadcast", "%0: float32[4,1] = mean(%h) {axis=[1], keep_dims=true} %1: float32[4,6] = broadcast_to(%0) {shape=[4,6]} %r: float32[4,6] = add(%1, %x) %s: float32[4,6] = tanh(%r)", 4},
		{"what no row differs in", "%0: float32[4] = max(%m) {axis=[0], keep_dims=false} %1: float32[2,2] = reshape(%0) {new_shape=[2,2]} %2: float32[2,2] = broadcast_to(%1) {shape=[2,2]} %3: float32[] = sum(%2) {axis=[0,1], keep_dims=false} %r: float32[4,6] = add(%h, %3) %s: float32[4,6] = add(%r, %x)", 4},
		{"joined rows", "%0: float32[8,3] = reshape(%h) {new_shape=[8,3]} %1: float32[8,3] = tanh(%0) %r: float32[4,6] = reshape(%1) {new_shape=[4,6]} %s: float32[4,6] = add(%r, %x)", 0},
	} {
		g, err := graph.Parse(strings.Replace(text, "BODY", c.body, 1), ops.Lookup, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		in := graphtest.Inputs(rand.New(rand.NewPCG(1, 94)), g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		dividing(t, g, true)
		parts := 0
		for _, n := range g.Nodes {
			if a, ok := n.Attrs.(graph.LoopAttrs); ok {
				parts = a.Parts
			}
		}
		if parts != c.parts {
			t.Errorf("%s: %d parts instead of %d\n%s", c.name, parts, c.parts, g)
		}
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, g)
		}
		if c.name == "products" {
			golden.Check(t, "loop_in_parts", []byte(g.String()))
		}
	}
}

// TestLoopPartsByCost: a batch through a recurrent layer runs in parts; one sequence does not, nor does a batch whose weights each core would read
// from beyond L2, nor what one worker does sooner than others hear of it.
func TestLoopPartsByCost(t *testing.T) {
	two := targettest.Resolve(t, "llvm -mcpu=x86-64-v4 -caches=48,2048,1920 -num-cores=2")
	for _, c := range []struct{ rows, units, parts int }{{32, 64, 2}, {33, 64, 3}, {31, 64, 0}, {1, 64, 0}, {2, 8, 0}, {64, 256, 2}, {16, 2048, 0}} {
		body := &graph.Graph{Name: "body"}
		rows := types.Of(types.F32, c.rows, c.units)
		h, x := body.Input("h", rows), body.Input("x", rows)
		w := graph.NewConst("w", tensor.New(types.F32, c.units, c.units))
		v := h
		for _, apply := range []func() (*graph.Node, error){
			func() (*graph.Node, error) { return body.Apply(ops.Dense, op.None{}, v, w) },
			func() (*graph.Node, error) { return body.Apply(ops.Add, op.None{}, v, x) },
			func() (*graph.Node, error) { return body.Apply(ops.Tanh, op.None{}, v) },
		} {
			n, err := apply()
			if err != nil {
				t.Fatal(err)
			}
			v = n.Out[0]
		}
		body.Outputs = []*graph.Value{v}
		g := &graph.Graph{Name: "main"}
		n, err := graph.NewLoop(body, graph.LoopAttrs{Trips: 20, Carried: 1, Sequences: 1}, []*graph.Value{g.Input("h", rows), g.Input("x", types.Of(types.F32, 20, c.rows, c.units))})
		if err != nil {
			t.Fatal(err)
		}
		g.Nodes, g.Outputs = []*graph.Node{n}, n.Out
		runIn(t, "DivideLoops", &Context{Graph: g, Target: two, Level: 3})
		if parts := n.Attrs.(graph.LoopAttrs).Parts; parts != c.parts {
			t.Errorf("%d rows of %d units run in %d parts instead of %d: %v", c.rows, c.units, parts, c.parts, n.Impl)
		}
	}
}
