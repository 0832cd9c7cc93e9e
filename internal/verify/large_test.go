package verify

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph/grapheval"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
)

// TestLarge runs networks that take the ways of large ones: several functions of steps, joins in steps, groups that end
// where their code would grow out of proportion.
func TestLarge(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"relu chain", "reshape chain", "slice and pad chain", "concatenation of many", "concatenation of inputs", "sum of inputs", "one chain, many outputs"} {
		i := slices.IndexFunc(graphtest.Families, func(f graphtest.Family) bool { return f.Name == name })
		for _, level := range []int{0, 3} {
			g := graphtest.Families[i].Make(300)
			r := rand.New(rand.NewPCG(1, 1))
			inputs := graphtest.Inputs(r, g)
			want, err := grapheval.Eval(g, inputs)
			if err != nil {
				t.Fatal(err)
			}
			for _, workers := range []int{1, 3} {
				got, err := run(t, g.Clone(), compile.Options{Target: targettest.Resolve(t, "llvm"), Level: level, Workers: 2}, workers, inputs)
				if err != nil {
					t.Fatalf("%s -O%d: %v", name, level, err)
				}
				for k, w := range want {
					for i := range w.Len() {
						if a, b := got[k].Float(i), w.Float(i); math.Abs(a-b) > 1e-5*max(1, math.Abs(b)) {
							t.Fatalf("%s -O%d, %d workers: output %d, element %d is %v, want %v", name, level, workers, k, i, a, b)
						}
					}
				}
			}
		}
	}
}
