package extern

import (
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// scatterBlocks is the number of blocks of rows that scatter_nd is divided into. Every block looks at all updates, in
// their order, and takes those that go to its rows.
const scatterBlocks = 8

// scatterND divides the rows, which coordinates name, into blocks where copying them is more work than looking at all
// updates once a block. Otherwise one worker does all.
func scatterND(attrs any, in, _ []types.Tensor) (*loop.Func, error) {
	s, err := newScattering(attrs.(ops.ScatterNDAttrs).Reduction, in)
	if err != nil {
		return nil, err
	}
	last := len(in[1].Shape) - 1
	depth := in[1].Shape[last]
	named := in[0].Shape[:depth]
	rows, width := types.Count(named), types.Count(in[0].Shape[depth:])
	count := types.Count(in[1].Shape[:last])
	// put runs body with the row that update u goes to.
	put := func(u expr.Expr, body func(row expr.Expr) loop.Stmt) loop.Stmt {
		at := make([]expr.Expr, 0, depth)
		var next func() loop.Stmt
		next = func() loop.Stmt {
			c := len(at)
			if c == depth {
				return build.Bind("row", offset(named, at), body)
			}
			return s.target(expr.Add(expr.Mul(u, expr.Index(depth)), expr.Index(c)), named[c], func(i expr.Expr) loop.Stmt {
				at = append(at, i)
				return next()
			})
		}
		return next()
	}
	write := func(u, row expr.Expr) loop.Stmt {
		return build.Run("w", s.y.DType, width, func(i expr.Expr) loop.Stmt {
			return s.update(expr.Add(expr.Mul(row, expr.Index(width)), i), expr.Add(expr.Mul(u, expr.Index(width)), i))
		})
	}
	elements := in[0].Elements()
	if rows < 2*scatterBlocks || elements < impl.ParallelWork || scatterBlocks*count*depth > elements {
		return s.kernel("scatter_nd", build.Do(s.copy(expr.Index(0), elements), build.Each("u", expr.Index(count), func(u expr.Expr) loop.Stmt {
			return put(u, func(row expr.Expr) loop.Stmt { return write(u, row) })
		})))
	}
	block := rows / scatterBlocks
	body := func(first expr.Expr, n int) loop.Stmt {
		end := expr.Add(first, expr.Index(n))
		return build.Do(s.copy(expr.Mul(first, expr.Index(width)), n*width), build.Each("u", expr.Index(count), func(u expr.Expr) loop.Stmt {
			return put(u, func(row expr.Expr) loop.Stmt {
				return build.When(expr.And(expr.GE(row, first), expr.LT(row, end)), write(u, row))
			})
		}))
	}
	divided := impl.Divided("block", scatterBlocks, float64(elements), func(b expr.Expr) loop.Stmt { return body(expr.Mul(b, expr.Index(block)), block) })
	if rest := rows % scatterBlocks; rest > 0 {
		divided = build.Do(divided, body(expr.Index(rows-rest), rest))
	}
	return s.kernel("scatter_nd", divided)
}
