package c

import (
	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// shared is what the statements of an unrolled loop have in common and variables hold: elements of memory by the text of
// their place, and indices up to a constant by the text of buffer and index. Compilers find them too; people read them
// once.
//
//	sum0 += x[i * 8 + k] * w[k * 64 + j * 4];           const float x_value = x[i * 8 + k];
//	sum1 += x[i * 8 + k] * w[k * 64 + j * 4 + 1];   →   const int32_t w_at = k * 64 + j * 4;
//	                                                    sum0 += x_value * w[w_at];
//	                                                    sum1 += x_value * w[w_at + 1];
type shared struct{ values, indices map[string]string }

// straight reports whether s is nothing but stores in unrolled loops.
func straight(s loop.Stmt) bool {
	is := true
	loop.Walk(s, func(t loop.Stmt) bool {
		switch t := t.(type) {
		case *loop.Seq, *loop.Store:
		case *loop.For:
			_, lo := expr.IntOf(t.Min)
			_, n := expr.IntOf(t.Extent)
			is = is && t.Kind == loop.Unrolled && lo && n
		default:
			is = false
		}
		return is
	})
	return is
}

// share declares variables for what the statements of f, which are straight, use more than once.
func (e *emitter) share(f *loop.For) {
	writes := written(f.Body)
	values, indices := map[string]int{}, map[string]map[string]bool{}
	visit := func(do func(b *loop.Buffer, flat expr.Expr, element bool)) {
		each := func(b *loop.Buffer, at []expr.Expr, element bool) {
			if buf := e.bufs[b]; buf == nil || buf.elements != nil {
				return
			}
			if flat := e.flat(b, at); e.closed(flat) {
				do(b, flat, element && !writes[b])
			}
		}
		e.instances(f, func(s *loop.Store) {
			accesses(s.Value, true, func(l *expr.Load, always bool) { each(l.From.(*loop.Buffer), l.Index, always) })
			each(s.To, s.Index, false)
		})
	}
	visit(func(b *loop.Buffer, flat expr.Expr, element bool) {
		key, _ := e.base(b, flat)
		if indices[key] == nil {
			indices[key] = map[string]bool{}
		}
		indices[key][e.expr(flat).s] = true
		if element {
			values[e.text(b, flat)]++
		}
	})
	e.shared = shared{map[string]string{}, map[string]string{}}
	visit(func(b *loop.Buffer, flat expr.Expr, element bool) {
		key, rest := e.base(b, flat)
		if v := e.expr(rest); len(indices[key]) > 1 && !b.DType.IsNibble() && e.shared.indices[key] == "" && v.prec != atom {
			e.shared.indices[key] = e.variable(e.bufs[b].name+"_at", types.I64, v).s
		}
		if key := e.text(b, flat); element && values[key] > 1 && e.shared.values[key] == "" {
			e.shared.values[key] = e.variable(e.bufs[b].name+"_value", b.DType.Compute(), e.element(b, flat)).s
		}
	})
}

// closed reports whether e knows all variables of an index, which loads nothing.
func (e *emitter) closed(flat expr.Expr) bool {
	is := true
	expr.Walk(flat, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Var:
			_, ok := e.env[x]
			is = is && ok
		case *expr.Load, *expr.Let:
			is = false
		}
		return is
	})
	return is
}

// base is an index without its constant summand, and with the name of its buffer as a key.
func (e *emitter) base(b *loop.Buffer, flat expr.Expr) (key string, rest expr.Expr) {
	l := arith.LinearOf(flat)
	l.Const = 0
	rest = sumOf(l)
	return e.bufs[b].name + " " + e.expr(rest).s, rest
}

// text is an element as it is written without shared variables.
func (e *emitter) text(b *loop.Buffer, flat expr.Expr) string {
	return e.bufs[b].name + "[" + e.expr(flat).s + "]"
}

// offset is the index of an element, by way of a shared variable where there is one.
func (e *emitter) offset(b *loop.Buffer, flat expr.Expr) value {
	if len(e.shared.indices) > 0 && e.closed(flat) {
		key, _ := e.base(b, flat)
		if name, ok := e.shared.indices[key]; ok {
			v := value{s: name, prec: atom}
			switch c := arith.LinearOf(flat).Const; {
			case c > 0:
				return infix(v, "+", index(c), sum)
			case c < 0:
				return infix(v, "-", index(-c), sum)
			}
			return v
		}
	}
	return e.expr(flat)
}

// instances calls visit for every store as the unrolled loops of s repeat it, with their variables bound.
func (e *emitter) instances(s loop.Stmt, visit func(*loop.Store)) {
	switch s := s.(type) {
	case *loop.Seq:
		for _, t := range s.List {
			e.instances(t, visit)
		}
	case *loop.Store:
		visit(s)
	case *loop.For:
		lo, _ := expr.IntOf(s.Min)
		n, _ := expr.IntOf(s.Extent)
		for i := lo; i < lo+n; i++ {
			e.env[s.Var], e.ranges[s.Var] = index(i), arith.Point(i)
			e.instances(s.Body, visit)
		}
	}
}

// accesses calls visit for the loads in x, with whether they are evaluated wherever x is.
func accesses(x expr.Expr, always bool, visit func(l *expr.Load, always bool)) {
	switch x := x.(type) {
	case *expr.Load:
		visit(x, always)
	case *expr.Select:
		accesses(x.Cond, always, visit)
		accesses(x.A, false, visit)
		accesses(x.B, false, visit)
		return
	case *expr.Binary:
		accesses(x.A, always, visit)
		accesses(x.B, always && x.Op != expr.OpAnd && x.Op != expr.OpOr, visit)
		return
	case *expr.Let:
		always = false
	case *expr.Dot:
		for j := range x.Width() {
			a, b := x.Term(j)
			accesses(a, always, visit)
			accesses(b, always, visit)
		}
		return
	}
	for _, c := range expr.Children(x) {
		accesses(c, always, visit)
	}
}
