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

// roiPool tabulates the bounds of a region's bins along both axes, once for a block of channels. The maximum of a line of bins is that of its lines of
// pixels, in vectors, and then of the pixels of each bin. Coordinates are F64, as nothing else decides which pixels are in a bin.
func roiPool(c impl.Call) (*impl.Plan, error) {
	in, out := c.In, c.Out
	a := c.Attrs.(ops.RoiPoolAttrs)
	w := roiPooler{scale: a.SpatialScale, t: in[0].DType.Compute()}
	w.data, w.rois, w.y = build.Param("data", in[0].DType, in[0].Shape...), build.Param("rois", in[1].DType, in[1].Shape...), build.Param("y", out[0].DType, out[0].Shape...)
	w.rows, w.cols = w.axis("row", 2, in[0].Shape[2], a.PooledSize[0]), w.axis("col", 1, in[0].Shape[3], a.PooledSize[1])
	regions, channels := out[0].Shape[0], out[0].Shape[1]
	shared := c.DecideAmong("channels", roiChannels, nil, impl.Powers(channels)...)
	blocks := (channels + shared - 1) / shared
	body := impl.DividedPairs("part", regions, blocks, func(r, block expr.Expr) loop.Stmt {
		first := expr.Mul(block, expr.Index(shared))
		n := expr.Min(expr.Index(shared), expr.Sub(expr.Index(channels), first))
		pooled := build.Bind("index", expr.CastTo(types.I64, build.Get(w.rois, r, expr.Index(0))), func(i expr.Expr) loop.Stmt {
			return build.Bind("image", wrapped(i, w.data.Shape[0]), func(image expr.Expr) loop.Stmt {
				return build.Loop(loop.Serial, "c", first, n, func(c expr.Expr) loop.Stmt {
					return build.Each("py", expr.Index(w.rows.bins), func(py expr.Expr) loop.Stmt { return w.line(r, c, py, image) })
				})
			})
		})
		return build.With(build.Do(w.tabulate(w.rows, r), w.tabulate(w.cols, r), pooled), w.rows.lo, w.rows.hi, w.cols.lo, w.cols.hi)
	})
	return c.Plan(&loop.Func{Name: "roi_pool", Params: []*loop.Buffer{w.data, w.rois, w.y}, Body: body}, 20*float64(out[0].Elements())), nil
}

type roiPooler struct {
	scale         float64
	t             types.DType
	data, rois, y *loop.Buffer
	rows, cols    roiBins
}

// roiBins are the bins of a region along an axis of n pixels: of bin b, those in [lo[b], hi[b]).
type roiBins struct {
	place, n, bins int // place: where a region's start stands in its row; its end, which belongs to it, stands two places behind
	lo, hi         *loop.Buffer
}

func (w roiPooler) axis(name string, place, n, bins int) roiBins {
	return roiBins{place, n, bins, build.Scratch(name+"_lo", types.I64, bins), build.Scratch(name+"_hi", types.I64, bins)}
}

// tabulate fills the table of an axis for region r.
func (w roiPooler) tabulate(a roiBins, r expr.Expr) loop.Stmt {
	edge := func(place int) expr.Expr {
		return halfAway(expr.Mul(expr.CastTo(types.F64, build.Get(w.rois, r, expr.Index(place))), f64(w.scale)))
	}
	pixel := func(x expr.Expr) expr.Expr {
		return expr.Max(expr.Min(expr.CastTo(types.I64, x), expr.Index(a.n)), expr.Index(0))
	}
	return build.Bind("start", edge(a.place), func(start expr.Expr) loop.Stmt {
		length := expr.Max(expr.Add(expr.Sub(edge(a.place+2), start), f64(1)), f64(1))
		return build.Bind("size", expr.Div(length, f64(float64(a.bins))), func(size expr.Expr) loop.Stmt {
			return build.Each("bin", expr.Index(a.bins), func(b expr.Expr) loop.Stmt {
				from := expr.Mul(expr.CastTo(types.F64, b), size)
				to := expr.Mul(expr.CastTo(types.F64, expr.Add(b, expr.Index(1))), size)
				return build.Do(
					build.Set(a.lo, pixel(expr.Add(start, expr.Call(expr.FnFloor, from))), b),
					build.Set(a.hi, pixel(expr.Add(start, expr.Call(expr.FnCeil, to))), b),
				)
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

// line pools the bins of a line: the maximum of their lines of pixels first.
func (w roiPooler) line(r, c, py, image expr.Expr) loop.Stmt {
	line := build.Scratch("line", w.t, w.cols.n)
	lowest := expr.Const(w.t, math.Inf(-1))
	y0, y1 := build.Get(w.rows.lo, py), build.Get(w.rows.hi, py)
	left, right := build.Get(w.cols.lo, expr.Index(0)), build.Get(w.cols.hi, expr.Index(w.cols.bins-1))
	lines := build.Loop(loop.Serial, "y", y0, expr.Sub(y1, y0), func(y expr.Expr) loop.Stmt {
		return build.RunWithin("x", w.t, w.cols.n, left, right, func(x expr.Expr) loop.Stmt {
			return build.Set(line, expr.Max(build.Get(line, x), expr.CastTo(w.t, build.Get(w.data, image, c, y, x))), x)
		})
	})
	bins := build.Each("px", expr.Index(w.cols.bins), func(px expr.Expr) loop.Stmt {
		most := build.Register("most", w.t, 1)
		x0, x1 := build.Get(w.cols.lo, px), build.Get(w.cols.hi, px)
		empty := expr.Or(expr.GE(y0, y1), expr.GE(x0, x1))
		return build.With(build.Do(
			build.Set(most, lowest, expr.Index(0)),
			build.Loop(loop.Serial, "x", x0, expr.Sub(x1, x0), func(x expr.Expr) loop.Stmt {
				return build.Set(most, expr.Max(build.Get(most, expr.Index(0)), build.Get(line, x)), expr.Index(0))
			}),
			build.Set(w.y, expr.If(empty, expr.Const(w.t, 0), build.Get(most, expr.Index(0))), r, c, py, px),
		), most)
	})
	fill := build.RunWithin("x", w.t, w.cols.n, left, right, func(x expr.Expr) loop.Stmt { return build.Set(line, lowest, x) })
	return build.With(build.Do(fill, lines, bins), line)
}
