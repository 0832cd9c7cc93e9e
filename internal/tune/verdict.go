package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"lathe/internal/choice"
)

// Whole networks differ from one opening to the next by where their memory lies, so that an opening is one sample, however many runs it
// has. After so many openings there is a look at them: the network is accepted when equal ones would speak as much for the points with
// at most the probability sure, and given up when they would with more than doubtful. All looks together err in less than 1 % of networks.
var openings = []int{10, 14, 19, 26, 36, 50}

const (
	sure     = 1. / 1024 // the least that ten openings can say, and for each of six looks less than a sixth of 1 %
	doubtful = 0.4
)

// Pairs of runs of an opening: as many as take a time that evens out what else the machine does, within bounds.
const (
	openTime  = 800 * time.Millisecond
	leastOpen = 9
	mostOpen  = 51
)

// pairsFor are the pairs of an opening of a network that takes so long.
func pairsFor(host time.Duration) int {
	return min(mostOpen, max(leastOpen, int(openTime/max(2*host, 1))))
}

// A Verdict is of a whole network with points against the one without.
type Verdict struct {
	Estimate         // of openings
	Tuned    float64 // median of whole runs, microseconds
	Host     float64
	Accepted bool
	Opens    []float64 // ratio of each opening, by its quietest runs
	Wrong    string    // how the outputs of both differ, which refuses the one with points; "": they do not
}

// A hearing says how a verdict is reached.
type hearing struct {
	pairs    int                  // of an opening
	promised float64              // gain that the points promise, as a share of the network's time
	left     func() time.Duration // in which looks behind the first must end
}

// judge races the network with these points against the one without, which must compute the same. It ends before the last look where that would hardly tell what is promised, or
// what was seen.
func judge(ctx context.Context, m NetworkRacer, points map[int]choice.Point, h hearing) (Verdict, error) {
	var v Verdict
	var tuned, host []float64
	var opening time.Duration
	for _, look := range openings {
		n := look - len(v.Opens)
		if len(v.Opens) > 0 && h.left() < time.Duration(n)*opening {
			break
		}
		from := time.Now()
		with, without, err := m.Networks(ctx, points, n, h.pairs)
		if wrong, ok := errors.AsType[*WrongError](err); ok {
			v.Accepted, v.Wrong = false, wrong.What
			break
		}
		if err != nil {
			return v, err
		}
		if len(with) != n*h.pairs || len(without) != len(with) {
			return v, fmt.Errorf("%d and %d times of networks were measured instead of %d each", len(with), len(without), n*h.pairs)
		}
		opening = time.Since(from) / time.Duration(n)
		tuned, host = append(tuned, with...), append(host, without...)
		for k := range n {
			from, to := k*h.pairs, (k+1)*h.pairs
			v.Opens = append(v.Opens, Quiet(with[from:to], without[from:to]).Ratio)
		}
		p := signedRank(v.Opens)
		if v.Accepted = p <= sure; v.Accepted || p > doubtful {
			break
		}
		if mean, least := v.resolution(); max(h.promised, -mean) < least {
			break
		}
	}
	v.Estimate = Estimated(v.Opens, searchBounds)
	v.Tuned, v.Host = middle(tuned), middle(host)
	return v, nil
}

func middle(times []float64) float64 { return Estimated(times, searchBounds).Ratio }

// withdraw judges points, the most certain first, and leaves out the less certain half of them until the network with the
// rest is faster, or what the rest promises could not be told from how openings differ. gains are what they promise, as shares of the network's
// time. It returns how many of them stay, and the last verdict.
func withdraw(ctx context.Context, m NetworkRacer, order []Candidate, gains []float64, pairs int, left func() time.Duration, said func(n int, v Verdict)) (int, Verdict, error) {
	var v Verdict
	var first time.Duration // a hearing takes at least
	for n := len(order); n > 0; n /= 2 {
		points, h := map[int]choice.Point{}, hearing{pairs: pairs, left: left}
		for i, c := range order[:n] {
			points[c.Task] = c.Point
			h.promised += gains[i]
		}
		if _, least := v.resolution(); v.Opens != nil && v.Wrong == "" && (h.promised < least || left() < first) {
			break
		}
		from := time.Now()
		var err error
		if v, err = judge(ctx, m, points, h); err != nil {
			return 0, v, err
		}
		first = time.Since(from) * time.Duration(openings[0]) / time.Duration(max(1, len(v.Opens)))
		said(n, v)
		if v.Accepted {
			return n, v, nil
		}
	}
	return 0, v, nil
}

// resolution is the mean logarithm of the openings, and about the least gain of which as many openings as there may be are sure, when they differ
// as these do: three standard errors, as sure is that many of a normal distribution.
func (v *Verdict) resolution() (mean, least float64) {
	square := 0.0
	for _, r := range v.Opens {
		mean += math.Log(r) / float64(len(v.Opens))
	}
	for _, r := range v.Opens {
		square += (math.Log(r) - mean) * (math.Log(r) - mean)
	}
	return mean, 3 * math.Sqrt(square/float64(max(1, len(v.Opens)-1))/float64(openings[len(openings)-1]))
}
