package ops

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// GridSampleAttrs are the attributes of image.grid_sample, in the terms of ONNX's GridSample: Method is nearest, linear or
// cubic, PaddingMode zeros, border or reflection.
type GridSampleAttrs struct {
	Method, PaddingMode string
	AlignCorners        bool
}

// GridSample samples images at the points of a grid.
var GridSample = op.Define(op.Spec[GridSampleAttrs]{
	Name:   "image.grid_sample",
	Doc:    "image.grid_sample samples data [N,C,H,W] or [N,C,D,H,W] at the points (x, y) or (x, y, z) within [-1, 1] that grid holds along its last axis.",
	Args:   []string{"data", "grid"},
	Fusion: op.Injective,
	Layout: op.Plain,

	Infer: func(a GridSampleAttrs, in []op.Arg) ([]types.Tensor, error) {
		data, grid := in[0], in[1]
		if err := sameDType(floats, []string{"data", "grid"}, in); err != nil {
			return nil, err
		}
		n := data.Rank() - 2
		if n != 2 && n != 3 || grid.Rank() != n+2 || grid.Shape[n+1] != n || grid.Shape[0] != data.Shape[0] {
			return nil, fmt.Errorf("data is %s and grid %s: only [N,C,H,W] with [N,h,w,2] and [N,C,D,H,W] with [N,d,h,w,3] are supported", data, grid)
		}
		if !slices.Contains([]string{"nearest", "linear", "cubic"}, a.Method) || a.Method == "cubic" && n == 3 {
			return nil, fmt.Errorf("method %q over %s (the methods are nearest, linear and, over two axes, cubic)", a.Method, spelling.Count(n, "axis"))
		}
		if !slices.Contains([]string{"zeros", "border", "reflection"}, a.PaddingMode) {
			return nil, fmt.Errorf("unknown padding_mode %q (the modes are zeros, border and reflection)", a.PaddingMode)
		}
		t := types.Of(data.DType, slices.Concat(data.Shape[:2], grid.Shape[1:n+1])...)
		if types.Count(data.Shape[2:]) == 0 && t.Elements() > 0 {
			return nil, fmt.Errorf("data %s is empty: there is nothing to sample", data)
		}
		return []types.Tensor{t}, nil
	},
	Eval: func(a GridSampleAttrs, in, out []*tensor.Tensor) error {
		data, grid := in[0], in[1]
		n := len(data.Shape) - 2
		eachIndex(out[0].Shape, func(at []int) {
			places := make([]float64, n)
			for k := range n {
				g := grid.Float(offsetOf(grid.Shape, slices.Concat(at[:1], at[2:], []int{n - 1 - k})))
				places[k] = a.place(g, data.Shape[2+k], data.DType.Compute())
			}
			out[0].SetFloat(offsetOf(out[0].Shape, at), a.sample(data, places, slices.Clone(at[:2])))
		})
		return nil
	},
	Compute: func(a GridSampleAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		grid, n := in[1], len(in[0].Type.Shape)-2
		return []*te.Stage{te.Compute("grid_sample", out[0], func(i []expr.Expr) expr.Expr {
			return a.sampleExpr(in[0], i[:2], func(k int) expr.Expr {
				g := grid.At(slices.Concat(i[:1], i[2:], []expr.Expr{expr.Index(n - 1 - k)})...)
				return a.placeExpr(g, in[0].Type.Shape[2+k])
			}, nil)
		})}
	},
	Sample: func(r *rand.Rand) (GridSampleAttrs, []types.Tensor) {
		d := draw{r}
		data, dt := d.full(4, 5), d.float()
		a := GridSampleAttrs{d.word("nearest", "linear"), d.word("zeros", "border", "reflection"), d.coin(2)}
		if len(data) == 4 && d.coin(2) {
			a.Method = "cubic"
		}
		n := len(data) - 2
		return a, []types.Tensor{types.Of(dt, data...), types.Of(dt, slices.Concat(data[:1], d.shape(n, n), []int{n})...)}
	},
})

// gridCubic is the coefficient of cubic interpolation that ONNX and PyTorch use here.
const gridCubic = -0.75

// place is where grid coordinate g lies on an axis of n elements, brought back into the image unless padding is zeros. It
// rounds as type t does: which element is the nearest may hang on it.
func (a GridSampleAttrs) place(g float64, n int, t types.DType) float64 {
	round := func(x float64) float64 { return x }
	if t == types.F32 {
		round = func(x float64) float64 { return float64(float32(x)) }
	}
	low, size := a.edges(n)
	x := round(g + 1)
	if a.AlignCorners {
		x = round(x * (float64(n-1) / 2))
	} else {
		x = round(round(round(x*float64(n))-1) * 0.5)
	}
	if a.Method == "nearest" {
		x = math.RoundToEven(x)
	}
	if x >= low && x <= low+size {
		return x
	}
	switch a.PaddingMode {
	case "border":
		return max(0, min(float64(n-1), x))
	case "reflection":
		if size == 0 {
			return 0
		}
		y := round(x - low)
		y = round(y - round(2*size*math.Floor(round(y*round(1/(2*size))))))
		return round(min(y, round(2*size-y)) + low)
	}
	return x
}

// edges gives where an axis of n elements begins and how long it is: from the middle of the first to the middle of the last
// element, or from edge to edge.
func (a GridSampleAttrs) edges(n int) (low, size float64) {
	if a.AlignCorners {
		return 0, float64(n - 1)
	}
	return -0.5, float64(n)
}

func (a GridSampleAttrs) placeExpr(g expr.Expr, n int) expr.Expr {
	low, size := a.edges(n)
	x := expr.Add(g, one(g))
	if a.AlignCorners {
		x = expr.Mul(x, like(x, float64(n-1)/2))
	} else {
		x = expr.Mul(expr.Sub(expr.Mul(x, like(x, float64(n))), one(x)), like(x, 0.5))
	}
	if a.Method == "nearest" {
		x = expr.Call(expr.FnRound, x)
	}
	if a.PaddingMode == "zeros" {
		return x
	}
	return let("x", x, func(x expr.Expr) expr.Expr {
		back := expr.Max(expr.Min(x, like(x, float64(n-1))), zero(x))
		if a.PaddingMode == "reflection" && size == 0 {
			back = zero(x)
		} else if a.PaddingMode == "reflection" {
			y := expr.Sub(x, like(x, low))
			turns := expr.Call(expr.FnFloor, expr.Mul(y, like(x, 1/(2*size))))
			y = expr.Sub(y, expr.Mul(like(x, 2*size), turns))
			back = expr.Add(expr.Min(y, expr.Sub(like(x, 2*size), y)), like(x, low))
		}
		return expr.If(expr.AllOf(expr.GE(x, like(x, low)), expr.LE(x, like(x, low+size))), x, back)
	})
}

// sample interpolates data around places; chosen are the indices on the axes done so far.
func (a GridSampleAttrs) sample(data *tensor.Tensor, places []float64, chosen []int) float64 {
	k := len(chosen) - 2
	if k == len(places) {
		return data.Float(offsetOf(data.Shape, chosen))
	}
	lower := math.Floor(places[k])
	first, weights := saturatedInt(lower), []float64{1}
	switch w := places[k] - lower; a.Method {
	case "linear":
		weights = []float64{1 - w, w}
	case "cubic":
		first--
		weights = []float64{cubicFar(gridCubic, 1+w), cubicNear(gridCubic, w), cubicNear(gridCubic, 1-w), cubicFar(gridCubic, 2-w)}
	}
	sum := 0.0
	for t, w := range weights {
		p, n := first+t, data.Shape[2+k]
		if a.PaddingMode == "zeros" && (p < 0 || p >= n) {
			continue
		}
		sum += w * a.sample(data, places, append(chosen, a.back(p, n)))
	}
	return sum
}

// saturatedInt converts as expr.Cast does.
func saturatedInt(x float64) int {
	t := tensor.New(types.I64, 1)
	t.SetFloat(0, x)
	return int(t.Int(0))
}

// back brings an index into an axis of n elements.
func (a GridSampleAttrs) back(p, n int) int {
	if a.PaddingMode == "reflection" {
		period, top := 2*n, 2*n-1
		if a.AlignCorners {
			period, top = max(2*n-2, 1), 2*n-2
		}
		p = ((p % period) + period) % period
		p = min(p, top-p)
	}
	return max(0, min(n-1, p))
}

func (a GridSampleAttrs) backExpr(p expr.Expr, n int) expr.Expr {
	if a.PaddingMode == "reflection" {
		period, top := 2*n, 2*n-1
		if a.AlignCorners {
			period, top = max(2*n-2, 1), 2*n-2
		}
		p = remainder(p, period)
		p = expr.Min(p, expr.Sub(expr.Index(top), p))
	}
	return clampExpr(p, n)
}

// A gridTap is where the interpolation along an axis takes place: the element below, and how far behind it.
type gridTap struct{ first, behind expr.Expr }

// sampleExpr is sample as an expression; place gives the place on a spatial axis. Places are computed once.
func (a GridSampleAttrs) sampleExpr(data *te.Stage, lead []expr.Expr, place func(k int) expr.Expr, taps []gridTap) expr.Expr {
	k := len(taps)
	if k == len(data.Type.Shape)-2 {
		return a.interpolateExpr(data, taps, lead)
	}
	return let("place", place(k), func(x expr.Expr) expr.Expr {
		lower := expr.Call(expr.FnFloor, x)
		return let("first", expr.CastTo(types.I64, lower), func(first expr.Expr) expr.Expr {
			return let("behind", expr.Sub(x, lower), func(behind expr.Expr) expr.Expr {
				return a.sampleExpr(data, lead, place, append(slices.Clone(taps), gridTap{first, behind}))
			})
		})
	})
}

// interpolateExpr sums over the axes whose index is not yet chosen.
func (a GridSampleAttrs) interpolateExpr(data *te.Stage, taps []gridTap, chosen []expr.Expr) expr.Expr {
	k := len(chosen) - 2
	if k == len(taps) {
		return data.At(chosen...)
	}
	w, n := taps[k].behind, data.Type.Shape[2+k]
	weights := []expr.Expr{nil}
	switch a.Method {
	case "linear":
		weights = []expr.Expr{expr.Sub(one(w), w), w}
	case "cubic":
		weights = cubicWeightExprs(gridCubic, w)
	}
	var sum expr.Expr
	for t, weight := range weights {
		p := scaled(1, taps[k].first, t-(len(weights)-1)/2)
		v := a.interpolateExpr(data, taps, append(slices.Clone(chosen), a.backExpr(p, n)))
		if weight != nil {
			v = expr.Mul(weight, v)
		}
		if a.PaddingMode == "zeros" {
			v = expr.If(expr.AllOf(expr.GE(p, expr.Index(0)), expr.LT(p, expr.Index(n))), v, zero(v))
		}
		if sum == nil {
			sum = v
		} else {
			sum = expr.Add(sum, v)
		}
	}
	return sum
}
