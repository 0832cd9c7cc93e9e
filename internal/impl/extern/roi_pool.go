package extern

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// roiPool takes the maximum of each bin with a loop over its pixels, whose bounds come from the region. Coordinates are
// F64, as nothing else decides which pixels are in a bin.
func roiPool(c impl.Call) (*impl.Plan, error) {
	in, out := c.In, c.Out
	w := roiPooler{RoiPoolAttrs: c.Attrs.(ops.RoiPoolAttrs), t: in[0].DType.Compute()}
	w.data, w.rois, w.y = build.Param("data", in[0].DType, in[0].Shape...), build.Param("rois", in[1].DType, in[1].Shape...), build.Param("y", out[0].DType, out[0].Shape...)
	shape := out[0].Shape
	body := impl.DividedPairs("plane", shape[0], shape[1], func(r, c expr.Expr) loop.Stmt {
		return build.Bind("index", expr.CastTo(types.I64, build.Get(w.rois, r, expr.Index(0))), func(i expr.Expr) loop.Stmt {
			return build.Bind("image", wrapped(i, w.data.Shape[0]), func(image expr.Expr) loop.Stmt {
				return build.Each("py", expr.Index(shape[2]), func(py expr.Expr) loop.Stmt {
					return w.bin(r, 2, py, shape[2], w.data.Shape[2], func(y0, y1 expr.Expr) loop.Stmt {
						return build.Each("px", expr.Index(shape[3]), func(px expr.Expr) loop.Stmt {
							return w.bin(r, 1, px, shape[3], w.data.Shape[3], func(x0, x1 expr.Expr) loop.Stmt {
								return w.pool([]expr.Expr{r, c, py, px}, image, y0, y1, x0, x1)
							})
						})
					})
				})
			})
		})
	})
	return c.Plan(&loop.Func{Name: "roi_pool", Params: []*loop.Buffer{w.data, w.rois, w.y}, Body: body}, 20*float64(out[0].Elements())), nil
}

type roiPooler struct {
	ops.RoiPoolAttrs
	t             types.DType
	data, rois, y *loop.Buffer
}

// bin binds the range of pixels of bin b out of bins, along an axis of n pixels. A region's start stands at the given
// place, its end two places behind, and belongs to it.
func (w roiPooler) bin(r expr.Expr, place int, b expr.Expr, bins, n int, body func(lo, hi expr.Expr) loop.Stmt) loop.Stmt {
	edge := func(k int) expr.Expr {
		return halfAway(expr.Mul(expr.CastTo(types.F64, build.Get(w.rois, r, expr.Index(k))), f64(w.SpatialScale)))
	}
	pixel := func(x expr.Expr) expr.Expr {
		return expr.Max(expr.Min(expr.CastTo(types.I64, x), expr.Index(n)), expr.Index(0))
	}
	return build.Bind("start", edge(place), func(start expr.Expr) loop.Stmt {
		length := expr.Max(expr.Add(expr.Sub(edge(place+2), start), f64(1)), f64(1))
		return build.Bind("size", expr.Div(length, f64(float64(bins))), func(size expr.Expr) loop.Stmt {
			from := expr.Mul(expr.CastTo(types.F64, b), size)
			to := expr.Mul(expr.CastTo(types.F64, expr.Add(b, expr.Index(1))), size)
			return build.Bind("lo", pixel(expr.Add(start, expr.Call(expr.FnFloor, from))), func(lo expr.Expr) loop.Stmt {
				return build.Bind("hi", pixel(expr.Add(start, expr.Call(expr.FnCeil, to))), func(hi expr.Expr) loop.Stmt { return body(lo, hi) })
			})
		})
	})
}

// halfAway rounds to the nearest integer, halves away from zero.
func halfAway(x expr.Expr) expr.Expr {
	v := &expr.Var{Name: "x", Type: types.F64}
	whole := &expr.Var{Name: "whole", Type: types.F64}
	rest := expr.Sub(v, whole)
	down := expr.If(expr.LE(rest, f64(-0.5)), expr.Sub(whole, f64(1)), whole)
	rounded := expr.If(expr.GE(rest, f64(0.5)), expr.Add(whole, f64(1)), down)
	return &expr.Let{Var: v, Value: x, Body: &expr.Let{Var: whole, Value: expr.Call(expr.FnTrunc, v), Body: rounded}}
}

// pool writes the maximum of the pixels of a bin, 0 for an empty one.
func (w roiPooler) pool(to []expr.Expr, image, y0, y1, x0, x1 expr.Expr) loop.Stmt {
	most := build.Register("most", w.t, 1)
	c := to[1]
	pixels := build.Loop(loop.Serial, "y", y0, expr.Sub(y1, y0), func(y expr.Expr) loop.Stmt {
		return build.Loop(loop.Serial, "x", x0, expr.Sub(x1, x0), func(x expr.Expr) loop.Stmt {
			return build.Set(most, expr.Max(build.Get(most, expr.Index(0)), build.Get(w.data, image, c, y, x)), expr.Index(0))
		})
	})
	empty := expr.Or(expr.GE(y0, y1), expr.GE(x0, x1))
	return build.With(build.Do(
		build.Set(most, expr.Const(w.t, math.Inf(-1)), expr.Index(0)),
		pixels,
		build.Set(w.y, expr.If(empty, expr.Const(w.t, 0), build.Get(most, expr.Index(0))), to...),
	), most)
}
