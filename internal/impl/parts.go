package impl

import "lathe/internal/target"

// PartsPay reports whether a reduction of so many bytes to few results is better divided among workers by the elements it reads, of
// which a part has so many.
func PartsPay(t *target.Target, bytes, each int) bool {
	s := t.Speed()
	return each >= leastPart && float64(bytes)/s.L3 > partsPay*s.Meet
}

// EnoughParts reports whether so many pieces of work keep workers about evenly busy.
func EnoughParts(n int) bool { return n >= Pieces }
