package looppass

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// fillSpareLanes leaves out conditions that keep the lanes of vectors behind a border out of a local buffer, where all that reads the buffer has them too: what lies there
// is never used, and to leave it as it was takes an instruction of each vector, and a register. What a vector reads then must be inside its buffers in all lanes. Of
// vectors that are behind the border as a whole the condition remains, which is the same in all lanes then.
//
//	alloc T { vector v { if v < 5 { T[v] = 0 } } for k { vector v { if v < 5 { T[v] = T[v] + x[k, v] } } } vector v { if v < 5 { y[v] = T[v] } } }
//	→  alloc T { vector v { T[v] = 0 } for k { vector v { T[v] = T[v] + x[k, v] } } vector v { if v < 5 { y[v] = T[v] } } }
func fillSpareLanes(f *loop.Func) error {
	s := spareLanes{}
	s.collect(f.Body, nil)
	f.Body = hoist(s.filled(f.Body, scope{}))
	return simplify(f)
}

// A limit is a condition on an index of a buffer: a multiple of the index of an axis, plus a number, is not negative.
type limit struct {
	axis         int
	times, extra int64
}

// limitsOf are those that a condition is on the elements at an index.
func limitsOf(cond expr.Expr, index []expr.Expr) (list []limit) {
	facts := arith.Facts{}.And(cond)
	if len(facts) != 1 {
		return nil
	}
	for axis, x := range index {
		at := arith.LinearOf(x)
		if len(at.Terms) == 0 {
			continue
		}
		v, ok := at.Terms[0].Atom.(*expr.Var)
		if !ok {
			continue
		}
		coef, _ := facts[0].Coef(v)
		times := coef / at.Terms[0].Coef
		if rest := facts[0].Sub(arith.LinearOf(expr.Mul(x, expr.Index(int(times))))); times != 0 && len(rest.Terms) == 0 {
			list = append(list, limit{axis, times, rest.Const})
		}
	}
	return list
}

// spareLanes are the limits of local buffers that all who read them keep to.
type spareLanes map[*loop.Buffer][]limit

// collect finds them, below what conditions say.
func (s spareLanes) collect(t loop.Stmt, conds []expr.Expr) {
	reads := func(list ...expr.Expr) {
		for _, e := range list {
			expr.Loads(e, func(l *expr.Load) { s.reads(l, conds) })
		}
	}
	switch t := t.(type) {
	case *loop.Seq:
		for _, u := range t.List {
			s.collect(u, conds)
		}
	case *loop.For:
		reads(t.Min, t.Extent)
		s.collect(t.Body, conds)
	case *loop.If:
		reads(t.Cond)
		s.collect(t.Then, append(slices.Clip(conds), arith.Conjuncts(t.Cond)...))
		if t.Else != nil {
			s.collect(t.Else, conds)
		}
	case *loop.Let:
		reads(t.Value)
		s.collect(t.Body, conds)
	case *loop.Alloc:
		s.collect(t.Body, conds)
	case *loop.Prefetch:
		reads(t.At)
	case *loop.Store:
		reads(t.Index...)
		reads(t.Value)
	}
}

func (s spareLanes) reads(l *expr.Load, conds []expr.Expr) {
	var list []limit
	for _, c := range conds {
		list = append(list, limitsOf(c, l.Index)...)
	}
	b := l.From.(*loop.Buffer)
	if kept, others := s[b]; others {
		list = slices.DeleteFunc(list, func(o limit) bool { return !slices.Contains(kept, o) })
	}
	s[b] = list
}

// A scope is what holds at a statement, the vector loop around it, if any, and the loops that are copied.
type scope struct {
	ranges arith.Ranges
	facts  arith.Facts
	lane   *expr.Var
	copied []*expr.Var
}

func (in scope) under(conds ...expr.Expr) scope {
	for _, c := range conds {
		in.facts = in.facts.And(c)
	}
	return in
}

// filled rewrites a statement.
func (s spareLanes) filled(t loop.Stmt, in scope) loop.Stmt {
	switch t := t.(type) {
	case *loop.Seq:
		list := make([]loop.Stmt, len(t.List))
		for i, u := range t.List {
			list[i] = s.filled(u, in)
		}
		return &loop.Seq{List: list}
	case *loop.For:
		first := in.ranges.Of(t.Min)
		in.ranges = in.ranges.With(t.Var, arith.Interval{Lo: first.Lo, Hi: first.Add(in.ranges.Of(t.Extent)).Hi - 1})
		in.facts = loopFacts(in.facts, t.Var, t.Min, t.Extent)
		switch {
		case t.Kind == loop.Vector:
			in.lane = t.Var
		case t.Kind.Copied():
			in.copied = append(slices.Clip(in.copied), t.Var)
		}
		return &loop.For{Var: t.Var, Min: t.Min, Extent: t.Extent, Kind: t.Kind, Body: s.filled(t.Body, in)}
	case *loop.If:
		conds := arith.Conjuncts(t.Cond)
		for i, c := range conds {
			others := slices.Delete(slices.Clone(conds), i, i+1)
			if some, ok := someLane(c, in); ok && t.Else == nil && s.spares(c, t.Then, in.under(append(others, some)...)) {
				conds[i] = some
			}
		}
		then := s.filled(t.Then, in.under(conds...))
		out := &loop.If{Cond: expr.AllOf(conds...), Then: then}
		if t.Else != nil {
			out.Else = s.filled(t.Else, in)
		}
		return out
	case *loop.Let:
		in.ranges = in.ranges.With(t.Var, in.ranges.Of(t.Value))
		return &loop.Let{Var: t.Var, Value: t.Value, Body: s.filled(t.Body, in)}
	case *loop.Alloc:
		return &loop.Alloc{Buffer: t.Buffer, Body: s.filled(t.Body, in)}
	}
	return t
}

// spares reports whether a condition on some statements keeps lanes out that nobody reads, and they may be run in all lanes.
func (s spareLanes) spares(cond expr.Expr, t loop.Stmt, within scope) bool {
	list := []loop.Stmt{t}
	if q, ok := t.(*loop.Seq); ok {
		list = q.List
	}
	return !slices.ContainsFunc(list, func(t loop.Stmt) bool {
		u, ok := t.(*loop.Store)
		return !ok || u.To.Scope != loop.Reg && u.To.Scope != loop.Worker || !s.keeps(cond, u) || !within.inside(u)
	})
}

// someLane is the condition that one holds for some lane of a vector, if that is known to be so, or will be once loops are copied.
func someLane(cond expr.Expr, in scope) (some expr.Expr, ok bool) {
	facts := arith.Facts{}.And(cond)
	if in.lane == nil || len(facts) != 1 {
		return nil, false
	}
	coef, inside := facts[0].Coef(in.lane)
	if coef == 0 || inside {
		return nil, false
	}
	rest := facts[0].Without(in.lane)
	rest.Const += max(in.ranges[in.lane].Lo*coef, in.ranges[in.lane].Hi*coef)
	if rest.Range(in.ranges).Lo >= 0 {
		return &expr.Int{V: 1, Type: types.Bool}, true
	}
	for _, t := range rest.Terms {
		v, isVar := t.Atom.(*expr.Var)
		if !isVar || !slices.Contains(in.copied, v) {
			return nil, false
		}
	}
	return expr.GE(rest.Expr(), expr.Index(0)), true
}

// keeps reports whether a condition of a store is one of all reads.
func (s spareLanes) keeps(cond expr.Expr, t *loop.Store) bool {
	return slices.ContainsFunc(limitsOf(cond, t.Index), func(b limit) bool { return slices.Contains(s[t.To], b) })
}

// inside reports whether all that a store accesses is inside of its buffers.
func (in scope) inside(t *loop.Store) bool {
	ok := true
	check := func(b *loop.Buffer, index []expr.Expr) {
		for axis, x := range index {
			ok = ok && in.facts.InRange(x, b.Shape[axis], in.ranges)
		}
	}
	check(t.To, t.Index)
	expr.Walk(t.Value, func(e expr.Expr) bool {
		switch e := e.(type) {
		case *expr.Load:
			check(e.From.(*loop.Buffer), e.Index)
		case *expr.Dot:
			last, other := e.Term(e.Width() - 1)
			check(last.From.(*loop.Buffer), last.Index)
			check(other.From.(*loop.Buffer), other.Index)
		case *expr.Let: // of a value that the ranges do not know
			ok = false
		}
		return ok
	})
	return ok
}
