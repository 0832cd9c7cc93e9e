package impl

import "lathe/internal/target"

// partsPay is how many meetings of workers a reduction must take for its parts to be theirs: with two workers half of it is saved.
const partsPay = 4

// PartsPay reports whether a reduction of so many bytes to few results is better divided among workers by the elements it reads.
func PartsPay(t *target.Target, bytes int) bool {
	s := t.Speed()
	return float64(bytes)/s.L3 > partsPay*s.Meet
}

// EnoughParts reports whether so many pieces of work keep workers about evenly busy.
func EnoughParts(n int) bool { return n >= Pieces }
