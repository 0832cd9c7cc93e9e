package pass

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
)

// TestQuantizedPools takes poolings of quantised data with windows of all kinds through the passes, those included that lie
// in the padding altogether: their result is no number of the quantised type.
func TestQuantizedPools(t *testing.T) {
	empty := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 83))
		rank := 1 + r.IntN(2)
		a := ops.PoolAttrs{}
		shape := []int{1, 2}
		for range rank {
			shape = append(shape, 1+r.IntN(4))
			a.PoolSize = append(a.PoolSize, 1+r.IntN(3))
			a.Strides = append(a.Strides, 1+r.IntN(2))
			a.Dilation = append(a.Dilation, 1+r.IntN(2))
		}
		for k := range 2 * rank {
			a.Padding = append(a.Padding, r.IntN(2+a.PoolSize[k%rank]))
		}
		dims := fmt.Sprint(shape[0])
		for _, n := range shape[1:] {
			dims += fmt.Sprintf(",%d", n)
		}
		g, err := graph.Parse(fmt.Sprintf(`graph main(%%x: uint8[%s]) { @s = float32[]{0.5} @z = uint8[]{110}
			%%y = qnn.dequantize(%%x, @s, @z) return %%y }`, dims), ops.Lookup, nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := g.Apply(ops.MaxPool[rank], a, g.Outputs[0])
		if err != nil {
			continue // no window fits
		}
		if !a.EachReads(shape) {
			empty++
		}
		n.Out[0].Name, g.Outputs[0].Name = "p", ""
		g.Outputs[0] = n.Out[0]
		in := []*tensor.Tensor{graphtest.Random(r, g.Inputs[0].Type, graphtest.Moderate)}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		for _, p := range Table {
			run(t, p.Name, g)
		}
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
	}
	if empty < 50 {
		t.Errorf("windows in the padding in %d cases", empty)
	}
}
