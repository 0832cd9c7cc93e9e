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
	s := spareLanes{read: map[*loop.Buffer][]limit{}, lanes: map[*loop.Buffer]int{}, ragged: map[*loop.Buffer]bool{}}
	s.collect(f.Body, scope{})
	for {
		s.filledAny = false
		known := len(s.ragged)
		body := s.filled(f.Body, scope{})
		if !s.filledAny {
			return nil
		}
		if len(s.ragged) == known {
			f.Body = hoist(body)
			return simplify(f)
		}
	}
}

// A limit is a condition on the elements that a vector of so many lanes accesses: a multiple of the index of an axis, plus a number, is not negative.
type limit struct {
	lanes, axis  int
	times, extra int64
}

// limitsOf are those that a condition is on the elements at an index, in a scope.
func limitsOf(cond expr.Expr, index []expr.Expr, in scope) (list []limit) {
	facts := arith.Facts{}.And(cond)
	if len(facts) != 1 || reads(cond) {
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
			list = append(list, limit{in.lanes, axis, times, rest.Const})
		}
	}
	return list
}

// spareLanes are the limits of local buffers that all who read them keep to, by how many lanes each is written, and the buffers of which some lanes may stay unwritten.
type spareLanes struct {
	read      map[*loop.Buffer][]limit
	lanes     map[*loop.Buffer]int
	ragged    map[*loop.Buffer]bool
	filledAny bool
}

// collect finds the limits.
func (s *spareLanes) collect(t loop.Stmt, in scope) {
	reads := func(list ...expr.Expr) {
		for _, e := range list {
			expr.Walk(e, func(e expr.Expr) bool {
				switch e := e.(type) {
				case *expr.Dot: // reads neighbours as well
					s.read[e.A.From.(*loop.Buffer)], s.read[e.B.From.(*loop.Buffer)] = nil, nil
				case *expr.Load:
					s.reads(e, in)
				}
				return true
			})
		}
	}
	switch t := t.(type) {
	case *loop.Seq:
		for _, u := range t.List {
			s.collect(u, in)
		}
	case *loop.For:
		reads(t.Min, t.Extent)
		s.collect(t.Body, in.loop(t))
	case *loop.If:
		reads(t.Cond)
		s.collect(t.Then, in.under(arith.Conjuncts(t.Cond)...))
		if t.Else != nil {
			s.collect(t.Else, in)
		}
	case *loop.Let:
		reads(t.Value)
		s.collect(t.Body, in)
	case *loop.Alloc:
		s.collect(t.Body, in)
	case *loop.Prefetch:
		reads(t.At)
	case *loop.Store:
		reads(t.Index...)
		reads(t.Value)
		s.writes(t, in)
	}
}

// writes notes how a buffer is written first. What adds to elements finds them written.
func (s *spareLanes) writes(t *loop.Store, in scope) {
	if adds(t) {
		return
	}
	n := 0
	if byLane(t.Index, in) {
		n = in.lanes
	}
	if m, others := s.lanes[t.To]; n == 0 || others && m != n {
		s.ragged[t.To] = true
	}
	s.lanes[t.To] = n
}

// adds reports whether a store reads its buffer.
func adds(t *loop.Store) (own bool) {
	expr.Loads(t.Value, func(l *expr.Load) { own = own || l.From == expr.Source(t.To) })
	return own
}

// byLane reports whether an index differs between lanes.
func byLane(index []expr.Expr, in scope) bool {
	return in.lane != nil && slices.ContainsFunc(index, func(x expr.Expr) bool { return expr.Uses(x, in.lane) })
}

func (s *spareLanes) reads(l *expr.Load, in scope) {
	var list []limit
	for _, c := range in.conds {
		list = append(list, limitsOf(c, l.Index, in)...)
	}
	b := l.From.(*loop.Buffer)
	if kept, others := s.read[b]; others {
		list = slices.DeleteFunc(list, func(o limit) bool { return !slices.Contains(kept, o) })
	}
	s.read[b] = list
}

// A scope is what holds at a statement, the vector loop around it, if any, and the loops that are copied.
type scope struct {
	ranges arith.Ranges
	facts  arith.Facts
	conds  []expr.Expr
	lane   *expr.Var
	lanes  int
	copied []*expr.Var
}

func (in scope) loop(f *loop.For) scope {
	in.ranges = in.ranges.With(f.Var, in.ranges.OfLoop(f.Min, f.Extent))
	in.facts = loopFacts(in.facts, f.Var, f.Min, f.Extent)
	n, known := expr.IntOf(f.Extent)
	switch _, fixed := expr.IntOf(f.Min); {
	case f.Kind == loop.Vector && fixed && known:
		in.lane, in.lanes = f.Var, int(n)
	case f.Kind.Copied():
		in.copied = append(slices.Clip(in.copied), f.Var)
	}
	return in
}

// under adds conditions, but those that read what may change.
func (in scope) under(conds ...expr.Expr) scope {
	for _, c := range conds {
		if !reads(c) {
			in.facts, in.conds = in.facts.And(c), append(slices.Clip(in.conds), c)
		}
	}
	return in
}

// filled rewrites a statement.
func (s *spareLanes) filled(t loop.Stmt, in scope) loop.Stmt {
	switch t := t.(type) {
	case *loop.Seq:
		list := make([]loop.Stmt, len(t.List))
		for i, u := range t.List {
			list[i] = s.filled(u, in)
		}
		return &loop.Seq{List: list}
	case *loop.For:
		return &loop.For{Var: t.Var, Min: t.Min, Extent: t.Extent, Kind: t.Kind, Body: s.filled(t.Body, in.loop(t))}
	case *loop.If:
		conds := arith.Conjuncts(t.Cond)
		for i, c := range conds {
			others := slices.Delete(slices.Clone(conds), i, i+1)
			some, ok := someLane(c, in)
			if ok && t.Else == nil && !slices.ContainsFunc(others, reads) && s.spares(c, t.Then, in, in.under(append(others, some)...)) {
				conds[i], s.filledAny = some, true
			}
		}
		if in.lane != nil && slices.ContainsFunc(conds, func(c expr.Expr) bool { return expr.Uses(c, in.lane) }) {
			s.leaves(t)
		}
		out := &loop.If{Cond: expr.AllOf(conds...), Then: s.filled(t.Then, in.under(conds...))}
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

// leaves notes the buffers of which a condition on lanes leaves elements unwritten.
func (s *spareLanes) leaves(t *loop.If) {
	loop.Walk(t, func(u loop.Stmt) bool {
		if st, ok := u.(*loop.Store); ok && !adds(st) {
			s.ragged[st.To] = true
		}
		return true
	})
}

// spares reports whether a condition on some statements keeps lanes out that nobody reads, and they may be run in all lanes.
func (s *spareLanes) spares(cond expr.Expr, t loop.Stmt, in, within scope) bool {
	list := []loop.Stmt{t}
	if q, ok := t.(*loop.Seq); ok {
		list = q.List
	}
	return !slices.ContainsFunc(list, func(t loop.Stmt) bool {
		u, ok := t.(*loop.Store)
		return !ok || !local(u.To) || !s.keeps(cond, u, in) || !s.inside(u, within)
	})
}

func local(b *loop.Buffer) bool { return b.Scope == loop.Reg || b.Scope == loop.Worker }

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
func (s *spareLanes) keeps(cond expr.Expr, t *loop.Store, in scope) bool {
	return slices.ContainsFunc(limitsOf(cond, t.Index, in), func(l limit) bool { return slices.Contains(s.read[t.To], l) })
}

// inside reports whether all that a store accesses in any lane is inside of its buffers, and has been written where these are local.
func (s *spareLanes) inside(t *loop.Store, in scope) bool {
	ok := true
	check := func(b *loop.Buffer, index []expr.Expr) {
		if local(b) && byLane(index, in) {
			ok = ok && !s.ragged[b] && s.lanes[b] == in.lanes
		}
		for axis, x := range index {
			ok = ok && in.facts.InRange(x, b.Shape[axis], in.ranges)
		}
	}
	for axis, x := range t.Index {
		ok = ok && in.facts.InRange(x, t.To.Shape[axis], in.ranges)
	}
	for _, e := range append(slices.Clone(t.Index), t.Value) {
		expr.Walk(e, func(e expr.Expr) bool {
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
	}
	return ok
}
