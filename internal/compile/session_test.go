package compile

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestSession: the package of a session is Compile's; a candidate that is built by a point is the code that Compile makes of it, also
// behind another; all that a candidate took, given again, makes the same code.
func TestSession(t *testing.T) {
	o := Options{Target: targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"), Level: 3, Workers: 2}
	s, err := OpenSession(t.Context(), digits(t), o)
	if err != nil {
		t.Fatal(err)
	}
	plain := compileDigits(t, o)
	host, err := s.Host()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(host.Contents.Library, plain.Contents.Library) {
		t.Error("a session without points makes another library than Compile")
	}
	s.Relieve(host.Relief)
	points, given := map[int]choice.Point{}, map[string]choice.Point{}
	for i, task := range s.Tasks() {
		def, err := s.Build(i, host.Contents.Manifest.Steps[task.Steps[0].Index].Point)
		if err != nil {
			t.Fatal(err)
		}
		if own, err := s.Build(i, nil); err != nil || own.Digest != def.Digest || !maps.Equal(own.Taken, def.Taken) {
			t.Errorf("%s: without a point it is not as in the network: %v, want %v (%v)", task.Kernels[0], own.Taken, def.Taken, err)
		}
		for _, d := range def.Asked {
			j := slices.IndexFunc(d.Values, func(v choice.Value) bool { return v.Text != def.Taken[d.Name] })
			if j < 0 || d.Name == "workers" {
				continue
			}
			point := maps.Clone(def.Taken)
			point[d.Name] = d.Values[j].Text
			c, err := s.Build(i, point)
			if err != nil {
				t.Errorf("%s, %s %s: %v", task.Kernels[0], d.Name, d.Values[j].Text, err)
				continue
			}
			if c.Taken[d.Name] != point[d.Name] && d.Name != "division" {
				t.Errorf("%s: %s %s was asked, and %s taken", task.Kernels[0], d.Name, point[d.Name], c.Taken[d.Name])
			}
			again, err := s.Build(i, c.Taken)
			if err != nil || again.Digest != c.Digest || !bytes.Equal(again.Library, c.Library) {
				t.Errorf("%s: what was taken, %v, makes other code (%v)", task.Kernels[0], c.Taken, err)
			}
			points[i] = c.Taken
		}
		for _, name := range task.Kernels {
			if points[i] != nil {
				given[name] = points[i]
			}
		}
	}
	o.Choices = given
	tuned, err := s.Package(points)
	if err != nil {
		t.Fatal(err)
	}
	if want := compileDigits(t, o); !bytes.Equal(tuned.Contents.Library, want.Contents.Library) {
		t.Error("a session with points makes another library than Compile with choices")
	}
	for i, task := range s.Tasks() {
		if points[i] == nil {
			continue
		}
		if got := tuned.Contents.Manifest.Steps[task.Steps[0].Index].Point; !maps.Equal(got, map[string]string(points[i])) {
			t.Errorf("%s: %v was given, and %v taken", task.Kernels[0], points[i], got)
		}
	}
	if again, err := s.Package(nil); err != nil || !bytes.Equal(again.Contents.Library, plain.Contents.Library) {
		t.Errorf("the session's package is another after the others (%v)", err)
	}
}

func compileDigits(t *testing.T, o Options) *Result {
	t.Helper()
	r, err := Compile(t.Context(), digits(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSessionOfOtherCode: steps that compute the same are one task, also where the network runs other code for some of them.
func TestSessionOfOtherCode(t *testing.T) {
	g := &graph.Graph{Name: "main"}
	v := g.Input("x", types.Of(types.F32, 64, 512))
	for range 4 {
		v = apply(t, g, ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, v).Out[0]
	}
	v.Name = "y"
	g.Outputs = []*graph.Value{v}
	o := Options{Target: targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"), Level: 3, Workers: 2, Choices: map[string]choice.Point{"fused_nn_softmax_2": {"accumulators(softmax_max)": "2"}}}
	s, err := OpenSession(t.Context(), g, o)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.tasks, func(t *task) bool { return len(t.steps) == 2 && t.steps[0].callee != t.steps[1].callee })
	if i < 0 {
		t.Fatalf("the test wants two steps with other code as one task: %+v", s.Tasks())
	}
	if _, err := s.Build(i, nil); err != nil {
		t.Error(err)
	}
}
