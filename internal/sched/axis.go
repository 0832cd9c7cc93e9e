package sched

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// An Axis is what a loop runs over, in whole or in part: an iteration variable of a block. Lowering names the variables of
// all blocks by the axes of their stages, so that loops of two blocks over one axis are known by Iter.
type Axis struct{ Block, Iter string }

// axesOf reads the axes of loops off the bindings of an unscheduled function.
func axesOf(f *loop.Func) map[string]Axis {
	axes := map[string]Axis{}
	loop.Walk(f.Body, func(t loop.Stmt) bool {
		if b, ok := t.(*loop.Block); ok {
			for _, it := range b.Iters {
				if v, ok := it.Binding.(*expr.Var); ok {
					axes[v.Name] = Axis{b.Name, it.Var.Name}
				}
			}
		}
		return true
	})
	return axes
}

// inherit gives loops that a primitive made from another one its axis.
func (s *Schedule) inherit(from string, loops ...string) {
	if a, ok := s.axes[from]; ok {
		for _, n := range loops {
			s.axes[n] = a
		}
	}
}

// Axis is what the named loop runs over; the zero value for a loop that was fused of two, and for no loop.
func (s *Schedule) Axis(loop string) Axis { return s.axes[loop] }

// Over returns the loops around a block that run over one of its axes, outermost first.
func (s *Schedule) Over(a Axis) []string {
	var list []string
	for _, n := range s.Loops(a.Block) {
		if s.axes[n] == a {
			list = append(list, n)
		}
	}
	return list
}
