package tune

import (
	"math"
	"time"
)

// Shares of the time of a tuning, where it is given.
const (
	forVerdict  = 0.4  // of all, for the first look of the verdict, at most, as far as that can be shorter
	leastRest   = 0.25 // of all, for what comes before the verdict, at least, however long that takes
	forSearch   = 0.75 // of what is left before the verdict, up to which the search goes on
	forDividing = 0.85 // of that, up to which divisions are tried
)

// Where no time is given, proofs may take this share of the time before them, and the verdict as long again; never less than leastProof. On a machine whose
// equal kernels differ much the bounds of all races are wide, and looking on costs more than it tells.
const (
	proofShare = 0.4
	leastProof = 20 * time.Second
)

// beforePairs are runs of both networks that do not count in an opening.
const beforePairs = 2

// A clock divides the time of a tuning among its stages: what the first look of the verdict takes is kept from the beginning on.
type clock struct {
	begun            time.Time
	started          time.Time     // the first of the stages
	limit            time.Duration // 0: any
	host             time.Duration // of a run of the network
	packing, opening time.Duration // of the package that the verdict opens, and of an opening of both without its runs
	granted          time.Time     // when a stage ends that has a time though the tuning has none; zero: it has none either
}

// grant gives the next stage a time, by that of those before, where the tuning has none.
func (c *clock) grant(before time.Duration) {
	c.granted = time.Now().Add(max(leastProof, share(proofShare, before)))
}

// left is the time that is left of all, or of the stage.
func (c *clock) left() time.Duration {
	switch {
	case c.limit <= 0 && c.granted.IsZero():
		return math.MaxInt64
	case c.limit <= 0:
		return time.Until(c.granted)
	}
	return c.limit - time.Since(c.begun)
}

// pairs are those of an opening.
func (c *clock) pairs() int {
	n := pairsFor(c.host)
	for c.limit > 0 && n > leastOpen && c.verdict(n) > share(forVerdict, c.limit) {
		n--
	}
	return n
}

// verdict is about the time of the first look with so many pairs in an opening.
func (c *clock) verdict(pairs int) time.Duration {
	return c.packing + time.Duration(openings[0])*(c.opening+time.Duration(2*(beforePairs+pairs))*c.host)
}

// until is when a stage ends that may take a share of the time before the verdict; zero: whenever it is done.
func (c *clock) until(part float64) time.Time {
	if c.limit <= 0 {
		return c.granted
	}
	rest := max(c.limit-c.verdict(c.pairs())-c.started.Sub(c.begun), share(leastRest, c.limit))
	return c.started.Add(share(part, rest))
}

// over reports whether a stage with such a share has had its time.
func (c *clock) over(part float64) bool { return past(c.until(part)) }

// past reports whether a time that is given is over.
func past(t time.Time) bool { return !t.IsZero() && time.Now().After(t) }

func share(part float64, of time.Duration) time.Duration {
	return time.Duration(part * float64(of))
}
