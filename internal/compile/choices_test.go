package compile

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestChoices: a point given by hand changes that decision of that kernel, and nothing else; a kernel, a decision or a value
// that there is not is refused by name.
func TestChoices(t *testing.T) {
	build := func(choices map[string]choice.Point) (*Result, error) {
		return Compile(t.Context(), digits(t), Options{Target: targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"), Level: 3, Workers: 2, Choices: choices})
	}
	before, err := build(nil)
	if err != nil {
		t.Fatal(err)
	}
	for decision, other := range map[string]string{"steps": "1", "fetch": "0", "workers": "one"} { // of a tile, of Winograd's algorithm, of both
		i := slices.IndexFunc(before.Contents.Manifest.Steps, func(s bundle.Step) bool { return s.Point[decision] != "" && s.Point[decision] != other })
		if i < 0 {
			t.Errorf("no kernel decides on %s otherwise than %s", decision, other)
			continue
		}
		s := before.Contents.Manifest.Steps[i]
		after, err := build(map[string]choice.Point{s.Name: {decision: other}})
		if err != nil {
			t.Fatal(err)
		}
		for j, u := range after.Contents.Manifest.Steps {
			want := maps.Clone(before.Contents.Manifest.Steps[j].Point)
			if i == j {
				want[decision] = other
			}
			if decision == "workers" { // kernels behind it are divided by what its workers wrote
				delete(u.Point, "division")
				delete(u.Point, "chunks")
				delete(want, "division")
				delete(want, "chunks")
			}
			if !maps.Equal(u.Point, want) {
				t.Errorf("%s of %s given: %s has %v, want %v", decision, s.Name, u.Name, u.Point, want)
			}
		}
		if bytes.Equal(before.Contents.Library, after.Contents.Library) {
			t.Errorf("%s of %s given: the library is the same", decision, s.Name)
		}
		again, err := build(map[string]choice.Point{s.Name: choice.Point(s.Point)})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before.Contents.Library, again.Contents.Library) {
			t.Errorf("all defaults of %s given: the library is another", s.Name)
		}
	}
	name := before.Contents.Manifest.Steps[slices.IndexFunc(before.Contents.Manifest.Steps, func(s bundle.Step) bool { return s.Rule == "tile" })].Name
	for _, c := range []struct {
		choices map[string]choice.Point
		want    string
	}{
		{map[string]choice.Point{"fused_nothing": {"steps": "1"}}, `no kernel "fused_nothing"`},
		{map[string]choice.Point{name: {"step": "1"}}, `there is no decision "step" (choose from chunks, division, epilogue, `},
		{map[string]choice.Point{name: {"steps": "5"}}, `has no value "5"`},
		{map[string]choice.Point{name: {"rule": "attention"}}, `decision rule has no value "attention" here, but tile`},
	} {
		if _, err := build(c.choices); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.choices, err, c.want)
		}
	}
}

// TestNodeChoices: a point given for a node of the model changes that decision on the graph, and no other; all that were taken,
// given by hand, give the same library.
func TestNodeChoices(t *testing.T) {
	build := func(choices map[string]choice.Point) (*Result, error) {
		return Compile(t.Context(), digits(t), Options{Target: targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"), Level: 3, Workers: 2, Choices: choices})
	}
	taken := func(r *Result) map[string]choice.Point {
		all := map[string]choice.Point{}
		for _, s := range r.Contents.Manifest.Steps {
			for node, p := range s.Graph {
				all[node] = p
			}
		}
		return all
	}
	before, err := build(nil)
	if err != nil {
		t.Fatal(err)
	}
	defaults := taken(before)
	again, err := build(defaults)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.Contents.Library, again.Contents.Library) {
		t.Error("all that was taken given: the library is another")
	}
	tried := map[string]bool{}
	for _, node := range slices.Sorted(maps.Keys(defaults)) {
		for decision, other := range map[string]string{"panel": "1", "algorithm": "direct", "fuse": "off"} {
			if old := defaults[node][decision]; old == "" || old == other || tried[decision] {
				continue
			}
			tried[decision] = true
			after, err := build(map[string]choice.Point{node: {decision: other}})
			if err != nil {
				t.Fatal(err)
			}
			for n, p := range taken(after) {
				want := maps.Clone(defaults[n])
				if n == node {
					if want[decision] = other; decision == "algorithm" {
						delete(want, "winograd_tile")
					}
				}
				if !maps.Equal(p, want) {
					t.Errorf("%s of %s given: %s has %v, want %v", decision, node, n, p, want)
				}
			}
			if bytes.Equal(before.Contents.Library, after.Contents.Library) {
				t.Errorf("%s of %s given: the library is the same", decision, node)
			}
		}
	}
	if !tried["panel"] || !tried["algorithm"] || !tried["fuse"] {
		t.Errorf("tried %v of the nodes' decisions", tried)
	}
	node := slices.Min(slices.Collect(maps.Keys(defaults)))
	for _, c := range []struct {
		point choice.Point
		want  string
	}{
		{choice.Point{"panels": "1"}, `there is no decision "panels" (choose from`},
		{choice.Point{"panel": "9"}, `decision panel has no value "9" here, but 1`},
	} {
		if _, err := build(map[string]choice.Point{node: c.point}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.point, err, c.want)
		}
	}
}

// TestExternChoices: kernels written directly in loop IR are decided by hand as scheduled ones are.
func TestExternChoices(t *testing.T) {
	build := func(choices map[string]choice.Point) (bundle.Step, []byte) {
		t.Helper()
		g := &graph.Graph{Name: "main"}
		x, at, updates := g.Input("x", types.Of(types.F32, 64, 512)), g.Input("at", types.Of(types.I64, 4, 1)), g.Input("updates", types.Of(types.F32, 4, 512))
		n, err := g.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: "add"}, x, at, updates)
		if err != nil {
			t.Fatal(err)
		}
		g.Outputs = []*graph.Value{n.Out[0]}
		r, err := Compile(t.Context(), g, Options{Target: targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"), Level: 3, Workers: 2, Choices: choices})
		if err != nil {
			t.Fatal(err)
		}
		return r.Contents.Manifest.Steps[0], r.Contents.Library
	}
	step, library := build(nil)
	if want := (choice.Point{"row_blocks": "8", "workers": "all", "chunks": "1", "instructions": "scheduled"}); !maps.Equal(choice.Point(step.Point), want) {
		t.Errorf("by default: %v, want %v", step.Point, want)
	}
	if _, again := build(map[string]choice.Point{step.Name: choice.Point(step.Point)}); !bytes.Equal(library, again) {
		t.Error("all defaults given: the library is another")
	}
	for decision, other := range map[string]string{"row_blocks": "1", "workers": "one"} {
		after, code := build(map[string]choice.Point{step.Name: {decision: other}})
		if after.Point[decision] != other || bytes.Equal(library, code) {
			t.Errorf("%s of %s: %v, and the same library: %t", other, decision, after.Point, bytes.Equal(library, code))
		}
	}
}

// TestChoicesOfEqualText: kernels of equal text are one, but for those of which LLVM is to make something else.
func TestChoicesOfEqualText(t *testing.T) {
	build := func(choices map[string]choice.Point) *Result {
		t.Helper()
		g := &graph.Graph{Name: "main"}
		x := g.Input("x", types.Of(types.F32, 64, 256))
		for range 3 {
			n, err := g.Apply(ops.Dense, op.None{}, x, graph.NewConst("w", tensor.New(types.F32, 256, 256)))
			if err != nil {
				t.Fatal(err)
			}
			g.Outputs = append(g.Outputs, n.Out[0])
		}
		o := Options{Target: targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"), Level: 3, Workers: 2, Choices: choices, Code: []string{"ll"}}
		r, err := Compile(t.Context(), g, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	written := choice.Point{"instructions": "as written"}
	before := build(nil)
	var names []string
	for _, s := range before.Contents.Manifest.Steps {
		names = append(names, s.Name)
	}
	if len(names) != 3 {
		t.Fatalf("steps %v, want one for each product", names)
	}
	libraries := [][]byte{before.Contents.Library}
	for given, functions := range [][]string{{}, {names[1]}, {names[0], names[2]}, names} {
		choices := map[string]choice.Point{}
		for _, name := range functions {
			choices[name] = written
		}
		r := build(choices)
		want := 2
		if len(functions) == 0 || len(functions) == 3 {
			want = 1
		}
		if got := strings.Count(r.Code["ll"], "define hidden void @lathe_default_fused_nn_dense"); got != want {
			t.Errorf("as written: %v: %d functions, want %d", functions, got, want)
		}
		if given == 0 {
			continue
		}
		for _, other := range libraries {
			if bytes.Equal(other, r.Contents.Library) {
				t.Errorf("as written: %v: the library is one of fewer or other choices", functions)
			}
		}
		libraries = append(libraries, r.Contents.Library)
	}
}
