package compile

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/toolchain"
	"lathe/internal/types"
)

// spilling are convolutions whose default schedule spills with 32 registers, as many as are asked for, by weights of their own.
func spilling(t *testing.T, times int) *graph.Graph {
	g := &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, 1, 128, 7, 7))
	r := rand.New(rand.NewPCG(1, 7))
	for range times {
		w := tensor.New(types.F32, 128, 128, 1, 1)
		for i := range w.Len() {
			w.SetFloat(i, r.Float64()-0.5)
		}
		a := ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}, Groups: 1}
		g.Outputs = append(g.Outputs, apply(t, g, ops.Conv2d, a, x, graph.NewConst("w", w)).Out[0])
	}
	return g
}

// TestRelieve: a kernel that spills gets a schedule that moves less, the same with any number of goroutines, for all steps that
// share it; what was taken, given by hand, makes the same library, and so is kept what a hand decided otherwise.
func TestRelieve(t *testing.T) {
	tgt := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4")
	build := func(workers int, choices map[string]choice.Point) *Result {
		res, err := Compile(t.Context(), spilling(t, 3), Options{Target: tgt, Level: 3, Workers: workers, Choices: choices, Code: []string{"asm"}})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := build(1, nil)
	taken := map[string]choice.Point{}
	found := false
	for _, s := range res.Contents.Manifest.Steps {
		taken[s.Name] = s.Point
		found = found || s.Point["steps"] == "1" // of a sum of an even number: two are the rule
	}
	if !found {
		t.Errorf("no kernel is written otherwise: %v; the test wants one that spills", taken)
	}
	for what, other := range map[string]*Result{"by four goroutines": build(4, nil), "with all decisions given": build(2, taken)} {
		if !bytes.Equal(res.Contents.Library, other.Contents.Library) || res.Code["asm"] != other.Code["asm"] {
			t.Errorf("%s the library is another", what)
		}
	}
	for name := range taken {
		taken[name] = choice.Point{"instructions": "scheduled"}
	}
	for _, s := range build(2, taken).Contents.Manifest.Steps {
		if s.Point["instructions"] != "scheduled" {
			t.Errorf("instructions of %s are %s though they were decided", s.Name, s.Point["instructions"])
		}
	}
}

// TestOtherwise: a decision changes the code of all steps that share it, in copies; a change of nothing is none.
func TestOtherwise(t *testing.T) {
	j := jobFor(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4", "")
	n, err := optimize(j, spilling(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	p, err := build(j, n)
	if err != nil {
		t.Fatal(err)
	}
	m, err := toolchain.Open(toolchain.For(j.Target))
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range translations(j, p, m) {
		if err := tr.translate(j); err != nil {
			t.Fatal(err)
		}
		changes := tr.steps[0].plan.Relief(nil)
		if len(changes) == 0 {
			t.Errorf("%s: nothing is proposed", tr.steps[0].name)
		}
		for _, c := range changes {
			before := slices.Clone(tr.steps)
			text := tr.text
			other, err := tr.otherwise(j, c)
			if err != nil {
				t.Fatal(err)
			}
			if other == nil {
				t.Errorf("%s, %v: nothing changes", tr.steps[0].name, c)
				continue
			}
			for name, value := range c {
				for i, s := range other.steps {
					if s.plan.Taken[name] != value || s.callee != before[i].callee || before[i].plan.Taken[name] == value {
						t.Errorf("%s, %v: has %v", s.name, c, s.plan.Taken)
					}
				}
			}
			if tr.text != text || other.text == text && other.machine == tr.machine {
				t.Errorf("%s, %v: text or machine is not changed apart", tr.steps[0].name, c)
			}
		}
		if other, err := tr.otherwise(j, choice.Point{"rule": tr.steps[0].plan.Rule}); err != nil || other != nil {
			t.Errorf("%s: a decision as it was makes other code, %v", tr.steps[0].name, err)
		}
	}
}
