package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/grapheval"
	"lathe/internal/graphtest"
	"lathe/internal/target/targettest"
	"lathe/internal/tensor"
)

// TestLoops compiles random networks with loops: the reference's outputs, and one binary the same bytes for every number of
// workers.
func TestLoops(t *testing.T) {
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
		res, want := withReference(t, g, in, compile.Options{Target: tgt, Level: int(seed % 4), Workers: 2})
		if err := sameOutputs(res, in, want, 1, 2, 3); err != nil {
			t.Errorf("seed %d: %v\n%s\n%s", seed, err, text, g)
		}
	}
}

// TestLoopsAsSource is TestLoops for C source.
func TestLoopsAsSource(t *testing.T) {
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
		want, err := grapheval.Eval(g, in)
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
