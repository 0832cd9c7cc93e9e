package sched

import (
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// ComputeWith moves the body of a loop into a later one of as many iterations, which reads what the first computes: each
// iteration then computes just what it reads, and the buffer holds all of it for later readers. The first loop holds one block.
//
//	for i { e[i] = f(x[i]) }; for j { s = s + e[j] }, of i, with j  →  for j { e[j] = f(x[j]); s = s + e[j] }
func (s *Schedule) ComputeWith(first, with string) error {
	f, err := s.loop(first)
	if err != nil {
		return err
	}
	g, err := s.loop(with)
	if err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("compute_with %s, %s: %s", first, with, fmt.Sprintf(format, args...))
	}
	if !slices.Equal(outside(s.around(f)), outside(s.around(g))) {
		return refuse("they are not in the same loops")
	}
	n, ok1 := expr.IntOf(f.Extent)
	m, ok2 := expr.IntOf(g.Extent)
	if !ok1 || !ok2 || n != m || !expr.IsInt(f.Min, 0) || !expr.IsInt(g.Min, 0) || f.Kind != loop.Serial || g.Kind != loop.Serial {
		return refuse("only serial loops of as many iterations")
	}
	p, nest := onlyBlock(f)
	if p == nil || slices.ContainsFunc(p.Iters, func(it loop.Iter) bool { return it.Reduce }) {
		return refuse("the first holds more than a block, or a reduction")
	}
	var around loop.Stmt = s.Func.Body
	if path := outside(s.around(f)); len(path) > 0 {
		around = path[len(path)-1].Body
	}
	if err := mayMove(around, f, g, p); err != nil {
		return refuse("%v", err)
	}
	if err := readsOwn(p, nest, g, rangesAt(s.around(g))); err != nil {
		return refuse("%v", err)
	}
	body := loop.Subst(f.Body, map[*expr.Var]expr.Expr{f.Var: g.Var})
	s.replace(f, nil)
	g, _ = s.loop(with)
	s.replace(g, &loop.For{Var: g.Var, Min: g.Min, Extent: g.Extent, Kind: g.Kind, Body: &loop.Seq{List: append([]loop.Stmt{body}, flatten(g.Body)...)}})
	s.log("compute_with", first, 0, with)
	return nil
}

// outside is a path without its last loop.
func outside(path []*loop.For) []*loop.For { return path[:len(path)-1] }

// onlyBlock is the block of a perfect nest, nil where f is none, and its loops from f on.
func onlyBlock(f *loop.For) (*loop.Block, []*loop.For) {
	nest := []*loop.For{f}
	for {
		switch t := nest[len(nest)-1].Body.(type) {
		case *loop.For:
			nest = append(nest, t)
		case *loop.Block:
			return t, nest
		default:
			return nil, nil
		}
	}
}

// mayMove says why p, the block of loop f, cannot be computed later, in loop g: g must follow it in body, in the same allocations;
// neither g nor what stands between may write what p accesses; and what stands between may not read what p computes.
func mayMove(body loop.Stmt, f, g *loop.For, p *loop.Block) error {
	uses := map[*loop.Buffer]bool{p.Body.To: true}
	expr.Loads(p.Body.Value, func(l *expr.Load) { uses[l.From.(*loop.Buffer)] = true })
	before, after := false, false // f was passed, and g
	var err error
	fail := func(format string, args ...any) {
		if err == nil {
			err = fmt.Errorf(format, args...)
		}
	}
	var visit func(t loop.Stmt)
	visit = func(t loop.Stmt) {
		if seq, ok := t.(*loop.Seq); ok {
			for _, u := range seq.List {
				visit(u)
			}
			return
		}
		if a, ok := t.(*loop.Alloc); ok {
			visit(a.Body)
			if before && !after && uses[a.Buffer] {
				fail("%s is not allocated around both", a.Buffer.Name)
			}
			return
		}
		switch {
		case t == loop.Stmt(f):
			before = true
			return
		case !before && t == loop.Stmt(g):
			fail("%s comes first", g.Var.Name)
		}
		if before && !after {
			after = t == loop.Stmt(g)
			if to := writesAny(t, uses); to != nil {
				fail("%s is written before the second has ended", to.Name)
			}
			if !after && readsAny(t, p.Body.To) {
				fail("%s is read between them", p.Body.To.Name)
			}
		}
	}
	visit(body)
	if err == nil && !after {
		return fmt.Errorf("a condition is around one of them")
	}
	return err
}

// writesAny is a buffer of the set that t writes, nil where it writes none.
func writesAny(t loop.Stmt, set map[*loop.Buffer]bool) (to *loop.Buffer) {
	loop.Walk(t, func(u loop.Stmt) bool {
		switch u := u.(type) {
		case *loop.Block:
			if set[u.Body.To] {
				to = u.Body.To
			}
		case *loop.Store:
			if set[u.To] {
				to = u.To
			}
		}
		return to == nil
	})
	return to
}

// readsAny reports whether t reads a buffer.
func readsAny(t loop.Stmt, from *loop.Buffer) bool {
	found := false
	loop.MapExprs(t, func(e expr.Expr) expr.Expr {
		expr.Loads(e, func(l *expr.Load) { found = found || l.From == expr.Source(from) })
		return e
	})
	return found
}

// turning lists the loops of more than one iteration. The variables of others are what they begin with.
func turning(nest []*loop.For, only map[*expr.Var]expr.Expr) (list []*loop.For) {
	for _, f := range nest {
		if expr.IsInt(f.Extent, 1) {
			only[f.Var] = f.Min
		} else {
			list = append(list, f)
		}
	}
	return list
}

// readsOwn checks that every iteration of g reads of what p computes in nest just that of its own iteration: the loops inside are
// as long, and the places are equal where their variables are.
func readsOwn(p *loop.Block, nest []*loop.For, g *loop.For, ranges arith.Ranges) (err error) {
	stored := p.Bindings()
	found := false
	var visit func(t loop.Stmt, inside []*loop.For, r arith.Ranges)
	read := func(b *loop.Block, inside []*loop.For, r arith.Ranges) {
		bind := b.Bindings()
		expr.Loads(b.Body.Value, func(l *expr.Load) {
			if l.From != expr.Source(p.Body.To) || err != nil {
				return
			}
			found = true
			same := map[*expr.Var]expr.Expr{}
			own, theirs := turning(nest, same), turning(inside, same)
			if len(own) != len(theirs) {
				err = fmt.Errorf("%s is in %d loops, and %s in %d", p.Name, len(own), b.Name, len(theirs))
				return
			}
			for i, f := range own {
				if !arith.Equal(f.Extent, theirs[i].Extent) || !arith.Equal(f.Min, theirs[i].Min) {
					err = fmt.Errorf("loops %s and %s are not of one length", f.Var.Name, theirs[i].Var.Name)
					return
				}
				same[f.Var] = theirs[i].Var
			}
			for i, x := range l.Index {
				at := expr.Subst(expr.Subst(p.Body.Index[i], stored), same)
				if !arith.Equal(r.Simplify(at), r.Simplify(expr.Subst(expr.Subst(x, bind), same))) {
					err = fmt.Errorf("%s reads %s elsewhere", b.Name, p.Body.To.Name)
					return
				}
			}
		})
	}
	visit = func(t loop.Stmt, inside []*loop.For, r arith.Ranges) {
		switch t := t.(type) {
		case *loop.Seq:
			for _, u := range t.List {
				visit(u, inside, r)
			}
		case *loop.For:
			visit(t.Body, append(slices.Clip(inside), t), r.With(t.Var, rangeOf(t, r)))
		case *loop.Alloc:
			visit(t.Body, inside, r)
		case *loop.Block:
			read(t, inside, r)
		default:
			if readsAny(t, p.Body.To) {
				err = fmt.Errorf("%s is read by what is no block", p.Body.To.Name)
			}
		}
	}
	visit(g, nil, ranges)
	if err == nil && !found {
		return fmt.Errorf("the second does not read %s", p.Body.To.Name)
	}
	return err
}
