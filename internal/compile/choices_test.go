package compile

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	"lathe/internal/testkit/targettest"
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
	changed := 0
	for i, s := range before.Contents.Manifest.Steps {
		if s.Point["steps"] != "4" || changed == 2 {
			continue
		}
		changed++
		after, err := build(map[string]choice.Point{s.Name: {"steps": "1"}})
		if err != nil {
			t.Fatal(err)
		}
		for j, u := range after.Contents.Manifest.Steps {
			want := maps.Clone(before.Contents.Manifest.Steps[j].Point)
			if i == j {
				want["steps"] = "1"
			}
			if !maps.Equal(u.Point, want) {
				t.Errorf("steps of %s given: %s has %v, want %v", s.Name, u.Name, u.Point, want)
			}
		}
		if bytes.Equal(before.Contents.Library, after.Contents.Library) {
			t.Errorf("steps of %s given: the library is the same", s.Name)
		}
		again, err := build(map[string]choice.Point{s.Name: choice.Point(s.Point)})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before.Contents.Library, again.Contents.Library) {
			t.Errorf("all defaults of %s given: the library is another", s.Name)
		}
	}
	if changed == 0 {
		t.Error("no kernel takes 4 steps at once")
	}
	name := before.Contents.Manifest.Steps[slices.IndexFunc(before.Contents.Manifest.Steps, func(s bundle.Step) bool { return s.Rule == "tile" })].Name
	for _, c := range []struct {
		choices map[string]choice.Point
		want    string
	}{
		{map[string]choice.Point{"fused_nothing": {"steps": "1"}}, `no kernel "fused_nothing"`},
		{map[string]choice.Point{name: {"step": "1"}}, `there is no decision "step" (choose from epilogue, `},
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
		for decision, other := range map[string]string{"panel": "1", "algorithm": "direct"} {
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
	if !tried["panel"] || !tried["algorithm"] {
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
