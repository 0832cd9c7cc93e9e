package compose

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestDiagonals takes random terms whose labels stand several times: sums over labels read the diagonal, and nothing else, not
// even to multiply it by zero.
func TestDiagonals(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 61))
		extents := map[byte]int{'i': r.IntN(4), 'j': 1 + r.IntN(3), 'k': 1 + r.IntN(3)}
		var term, result []byte
		var shape []int
		for range 2 + r.IntN(4) {
			l := "ijk"[r.IntN(3)]
			term, shape = append(term, l), append(shape, extents[l])
		}
		for _, i := range r.Perm(3) {
			if l := "ijk"[i]; slices.Contains(term, l) && r.IntN(3) > 0 {
				result = append(result, l)
			}
		}
		var outShape []int
		for _, l := range result {
			outShape = append(outShape, extents[l])
		}
		x := tensor.New(types.F32, shape...)
		want := make([]float64, types.Count(outShape))
		for e := range x.Len() {
			at, diagonal, rest := map[byte]int{}, true, e
			for k := len(shape) - 1; k >= 0; k-- {
				i := rest % shape[k]
				rest /= shape[k]
				if old, ok := at[term[k]]; ok && old != i {
					diagonal = false
				}
				at[term[k]] = i
			}
			if !diagonal {
				x.SetFloat(e, math.NaN())
				continue
			}
			x.SetFloat(e, float64(r.IntN(100)))
			to := 0
			for _, l := range result {
				to = to*extents[l] + at[l]
			}
			want[to] += x.Float(e)
		}
		equation := string(term) + "->" + string(result)
		got := compute(t, x, func(b *Builder, x *graph.Value) *graph.Value { return b.Einsum(equation, x) })
		wantValues(t, got, outShape, want...)
	}
}
