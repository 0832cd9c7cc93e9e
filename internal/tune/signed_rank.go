package tune

import (
	"math"
	"slices"
)

// signedRank is the probability, if equal packages were raced, of ratios that speak at least as much for the first: Wilcoxon's signed-rank
// test of their logarithms, exact for any distribution that is symmetrical about 0, as that of two equal ones is by taking turns
// (Conover, Practical Nonparametric Statistics, 5.7). Without samples it is 1.
func signedRank(ratios []float64) float64 {
	logs := make([]float64, len(ratios))
	for i, r := range ratios {
		logs[i] = math.Log(r)
	}
	slices.SortFunc(logs, func(a, b float64) int {
		if math.Abs(a) < math.Abs(b) {
			return -1
		}
		return 1
	})
	against := 0 // sum of ranks of those that speak against the first
	for i, l := range logs {
		if !(l < 0) {
			against += i + 1
		}
	}
	n := len(logs)
	ways := make([]float64, n*(n+1)/2+1) // in which ranks have a sum, over all
	ways[0] = 1
	for rank := 1; rank <= n; rank++ {
		for s := len(ways) - 1; s >= rank; s-- {
			ways[s] = (ways[s] + ways[s-rank]) / 2
		}
		for s := range rank {
			ways[s] /= 2
		}
	}
	p := 0.0
	for _, w := range ways[:against+1] {
		p += w
	}
	return p
}
