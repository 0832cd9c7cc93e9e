package impl

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
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
				return bind("row", offset(named, at), body)
			}
			return s.target(expr.Add(expr.Mul(u, num(depth)), num(c)), named[c], func(i expr.Expr) loop.Stmt {
				at = append(at, i)
				return next()
			})
		}
		return next()
	}
	write := func(u, row expr.Expr) loop.Stmt {
		return run("w", s.y.DType, width, func(i expr.Expr) loop.Stmt {
			return s.update(expr.Add(expr.Mul(row, num(width)), i), expr.Add(expr.Mul(u, num(width)), i))
		})
	}
	elements := in[0].Elements()
	if rows < 2*scatterBlocks || elements < parallelWork || scatterBlocks*count*depth > elements {
		return s.kernel("scatter_nd", do(s.copy(num(0), elements), each("u", num(count), func(u expr.Expr) loop.Stmt {
			return put(u, func(row expr.Expr) loop.Stmt { return write(u, row) })
		})))
	}
	block := rows / scatterBlocks
	body := func(first expr.Expr, n int) loop.Stmt {
		end := expr.Add(first, num(n))
		return do(s.copy(expr.Mul(first, num(width)), n*width), each("u", num(count), func(u expr.Expr) loop.Stmt {
			return put(u, func(row expr.Expr) loop.Stmt {
				return when(expr.And(expr.GE(row, first), expr.LT(row, end)), write(u, row))
			})
		}))
	}
	divided := divided("block", scatterBlocks, float64(elements), func(b expr.Expr) loop.Stmt { return body(expr.Mul(b, num(block)), block) })
	if rest := rows % scatterBlocks; rest > 0 {
		divided = do(divided, body(num(rows-rest), rest))
	}
	return s.kernel("scatter_nd", divided)
}
