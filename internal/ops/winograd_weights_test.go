package ops

import (
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestWinogradWeights compares with the definition, for numbers of kernels that fill no bundle, and in ranges.
func TestWinogradWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tc := range []struct {
		tile, taps [2]int
		kernels    int
	}{{[2]int{4, 4}, [2]int{3, 3}, 3}, {[2]int{2, 2}, [2]int{3, 3}, 16}, {[2]int{4, 4}, [2]int{3, 3}, 300}, {[2]int{2, 2}, [2]int{5, 5}, 257}, {[2]int{2, 1}, [2]int{7, 1}, 600}} {
		w, err := WinogradOf(tc.tile[0], tc.taps[:], []int{1, 1}, []int{1, 1})
		if err != nil {
			t.Fatal(err)
		}
		rows, cols := w.Axes[0].G, w.Axes[1].G
		weight := tensor.New(types.F32, tc.kernels, 1, tc.taps[0], tc.taps[1])
		from := tensor.As[float32](weight)
		for i := range from {
			from[i] = float32(r.NormFloat64())
		}
		from[0] = float32(math.Inf(1))
		u := tensor.New(types.F32, len(rows)*len(cols), tc.kernels, 1)
		for i := range u.Bytes() { // what is there before does not count
			u.Bytes()[i] = 0xa5
		}
		cut := tc.kernels / 3
		w.Weights(u, weight, 0, cut)
		w.Weights(u, weight, cut, tc.kernels)
		got := tensor.As[float32](u)
		for i := range tc.kernels {
			for a, row := range rows {
				for b, col := range cols {
					sum := 0.0
					for k, x := range row {
						for l, y := range col {
							sum += x * y * float64(from[(i*tc.taps[0]+k)*tc.taps[1]+l])
						}
					}
					if v := float64(got[(a*len(cols)+b)*tc.kernels+i]); !(v == sum || v != v && sum != sum) && !(v-sum < 1e-6*(1+max(sum, -sum)) && sum-v < 1e-6*(1+max(sum, -sum))) {
						t.Fatalf("F(%d) of %v taps, kernel %d of %d: place %d, %d is %v, want %v", tc.tile, tc.taps, i, tc.kernels, a, b, v, sum)
					}
				}
			}
		}
	}
}
