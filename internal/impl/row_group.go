package impl

import (
	"math/bits"
	"slices"
)

const (
	mostRowsAtOnce = 4 // of more rows the statistics wait for no others, but what they keep fills L1
	halvingWaits   = 2 // operations that a fold waits for where it halves a vector: a shuffle and an addition
	foldWaits      = 3 // those that it waits for besides: additions of its accumulators, and the result's way through scratch into all lanes
)

// rowGroup asks how many rows go through the stages of a kernel together, and splits a loop over them, loops[row], or one around it
// where its extent divides into no groups. It returns the loops of the output, of which loops[row] is the last over groups, and the loop
// over the rows of one; "" where that is one row. The stages of a short row wait for each other's folds. Those of other rows
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
	wait := k.core.Latency * (halvingWaits*bits.Len(uint(lanes-1)) + foldWaits)
	at, numbers := row, []int(nil)
	for ; at >= 0; at-- {
		numbers = slices.DeleteFunc(Powers(mostRowsAtOnce), func(n int) bool { return k.s.Extent(loops[at])%n != 0 || rows/n < Pieces && n > 1 })
		if len(numbers) > 1 {
			break
		}
	}
	if at < 0 {
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
	o, i, err := k.s.Split(loops[at], n)
	if err != nil {
		return nil, "", err
	}
	all = slices.Concat(loops[:at], []string{o}, loops[at+1:row+1], []string{i}, loops[row+1:])
	if at < row {
		err = k.s.Reorder(all...)
	}
	return all, i, err
}
