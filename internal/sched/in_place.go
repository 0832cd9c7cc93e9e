package sched

import (
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// InPlace keeps what a block computes in the elements of a result that are made from it, in place of scratch. The result's
// block reads all of the scratch and stores each element where it will not be read again; nothing reads the scratch behind it.
//
//	for i { alloc e[8]; for j { e[j] = f(x[i, j]) }; for j { y[i, j] = e[j] * 2 } }
//	→  for i { for j { y[i, j] = f(x[i, j]) }; for j { y[i, j] = y[i, j] * 2 } }
func (s *Schedule) InPlace(block string) error {
	p, _, err := s.block(block)
	if err != nil {
		return err
	}
	e := p.Body.To
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("in_place %s: %s", block, fmt.Sprintf(format, args...))
	}
	alloc, path := s.allocation(e)
	if alloc == nil || e.Scope != loop.Worker {
		return refuse("it does not compute scratch")
	}
	o, nest := lastReader(alloc.Body, e)
	switch {
	case o == nil || o.Init != nil:
		return refuse("its last reader is no block in a nest of its own")
	case o.Body.To.Scope != loop.Global || o.Body.To.DType != e.DType || len(o.Body.To.Shape) != len(e.Shape):
		return refuse("%s is no result of its type", o.Body.To.Name)
	case o.Where != nil && !onItsAxes(o):
		return refuse("what %s stores is bounded by more than its axes", o.Name)
	case s.writers(o.Body.To) != 1 || readsAny(s.Func.Body, o.Body.To):
		return refuse("%s is not stored once", o.Body.To.Name)
	}
	shift, err := s.shiftTo(o, e, nest, rangesAt(path))
	if err != nil {
		return refuse("%v", err)
	}
	to := o.Body.To
	moved := func(index []expr.Expr) []expr.Expr {
		out := make([]expr.Expr, len(index))
		for k, x := range index {
			out[k] = rangesAt(path).Simplify(expr.Add(x, shift[k]))
		}
		return out
	}
	if err := s.inBounds(alloc.Body, e, to, path, moved); err != nil {
		return refuse("%v", err)
	}
	body := loop.MapExprs(alloc.Body, func(x expr.Expr) expr.Expr {
		return expr.Rewrite(x, func(y expr.Expr) expr.Expr {
			if l, ok := y.(*expr.Load); ok && l.From == expr.Source(e) {
				return &expr.Load{From: to, Index: moved(l.Index)}
			}
			return y
		})
	})
	body = loop.Rewrite(body, func(t loop.Stmt) loop.Stmt {
		b, ok := t.(*loop.Block)
		if !ok || b.Body.To != e {
			return t
		}
		c := *b
		c.Body = &loop.Store{To: to, Index: moved(b.Body.Index), Value: b.Body.Value}
		if b.Init != nil {
			c.Init = &loop.Store{To: to, Index: moved(b.Init.Index), Value: b.Init.Value}
		}
		return &c
	})
	s.Func.Body = loop.Rewrite(s.Func.Body, func(t loop.Stmt) loop.Stmt {
		if a, ok := t.(*loop.Alloc); ok && a.Buffer == e {
			return body
		}
		return t
	})
	s.log("in_place", block, 0)
	return nil
}

// allocation finds where a buffer is allocated, and the loops around that.
func (s *Schedule) allocation(e *loop.Buffer) (found *loop.Alloc, path []*loop.For) {
	var visit func(t loop.Stmt, stack []*loop.For)
	visit = func(t loop.Stmt, stack []*loop.For) {
		loop.Walk(t, func(u loop.Stmt) bool {
			switch u := u.(type) {
			case *loop.For:
				visit(u.Body, append(slices.Clip(stack), u))
				return false
			case *loop.Alloc:
				if u.Buffer == e {
					found, path = u, stack
				}
			}
			return found == nil
		})
	}
	visit(s.Func.Body, nil)
	return found, path
}

// writers counts the blocks that store to a buffer.
func (s *Schedule) writers(to *loop.Buffer) int {
	n := 0
	loop.Walk(s.Func.Body, func(t loop.Stmt) bool {
		if b, ok := t.(*loop.Block); ok && b.Body.To == to {
			n++
		}
		return true
	})
	return n
}

// lastReader is the block of the last statement in body that accesses e, with its loops in body, if that holds no other block.
func lastReader(body loop.Stmt, e *loop.Buffer) (*loop.Block, []*loop.For) {
	var last loop.Stmt
	var visit func(t loop.Stmt)
	visit = func(t loop.Stmt) {
		switch u := t.(type) {
		case *loop.Seq:
			for _, v := range u.List {
				visit(v)
			}
		case *loop.Alloc:
			visit(u.Body)
		default:
			if readsAny(t, e) || writesAny(t, map[*loop.Buffer]bool{e: true}) != nil {
				last = t
			}
		}
	}
	visit(body)
	f, ok := last.(*loop.For)
	if !ok {
		return nil, nil
	}
	b, nest := onlyBlock(f)
	if b == nil || b.Body.To == e {
		return nil, nil
	}
	return b, nest
}

// onItsAxes reports whether a block's condition depends on nothing but its iteration variables.
func onItsAxes(b *loop.Block) bool {
	own := map[*expr.Var]bool{}
	for _, it := range b.Iters {
		own[it.Var] = true
	}
	ok := true
	expr.Walk(b.Where, func(e expr.Expr) bool {
		switch e := e.(type) {
		case *expr.Var:
			ok = ok && own[e]
		case *expr.Load:
			ok = false
		}
		return ok
	})
	return ok
}

// shiftTo is how far from each other the elements lie that o reads of e and stores, along each axis. Both are the same in all
// iterations of nest, o's loops inside the allocation, and these read all of e.
func (s *Schedule) shiftTo(o *loop.Block, e *loop.Buffer, nest []*loop.For, outer arith.Ranges) (shift []expr.Expr, err error) {
	bind := o.Bindings()
	ranges := outer
	for _, f := range nest {
		ranges = ranges.With(f.Var, rangeOf(f, ranges))
	}
	expr.Loads(o.Body.Value, func(l *expr.Load) {
		if l.From != expr.Source(e) || err != nil {
			return
		}
		first := shift == nil
		walked := map[*expr.Var]bool{}
		for k, x := range l.Index {
			x = ranges.Simplify(expr.Subst(x, bind))
			d := ranges.Simplify(expr.Sub(expr.Subst(o.Body.Index[k], bind), x))
			at := arith.LinearOf(x)
			for _, f := range nest {
				c, inside := at.Coef(f.Var)
				switch {
				case expr.Uses(d, f.Var) || inside || c != 0 && walked[f.Var]:
					err = fmt.Errorf("%s reads other elements than it stores", o.Name)
					return
				case c != 0:
					walked[f.Var] = true
				}
			}
			rest := at
			for _, f := range nest {
				rest = rest.Without(f.Var)
			}
			run, offsets, failed := runs(at, nest, 1)
			if failed != nil || len(offsets) > 1 || run < e.Shape[k] || !expr.IsInt(rest.Expr(), 0) {
				err = fmt.Errorf("%s does not read all of %s", o.Name, e.Name)
				return
			}
			if first {
				shift = append(shift, d)
			} else if !arith.Equal(shift[k], d) {
				err = fmt.Errorf("%s reads several elements of %s", o.Name, e.Name)
				return
			}
		}
	})
	return shift, err
}

// inBounds checks that what blocks in body store to e lies inside buffer to, where moved puts it.
func (s *Schedule) inBounds(body loop.Stmt, e, to *loop.Buffer, path []*loop.For, moved func([]expr.Expr) []expr.Expr) error {
	var err error
	loop.Walk(body, func(t loop.Stmt) bool {
		b, ok := t.(*loop.Block)
		if !ok || b.Body.To != e {
			return true
		}
		r := rangesAt(path)
		for _, it := range b.Iters {
			r = r.With(it.Var, arith.Span(it.Extent))
		}
		for k, x := range moved(b.Body.Index) {
			if i := r.Of(x); i.Lo < 0 || i.Hi >= int64(to.Shape[k]) {
				err = fmt.Errorf("%s computes more than %s has", b.Name, to.Name)
			}
		}
		return true
	})
	return err
}
