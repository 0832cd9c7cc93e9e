package sched

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/loop"
)

// Vectorize executes all iterations of a loop at once, one lane each. The extent is constant; no reduction variable
// may depend on the loop unless the loop is the innermost one around the reduction.
func (s *Schedule) Vectorize(name string) error { return s.setKind(name, loop.Vector) }

// Unroll emits the body once per iteration. The extent is constant.
func (s *Schedule) Unroll(name string) error { return s.setKind(name, loop.Unrolled) }

// Parallel divides the iterations of an outermost loop among the workers. No reduction may run over it.
func (s *Schedule) Parallel(name string) error { return s.setKind(name, loop.Parallel) }

func (s *Schedule) setKind(name string, k loop.Kind) error {
	f, err := s.loop(name)
	if err != nil {
		return err
	}
	if f.Kind != loop.Serial {
		return fmt.Errorf("%s %s: it is a %s loop already", k, name, f.Kind)
	}
	if _, ok := expr.IntOf(f.Extent); !ok && k != loop.Parallel {
		return fmt.Errorf("%s %s: its extent is not constant", k, name)
	}
	if k == loop.Parallel {
		if path := s.around(f); len(path) > 1 {
			return fmt.Errorf("parallel %s: it is inside loop %s", name, path[0].Var.Name)
		}
		var bad error
		loop.Walk(f.Body, func(t loop.Stmt) bool {
			if b, ok := t.(*loop.Block); ok {
				for _, it := range b.Iters {
					if it.Reduce && expr.Uses(it.Binding, f.Var) {
						bad = fmt.Errorf("parallel %s: block %s reduces over it", name, b.Name)
					}
				}
			}
			return true
		})
		if bad != nil {
			return bad
		}
	}
	s.replace(f, &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: k, Body: f.Body})
	s.log(k.String(), name, 0)
	return nil
}
