package attention_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/passtest"
)

// TestFuse: softmax(f(Q K)) V becomes one group and computes the same; what is read by others, has few queries or is another
// softmax stays.
func TestFuse(t *testing.T) {
	for _, c := range []struct {
		name    string
		queries int
		adjust  string // %s1 from %s0
		axis    int
		returns string
		fused   bool
	}{
		{"plain", 8, "multiply(%s0, %m)", 2, "%y", true},
		{"masked", 8, "add(%s0, %m)", 2, "%y", true},
		{"bounded", 8, "tanh(%s0)", 2, "%y", true},
		{"few queries", 3, "multiply(%s0, %m)", 2, "%y", false},
		{"scores read", 8, "multiply(%s0, %m)", 2, "%y, %s0", false},
		{"weights read", 8, "multiply(%s0, %m)", 2, "%y, %w", false},
		{"softmax of columns", 8, "multiply(%s0, %m)", 1, "%y", false},
		{"mixed scores", 8, "reverse(%s0) {axes=[2]}", 2, "%y", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := graph.Parse(fmt.Sprintf(`graph main(%%q: float32[2,%d,6], %%k: float32[2,9,6], %%v: float32[2,9,5], %%m: float32[1,1,9]) {
				%%kt = transpose(%%k) {axes=[0,2,1]} %%s0 = nn.matmul(%%q, %%kt) {transpose_a=false, transpose_b=false} %%s1 = %s %%w = nn.softmax(%%s1) {axis=%d}
				%%y = nn.matmul(%%w, %%v) {transpose_a=false, transpose_b=false} return %s }`, c.queries, c.adjust, c.axis, c.returns), ops.Lookup, nil)
			if err != nil {
				t.Fatal(err)
			}
			in := graphtest.Inputs(rand.New(rand.NewPCG(1, 41)), g)
			want, err := grapheval.Eval(g, in)
			if err != nil {
				t.Fatal(err)
			}
			passtest.Run(t, g, "FuseAttention")
			if fused := len(g.Nodes) == 1; fused != c.fused {
				t.Errorf("one group: %v, want %v\n%s", fused, c.fused, g)
			}
			if err := evaltest.SameValues(g, in, want); err != nil {
				t.Error(err)
			}
		})
	}
}
