package impl

import "lathe/internal/target"

// partsPay is how many meetings of workers a reduction must take for its parts to be theirs: with two workers half of it is saved.
const partsPay = 4

// WantsParts reports whether a reduction of so many bytes to so few results is to be divided among workers by the elements it
// reads, because its results are too few for that.
func WantsParts(t *target.Target, results, bytes int) bool {
	if t == nil || t.ISA().OneWorker {
		return false
	}
	s := t.Speed()
	return results > 0 && !EnoughParts(results) && float64(bytes)/s.L3 > partsPay*s.Meet
}

// EnoughParts reports whether so many pieces of work keep workers about evenly busy.
func EnoughParts(n int) bool { return n >= Pieces }
