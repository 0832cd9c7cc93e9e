package lower

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/types"
)

// collapse merges neighbouring axes that every stage walks together, so that a loop over rows of pixels becomes one over
// pixels: the height and width of an elementwise chain or of a 1x1 convolution. Memory does not change.
//
//	y[n, c, h, w] = f(x[n, c, h, w], b[c])   →   y[n, c, hw] = f(x[n, c, hw], b[c])
//
// Parameters become merged copies of the stages of the caller, in the same order.
func collapse(out *te.Stage) *te.Stage {
	for k := len(out.Axes) - 2; k >= 0; k-- {
		if c, ok := mergeAxes(out, k); ok {
			out = c
		}
	}
	return out
}

// mergeAxes merges axes k and k+1 of out and the axes that correspond to them everywhere below, or reports that some
// stage uses them separately.
func mergeAxes(out *te.Stage, k int) (*te.Stage, bool) {
	where := map[*te.Stage]int{out: k} // first of the two axes in stages to merge; -1: neither occurs
	order := te.Order(out)
	for _, s := range slices.Backward(order) {
		at, ok := where[s]
		if !ok || at < 0 {
			if s.Body != nil && !ok {
				return nil, false
			}
			if at < 0 && s.Body != nil && !leaveAlone(s, where) {
				return nil, false
			}
			continue
		}
		if !adjacent(s.Type, at) {
			return nil, false
		}
		if s.Body != nil && !follow(s, at, where) {
			return nil, false
		}
	}
	done := map[*te.Stage]*te.Stage{}
	for _, s := range order {
		done[s] = merged(s, where[s], where, done)
	}
	return done[out], true
}

// adjacent reports whether axes at and at+1 lie next to each other in memory, unblocked.
func adjacent(t types.Tensor, at int) bool {
	if at+1 >= len(t.Shape) {
		return false
	}
	parts := t.Layout.Parts(len(t.Shape))
	i := slices.IndexFunc(parts, func(p types.Part) bool { return p.Axis == at })
	return i >= 0 && i+1 < len(parts) && parts[i].Block == 0 && parts[i+1].Axis == at+1 && parts[i+1].Block == 0
}

// follow checks the loads of s: each either walks both axes together, whole and in order, or mentions neither.
func follow(s *te.Stage, at int, where map[*te.Stage]int) bool {
	a, b := s.Axes[at], s.Axes[at+1]
	ok := true
	var visit func(e expr.Expr)
	visit = func(e expr.Expr) {
		switch e := e.(type) {
		case *expr.Var:
			if e == a || e == b {
				ok = false
			}
			return
		case *expr.Load:
			from := e.From.(*te.Stage)
			j := -1
			for i := 0; i+1 < len(e.Index); i++ {
				if e.Index[i] == expr.Expr(a) && e.Index[i+1] == expr.Expr(b) && slices.Equal(from.Type.Shape[i:i+2], s.Type.Shape[at:at+2]) {
					j = i
				}
			}
			for i, x := range e.Index {
				if j < 0 || i != j && i != j+1 {
					visit(x) // a data-dependent index loads too
				}
			}
			if old, seen := where[from]; seen && old != j {
				ok = false
			}
			where[from] = j
			return
		}
		for _, c := range expr.Children(e) {
			visit(c)
		}
	}
	visit(s.Body)
	return ok
}

// leaveAlone marks what an unaffected stage loads as unaffected.
func leaveAlone(s *te.Stage, where map[*te.Stage]int) bool {
	ok := true
	expr.Loads(s.Body, func(l *expr.Load) {
		from := l.From.(*te.Stage)
		if old, seen := where[from]; seen && old >= 0 {
			ok = false
		}
		where[from] = -1
	})
	return ok
}

// merged is s with axes at and at+1 as one, reading merged stages.
func merged(s *te.Stage, at int, where map[*te.Stage]int, done map[*te.Stage]*te.Stage) *te.Stage {
	c := *s
	if at >= 0 {
		c.Type = mergedType(s.Type, at)
	}
	if s.Body == nil {
		if at >= 0 {
			return &c
		}
		return s
	}
	if at >= 0 {
		c.Axes = slices.Concat(s.Axes[:at], []*expr.Var{expr.NewVar(s.Axes[at].Name)}, s.Axes[at+2:])
	}
	c.Body = expr.Rewrite(s.Body, func(e expr.Expr) expr.Expr {
		l, ok := e.(*expr.Load)
		if !ok {
			return e
		}
		from := l.From.(*te.Stage)
		index := l.Index
		if j := where[from]; j >= 0 {
			index = slices.Concat(index[:j], []expr.Expr{c.Axes[at]}, index[j+2:])
		}
		return &expr.Load{From: done[from], Index: index}
	})
	return &c
}

func mergedType(t types.Tensor, at int) types.Tensor {
	m := types.Tensor{DType: t.DType}
	m.Shape = slices.Concat(t.Shape[:at], []int{t.Shape[at] * t.Shape[at+1]}, t.Shape[at+2:])
	if t.Layout != "" {
		var s []byte
		for i := 0; i < len(t.Layout); i++ {
			c := t.Layout[i]
			axis := int(c|0x20) - 'a'
			switch {
			case c < 'A' || axis < at+1:
				s = append(s, c)
			case axis > at+1:
				s = append(s, c-1)
			}
		}
		m.Layout = types.Layout(s)
	}
	return m
}
