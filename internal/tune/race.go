package tune

import "slices"

// Steering of races.
const (
	Worthwhile   = 1.01  // gain above which a candidate is accepted
	searchBounds = 0.9   // confidence of the bounds while searching: what leaves wrongly is lost, what stays wrongly is raced again
	firstOut     = 1.3   // time over the host's of the first runs, from which on a candidate does not race
	hopeless     = 8.0   // cycles over the host's that the compiler expects, above which a candidate is not run: its model errs by less than a half of that
	someProofs   = 8     // candidates that are proved together, which share the way through the network, and end together
	fewProofs    = 4     // where time is short
	slip         = 0.008 // of candidates that are not worthwhile, those that may be accepted: less than 1 % with all looks together
)

// Pairs after which samples are looked at.
var (
	searchPairs  = []int{3, 5, 9, 15, 25}
	confirmGate  = 9 // of a confirmation, where it can only be given up
	confirmPairs = []int{25, 41, 61, 81}
)

// searching is the stopping rule of the search: a candidate leaves when it gains nothing that counts over its task's best, whose ratio is best.
func searching(best map[int]float64) Stop {
	return Stop{Pairs: searchPairs, Out: firstOut, Bound: searchBounds, Number: 1, Workers: 1, Best: best}
}

// confirming is the rule of a confirmation: it ends as soon as a bound says that the candidate is worthwhile, or that it is not.
// Each look may err in an equal part of slip. Most finalists were lucky: at a gate before the looks those leave whose median is not worthwhile, which
// accepts none.
func confirming() Stop {
	each := slip / float64(len(confirmPairs))
	return Stop{Pairs: slices.Concat([]int{confirmGate}, confirmPairs), Gate: confirmGate, Bound: 1 - 2*each, Number: 1, Workers: 1, Accept: 1 / Worthwhile}
}

// Over reports that the race has no time any more.
func (s Stop) Over() bool { return past(s.Until) }

// looks are the numbers of pairs after which samples are looked at.
func (s Stop) looks() []int {
	i, _ := slices.BinarySearch(s.Pairs, s.Least)
	if i == len(s.Pairs) {
		return []int{max(s.Least, 1)}
	}
	return s.Pairs[i:]
}

// Next is the number of pairs at which samples are looked at next when there are have of them; 0 at the end of the race.
func (s Stop) Next(have int) int {
	for _, n := range s.looks() {
		if n > have {
			return n
		}
	}
	return 0
}

// Leaves reports whether a candidate of a task leaves the race with these pairs. It is to be asked at the looks that Next names
// only: the confidence of what is decided counts them.
func (s Stop) Leaves(task int, times, host []float64) bool {
	if s.Next(len(times)) == 0 {
		return true
	}
	if s.Accept > 0 {
		e := Estimated(Ratios(times, host), s.Bound)
		if len(times) <= s.Gate {
			return e.Ratio > s.Accept
		}
		return e.High < s.Accept || e.Low > s.Accept
	}
	best, ok := s.Best[task]
	return ok && Quiet(times, host).Low > progress*best
}

// accepted is what a confirmation decides, by the samples of the last look that was reached.
func (s Stop) accepted(ratios []float64) bool {
	for _, n := range slices.Backward(s.looks()) {
		if n > s.Gate && n <= len(ratios) {
			return Estimated(ratios[:n], s.Bound).High < s.Accept
		}
	}
	return false
}
