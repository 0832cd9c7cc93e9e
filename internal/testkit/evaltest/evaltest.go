// Package evaltest compares what graphs compute in tests.
package evaltest

import (
	"fmt"
	"math"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

// SameValues compares what a graph computes with earlier results. Passes may round otherwise, so the relative distance
// may be that of one operator.
func SameValues(g *graph.Graph, in, want []*tensor.Tensor) error {
	got, err := grapheval.Eval(g, in)
	if err != nil {
		return err
	}
	for i := range want {
		if !got[i].Type().Equal(want[i].Type()) {
			return fmt.Errorf("output %d is %s instead of %s", i, got[i].Type(), want[i].Type())
		}
		var num, den float64
		for j := range want[i].Len() {
			a, b := want[i].Float(j), got[i].Float(j)
			if a == b {
				if a-a == 0 { // infinities have no difference
					den += a * a
				}
				continue
			}
			num += (a - b) * (a - b)
			den += a * a
		}
		if d := math.Sqrt(num / max(den, 1e-30)); !(d <= 1e-5) {
			return fmt.Errorf("output %d differs by %g", i, d)
		}
	}
	return nil
}
