package dataset

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Fraction is a part of the set, of every class the same share, in the set's order. The same set, share and seed give the same
// samples.
func (s *Set) Fraction(share float64, seed uint64) *Set {
	part := *s
	part.Samples = nil
	byClass := map[int][]int{}
	for i, x := range s.Samples {
		byClass[x.Class] = append(byClass[x.Class], i)
	}
	classes := make([]int, 0, len(byClass))
	for c := range byClass {
		classes = append(classes, c)
	}
	slices.Sort(classes)
	taken := counts(classes, byClass, share)
	var chosen []int
	for _, c := range classes {
		of := slices.Clone(byClass[c])
		r := rand.New(rand.NewPCG(seed, uint64(c)))
		r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		chosen = append(chosen, of[:taken[c]]...)
	}
	slices.Sort(chosen)
	for _, i := range chosen {
		part.Samples = append(part.Samples, s.Samples[i])
	}
	return &part
}

// counts says how many samples of each class are taken: the share rounded down, and one more of those with the greatest
// remainders, until there are as many as the share of the whole set, and at least one.
func counts(classes []int, byClass map[int][]int, share float64) map[int]int {
	taken := map[int]int{}
	total, have := 0, 0
	for _, c := range classes {
		n := len(byClass[c])
		taken[c] = int(math.Floor(share * float64(n)))
		total += n
		have += taken[c]
	}
	order := slices.Clone(classes)
	rest := func(c int) float64 { return share*float64(len(byClass[c])) - float64(taken[c]) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest(b), rest(a)) })
	for _, c := range order[:min(len(order), max(0, max(1, int(math.Round(share*float64(total))))-have))] {
		if taken[c] < len(byClass[c]) {
			taken[c]++
		}
	}
	return taken
}
