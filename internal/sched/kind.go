package sched

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// maxLanes is the greatest extent of a vector loop.
const maxLanes = 64

// Vectorize executes all iterations of a loop at once, one lane each. The extent is constant and at most 64; there is no
// other vector loop around or inside, no allocation inside, and a reduction over the loop has been decomposed.
func (s *Schedule) Vectorize(name string) error { return s.setKind(name, loop.Vector) }

// Unroll emits the body once per iteration. The extent is constant.
func (s *Schedule) Unroll(name string) error { return s.setKind(name, loop.Unrolled) }

// Jam emits the body once per iteration, with the instructions of the iterations between each other's, so that one computes while another
// waits. The extent is constant; no iteration reads what another one writes, or reduces into the same elements.
func (s *Schedule) Jam(name string) error { return s.setKind(name, loop.Jammed) }

// Parallel divides the iterations of a loop among the workers. No reduction may run over it, and every loop around it
// holds nothing else: all workers run those.
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
	var illegal error
	switch k {
	case loop.Vector:
		illegal = s.checkVector(f)
	case loop.Unrolled:
		if loop.Divided(f.Body) {
			illegal = errDivided
		}
	case loop.Jammed:
		illegal = s.checkJammed(f)
	case loop.Parallel:
		illegal = s.checkParallel(f)
	}
	if illegal != nil {
		return fmt.Errorf("%s %s: %w", k, name, illegal)
	}
	s.replace(f, &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: k, Body: f.Body})
	s.log(k.String(), name, 0)
	return nil
}

// errDivided refuses what would leave a parallel loop beside work that is not divided.
var errDivided = errors.New("a parallel loop is inside")

func (s *Schedule) checkVector(f *loop.For) error {
	if loop.Divided(f.Body) {
		return errDivided
	}
	if n, _ := expr.IntOf(f.Extent); n < 1 || n > maxLanes {
		return fmt.Errorf("%d lanes; a vector has 1 to %d", n, maxLanes)
	}
	for _, g := range s.around(f) {
		if g.Kind == loop.Vector {
			return fmt.Errorf("it is inside vector loop %s", g.Var.Name)
		}
	}
	var bad error
	loop.Walk(f.Body, func(t loop.Stmt) bool {
		switch t := t.(type) {
		case *loop.For:
			if t.Kind == loop.Vector {
				bad = fmt.Errorf("vector loop %s is inside", t.Var.Name)
			}
			if expr.Uses(t.Min, f.Var) || expr.Uses(t.Extent, f.Var) {
				bad = fmt.Errorf("the bounds of %s depend on it", t.Var.Name)
			}
		case *loop.Alloc:
			bad = fmt.Errorf("%s is allocated in it", t.Buffer.Name)
		case *loop.Prefetch:
			bad = fmt.Errorf("a prefetch of %s is inside", t.From.Name)
		case *loop.Block:
			if t.Init != nil && ReducesOver(t, f) {
				bad = fmt.Errorf("block %s reduces over it: decompose_reduction %s first", t.Name, t.Name)
			}
		}
		return bad == nil
	})
	return bad
}

func (s *Schedule) checkJammed(f *loop.For) error {
	if loop.Divided(f.Body) {
		return errDivided
	}
	var bad error
	stored, loaded := map[*loop.Buffer]bool{}, map[*loop.Buffer]bool{}
	loop.Walk(f.Body, func(t loop.Stmt) bool {
		switch t := t.(type) {
		case *loop.Alloc:
			bad = fmt.Errorf("%s is allocated in it", t.Buffer.Name)
		case *loop.Block:
			if t.Init != nil && ReducesOver(t, f) {
				bad = fmt.Errorf("block %s reduces over it", t.Name)
			} else if !slices.ContainsFunc(t.Iters, func(it loop.Iter) bool { return expr.Uses(it.Binding, f.Var) }) {
				bad = fmt.Errorf("block %s stores the same elements in all iterations", t.Name)
			}
			stored[t.Body.To] = true
			expr.Loads(t.Body.Value, func(l *expr.Load) {
				if l.From != t.Body.To || !slices.EqualFunc(l.Index, t.Body.Index, arith.Equal) { // an iteration may read the element that it stores
					loaded[l.From.(*loop.Buffer)] = true
				}
			})
		}
		return bad == nil
	})
	for b := range stored {
		if loaded[b] && bad == nil {
			bad = fmt.Errorf("%s is stored and read in it", b.Name)
		}
	}
	return bad
}

func (s *Schedule) checkParallel(f *loop.For) error {
	var bad error
	for _, g := range s.around(f) {
		if g == f {
			continue
		}
		if g.Kind != loop.Serial {
			return fmt.Errorf("it is inside %s loop %s", g.Kind, g.Var.Name)
		}
		if !onlyLoop(g.Body, f) {
			return fmt.Errorf("loop %s around it holds other work", g.Var.Name)
		}
	}
	own := map[*loop.Buffer]bool{}
	scratch := func(b *loop.Buffer) {
		if b.Scope != loop.Global && !own[b] && bad == nil {
			bad = fmt.Errorf("it uses %s, which all workers would need", b.Name)
		}
	}
	loop.Walk(f.Body, func(t loop.Stmt) bool {
		switch t := t.(type) {
		case *loop.For:
			if t.Kind == loop.Parallel && t != f {
				bad = fmt.Errorf("parallel loop %s is inside", t.Var.Name)
			}
		case *loop.Alloc:
			own[t.Buffer] = true
		case *loop.Block:
			if ReducesOver(t, f) {
				bad = fmt.Errorf("block %s reduces over it", t.Name)
			}
			scratch(t.Body.To)
			expr.Loads(t.Body.Value, func(l *expr.Load) { scratch(l.From.(*loop.Buffer)) })
		}
		return bad == nil
	})
	if to := s.storedOutside(f); to != nil && bad == nil {
		return fmt.Errorf("%s is stored outside it too", to.Name)
	}
	return bad
}

// storedOutside is a result that both f and something beside it store to, nil where there is none.
func (s *Schedule) storedOutside(f *loop.For) (to *loop.Buffer) {
	inside := map[*loop.Block]bool{}
	stored := map[*loop.Buffer]bool{}
	loop.Walk(f.Body, func(t loop.Stmt) bool {
		if b, ok := t.(*loop.Block); ok {
			inside[b], stored[b.Body.To] = true, true
		}
		return true
	})
	loop.Walk(s.Func.Body, func(t loop.Stmt) bool {
		if b, ok := t.(*loop.Block); ok && !inside[b] && stored[b.Body.To] {
			to = b.Body.To
		}
		return to == nil
	})
	return to
}

// insideVector refuses what cannot stand inside a vector loop: the loops around it are given.
func insideVector(around []*loop.For) error {
	for _, f := range around {
		if f.Kind == loop.Vector {
			return fmt.Errorf("inside vector loop %s", f.Var.Name)
		}
	}
	return nil
}

// onlyLoop reports whether s is nothing but loops around f.
func onlyLoop(s loop.Stmt, f *loop.For) bool {
	for {
		g, ok := s.(*loop.For)
		if !ok || g == f {
			return ok
		}
		s = g.Body
	}
}

// ReducesOver reports whether a reduction variable of b depends on f.
func ReducesOver(b *loop.Block, f *loop.For) bool {
	for _, it := range b.Iters {
		if it.Reduce && expr.Uses(it.Binding, f.Var) {
			return true
		}
	}
	return false
}

// countsBoth reports whether a reduction variable of b and a spatial one depend on f.
func countsBoth(b *loop.Block, f *loop.For) bool {
	spatial := slices.ContainsFunc(b.Iters, func(it loop.Iter) bool { return !it.Reduce && expr.Uses(it.Binding, f.Var) })
	return spatial && ReducesOver(b, f)
}
