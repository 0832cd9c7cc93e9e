package sched

import (
	"fmt"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// ComputeAt moves the nest of a block below a loop of its consumer, where it computes just the region that the loop's
// body reads, into a buffer of that size. All readers must be inside the loop.
//
//	for x { P[x] = ... } for i { for j { C = f(P[4*i + j]) } }, at i
//	→  for i { alloc P[4]; for x { P[x] = ... 4*i + x ... } for j { C = f(P[j]) } }
func (s *Schedule) ComputeAt(block, at string, scope loop.Scope) error {
	p, nest, err := s.block(block)
	if err != nil {
		return err
	}
	f, err := s.loop(at)
	if err != nil {
		return err
	}
	path := s.around(f)
	if err := s.checkComputeAt(p, nest, f, path); err != nil {
		return fmt.Errorf("compute_at %s, %s: %w", block, at, err)
	}
	buf := p.Body.To
	ranges := rangesAt(path)
	region, err := s.readRegion(buf, f, ranges)
	if err != nil {
		return fmt.Errorf("compute_at %s, %s: %w", block, at, err)
	}

	small := *buf
	small.Scope, small.Shape = scope, nil
	for _, d := range region {
		small.Shape = append(small.Shape, d.extent)
	}
	producer := s.produce(p, nest, region, ranges)
	if !s.remove(nest, p) {
		return fmt.Errorf("compute_at %s: its nest holds other blocks", block)
	}
	f, _ = s.loop(at)
	body := &loop.Alloc{Buffer: buf, Body: &loop.Seq{List: append([]loop.Stmt{producer}, flatten(f.Body)...)}}
	moved := rebase(body, buf, &small, region)
	s.replace(f, &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: moved})
	s.log("compute_at", block, 0, at, scope.String())
	return nil
}

// checkComputeAt says why p, in its nest, cannot move below f, the last of path, as far as its own form forbids it.
func (s *Schedule) checkComputeAt(p *loop.Block, nest []*loop.For, f *loop.For, path []*loop.For) error {
	if loop.Divided(f.Body) {
		return errDivided
	}
	for _, g := range path {
		if g.Kind == loop.Vector {
			return fmt.Errorf("%s is inside a vector loop, %s", f.Var.Name, g.Var.Name)
		}
	}
	for _, g := range nest {
		if g == f {
			return fmt.Errorf("it is inside loop %s already", f.Var.Name)
		}
		if countsBoth(p, g) {
			return fmt.Errorf("loop %s counts a reduction and a spatial axis", g.Var.Name)
		}
	}
	if to := s.changing(p); to != nil {
		return fmt.Errorf("it reads %s, which is stored to again", to.Name)
	}
	var err error
	loop.Walk(s.Func.Body, func(t loop.Stmt) bool {
		if b, ok := t.(*loop.Block); ok && b != p && b.Body.To == p.Body.To {
			err = fmt.Errorf("%s also writes %s", b.Name, p.Body.To.Name)
		}
		return err == nil
	})
	return err
}

// changing is a result that p reads, nil where there is none: what is kept in a result changes when that is stored.
func (s *Schedule) changing(p *loop.Block) (to *loop.Buffer) {
	expr.Loads(p.Body.Value, func(l *expr.Load) {
		if b := l.From.(*loop.Buffer); b != p.Body.To && b.Scope == loop.Global && s.writers(b) > 0 {
			to = b
		}
	})
	return to
}

func flatten(t loop.Stmt) []loop.Stmt {
	if q, ok := t.(*loop.Seq); ok {
		return q.List
	}
	return []loop.Stmt{t}
}

// A span is what one axis of a buffer is read over: [base, base+extent).
type span struct {
	base   expr.Expr
	extent int
}

// readRegion bounds the elements of buf that the body of f reads, in terms of f's variable and those around it, whose
// ranges outer has.
func (s *Schedule) readRegion(buf *loop.Buffer, f *loop.For, outer arith.Ranges) ([]span, error) {
	var region []span
	inner := arith.Ranges{}
	readers := 0
	visit := func(b *loop.Block) {
		bind := b.Bindings()
		expr.Loads(b.Body.Value, func(l *expr.Load) {
			if l.From != expr.Source(buf) {
				return
			}
			readers++
			for k, x := range l.Index {
				d := spanOf(inner.Simplify(expr.Subst(x, bind)), inner, outer, buf.Shape[k])
				if len(region) <= k {
					region = append(region, d)
				} else {
					region[k] = region[k].union(d, buf.Shape[k])
				}
			}
		})
	}
	loop.Walk(f.Body, func(t loop.Stmt) bool {
		switch t := t.(type) {
		case *loop.For:
			inner[t.Var] = rangeOf(t, inner)
		case *loop.Block:
			visit(t)
		}
		return true
	})
	if readers == 0 {
		return nil, fmt.Errorf("nothing in the loop reads it")
	}
	total := 0
	loop.Walk(s.Func.Body, func(t loop.Stmt) bool {
		if b, ok := t.(*loop.Block); ok && b.Body.To != buf {
			expr.Loads(b.Body.Value, func(l *expr.Load) {
				if l.From == expr.Source(buf) {
					total++
				}
			})
		}
		return true
	})
	if total != readers {
		return nil, fmt.Errorf("it is also read outside the loop")
	}
	return region, nil
}

// spanOf splits an index into a base of outer variables and an extent from the ranges of inner ones. The whole axis is
// read when an index mixes both within one atom, or depends on memory or on what the expression itself binds.
func spanOf(e expr.Expr, inner, outer arith.Ranges, whole int) span {
	l := arith.LinearOf(e)
	var base arith.Linear
	r := arith.Point(0)
	for _, t := range l.Terms {
		uses, other := false, false
		expr.Walk(t.Atom, func(x expr.Expr) bool {
			switch x := x.(type) {
			case *expr.Var:
				_, isInner := inner[x]
				_, isOuter := outer[x]
				uses, other = uses || !isOuter, other || !isInner
			case *expr.Load:
				uses, other = true, true
			}
			return true
		})
		switch {
		case uses && other:
			return span{expr.Index(0), whole}
		case uses:
			r = r.Add(inner.Of(t.Atom).Scale(t.Coef))
		default:
			base.Terms = append(base.Terms, t)
		}
	}
	n := r.Hi - r.Lo + 1
	if n >= int64(whole) && len(base.Terms) > 0 || n > 1<<30 || len(base.Terms) == 0 && (l.Const+r.Lo < 0 || l.Const+r.Hi >= int64(whole)) {
		return span{expr.Index(0), whole}
	}
	base.Const = l.Const + r.Lo
	return span{base.Expr(), int(n)}
}

// union is the smallest span over both when their bases differ by a constant, the whole axis otherwise.
func (d span) union(e span, whole int) span {
	diff := arith.LinearOf(e.base).Sub(arith.LinearOf(d.base))
	if len(diff.Terms) > 0 {
		return span{expr.Index(0), whole}
	}
	lo, hi := min(0, int(diff.Const)), max(d.extent, int(diff.Const)+e.extent)
	base := arith.LinearOf(d.base)
	base.Const += int64(lo)
	return span{base.Expr(), hi - lo}
}

// produce makes the producer's new nest: a loop per axis of the region, then its reduction loops as they were.
func (s *Schedule) produce(p *loop.Block, nest []*loop.For, region []span, ranges arith.Ranges) loop.Stmt {
	b := *p
	b.Iters = append([]loop.Iter(nil), p.Iters...)
	inner := arith.Ranges{}
	for v, i := range ranges {
		inner[v] = i
	}
	var loops []*loop.For
	k := 0
	for i := range b.Iters {
		it := &b.Iters[i]
		if it.Reduce {
			continue
		}
		d := region[k]
		k++
		if d.extent == 1 {
			it.Binding = d.base
			continue
		}
		v := expr.NewVar(p.Name + "_" + it.Var.Name + ".t")
		s.axes[v.Name] = Axis{p.Name, it.Var.Name}
		f := &loop.For{Var: v, Min: expr.Index(0), Extent: expr.Index(d.extent)}
		inner[v] = rangeOf(f, nil)
		it.Binding = inner.Simplify(expr.Add(d.base, v))
		loops = append(loops, f)
	}
	for _, f := range nest {
		if ReducesOver(&b, f) {
			loops = append(loops, &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind})
			inner[f.Var] = rangeOf(f, inner)
		}
	}
	var body loop.Stmt = &b
	for i := len(loops) - 1; i >= 0; i-- {
		loops[i].Body = body
		body = loops[i]
	}
	return guardDomain(body, ranges)
}

// remove deletes the nest that holds only block p, and the allocation of its buffer.
func (s *Schedule) remove(nest []*loop.For, p *loop.Block) bool {
	var top loop.Stmt = p
	if len(nest) > 0 {
		blocks := 0
		loop.Walk(nest[0], func(t loop.Stmt) bool {
			if _, ok := t.(*loop.Block); ok {
				blocks++
			}
			return true
		})
		if blocks != 1 {
			return false
		}
		top = nest[0]
	}
	s.Func.Body = loop.Rewrite(s.Func.Body, func(t loop.Stmt) loop.Stmt {
		if a, ok := t.(*loop.Alloc); ok && a.Buffer == p.Body.To {
			return a.Body
		}
		if t == top {
			return nil
		}
		return t
	})
	return true
}

// rebase moves accesses of old inside body to small, relative to the region's bases. What all is in one register has the index 0,
// whether or not the difference shows it.
func rebase(body loop.Stmt, old, small *loop.Buffer, region []span) loop.Stmt {
	register := small.Scope == loop.Reg && types.Count(small.Shape) == 1
	shift := func(index []expr.Expr) []expr.Expr {
		out := make([]expr.Expr, len(index))
		for i, x := range index {
			if register {
				out[i] = expr.Index(0)
				continue
			}
			out[i] = arith.Ranges{}.Simplify(expr.Sub(x, region[i].base))
		}
		return out
	}
	fix := func(e expr.Expr) expr.Expr {
		return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
			if l, ok := x.(*expr.Load); ok && l.From == expr.Source(old) {
				return &expr.Load{From: small, Index: shift(l.Index)}
			}
			return x
		})
	}
	body = loop.MapExprs(body, fix)
	store := func(t *loop.Store) *loop.Store {
		if t == nil || t.To != old {
			return t
		}
		return &loop.Store{To: small, Index: shift(t.Index), Value: t.Value}
	}
	return loop.Rewrite(body, func(t loop.Stmt) loop.Stmt {
		switch t := t.(type) {
		case *loop.Alloc:
			if t.Buffer == old {
				return &loop.Alloc{Buffer: small, Body: t.Body}
			}
		case *loop.Store:
			return store(t)
		case *loop.Block:
			b := *t
			b.Init, b.Body = store(t.Init), store(t.Body)
			return &b
		}
		return t
	})
}
