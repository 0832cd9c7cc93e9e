package ops

import (
	"math/rand"
	"slices"
	"testing"
)

// TestEachBroadcast: runs cover a result in order, with the operands' elements that broadcasting puts there.
func TestEachBroadcast(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 2000 {
		out := make([]int, r.Intn(5))
		for k := range out {
			out[k] = r.Intn(4)
		}
		operand := func() []int {
			s := slices.Clone(out[r.Intn(len(out)+1):])
			for k := range s {
				if r.Intn(2) == 0 {
					s[k] = 1
				}
			}
			return s
		}
		a, b := operand(), operand()
		if shape, err := broadcastShape(a, b); err != nil || !slices.Equal(shape, out) {
			continue // the result of other operands
		}
		type place struct{ i, j, k int }
		var want, got []place
		eachIndex(out, func(at []int) {
			want = append(want, place{broadcastOffset(a, at), broadcastOffset(b, at), offsetOf(out, at)})
		})
		eachBroadcast(out, a, b, func(i, stepA, j, stepB, k, n int) {
			for m := range n {
				got = append(got, place{i + m*stepA, j + m*stepB, k + m})
			}
		})
		if !slices.Equal(got, want) {
			t.Fatalf("%v and %v to %v: %v, want %v", a, b, out, got, want)
		}
	}
}
