package sweep

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
)

// notable is the change of a ratio from which a case is listed: below it, two runs of the same code differ.
const notable = 0.10

// A change is a case that both reports have.
type change struct {
	name     string
	old, now Result
}

// factor is how many times as large the ratio has become.
func (c change) factor() float64 { return c.now.Ratio / c.old.Ratio }

// Diff writes how the second report differs from the first: means of families over the cases that both have, cases whose
// ratio changed notably, the greatest loss first, and what only one of them has a ratio of.
func Diff(w io.Writer, before, after *Report) {
	if before.Threads != after.Threads || before.CPU != after.CPU || before.Peer != after.Peer {
		fmt.Fprintf(w, "not alike: %s, %s, %d threads; then %s, %s, %d threads\n",
			before.CPU, before.Peer, before.Threads, after.CPU, after.Peer, after.Threads)
	}
	both, gone, came := pairs(before, after)
	families := map[string][]change{}
	for _, c := range both {
		families[c.now.Family] = append(families[c.now.Family], c)
	}
	fmt.Fprintf(w, "%-14s %5s %8s %8s %8s\n", "family", "cases", "before", "after", "factor")
	for _, f := range append(familyNames(), "all") {
		list := families[f]
		if f == "all" {
			list = both
		}
		if len(list) > 0 {
			old, now := geomeans(list)
			fmt.Fprintf(w, "%-14s %5d %8.2f %8.2f %8.2f\n", f, len(list), old, now, now/old)
		}
	}
	fmt.Fprintf(w, "\n%-46s %8s %8s %8s %10s %10s\n", "changed by 10 % or more", "before", "after", "factor", "ms before", "ms after")
	for _, c := range both {
		if math.Abs(math.Log(c.factor())) >= math.Log(1+notable) {
			fmt.Fprintf(w, "%-46s %8.3g %8.3g %8.2f %10.4g %10.4g\n", c.name, c.old.Ratio, c.now.Ratio, c.factor(), c.old.Lathe.CPU, c.now.Lathe.CPU)
		}
	}
	for _, name := range gone {
		fmt.Fprintf(w, "only before: %s\n", name)
	}
	for _, name := range came {
		fmt.Fprintf(w, "only after: %s\n", name)
	}
}

// pairs matches results by name.
func pairs(before, after *Report) (both []change, gone, came []string) {
	old := map[string]Result{}
	for _, r := range before.Results {
		if r.Ratio > 0 {
			old[r.Name] = r
		}
	}
	for _, r := range after.Results {
		o, ok := old[r.Name]
		switch {
		case r.Ratio == 0:
			continue
		case ok:
			both = append(both, change{r.Name, o, r})
			delete(old, r.Name)
		default:
			came = append(came, r.Name)
		}
	}
	for name := range old {
		gone = append(gone, name)
	}
	slices.Sort(gone)
	slices.SortFunc(both, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.factor(), b.factor()), cmp.Compare(a.name, b.name))
	})
	return both, gone, came
}

func geomeans(list []change) (old, now float64) {
	for _, c := range list {
		old += math.Log(c.old.Ratio)
		now += math.Log(c.now.Ratio)
	}
	n := float64(len(list))
	return math.Exp(old / n), math.Exp(now / n)
}
