package impl

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// maxUnpool clears the result and puts the elements into it in their order. Indices count in the whole result, so that
// any two elements may meet: one worker does all.
func maxUnpool(_ any, in, out []types.Tensor) (*loop.Func, error) {
	t, n := moved(in[0].DType), out[0].Elements()
	data, indices := param("data", t, in[0].Elements()), param("indices", in[1].DType, in[1].Elements())
	y := param("y", t, n)
	body := do(
		run("z", t, n, func(i expr.Expr) loop.Stmt { return set(y, expr.Const(t, 0), i) }),
		each("i", num(in[0].Elements()), func(i expr.Expr) loop.Stmt {
			return bind("at", expr.CastTo(types.I64, get(indices, i)), func(at expr.Expr) loop.Stmt {
				return when(expr.AllOf(expr.GE(at, num(0)), expr.LT(at, num(n))), set(y, get(data, i), at))
			})
		}),
	)
	return &loop.Func{Name: "max_unpool", Params: []*loop.Buffer{data, indices, y}, Body: body}, nil
}
