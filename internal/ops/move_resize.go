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

// ResizeAttrs are the attributes of image.resize, in the terms of ONNX's Resize, with one entry per axis.
type ResizeAttrs struct {
	Sizes  []int     // shape of the result
	Scales []float64 // empty: Sizes over data's shape; given where Sizes are rounded products
	ROI    []float64 // all starts, then all ends, in units of the axis; for tf_crop_and_resize only

	Method                       string // nearest, linear or cubic
	CoordinateTransformationMode string
	NearestMode                  string // round_prefer_floor, round_prefer_ceil, floor or ceil; for nearest only

	CubicCoeffA        float64
	ExcludeOutside     bool    // cubic: places outside have no weight instead of the edge element's value
	ExtrapolationValue float64 // what tf_crop_and_resize gives outside data
	Antialias          bool    // linear and cubic: widen the kernel of axes that shrink
}

// Resize resamples a tensor to another shape, axis by axis.
var Resize = op.Define(op.Spec[ResizeAttrs]{
	Name:   "image.resize",
	Doc:    "image.resize resamples any axes by the nearest element, linear or cubic interpolation: ONNX's Resize with all its coordinate modes.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Same,

	Infer: func(a ResizeAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := a.check(in[0].Tensor); err != nil {
			return nil, err
		}
		if _, err := a.axes(in[0].Shape); err != nil {
			return nil, err
		}
		return []types.Tensor{types.Of(in[0].DType, slices.Clone(a.Sizes)...)}, nil
	},
	Eval: func(a ResizeAttrs, in, out []*tensor.Tensor) error {
		axes, err := a.axes(in[0].Shape)
		if err != nil {
			return err
		}
		outside := tensor.New(out[0].DType, 1)
		outside.SetFloat(0, a.ExtrapolationValue)
		eachIndex(out[0].Shape, func(at []int) {
			i, inside := offsetOf(out[0].Shape, at), true
			for k, x := range axes {
				inside = inside && x.inside(at[k])
			}
			switch {
			case !inside:
				setElement(out[0], i, outside, 0)
			case a.Method == "nearest":
				from := make([]int, len(at))
				for k, x := range axes {
					from[k] = x.nearest(a.NearestMode, at[k])
				}
				setElement(out[0], i, in[0], offsetOf(in[0].Shape, from))
			case a.Antialias:
				out[0].SetFloat(i, a.antialias(in[0], axes, at, nil))
			default:
				out[0].SetFloat(i, a.interpolate(in[0], axes, at, nil))
			}
		})
		return nil
	},
	Compute: func(a ResizeAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		axes, err := a.axes(in[0].Type.Shape)
		if err != nil {
			panic("ops: image.resize: " + err.Error())
		}
		if a.Antialias && slices.ContainsFunc(axes, func(x resample) bool { return !x.unfiltered() }) {
			return []*te.Stage{a.antialiasStages(in[0], axes, out[0])}
		}
		t := out[0].DType.Compute()
		return []*te.Stage{te.Compute("resize", out[0], func(i []expr.Expr) expr.Expr {
			var inside, value expr.Expr
			from := make([]expr.Expr, len(i))
			for k, x := range axes {
				inside = expr.AllOf(inside, x.insideExpr(i[k]))
				from[k] = x.nearestExpr(a.NearestMode, i[k])
			}
			if a.Method == "nearest" {
				value = in[0].At(from...)
			} else {
				value = a.interpolateExpr(in[0], axes, i, nil)
			}
			return expr.If(inside, value, expr.Const(t, a.ExtrapolationValue))
		})}
	},
	Sample: sampleResize,
})

// coordinateModes lists ONNX's coordinate transformation modes.
var coordinateModes = []string{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}

var nearestModes = []string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}

func (a ResizeAttrs) check(data types.Tensor) error {
	rank := data.Rank()
	if err := wantEach("sizes", a.Sizes, rank, 0, types.MaxElements); err != nil {
		return err
	}
	if len(a.Scales) != 0 && len(a.Scales) != rank {
		return fmt.Errorf("scales %v for %s", a.Scales, data)
	}
	if !slices.Contains(coordinateModes, a.CoordinateTransformationMode) {
		return fmt.Errorf("unknown coordinate_transformation_mode %q (the modes are %v)", a.CoordinateTransformationMode, coordinateModes)
	}
	if a.CoordinateTransformationMode == "tf_crop_and_resize" && len(a.ROI) != 2*rank {
		return fmt.Errorf("roi %v for %s: tf_crop_and_resize needs %s", a.ROI, data, spelling.Count(2*rank, "number"))
	}
	switch a.Method {
	case "nearest":
		if !slices.Contains(nearestModes, a.NearestMode) {
			return fmt.Errorf("unknown nearest_mode %q (the modes are %v)", a.NearestMode, nearestModes)
		}
	case "linear", "cubic":
		if !data.DType.IsFloat() {
			return fmt.Errorf("method %s needs floating-point data, not %s: cast before and after", a.Method, data.DType)
		}
	default:
		return fmt.Errorf("unknown method %q (the methods are nearest, linear and cubic)", a.Method)
	}
	if a.Antialias && a.Method == "nearest" {
		return fmt.Errorf("antialias is not defined for method nearest")
	}
	for k, n := range data.Shape {
		if n == 0 && a.Sizes[k] > 0 {
			return fmt.Errorf("axis %d of %s is empty: there is nothing to resize", k, data)
		}
	}
	return nil
}

// interpolate is the value at a coordinate of the result. chosen are the places in data on the axes done so far.
func (a ResizeAttrs) interpolate(data *tensor.Tensor, axes []resample, at, chosen []int) float64 {
	k := len(chosen)
	if k == len(axes) {
		return data.Float(offsetOf(data.Shape, chosen))
	}
	x := axes[k]
	if x.whole() {
		return a.interpolate(data, axes, at, append(chosen, x.floor(at[k])))
	}
	first, weights := x.floor(at[k]), a.weights(x.fraction(at[k]))
	if a.Method == "cubic" {
		first--
	}
	sum, total := 0.0, 0.0
	for t, w := range weights {
		p := first + t
		if a.ExcludeOutside && (p < 0 || p >= x.in) {
			continue
		}
		total += w
		sum += w * a.interpolate(data, axes, at, append(chosen, max(0, min(x.in-1, p))))
	}
	if a.ExcludeOutside {
		return sum / total
	}
	return sum
}

// weights are those of the elements around a place that is w behind an element: of two, or of four for cubic.
func (a ResizeAttrs) weights(w float64) []float64 {
	if a.Method == "linear" {
		return []float64{1 - w, w}
	}
	return []float64{cubicFar(a.CubicCoeffA, 1+w), cubicNear(a.CubicCoeffA, w), cubicNear(a.CubicCoeffA, 1-w), cubicFar(a.CubicCoeffA, 2-w)}
}

// cubicNear and cubicFar are Keys' cubic convolution kernel for distances up to 1 and from 1 to 2.
func cubicNear(a, x float64) float64 { return ((a+2)*x-(a+3))*x*x + 1 }
func cubicFar(a, x float64) float64  { return ((a*x-5*a)*x+8*a)*x - 4*a }

// interpolateExpr is interpolate as an expression.
func (a ResizeAttrs) interpolateExpr(data *te.Stage, axes []resample, i, chosen []expr.Expr) expr.Expr {
	k := len(chosen)
	if k == len(axes) {
		return data.At(chosen...)
	}
	x := axes[k]
	next := func(p expr.Expr) expr.Expr {
		return a.interpolateExpr(data, axes, i, append(slices.Clone(chosen), p))
	}
	if x.whole() {
		return next(x.floorExpr(i[k]))
	}
	first := x.floorExpr(i[k])
	if a.Method == "cubic" {
		first = expr.Sub(first, expr.Index(1))
	}
	return let("behind", x.fractionExpr(i[k], data.Type.DType.Compute()), func(w expr.Expr) expr.Expr {
		var sum, total expr.Expr
		for t, weight := range a.weightExprs(w) {
			p := scaled(1, first, t)
			term := expr.Mul(weight, next(clampExpr(p, x.in)))
			if a.ExcludeOutside {
				within := expr.AllOf(expr.GE(p, expr.Index(0)), expr.LT(p, expr.Index(x.in)))
				term, weight = expr.If(within, term, zero(term)), expr.If(within, weight, zero(weight))
			}
			if t == 0 {
				sum, total = term, weight
			} else {
				sum, total = expr.Add(sum, term), expr.Add(total, weight)
			}
		}
		if a.ExcludeOutside {
			return expr.Div(sum, total)
		}
		return sum
	})
}

func (a ResizeAttrs) weightExprs(w expr.Expr) []expr.Expr {
	if a.Method == "linear" {
		return []expr.Expr{expr.Sub(one(w), w), w}
	}
	return cubicWeightExprs(a.CubicCoeffA, w)
}

// cubicWeightExprs are the weights of the four elements around a place that is w behind the second.
func cubicWeightExprs(a float64, w expr.Expr) []expr.Expr {
	return []expr.Expr{cubicFarExpr(a, expr.Add(w, one(w))), cubicNearExpr(a, w),
		cubicNearExpr(a, expr.Sub(one(w), w)), cubicFarExpr(a, expr.Sub(like(w, 2), w))}
}

func cubicNearExpr(a float64, x expr.Expr) expr.Expr { return polynomial(x, a+2, -(a + 3), 0, 1) }
func cubicFarExpr(a float64, x expr.Expr) expr.Expr  { return polynomial(x, a, -5*a, 8*a, -4*a) }

// polynomial has the given coefficients, that of the highest power first.
func polynomial(x expr.Expr, coef ...float64) expr.Expr {
	y := like(x, coef[0])
	for _, c := range coef[1:] {
		y = expr.Add(expr.Mul(y, x), like(x, c))
	}
	return y
}

func sampleResize(r *rand.Rand) (ResizeAttrs, []types.Tensor) {
	d := draw{r}
	shape := d.full(1, 4)
	a := ResizeAttrs{Method: d.word("nearest", "linear", "cubic"), CoordinateTransformationMode: d.word(coordinateModes...), NearestMode: d.word(nearestModes...)}
	a.CubicCoeffA, a.ExtrapolationValue = -0.75, 10
	a.ExcludeOutside = a.Method == "cubic" && d.coin(2)
	a.Antialias = a.Method != "nearest" && d.coin(3)
	resized, fixed := d.between(0, 2), len(shape)
	for k, n := range shape {
		scale := 1.0
		if k >= fixed-resized {
			scale = []float64{0.5, 0.6, 1.5, 2, 3, 3.5}[d.IntN(6)]
			scale = math.Max(scale, 1/float64(n))
		}
		a.Scales = append(a.Scales, scale)
		a.Sizes = append(a.Sizes, int(math.Floor(float64(n)*scale+1e-9)))
	}
	if d.coin(2) {
		a.Scales = nil
	}
	if a.CoordinateTransformationMode == "tf_crop_and_resize" {
		for range shape {
			a.ROI = append(a.ROI, float64(d.between(-1, 4))/10)
		}
		for range shape {
			a.ROI = append(a.ROI, float64(d.between(5, 12))/10)
		}
	}
	dt := d.float()
	if a.Method == "nearest" {
		dt = d.dtype()
	}
	return a, []types.Tensor{types.Of(dt, shape...)}
}
