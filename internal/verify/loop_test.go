package verify

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestLoops compiles random networks with loops: the reference's outputs, and one binary the same bytes for every number of
// workers.
func TestLoops(t *testing.T) {
	t.Parallel()
	samples := uint64(120)
	if testing.Short() {
		samples = 24
	}
	for seed := range samples {
		r := rand.New(rand.NewPCG(seed, 61))
		g := graphtest.Loops(r)
		if err := graph.Verify(g); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, g)
		}
		text, in := g.String(), graphtest.Inputs(r, g)
		tgt := targettest.Runnable(t, []string{"llvm", "llvm -mcpu=core-avx2", "llvm -mcpu=x86-64"}[seed%3])
		res, want := withReference(t, g, in, compile.Options{Target: tgt, Level: int(seed % 4), Workers: 2, Disabled: [][]string{nil, {"SelectBranches"}}[seed/4%2]})
		if err := sameOutputs(res, in, want, 1, 2, 3); err != nil {
			t.Errorf("seed %d: %v\n%s\n%s", seed, err, text, g)
		}
	}
}

// TestLoopsInParts compiles random networks with loops in as many parts as they have rows: the reference's outputs, by any number of workers.
func TestLoopsInParts(t *testing.T) {
	t.Parallel()
	samples, least := uint64(300), 20
	if testing.Short() {
		samples, least = 60, 2
	}
	inParts := 0
	for seed := range samples {
		r := rand.New(rand.NewPCG(seed, 68))
		g := graphtest.Loops(r)
		text, in := g.String(), graphtest.Inputs(r, g)
		tgt := targettest.Runnable(t, []string{"llvm -num-cores=2", "llvm -mcpu=core-avx2 -num-cores=2"}[seed%2])
		prefer := map[string]choice.Point{}
		for _, name := range []string{"loop", "loop#2", "loop#3"} {
			prefer[name] = choice.Point{"loop_parts": fmt.Sprint(2 + seed%3)}
		}
		res, want := withReference(t, g, in, compile.Options{Target: tgt, Level: 3, Workers: 2, Tuned: compile.Tuned{Graph: prefer}})
		for _, s := range res.Contents.Manifest.Steps {
			if s.Parts > 1 {
				inParts++
			}
		}
		if err := sameOutputs(res, in, want, 1, 2, 3, 5); err != nil {
			t.Errorf("seed %d: %v\n%s\n%s", seed, err, text, g)
		}
	}
	if inParts < least {
		t.Errorf("%d loops ran in parts", inParts)
	}
}

// TestPartsRefused: C source has no form for loops in parts, and says so.
func TestPartsRefused(t *testing.T) {
	g, err := graph.Parse(`graph main(%h: float32[4,6]) {
	%y: float32[4,6] = loop(%h) {trips=3, carried=1, sequences=0, parts=2} origin "loop"
	  graph body(%h: float32[2,6]) { %r: float32[2,6] = tanh(%h) return %r }
	return %y }`, ops.Lookup, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compile.Compile(t.Context(), g, compile.Options{Target: targettest.Resolve(t, "c"), Level: 3, Workers: 1}); err == nil || !strings.Contains(err.Error(), "in parts of its rows has no C source") {
		t.Errorf("error: %v", err)
	}
}

// TestPartsApart: parts that run beside each other for long have workspaces of their own.
func TestPartsApart(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 69))
	rows := types.Of(types.F32, 8, 48)
	body := &graph.Graph{Name: "body"}
	v := body.Input("h", rows)
	for range 6 {
		w := tensor.New(types.F32, 48, 48)
		for i := range w.Len() {
			w.SetFloat(i, r.NormFloat64())
		}
		for _, d := range []struct {
			*op.Def
			attrs any
			in    []*graph.Value
		}{{ops.Dense, op.None{}, []*graph.Value{graph.NewConst("", w)}}, {ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, nil}} {
			n, err := body.Apply(d.Def, d.attrs, append([]*graph.Value{v}, d.in...)...)
			if err != nil {
				t.Fatal(err)
			}
			v = n.Out[0]
		}
	}
	body.Outputs = []*graph.Value{v}
	g := &graph.Graph{Name: "main"}
	l, err := graph.NewLoop(body, graph.LoopAttrs{Trips: 200, Carried: 1}, []*graph.Value{g.Input("x", rows)})
	if err != nil {
		t.Fatal(err)
	}
	l.Origin, l.Out[0].Name = []string{"loop"}, "y"
	g.Nodes, g.Outputs = []*graph.Node{l}, l.Out
	in := graphtest.Inputs(r, g)
	for _, parts := range []string{"2", "4", "8"} {
		h := g.Clone()
		tuned := compile.Tuned{Graph: map[string]choice.Point{"loop": {"loop_parts": parts}}}
		res, want := withReference(t, h, in, compile.Options{Target: targettest.Runnable(t, "llvm -num-cores=2"), Level: 3, Workers: 2, Tuned: tuned})
		if got := fmt.Sprint(res.Contents.Manifest.Steps[0].Parts); got != parts {
			t.Errorf("%s parts instead of %s", got, parts)
		}
		for range 5 {
			if err := sameOutputs(res, in, want, 2, 3, 5); err != nil {
				t.Errorf("%s parts: %v", parts, err)
			}
		}
	}
}

// TestLoopsAsSource is TestLoops for C source.
func TestLoopsAsSource(t *testing.T) {
	t.Parallel()
	samples := uint64(40)
	if testing.Short() {
		samples = 10
	}
	var sources []string
	var cases []sourceCase
	for seed := range samples {
		r := rand.New(rand.NewPCG(seed, 62))
		g := graphtest.Loops(r)
		text, in := g.String(), graphtest.Inputs(r, g)
		want, err := evaltest.Actual(g, in)
		if err != nil {
			t.Fatal(err)
		}
		res, source := sourceOf(t, g, fmt.Sprintf("m%d", seed), int(seed%4))
		sources = append(sources, source)
		cases = append(cases, sourceCase{use: fmt.Sprintf("seed %d\n%s", seed, text), manifest: res.Contents.Manifest, in: in, check: func(got []*tensor.Tensor) error {
			for i := range want {
				if diff, err := difference(want[i], got[i]); err != nil || !(diff <= networkTolerance) {
					return fmt.Errorf("output %d differs by %g: %v", i, diff, err)
				}
			}
			return nil
		}})
	}
	runSources(t, sources, cases)
}

// TestLongBodies: a body of more kernels than one function holds, a loop among them.
func TestLongBodies(t *testing.T) {
	t.Parallel()
	typ := types.Of(types.F32, 5)
	inner := &graph.Graph{Name: "inner"}
	v := inner.Input("", typ)
	inner.Outputs = chain(t, inner, v, 150)
	body := &graph.Graph{Name: "body"}
	state, slice := body.Input("", typ), body.Input("", typ)
	x := chain(t, body, state, 130)[0]
	n, err := graph.NewLoop(inner, graph.LoopAttrs{Trips: 5, Carried: 1}, []*graph.Value{x})
	if err != nil {
		t.Fatal(err)
	}
	body.Nodes = append(body.Nodes, n)
	sum, err := body.Apply(ops.Add, op.None{}, n.Out[0], slice)
	if err != nil {
		t.Fatal(err)
	}
	last := chain(t, body, sum.Out[0], 130)[0]
	body.Outputs = []*graph.Value{last, last}
	g := &graph.Graph{Name: "main"}
	loop, err := graph.NewLoop(body, graph.LoopAttrs{Trips: 6, Carried: 1, Sequences: 1, Reverse: true}, []*graph.Value{g.Input("x", typ), g.Input("s", types.Of(types.F32, 6, 5))})
	if err != nil {
		t.Fatal(err)
	}
	g.Nodes, g.Outputs = []*graph.Node{loop}, loop.Out
	for i, v := range g.Outputs {
		v.Name = fmt.Sprintf("y%d", i)
	}
	in := graphtest.Inputs(rand.New(rand.NewPCG(1, 66)), g)
	res, want := withReference(t, g, in, compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 0, Workers: 2})
	if kernels := res.Contents.Manifest.Kernels(); kernels < 400 {
		t.Errorf("%d kernels only", kernels)
	}
	if err := sameOutputs(res, in, want, 1, 2); err != nil {
		t.Error(err)
	}
}

// chain adds nodes in a row, each a kernel of its own at -O0.
func chain(t *testing.T, g *graph.Graph, v *graph.Value, length int) []*graph.Value {
	t.Helper()
	for i := range length {
		n, err := g.Apply([]*op.Def{ops.Tanh, ops.Negative, ops.Sigmoid}[i%3], op.None{}, v)
		if err != nil {
			t.Fatal(err)
		}
		v = n.Out[0]
	}
	return []*graph.Value{v}
}

// TestOperatorsInLoops: every node of a body has rows, each once.
func TestOperatorsInLoops(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		g := graphtest.Loops(rand.New(rand.NewPCG(seed, 67)))
		want := 0
		var count func(g *graph.Graph)
		count = func(g *graph.Graph) {
			for _, n := range g.Nodes {
				if n.Op == graph.Loop {
					count(n.Sub[0])
				} else {
					want += len(n.Out)
				}
			}
		}
		count(g)
		rows, err := Operators(t.Context(), g, compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != want {
			t.Errorf("seed %d: %d rows instead of %d", seed, len(rows), want)
		}
		for _, r := range rows {
			if !r.OK {
				t.Errorf("seed %d: %+v", seed, r)
			}
		}
	}
}
