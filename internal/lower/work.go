package lower

import (
	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// Work is the arithmetic of a kernel.
type Work struct {
	Flops    float64     // operations on floats and integers other than indices, comparisons excepted
	Multiply types.DType // element type of the factors where most of it is in sums of products; Invalid: it is not
}

// Work counts the arithmetic of the stages; of a kernel without stages, whose loops were written as such, that of the loops.
func (k *Kernel) Work() Work {
	if len(k.Stages) == 0 {
		return WorkOf(k.Func)
	}
	w := Work{Flops: k.Flops()}
	most := 0.0
	for _, s := range k.Stages {
		if t, ok := s.Multiplies(); ok && s.Flops() > most {
			w.Multiply, most = t, s.Flops()
		}
	}
	return w
}

// WorkOf counts the arithmetic of loops. A loop whose extent varies with one loop around it counts with the mean, and else with the greatest, once when
// there is none; of two branches the longer one counts.
func WorkOf(f *loop.Func) Work {
	c := counter{ranges: arith.Ranges{}, products: map[types.DType]float64{}}
	w := Work{Flops: c.stmt(f.Body, 1)}
	most := w.Flops / 2
	for _, t := range types.DTypes() {
		if n := c.products[t]; n > most {
			w.Multiply, most = t, n
		}
	}
	return w
}

type counter struct {
	ranges   arith.Ranges
	products map[types.DType]float64 // operations in sums of products, by the type of the factors
}

// mean is how often a loop of the given extent runs, which lies in an interval.
func (c *counter) mean(extent expr.Expr, in arith.Interval) float64 {
	var by *expr.Var
	only := in.Lo < in.Hi
	expr.Walk(extent, func(e expr.Expr) bool {
		switch v := e.(type) {
		case *expr.Var:
			only, by = only && (by == nil || by == v), v
		case *expr.Load:
			only = false
		}
		return only
	})
	greatest := float64(max(0, in.Hi))
	if !only || by == nil {
		return greatest
	}
	const most = 1024 // values
	r := c.ranges.Of(by)
	if r.Hi-r.Lo >= most {
		return greatest
	}
	total := int64(0)
	for v := r.Lo; v <= r.Hi; v++ {
		n, ok := expr.IntOf(c.ranges.Simplify(expr.Subst(extent, map[*expr.Var]expr.Expr{by: expr.Index(int(v))})))
		if !ok {
			return greatest
		}
		total += max(0, n)
	}
	return float64(total) / float64(r.Hi-r.Lo+1)
}

// stmt returns the operations of s, which runs so many times.
func (c *counter) stmt(s loop.Stmt, runs float64) float64 {
	switch s := s.(type) {
	case *loop.Seq:
		total := 0.0
		for _, t := range s.List {
			total += c.stmt(t, runs)
		}
		return total
	case *loop.For:
		times := 1.0
		extent := c.ranges.Of(s.Extent)
		if extent.Hi < arith.Inf {
			times = c.mean(s.Extent, extent)
			if first := c.ranges.Of(s.Min); first.Lo > -arith.Inf && first.Hi < arith.Inf {
				c.ranges = c.ranges.With(s.Var, arith.Interval{Lo: first.Lo, Hi: first.Hi + max(0, extent.Hi-1)})
			}
		}
		return c.expr(s.Extent, runs) + c.stmt(s.Body, runs*times)
	case *loop.If:
		then, other := c.stmt(s.Then, runs), 0.0
		if s.Else != nil {
			other = c.stmt(s.Else, runs)
		}
		return c.expr(s.Cond, runs) + max(then, other)
	case *loop.Let:
		return c.expr(s.Value, runs) + c.stmt(s.Body, runs)
	case *loop.Alloc:
		return c.stmt(s.Body, runs)
	case *loop.Block:
		for _, i := range s.Iters {
			c.ranges = c.ranges.With(i.Var, arith.Span(i.Extent))
		}
		return c.store(s.Body, runs)
	case *loop.Store:
		return c.store(s, runs)
	}
	return 0
}

func (c *counter) store(s *loop.Store, runs float64) float64 {
	n := c.expr(s.Value, runs)
	if t, ok := factors(s); ok {
		c.products[t] += n
	}
	return n
}

// factors returns the type of the factors when s adds a product to what it stores to.
func factors(s *loop.Store) (types.DType, bool) {
	sum, ok := s.Value.(*expr.Binary)
	if !ok || sum.Op != expr.OpAdd {
		return types.Invalid, false
	}
	for _, sides := range [][2]expr.Expr{{sum.A, sum.B}, {sum.B, sum.A}} {
		old, isLoad := sides[0].(*expr.Load)
		if !isLoad || old.From != s.To {
			continue
		}
		if d, ok := sides[1].(*expr.Dot); ok {
			return d.B.From.Elem(), true
		}
		product, isBinary := sides[1].(*expr.Binary)
		if !isBinary || product.Op != expr.OpMul {
			continue
		}
		widest := types.Invalid
		expr.Loads(product, func(l *expr.Load) {
			if t := l.From.Elem(); widest == types.Invalid || t.Size() > widest.Size() {
				widest = t
			}
		})
		return widest, widest != types.Invalid
	}
	return types.Invalid, false
}

// expr counts an expression. A dot product is its products and the sums of those.
func (c *counter) expr(e expr.Expr, runs float64) float64 {
	n := expr.Operations(e)
	expr.Walk(e, func(x expr.Expr) bool {
		if d, ok := x.(*expr.Dot); ok {
			n += 2*d.Width() - 1
		}
		return true
	})
	return float64(n) * runs
}

// Touched is about how many bytes of parameter i the kernel reads or writes: all of it, or what its loads can reach where
// that is less, as in a look-up.
func (k *Kernel) Touched(i int) int {
	p := k.Params[i]
	all := p.Type.Bytes()
	if len(k.Stages) == 0 || i == len(k.Params)-1 {
		return all
	}
	loads := 0.0
	for _, s := range k.Stages {
		points := float64(types.Count(s.Type.Shape))
		for _, r := range s.Reduce {
			points *= float64(r.Extent)
		}
		expr.Loads(s.Body, func(l *expr.Load) {
			if l.From == expr.Source(p) {
				loads += points
			}
		})
	}
	return int(min(float64(all), loads*float64(p.Type.DType.Size())))
}
