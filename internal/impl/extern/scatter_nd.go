package extern

import (
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// scatterND asks into how many blocks the rows are cut, which coordinates name. Every block looks at all updates, in their order,
// and takes those that go to its rows: workers divide the copy, and each looks at all updates for every block it has.
func scatterND(c impl.Call) (*impl.Plan, error) {
	in := c.In
	s, err := newScattering(c.Attrs.(ops.ScatterNDAttrs).Reduction, in)
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
			axis := len(at)
			if axis == depth {
				return build.Bind("row", offset(named, at), body)
			}
			return s.target(expr.Add(expr.Mul(u, expr.Index(depth)), expr.Index(axis)), named[axis], func(i expr.Expr) loop.Stmt {
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
	blocks := 1
	if rows > 1 {
		if rows >= 2*scatterBlocks && elements >= impl.ParallelWork && scatterBlocks*count*depth <= elements {
			blocks = scatterBlocks
		}
		blocks = c.DecideAmong("row_blocks", blocks, nil, impl.Powers(min(rows, mostScatterBlocks))...)
	}
	if blocks == 1 {
		return c.Plan(s.function("scatter_nd", build.Do(s.copy(expr.Index(0), elements), build.Each("u", expr.Index(count), func(u expr.Expr) loop.Stmt {
			return put(u, func(row expr.Expr) loop.Stmt { return write(u, row) })
		}))), float64(elements)), nil
	}
	block := rows / blocks
	body := func(first expr.Expr, n int) loop.Stmt {
		end := expr.Add(first, expr.Index(n))
		return build.Do(s.copy(expr.Mul(first, expr.Index(width)), n*width), build.Each("u", expr.Index(count), func(u expr.Expr) loop.Stmt {
			return put(u, func(row expr.Expr) loop.Stmt {
				return build.When(expr.And(expr.GE(row, first), expr.LT(row, end)), write(u, row))
			})
		}))
	}
	divided := impl.Divided("block", blocks, func(b expr.Expr) loop.Stmt { return body(expr.Mul(b, expr.Index(block)), block) })
	if rest := rows % blocks; rest > 0 {
		divided = build.Do(divided, body(expr.Index(rows-rest), rest))
	}
	return c.Plan(s.function("scatter_nd", divided), float64(elements)), nil
}
