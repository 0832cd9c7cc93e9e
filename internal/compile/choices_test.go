package compile

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	"lathe/internal/target/targettest"
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
		{map[string]choice.Point{name: {"step": "1"}}, `has no decision "step" (choose from epilogue, `},
		{map[string]choice.Point{name: {"steps": "5"}}, `has no value "5"`},
		{map[string]choice.Point{name: {"rule": "attention"}}, `decision rule has no value "attention" here, but tile`},
	} {
		if _, err := build(c.choices); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.choices, err, c.want)
		}
	}
}
