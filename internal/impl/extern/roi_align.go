package extern

import (
	"fmt"
	"math"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Bounds of vision.roi_align: sample points per bin and axis, as the operator defines it; entries of a table of sample points.
const (
	roiMaxSamples = 1 << 12
	roiMaxTable   = 1 << 20
)

// roiAlign tabulates the sample points of a region inside the feature map along both axes, once for a block of channels,
// and pools over their pairs. Coordinates are F64, as nothing else decides which pixels a sample lies between.
func roiAlign(c impl.Call) (*impl.Plan, error) {
	in, out := c.In, c.Out
	a := c.Attrs.(ops.RoiAlignAttrs)
	w := &roiAligner{RoiAlignAttrs: a, t: in[0].DType.Compute()}
	w.data, w.y = build.Param("data", in[0].DType, in[0].Shape...), build.Param("y", out[0].DType, out[0].Shape...)
	w.rois, w.batch = build.Param("rois", in[1].DType, in[1].Shape...), build.Param("batch_indices", in[2].DType, in[2].Shape...)
	rows, err := w.axis("row", in[0].Shape[2], a.PooledSize[0], 1)
	if err != nil {
		return nil, err
	}
	cols, err := w.axis("col", in[0].Shape[3], a.PooledSize[1], 0)
	if err != nil {
		return nil, err
	}
	regions, channels := out[0].Shape[0], out[0].Shape[1]
	shared := c.DecideAmong("channels", roiChannels, nil, impl.Powers(channels)...)
	blocks := (channels + shared - 1) / shared
	work := 40 * float64(out[0].Elements()) * float64(max(a.SampleRatio, 1))
	body := impl.DividedPairs("part", regions, blocks, func(r, block expr.Expr) loop.Stmt {
		first := expr.Mul(block, expr.Index(shared))
		n := expr.Min(expr.Index(shared), expr.Sub(expr.Index(channels), first))
		return build.With(build.Do(rows.tabulate(r), cols.tabulate(r), w.image(r, func(image expr.Expr) loop.Stmt {
			return w.groups(first, n, shared, func(c expr.Expr, together int) loop.Stmt {
				return build.Each("py", expr.Index(a.PooledSize[0]), func(py expr.Expr) loop.Stmt {
					return build.Each("px", expr.Index(a.PooledSize[1]), func(px expr.Expr) loop.Stmt { return w.pool(r, image, c, together, py, px, rows, cols) })
				})
			})
		})), append(rows.buffers(), cols.buffers()...)...)
	})
	return c.Plan(&loop.Func{Name: "roi_align", Params: []*loop.Buffer{w.data, w.rois, w.batch, w.y}, Body: body}, work), nil
}

type roiAligner struct {
	ops.RoiAlignAttrs
	t                    types.DType
	data, rois, batch, y *loop.Buffer
}

// groups goes through n channels, of at most so many, from first on: several are pooled together as long as there are as many, and then one by one.
func (w *roiAligner) groups(first, n expr.Expr, most int, body func(c expr.Expr, together int) loop.Stmt) loop.Stmt {
	each := expr.Index(roiTogether)
	whole := build.Each("group", expr.Bin(expr.OpFloorDiv, n, each), func(g expr.Expr) loop.Stmt {
		return body(expr.Add(first, expr.Mul(g, each)), roiTogether)
	})
	if most%roiTogether == 0 && w.data.Shape[1]%roiTogether == 0 {
		return whole
	}
	rest := expr.Bin(expr.OpFloorMod, n, each)
	return build.Do(whole, build.Loop(loop.Serial, "c", expr.Add(first, expr.Sub(n, rest)), rest, func(c expr.Expr) loop.Stmt { return body(c, 1) }))
}

// image binds the image of a region: negative indices count from the end, others are clamped.
func (w *roiAligner) image(r expr.Expr, body func(expr.Expr) loop.Stmt) loop.Stmt {
	return build.Bind("index", expr.CastTo(types.I64, build.Get(w.batch, r)), func(i expr.Expr) loop.Stmt {
		return build.Bind("image", wrapped(i, w.data.Shape[0]), body)
	})
}

// wrapped is what a bound index means on an axis of n elements that is read.
func wrapped(i expr.Expr, n int) expr.Expr {
	return clamped(expr.If(expr.LT(i, expr.Index(0)), expr.Add(i, expr.Index(n)), i), n)
}

// clamped brings an index into [0, n).
func clamped(i expr.Expr, n int) expr.Expr {
	return expr.Max(expr.Min(i, expr.Index(n-1)), expr.Index(0))
}

// A roiAxis holds the sample points of each bin along one axis of n pixels: those inside lie between pixel lo and the
// next, frac behind it.
type roiAxis struct {
	w          *roiAligner
	name       string
	n, bins    int
	most       int // samples inside, per bin
	start      int // where a region's start stands; its end is two places behind
	total      *loop.Buffer
	inside, lo *loop.Buffer
	frac       *loop.Buffer
}

func (w *roiAligner) axis(name string, n, bins, start int) (*roiAxis, error) {
	most := w.SampleRatio
	if most == 0 {
		most = min(roiMaxSamples, 2*n+3) // neighbours are more than half a pixel apart
	}
	if bins > roiMaxTable/most {
		return nil, fmt.Errorf("pooled_size %v with up to %d samples per bin is too large", w.PooledSize, most)
	}
	return &roiAxis{w, name, n, bins, most, start, build.Scratch(name+"_total", types.I64, 1), build.Scratch(name+"_inside", types.I64, bins),
		build.Scratch(name+"_lo", types.I64, bins, most), build.Scratch(name+"_frac", w.t, bins, most)}, nil
}

func (x *roiAxis) buffers() []*loop.Buffer { return []*loop.Buffer{x.total, x.inside, x.lo, x.frac} }

func f64(v float64) expr.Expr { return &expr.Float{V: v, Type: types.F64} }

// tabulate fills the table for region r.
func (x *roiAxis) tabulate(r expr.Expr) loop.Stmt {
	shift := 0.0
	if x.w.HalfPixel {
		shift = 0.5
	}
	edge := func(k int) expr.Expr {
		v := expr.CastTo(types.F64, build.Get(x.w.rois, r, expr.Index(k)))
		return expr.Sub(expr.Mul(v, f64(x.w.SpatialScale)), f64(shift))
	}
	return build.Bind("start", edge(x.start), func(start expr.Expr) loop.Stmt {
		length := expr.Sub(edge(x.start+2), start)
		if !x.w.HalfPixel {
			length = expr.Max(length, f64(1))
		}
		return build.Bind("bin", expr.Div(length, f64(float64(x.bins))), func(bin expr.Expr) loop.Stmt {
			var count expr.Expr = expr.Index(x.w.SampleRatio)
			if x.w.SampleRatio == 0 {
				count = expr.CastTo(types.I64, expr.Call(expr.FnCeil, bin))
				count = expr.Max(expr.Min(count, expr.Index(roiMaxSamples)), expr.Index(0))
			}
			return build.Bind("count", count, func(count expr.Expr) loop.Stmt {
				return build.Do(build.Set(x.total, count, expr.Index(0)), build.Each(x.name+"_bin", expr.Index(x.bins), func(b expr.Expr) loop.Stmt {
					return x.samples(b, start, bin, count)
				}))
			})
		})
	})
}

// samples tabulates the sample points of bin b.
func (x *roiAxis) samples(b, start, bin, count expr.Expr) loop.Stmt {
	float := func(e expr.Expr) expr.Expr { return expr.CastTo(types.F64, e) }
	found := build.Register("found", types.I64, 1)
	point := func(i expr.Expr) loop.Stmt {
		at := expr.Div(expr.Mul(expr.Add(float(i), f64(0.5)), bin), float(count))
		return build.Bind("at", expr.Add(expr.Add(start, expr.Mul(float(b), bin)), at), func(at expr.Expr) loop.Stmt {
			return build.Bind("slot", build.Get(found, expr.Index(0)), func(slot expr.Expr) loop.Stmt {
				inside := expr.AllOf(expr.GE(at, f64(-1)), expr.LE(at, f64(float64(x.n))), expr.LT(slot, expr.Index(x.most)))
				return build.When(inside, build.Bind("near", expr.Max(at, f64(0)), func(near expr.Expr) loop.Stmt {
					return build.Bind("lo", clamped(expr.CastTo(types.I64, near), x.n), func(lo expr.Expr) loop.Stmt {
						frac := expr.If(expr.GE(lo, expr.Index(x.n-1)), f64(0), expr.Sub(near, float(lo)))
						return build.Do(build.Set(x.lo, lo, b, slot), build.Set(x.frac, expr.CastTo(x.w.t, frac), b, slot), build.Set(found, expr.Add(slot, expr.Index(1)), expr.Index(0)))
					})
				}))
			})
		})
	}
	return build.With(build.Do(
		build.Set(found, expr.Index(0), expr.Index(0)),
		build.Each(x.name+"_sample", count, point),
		build.Set(x.inside, build.Get(found, expr.Index(0)), b),
	), found)
}

// each loops over the samples of bin b with the pixels on both sides and their weights.
func (x *roiAxis) each(b expr.Expr, body func(lo, hi, wlo, whi expr.Expr) loop.Stmt) loop.Stmt {
	return build.Bind(x.name+"_n", build.Get(x.inside, b), func(n expr.Expr) loop.Stmt {
		return build.Each(x.name+"_s", n, func(s expr.Expr) loop.Stmt {
			return build.Bind(x.name+"_lo", build.Get(x.lo, b, s), func(lo expr.Expr) loop.Stmt {
				return build.Bind(x.name+"_hi", expr.Min(expr.Add(lo, expr.Index(1)), expr.Index(x.n-1)), func(hi expr.Expr) loop.Stmt {
					return build.Bind(x.name+"_whi", build.Get(x.frac, b, s), func(whi expr.Expr) loop.Stmt {
						return build.Bind(x.name+"_wlo", expr.Sub(expr.Const(x.w.t, 1), whi), func(wlo expr.Expr) loop.Stmt { return body(lo, hi, wlo, whi) })
					})
				})
			})
		})
	})
}

// pool writes one element of the result for each of so many channels from c on: the average of bilinear samples, or the greatest of their
// weighted corners. Samples outside the feature map count as 0.
func (w *roiAligner) pool(r, image, c expr.Expr, together int, py, px expr.Expr, rows, cols *roiAxis) loop.Stmt {
	result := build.Register("pooled", w.t, together)
	fold, first := expr.OpAdd, 0.0
	if w.Mode == "max" {
		fold, first = expr.OpMax, math.Inf(-1)
	}
	each := func(body func(k expr.Expr) loop.Stmt) loop.Stmt {
		return build.Loop(loop.Unrolled, "k", expr.Index(0), expr.Index(together), body)
	}
	take := func(wy, wx, y, x expr.Expr) loop.Stmt {
		return build.Bind("weight", expr.Mul(wy, wx), func(weight expr.Expr) loop.Stmt {
			return each(func(k expr.Expr) loop.Stmt {
				return build.Set(result, expr.Bin(fold, build.Get(result, k), expr.Mul(weight, build.Get(w.data, image, expr.Add(c, k), y, x))), k)
			})
		})
	}
	sample := rows.each(py, func(y0, y1, wy0, wy1 expr.Expr) loop.Stmt {
		return cols.each(px, func(x0, x1, wx0, wx1 expr.Expr) loop.Stmt {
			return build.Do(take(wy0, wx0, y0, x0), take(wy0, wx1, y0, x1), take(wy1, wx0, y1, x0), take(wy1, wx1, y1, x1))
		})
	})
	total := expr.Mul(build.Get(rows.total, expr.Index(0)), build.Get(cols.total, expr.Index(0)))
	return build.With(build.Do(
		each(func(k expr.Expr) loop.Stmt { return build.Set(result, expr.Const(w.t, first), k) }),
		sample,
		build.Bind("total", total, func(total expr.Expr) loop.Stmt {
			return each(func(k expr.Expr) loop.Stmt {
				value := build.Get(result, k)
				if w.Mode == "avg" {
					value = expr.Div(value, expr.CastTo(w.t, total))
				} else {
					n := expr.Mul(build.Get(rows.inside, py), build.Get(cols.inside, px))
					value = expr.If(expr.LT(n, total), expr.Max(value, expr.Const(w.t, 0)), value)
				}
				return build.Set(w.y, expr.If(expr.EQ(total, expr.Index(0)), expr.Const(w.t, 0), value), r, expr.Add(c, k), py, px)
			})
		}),
	), result)
}
