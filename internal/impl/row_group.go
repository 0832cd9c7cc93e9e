package impl

import (
	"math/bits"
	"slices"
)

const (
	mostRowsAtOnce = 4 // of more rows the statistics wait for no others, but what they keep fills L1
	foldWaits      = 2 // additions that a fold waits for besides one for each halving of a vector: those of its accumulators
)

// rowGroup asks how many rows go through the stages of a kernel together, and splits their loop, loops[row]. It returns the loops
// of the output, of which loops[row] is that over groups, and the loop over the rows of one; "" where that is one row. The stages of a short row wait for each other's folds. Those of other rows
// have nothing to wait for, and are computed meanwhile.
func (k *kernel) rowGroup(loops []string, row int) (all []string, group string, err error) {
	lanes := k.core.lanes(4)
	length, rows := 1, 1
	for i, n := range loops {
		if i > row {
			length *= k.s.Extent(n)
		} else {
			rows *= k.s.Extent(n)
		}
	}
	if length < lanes || lanes < 2 {
		return loops, "", nil
	}
	wait := k.core.Latency * (bits.Len(uint(lanes-1)) + foldWaits)
	numbers := slices.DeleteFunc(Powers(mostRowsAtOnce), func(n int) bool { return k.s.Extent(loops[row])%n != 0 || rows/n < Pieces && n > 1 })
	if len(numbers) == 1 {
		return loops, "", nil
	}
	def := numbers[len(numbers)-1]
	for _, n := range slices.Backward(numbers) {
		if n*length >= wait*lanes {
			def = n
		}
	}
	n := k.DecideAmong("group", def, nil, numbers...)
	if n == 1 {
		return loops, "", nil
	}
	o, i, err := k.s.Split(loops[row], n)
	return slices.Replace(slices.Clone(loops), row, row+1, o, i), i, err
}
