package extern

import (
	"math"
	"math/bits"
	"slices"

	"lathe/internal/impl"
	"lathe/internal/target"
)

// selecting are the cycles to select the best k of n elements of each of so many rows that lie beside each other, lanes of them together, in
// order or in heaps, where the elements come in random order.
func selecting(t *target.Target, n, k, rows, lanes int, inOrder bool) float64 {
	if rest := rows % lanes; rest > 0 {
		return selecting(t, n, k, rows-rest, lanes, inOrder) + selecting(t, n, k, rest, rest, inOrder)
	}
	groups, wide := float64(rows/lanes), float64(lanes)
	scan := selectCycles * float64(n)
	if inOrder && lanes > 1 { // one of any lane moves the best of all
		vectors := float64((lanes-1)/t.Lanes(32) + 1 + (lanes-1)/t.Lanes(64) + 1) // of keys, and of places
		return groups * (scan + insertCycles*vectors*float64(k)*(float64(k)+found(n, k, lanes)))
	}
	sinks := (float64(k) + found(n, k, 1)) * float64(bits.Len(uint(k))) * levelCycles
	if lanes > 1 {
		scan += lookCycles * wide * found(n, k, lanes)
		sinks *= besideShare
	}
	return groups * (scan + wide*sinks)
}

// found is how many of the elements behind the first k are among the best k so far of at least one of so many rows.
func found(n, k, rows int) float64 {
	const steps = 256 // of the sum: elements far behind differ little
	sum := 0.0
	for j := k; j < n; {
		each := max(1, j/steps)
		each = min(each, n-j)
		sum += float64(each) * (1 - math.Pow(1-float64(k)/float64(j+1), float64(rows)))
		j += each
	}
	return sum
}

// decideSelection asks how many rows are scanned together, and whether they keep their best elements in order.
func decideSelection(c impl.Call, n, k, rows, widest int) (lanes int, inOrder bool) {
	cost := func(lanes int) float64 {
		return min(selecting(c.Target, n, k, rows, lanes, true), selecting(c.Target, n, k, rows, lanes, false))
	}
	numbers := slices.DeleteFunc(impl.Powers(widest), func(lanes int) bool { return lanes == 2 }) // which are no vector
	best := numbers[0]
	for _, l := range numbers {
		if cost(l) < cost(best) {
			best = l
		}
	}
	if lanes = c.DecideAmong("beside", best, cost, numbers...); lanes > 1 {
		inOrder = c.DecideIfCheaper("sorted", selecting(c.Target, n, k, rows, lanes, false), selecting(c.Target, n, k, rows, lanes, true))
	}
	return lanes, inOrder
}
