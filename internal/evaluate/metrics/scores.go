package metrics

import (
	"cmp"
	"math"
	"slices"
)

// Rank is the place of a class among the scores, 0 for the greatest. Of equal scores the first is greater, and NaN is less than
// any number.
func Rank(scores []float32, class int) int {
	rank := 0
	for i, s := range scores {
		if order := cmp.Compare(s, scores[class]); order > 0 || order == 0 && i < class {
			rank++
		}
	}
	return rank
}

// Best is the class of the greatest score, the first of equals.
func Best(scores []float32) int {
	best := 0
	for i, s := range scores {
		if cmp.Compare(s, scores[best]) > 0 {
			best = i
		}
	}
	return best
}

// Top are the n classes with the greatest scores, the greatest first.
func Top(scores []float32, n int) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order[:min(n, len(order))]
}

// AUC is the area under the ROC curve: the probability that a positive sample scores higher than a negative one, equal scores
// counting a half (Mann and Whitney's U by ranks). It is 0 where one of both kinds is missing.
func AUC(scores []float32, positive []bool) float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	ranks, positives := 0.0, 0.0
	for first := 0; first < len(order); {
		last := first
		hits := 0.0
		for last < len(order) && cmp.Compare(scores[order[last]], scores[order[first]]) == 0 {
			if positive[order[last]] {
				hits++
			}
			last++
		}
		positives += hits
		ranks += hits * float64(first+1+last) / 2
		first = last
	}
	return ratio(ranks-positives*(positives+1)/2, positives*(float64(len(order))-positives))
}

// Energies are sums of squares, of a signal and of what another makes of it.
type Energies struct{ Signal, Noise float64 }

// Add takes the values of one sample.
func (e *Energies) Add(signal, other []float32) {
	for i, s := range signal {
		d := float64(s) - float64(other[i])
		e.Signal += float64(s) * float64(s)
		e.Noise += d * d
	}
}

// SQNR is the ratio of signal to (quantisation) noise in dB; infinite where there is no noise.
func (e Energies) SQNR() float64 { return 10 * math.Log10(e.Signal/e.Noise) }

// McNemar is the probability, if two classifiers were equally good, of a difference at least as great as that of lost and won
// samples, those that one of them alone classifies right: the exact two-sided test of McNemar (1947) by the binomial
// distribution.
func McNemar(lost, won int) float64 {
	n := lost + won
	if n == 0 {
		return 1
	}
	few := min(lost, won)
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	p := 0.0
	for k := range few + 1 {
		p += math.Exp(lg(n) - lg(k) - lg(n-k) - float64(n)*math.Ln2)
	}
	return min(1, 2*p)
}
