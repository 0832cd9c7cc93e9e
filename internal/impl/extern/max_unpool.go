package extern

import (
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/types"
)

// maxUnpool clears the result and puts the elements into it in their order. Indices count in the whole result, so that
// any two elements may meet: one worker does all.
func maxUnpool(c impl.Call) (*impl.Plan, error) {
	in, out := c.In, c.Out
	t, n := moved(in[0].DType), out[0].Elements()
	data, indices := build.Param("data", t, in[0].Elements()), build.Param("indices", in[1].DType, in[1].Elements())
	y := build.Param("y", t, n)
	body := build.Do(
		build.Run("z", t, n, func(i expr.Expr) loop.Stmt { return build.Set(y, expr.Const(t, 0), i) }),
		build.Each("i", expr.Index(in[0].Elements()), func(i expr.Expr) loop.Stmt {
			return build.Bind("at", expr.CastTo(types.I64, build.Get(indices, i)), func(at expr.Expr) loop.Stmt {
				return build.When(expr.AllOf(expr.GE(at, expr.Index(0)), expr.LT(at, expr.Index(n))), build.Set(y, build.Get(data, i), at))
			})
		}),
	)
	return c.Plan(&loop.Func{Name: "max_unpool", Params: []*loop.Buffer{data, indices, y}, Body: body}, 0), nil
}
