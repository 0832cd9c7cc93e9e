package verify

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/pass"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
)

// networkTolerance is DESIGN's bound for whole networks.
const networkTolerance = 1e-4

// TestNetworks compiles random small networks at every level and, at the highest, with each optional pass disabled. All
// give the oracle's outputs, and one binary the same bytes for every number of workers.
func TestNetworks(t *testing.T) {
	t.Parallel()
	samples := uint64(24)
	if testing.Short() {
		samples = 6
	}
	type variant struct {
		name string
		compile.Options
	}
	var variants []variant
	for level := range 5 {
		variants = append(variants, variant{fmt.Sprintf("-O%d", level), compile.Options{Level: level}})
	}
	for _, p := range pass.Table {
		if !p.Required {
			variants = append(variants, variant{"without " + p.Name, compile.Options{Level: 4, Disabled: []string{p.Name}}})
		}
	}
	variants = append(variants,
		variant{"wide vectors", compile.Options{Level: 3, Target: targettest.Registers(t, 512, 32)}}, variant{"narrow vectors", compile.Options{Level: 3, Target: targettest.Registers(t, 128, 32)}})
	tgt := targettest.Resolve(t, "llvm")
	small := *targettest.Registers(t, 512, 32)
	small.L2 = 1 << 10
	variants = append(variants, variant{"small caches", compile.Options{Level: 3, Target: &small}})
	for seed := range samples {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			text := ""
			for _, v := range variants {
				r := rand.New(rand.NewPCG(seed, 4))
				g := graphtest.New(r) // compilation changes it
				in := graphtest.Inputs(r, g)
				want, err := evaltest.Actual(g, in)
				if err != nil {
					t.Fatal(err)
				}
				text = g.String()
				if v.Options.Workers = 2; v.Options.Target == nil {
					v.Options.Target = tgt
				}
				res, err := compile.Compile(context.Background(), g, v.Options)
				if err != nil {
					t.Fatalf("%s: %v\n%s", v.name, err, text)
				}
				if err := sameOutputs(res, in, want, 1, 2, 7); err != nil {
					t.Errorf("%s: %v\n%s\n%s", v.name, err, text, g)
				}
			}
		})
	}
}

// TestDecided: whatever is decided otherwise for the nodes of a network, its outputs are the oracle's.
func TestDecided(t *testing.T) {
	t.Parallel()
	samples := uint64(60)
	if testing.Short() {
		samples = 8
	}
	other := map[string]string{"on": "off", "off": "on", "together": "apart", "apart": "together", "channels": "pixels", "pixels": "channels"}
	changed := map[string]int{}
	o := compile.Options{Level: 3, Workers: 2, Target: targettest.Resolve(t, "llvm")}
	for seed := range samples {
		network := func() (*graph.Graph, []*tensor.Tensor) {
			r := rand.New(rand.NewPCG(seed, 4))
			g := graphtest.New(r)
			return g, graphtest.Inputs(r, g)
		}
		g, in := network()
		res, want := withReference(t, g, in, o)
		taken := map[string]choice.Point{}
		for _, s := range res.Contents.Manifest.Steps {
			for node, p := range s.Graph {
				taken[node] = p
			}
		}
		r := rand.New(rand.NewPCG(seed, 5))
		for _, node := range slices.Sorted(maps.Keys(taken)) {
			for _, decision := range slices.Sorted(maps.Keys(taken[node])) {
				to := other[taken[node][decision]]
				if to == "" || to == "off" && r.IntN(6) > 0 {
					continue
				}
				changed[decision+" "+to]++
				o.Choices = map[string]choice.Point{node: {decision: to}}
				g, _ := network()
				res, err := compile.Compile(t.Context(), g, o)
				if err != nil {
					t.Fatalf("seed %d, %v: %v", seed, o.Choices, err)
				}
				if err := sameOutputs(res, in, want, 1, 2); err != nil {
					t.Errorf("seed %d, %v: %v\n%s", seed, o.Choices, err, g)
				}
				o.Choices = nil
			}
		}
	}
	if !testing.Short() && (changed["fuse off"] < 5 || changed["fuse on"] < 2) {
		t.Errorf("changed %v only", changed)
	}
}

// withReference compiles g, which that changes, and gives the reference's outputs for in as well.
func withReference(t *testing.T, g *graph.Graph, in []*tensor.Tensor, o compile.Options) (*compile.Result, []*tensor.Tensor) {
	t.Helper()
	want, err := evaltest.Actual(g, in)
	if err != nil {
		t.Fatal(err)
	}
	res, err := compile.Compile(t.Context(), g, o)
	if err != nil {
		t.Fatal(err)
	}
	return res, want
}

// stepsWithin compiles a graph that gives y for a target, compares what it gives for random inputs with the reference, for one to three workers, and
// returns its steps.
func stepsWithin(t *testing.T, allowed float64, r *rand.Rand, g *graph.Graph, y *graph.Value, tgt string) []bundle.Step {
	t.Helper()
	y.Name, g.Outputs = "y", []*graph.Value{y}
	var in []*tensor.Tensor
	for _, x := range g.Inputs {
		in = append(in, random(r, x.Type))
	}
	res, want := withReference(t, g, in, compile.Options{Target: targettest.Runnable(t, tgt), Level: 3, Workers: 2})
	if err := outputsWithin(allowed, res, in, want, 1, 2, 3); err != nil {
		t.Error(err)
	}
	return res.Contents.Manifest.Steps
}

// rulesOf are the rules that schedule the steps with an operator.
func rulesOf(res *compile.Result, d *op.Def) []string {
	var rules []string
	for _, s := range res.Contents.Manifest.Steps {
		if slices.Contains(s.Ops, d.Name) {
			rules = append(rules, s.Rule)
		}
	}
	return rules
}

// sameOutputs runs a module with several numbers of workers, whose outputs must be equal and near the reference's.
func sameOutputs(res *compile.Result, in, want []*tensor.Tensor, workers ...int) error {
	return outputsWithin(networkTolerance, res, in, want, workers...)
}

// outputsWithin is sameOutputs with the difference allowed from the reference's outputs.
func outputsWithin(allowed float64, res *compile.Result, in, want []*tensor.Tensor, workers ...int) error {
	res.Contents.Manifest.MaxWorkers = 0 // small models would keep to one worker
	var first []*tensor.Tensor
	for _, n := range workers {
		got, err := Execute(res, in, n)
		if err != nil {
			return fmt.Errorf("%d workers: %w", n, err)
		}
		for i := range want {
			diff, err := difference(want[i], got[i])
			if err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
			if !(diff <= allowed) {
				return fmt.Errorf("%d workers: output %d differs by %g", n, i, diff)
			}
			if first != nil && !bytes.Equal(first[i].Bytes(), got[i].Bytes()) {
				return fmt.Errorf("output %d has other bytes for %d workers than for %d", i, n, workers[0])
			}
		}
		first = got
	}
	return nil
}

// TestDeterministic: the same graph and options give the same library, whatever the number of compiling goroutines.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	var libs [][]byte
	for _, workers := range []int{1, 4} {
		for range 2 {
			g := graphtest.New(rand.New(rand.NewPCG(3, 4)))
			res, err := compile.Compile(context.Background(), g, compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			libs = append(libs, res.Contents.Library)
		}
	}
	for i, l := range libs[1:] {
		if !bytes.Equal(l, libs[0]) {
			t.Errorf("compilation %d gave other bytes", i+1)
		}
	}
}
