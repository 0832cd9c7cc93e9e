package looppass

import (
	"fmt"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// hoistPlaces binds the places that memory gives, where they are the same in all iterations of a loop, outside of it: the row that is
// looked up is found once and not for every vector of it. Whoever compiles the loop cannot know that its stores leave them alone.
//
//	for j { y[i, j] = x[p[i], j] }   →   let r = p[i] { for j { y[i, j] = x[r, j] } }
func hoistPlaces(f *loop.Func) error {
	n := 0
	f.Body = loop.Rewrite(f.Body, func(s loop.Stmt) loop.Stmt {
		l, ok := s.(*loop.For)
		if !ok || l.Kind != loop.Serial && !l.Kind.Copied() {
			return s
		}
		o := outsideOf(l)
		if o == nil {
			return s
		}
		var lets []*loop.Let
		body := l.Body
		for { // those of a loop inside
			let, ok := body.(*loop.Let)
			if !ok || !o.place(let.Value) {
				break
			}
			lets, body = append(lets, let), let.Body
		}
		for _, e := range o.places(body) {
			lets = append(lets, &loop.Let{Var: expr.NewVar(fmt.Sprintf("place.%d", n)), Value: e})
			n++
		}
		if len(lets) == 0 {
			return s
		}
		var whole loop.Stmt = &loop.For{Var: l.Var, Min: l.Min, Extent: l.Extent, Kind: l.Kind, Body: placed(body, lets)}
		for i := len(lets) - 1; i >= 0; i-- {
			whole = &loop.Let{Var: lets[i].Var, Value: lets[i].Value, Body: whole}
		}
		return whole
	})
	return nil
}

// placed is s with variables for the values of lets.
func placed(s loop.Stmt, lets []*loop.Let) loop.Stmt {
	return loop.MapExprs(s, func(e expr.Expr) expr.Expr {
		var named func(e expr.Expr) expr.Expr
		named = func(e expr.Expr) expr.Expr {
			for _, l := range lets {
				if arith.Equal(l.Value, e) {
					return l.Var
				}
			}
			return expr.MapChildren(e, named)
		}
		return named(e)
	})
}

// An outside tells what is the same in all iterations of a loop.
type outside struct {
	bound   map[*expr.Var]bool   // the variables of the loop and inside
	written map[expr.Source]bool // the memory that is written there
}

// outsideOf is nil of a loop that may run nothing, or that workers or tiles divide within.
func outsideOf(f *loop.For) *outside {
	o := &outside{map[*expr.Var]bool{}, map[expr.Source]bool{}}
	n, ok := expr.IntOf(f.Extent)
	ok = ok && n > 0
	loop.Walk(f, func(s loop.Stmt) bool {
		switch s := s.(type) {
		case *loop.For:
			o.bound[s.Var] = true
			ok = ok && s.Kind != loop.Parallel && s.Kind != loop.Matrix
		case *loop.Let:
			o.bound[s.Var] = true
		case *loop.Store:
			o.written[s.To] = true
		case *loop.Alloc:
			o.written[s.Buffer] = true
		}
		return true
	})
	if !ok {
		return nil
	}
	return o
}

// place reports whether e is an index that memory gives, the same in all iterations.
func (o *outside) place(e expr.Expr) bool {
	same := e.DType() == types.I64 && reads(e)
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Load:
			same = same && !o.written[x.From]
		case *expr.Var:
			same = same && !o.bound[x]
		case *expr.Let:
			same = false
		}
		return same
	})
	return same
}

// places are the greatest parts of indices that are places, of what each iteration computes.
func (o *outside) places(body loop.Stmt) (list []expr.Expr) {
	var value func(e expr.Expr)
	index := func(e expr.Expr) {
		if !o.place(e) {
			value(e)
		} else if !arith.Among(list, e) {
			list = append(list, e)
		}
	}
	value = func(e expr.Expr) {
		switch x := e.(type) {
		case *expr.Load:
			for _, i := range x.Index {
				index(i)
			}
			return
		case *expr.Select:
			value(x.Cond)
			return
		case *expr.Binary:
			switch {
			case x.DType() == types.Bool && (x.Op == expr.OpAnd || x.Op == expr.OpOr):
				value(x.A) // B is evaluated where that decides nothing
				return
			case x.DType() == types.I64:
				index(x.A)
				index(x.B)
				return
			}
		}
		for _, c := range expr.Children(e) {
			value(c)
		}
	}
	loop.Walk(body, func(s loop.Stmt) bool {
		switch s := s.(type) {
		case *loop.For:
			n, constant := expr.IntOf(s.Extent)
			return constant && n > 0
		case *loop.If, *loop.Prefetch:
			return false
		case *loop.Store:
			for _, i := range s.Index {
				index(i)
			}
			value(s.Value)
		}
		return true
	})
	return list
}
