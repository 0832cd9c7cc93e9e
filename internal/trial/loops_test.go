package trial

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/executor"
	"lathe/internal/frontend/onnx"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/records"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/tune"
	"lathe/internal/types"
)

// graphs are networks that builders make instead of reading them.
var graphs = map[string]func(number string) (*graph.Graph, error){
	"random": func(number string) (*graph.Graph, error) {
		seed, err := strconv.ParseUint(number, 10, 64)
		return graphtest.Loops(rand.New(rand.NewPCG(seed, 63))), err
	},
	"cell": func(string) (*graph.Graph, error) { return cell(graph.LoopAttrs{Trips: 12}, 384) },
	"two":  func(string) (*graph.Graph, error) { return cell(graph.LoopAttrs{Trips: 2}, 40) },
	"back": func(string) (*graph.Graph, error) { return cell(graph.LoopAttrs{Trips: 2, Reverse: true}, 40) },
}

// networkNamed makes one of graphs by NAME:NUMBER, or reads a file.
func networkNamed(name string) (*graph.Graph, error) {
	kind, number, _ := strings.Cut(name, ":")
	if made, ok := graphs[kind]; ok {
		return made(number)
	}
	m, err := onnx.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return onnx.Import(m, onnx.Options{})
}

// cell is a recurrent network: state' = tanh(W state + slice), for each slice of a sequence. Its results are the last state and all states.
func cell(a graph.LoopAttrs, width int) (*graph.Graph, error) {
	w := tensor.New(types.F32, width, width)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range w.Len() {
		w.SetFloat(i, (2*r.Float64()-1)/float64(width))
	}
	row := types.Of(types.F32, 1, width)
	body := &graph.Graph{Name: "body"}
	v := body.Input("state", row)
	slice := body.Input("slice", row)
	for _, apply := range []func() (*graph.Node, error){
		func() (*graph.Node, error) { return body.Apply(ops.Dense, op.None{}, v, graph.NewConst("w", w)) },
		func() (*graph.Node, error) { return body.Apply(ops.Add, op.None{}, v, slice) },
		func() (*graph.Node, error) { return body.Apply(ops.Tanh, op.None{}, v) },
	} {
		n, err := apply()
		if err != nil {
			return nil, err
		}
		v = n.Out[0]
	}
	body.Outputs = []*graph.Value{v, v}
	a.Carried, a.Sequences = 1, 1
	g := &graph.Graph{Name: "main"}
	n, err := graph.NewLoop(body, a, []*graph.Value{g.Input("x", row), g.Input("s", types.Of(types.F32, a.Trips, 1, width))})
	if err != nil {
		return nil, err
	}
	g.Nodes, g.Outputs = []*graph.Node{n}, n.Out
	for i, v := range g.Outputs {
		v.Name = "y" + strconv.Itoa(i)
	}
	return g, nil
}

func openNamed(t *testing.T, network string) *Farm {
	t.Helper()
	f, err := Open(t.Context(), Options{
		Network: []byte(network), Program: os.Args[0], Builder: []string{"build"}, Measurer: []string{"measure"}, Builders: 2, Workers: 2, Timeout: time.Second,
	})
	if err != nil {
		t.Fatalf("%s: %v", network, err)
	}
	t.Cleanup(f.Close)
	return f
}

// TestWalk: the steps of a network with those of its bodies, one after the other, compute what a run does, and candidates of steps in bodies,
// which run where one iteration is, compute what the network's own kernels do.
func TestWalk(t *testing.T) {
	inside := 0
	for seed := range 6 {
		name := "random:" + strconv.Itoa(seed)
		f := openNamed(t, name)
		if f.host.Walk.Path != "" {
			sameOutputs(t, name, f, f.host.Steps)
		}
		var list []tune.Candidate
		r := rand.New(rand.NewPCG(uint64(seed), 64))
		for i, k := range f.Kernels() {
			list = append(list, tune.Candidate{Task: i, Point: choice.Point{}})
			for _, s := range k.Steps {
				if f.Info().Steps[s.Top].Trips > 0 {
					inside++
				}
			}
		}
		own, err := f.Build(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		list = nil
		for _, b := range own {
			if !b.Same || b.Fault != records.None {
				t.Errorf("%s: %s: without a point it is not the network's kernel: %s", name, f.Kernels()[b.Task].Kernels[0], b.Message)
			}
			for _, d := range b.Asked {
				v := d.Values[r.IntN(len(d.Values))]
				list = append(list, tune.Candidate{Task: b.Task, Point: choice.Point{d.Name: v.Text}})
			}
		}
		built, err := f.Build(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		for _, stop := range []tune.Stop{{Pairs: []int{1}, Bound: 0.9, Workers: 1}, {Pairs: []int{1}, Bound: 0.9, Workers: 2}, {Pairs: []int{1}, Bound: 0.9, Workers: 1, Accept: 0.99}} {
			samples, err := f.Race(t.Context(), built, stop)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range samples {
				if s.Fault != records.None || len(s.Times) == 0 {
					t.Errorf("%s: %s by %v: %s", name, f.Kernels()[s.Task].Kernels[0], list[i].Point, s.Message)
				}
			}
		}
	}
	if inside < 10 {
		t.Errorf("the test wants kernels in bodies, and there are %d", inside)
	}
}

// TestIterations: two iterations in a walk, before the loop itself, are all that a loop of two does.
func TestIterations(t *testing.T) {
	for _, name := range []string{"two:", "back:"} {
		f := openNamed(t, name)
		sameOutputs(t, name, f, f.host.Steps-1)
	}
}

// TestDifferent: packages whose outputs differ do not race.
func TestDifferent(t *testing.T) {
	f, other := openNamed(t, "two:"), openNamed(t, "back:")
	if _, _, err := f.duel(t.Context(), f.host.Package, 1, 1); err != nil {
		t.Error(err)
	}
	_, _, err := f.duel(t.Context(), other.host.Package, 1, 1)
	if wrong, ok := errors.AsType[*tune.WrongError](err); !ok || !strings.Contains(wrong.What, "relative L2") {
		t.Errorf("another network: %v", err)
	}
}

// sameOutputs compares what a package computes with what the first steps of its walk do, from memory that holds nothing yet.
func sameOutputs(t *testing.T, name string, f *Farm, steps int) {
	t.Helper()
	outputs := func(run func(m *executor.Module) error) (list [][]byte) {
		m, err := executor.Open(f.host.Package, executor.Options{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		g, err := networkNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range graphtest.Inputs(rand.New(rand.NewPCG(5, 6)), g) {
			if err := m.SetInput(i, x.Bytes()); err != nil {
				t.Fatal(err)
			}
		}
		if err := run(m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, o := range m.Info().Outputs {
			n, err := o.ByteSize()
			if err != nil {
				t.Fatal(err)
			}
			b, err := m.MemoryAt(bundle.Place{Kind: bundle.InOutput, Index: i, Bytes: n})
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, slices.Clone(b))
		}
		return list
	}
	want := outputs((*executor.Module).Run)
	got := outputs(func(m *executor.Module) error {
		v, err := m.OpenVariant(f.host.Walk)
		if err != nil {
			return err
		}
		for i := range steps {
			if _, err := v.Run(i, i+1); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range want {
		if !bytes.Equal(want[i], got[i]) {
			t.Errorf("%s: output %d of the walk is not that of a run", name, i)
		}
	}
}

// TestSlowBody: the kernel of a loop's body has a point in the host network by which it takes twice as long; a tuning replaces it, and the
// verdict of the whole network is that it is faster.
func TestSlowBody(t *testing.T) {
	f := openNamed(t, "cell:")
	task := slices.IndexFunc(f.Kernels(), func(k compile.Task) bool { return strings.Contains(k.Kernels[0], "dense") })
	if task < 0 {
		t.Fatalf("there is no product in %v", f.Kernels())
	}
	slow := slowest(t, f, task)
	f.slowHost(t, task, slow)
	times, err := f.Profile(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	k, own := f.Kernels()[task], f.Info().ByName()
	if k.Steps[0].Calls != 12 {
		t.Errorf("%d calls of a body of 12 iterations", k.Steps[0].Calls)
	}
	s := own[k.Kernels[0]]
	r, err := tune.Run(t.Context(), []tune.Task{{
		Index: task, Name: k.Kernels[0], Key: k.Key, Ops: s.Ops, FLOPs: float64(s.FLOPs), Bytes: float64(s.Bytes), Calls: k.Steps[0].Calls, Inside: true, Time: times[task], Default: s.Point,
	}}, f, f, tune.Options{Trials: 32, Workers: 2, Seed: 1, Lanes: 8, Host: 12 * times[task]})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Found[0].Accepted || r.Found[0].Confirm.Ratio > 0.7 || r.Verdict.Ratio > 0.9 {
		t.Errorf("%v in place of %v: %+v, of the network %+v", r.Found[0].Point, slow, r.Found[0].Confirm, r.Verdict.Estimate)
	}
}

// slowest is the point of a task that takes longest of those that differ from the rules' in one decision: more than 1.6 times as long.
func slowest(t *testing.T, f *Farm, task int) choice.Point {
	t.Helper()
	own, err := f.Build(t.Context(), []tune.Candidate{{Task: task, Point: choice.Point{}}})
	if err != nil {
		t.Fatal(err)
	}
	var list []tune.Candidate
	for _, d := range own[0].Asked {
		for _, v := range d.Values {
			if !tune.Divides(d.Name) && v.Text != own[0].Taken[d.Name] {
				list = append(list, tune.Candidate{Task: task, Point: choice.Point{d.Name: v.Text}})
			}
		}
	}
	built, err := f.Build(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := f.Race(t.Context(), built, tune.Stop{Pairs: []int{9}, Bound: 0.9, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	var point choice.Point
	longest := 1.6
	for i, s := range samples {
		if e := tune.Quiet(s.Times, s.Host); s.Fault == records.None && e.Ratio > longest {
			longest, point = e.Ratio, built[i].Taken
		}
	}
	if point == nil {
		t.Fatalf("no point of %d takes long", len(list))
	}
	return point
}

// slowHost makes a point the network's own for a task.
func (f *Farm) slowHost(t *testing.T, task int, point choice.Point) {
	t.Helper()
	built, err := f.Build(t.Context(), []tune.Candidate{{Task: task, Point: point}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "slow.tar")
	if f.info, err = f.Pack(t.Context(), map[int]choice.Point{task: point}, path); err != nil {
		t.Fatal(err)
	}
	code := f.codes[built[0].Object]
	f.host.Package, f.host.Tasks[task].Own, f.digests[task] = path, code.Code, code.Digest
	f.parts.end()
}
