package llvm

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// laneCounts tells of each register buffer the greatest extent of the vector loops inside its allocation that access it along their lanes;
// buffers whose accesses are all scalar have none.
func laneCounts(s loop.Stmt) map[*loop.Buffer]int {
	c := laneCounter{lanes: map[*loop.Buffer]int{}, outside: map[*loop.Buffer]*expr.Var{}}
	c.visit(s, nil, 0)
	return c.lanes
}

type laneCounter struct {
	lanes   map[*loop.Buffer]int
	outside map[*loop.Buffer]*expr.Var // of register buffers: the vector loop around the allocation
}

// visit visits a statement in a loop over v of n lanes; nil: in none.
func (c *laneCounter) visit(s loop.Stmt, v *expr.Var, n int) {
	switch s := s.(type) {
	case *loop.Seq:
		for _, t := range s.List {
			c.visit(t, v, n)
		}
	case *loop.For:
		if s.Kind == loop.Vector {
			k, _ := expr.IntOf(s.Extent)
			c.visit(s.Body, s.Var, int(k))
		} else {
			c.visit(s.Body, v, n)
		}
	case *loop.If:
		c.visit(s.Then, v, n)
		if s.Else != nil {
			c.visit(s.Else, v, n)
		}
	case *loop.Let:
		c.visit(s.Body, v, n)
	case *loop.Alloc:
		if s.Buffer.Scope == loop.Reg {
			c.outside[s.Buffer] = v
		}
		c.visit(s.Body, v, n)
	case *loop.Store:
		if v != nil {
			c.access(s.To, s.Index, v, n)
			expr.Loads(s.Value, func(l *expr.Load) {
				if b, ok := l.From.(*loop.Buffer); ok {
					c.access(b, l.Index, v, n)
				}
			})
		}
	}
}

func (c *laneCounter) access(b *loop.Buffer, index []expr.Expr, v *expr.Var, n int) {
	if around, ok := c.outside[b]; !ok || around == v || n <= c.lanes[b] {
		return
	}
	for _, x := range index {
		if expr.Uses(x, v) {
			c.lanes[b] = n
		}
	}
}
