package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
)

// A WindowFold is a fold over windows along some axes: the taps of each, and the elements that are left of all when it is folded.
type WindowFold struct {
	Taps, Left []int // Left[i] where axes up to i are folded one by one
	Rows       []int // the elements of each of these lines along which vectors lie; 0: vectors are whole
	Strides    []int // of the elements that lanes read; 1: they are neighbours in memory, or vectors lie along another axis
	Bytes      int   // of an element
}

// WindowsDecision is whether windows are folded whole, or axis by axis with what lies between in memory.
func WindowsDecision(t *target.Target, f WindowFold) choice.Decision {
	c := core{t}
	lanes := max(1, c.lanes(f.Bytes))
	loads := asTheyLie.loads * float64(c.Loads)
	last := len(f.Left) - 1
	vectors := func(i int) float64 { // of what is left
		if row := f.Rows[i]; row > 0 {
			return float64(f.Left[i] / row * ((row + lanes - 1) / lanes))
		}
		return float64(f.Left[i]) / float64(lanes)
	}
	taps, apart := 1, 0.0
	for i, n := range f.Taps {
		if f.Strides[i] > 1 {
			n *= 2 * min(f.Strides[i], lanes) // so many vectors or elements are loaded, and as often put together
		}
		taps *= n
		apart += float64(n) * vectors(i) / loads
		if i < last {
			apart += kernelStart + 2*c.between(f.Left[i]*f.Bytes)
		}
	}
	return choice.Least("windows", choice.Value{Text: "whole", Cost: float64(taps) * vectors(last) / loads}, choice.Value{Text: "by axis", Cost: apart})
}

// between is the time to write, or to read, data of so many bytes that lie between two kernels.
func (c core) between(bytes int) float64 {
	if bytes <= Working(c.L2) {
		return c.FromL2(float64(bytes))
	}
	return c.Written(float64(bytes))
}
