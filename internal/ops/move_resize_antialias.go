package ops

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// With antialias the kernel of a shrinking axis widens by the inverse of the scale, so that every element of data has a
// part in the result, and the weights of a place are divided by their sum: ONNX's Resize from opset 18 on.

// wide describes the kernel of an axis: element first+t of data, first being the floor of the place and t in [start,
// start+taps), has the weight kernel(|t - behind| * p/q). All but the kernel itself is exact: a distance is a fraction over unit.
type wide struct {
	resample
	p, q, start, taps, unit int
}

// widened gives the kernel of x; radius is that of the kernel at scale 1.
func (x resample) widened(radius int) wide {
	k := wide{resample: x, p: min(x.scale.p, x.scale.q), q: x.scale.q}
	k.start = floorDivide(-radius*k.q, k.p) + 1
	k.taps = 2 - 2*k.start
	k.unit = k.d * k.q
	return k
}

// unfiltered reports whether every place has the value of an element. On an axis that shrinks its neighbours have a part in
// it, also where the place is that of an element.
func (x resample) unfiltered() bool { return x.whole() && x.scale.p >= x.scale.q }

func (a ResizeAttrs) radius() int {
	if a.Method == "cubic" {
		return 2
	}
	return 1
}

// antialias is the value at a coordinate of the result. chosen are the places in data on the axes done so far.
func (a ResizeAttrs) antialias(data *tensor.Tensor, axes []resample, at, chosen []int) float64 {
	n := len(chosen)
	if n == len(axes) {
		return data.Float(offsetOf(data.Shape, chosen))
	}
	if axes[n].unfiltered() {
		return a.antialias(data, axes, at, append(chosen, axes[n].floor(at[n])))
	}
	k := axes[n].widened(a.radius())
	first := k.floor(at[n])
	behind := k.a*at[n] + k.b - first*k.d
	sum, total := 0.0, 0.0
	for t := k.start; t < k.start+k.taps; t++ {
		far := abs(t*k.d-behind) * k.p
		if far >= a.radius()*k.unit || a.ExcludeOutside && (first+t < 0 || first+t >= k.in) {
			continue
		}
		w := a.kernel(float64(far) / float64(k.unit))
		total += w
		sum += w * a.antialias(data, axes, at, append(chosen, max(0, min(k.in-1, first+t))))
	}
	return sum / total
}

// kernel is the weight of an element at a distance below the radius.
func (a ResizeAttrs) kernel(x float64) float64 {
	switch {
	case a.Method == "linear":
		return 1 - x
	case x <= 1:
		return cubicNear(a.CubicCoeffA, x)
	}
	return cubicFar(a.CubicCoeffA, x)
}

// antialiasStages sums over the taps of all axes that are interpolated, and divides by the sums of their weights.
func (a ResizeAttrs) antialiasStages(data *te.Stage, axes []resample, out types.Tensor) *te.Stage {
	t := out.DType.Compute()
	var extents []int
	var norms []*te.Stage
	var normAxes []int
	for n, x := range axes {
		if x.unfiltered() {
			continue
		}
		k := x.widened(a.radius())
		extents = append(extents, k.taps)
		normAxes = append(normAxes, n)
		norms = append(norms, te.Fold("weights", types.Of(t, x.out), te.Sum, []int{k.taps}, func(i, r []expr.Expr) expr.Expr {
			_, met, w := a.tap(k, i[0], r[0], t)
			return expr.If(met, w, zero(w))
		}))
	}
	sum := te.Fold("resampled", types.Of(t, out.Shape...), te.Sum, extents, func(i, r []expr.Expr) expr.Expr {
		from := make([]expr.Expr, len(axes))
		var met, weight expr.Expr
		for n, x := range axes {
			j := slices.Index(normAxes, n)
			if j < 0 {
				from[n] = x.floorExpr(i[n])
				continue
			}
			p, m, w := a.tap(x.widened(a.radius()), i[n], r[j], t)
			from[n], met = clampExpr(p, x.in), expr.AllOf(met, m)
			if weight == nil {
				weight = w
			} else {
				weight = expr.Mul(weight, w)
			}
		}
		product := expr.Mul(weight, data.At(from...))
		return expr.If(met, product, zero(product))
	})
	return te.Compute("resize", out, func(i []expr.Expr) expr.Expr {
		v := sum.At(i...)
		for j, n := range normAxes {
			v = expr.Div(v, norms[j].At(i[n]))
		}
		var inside expr.Expr
		for k, x := range axes {
			inside = expr.AllOf(inside, x.insideExpr(i[k]))
		}
		return expr.If(inside, v, expr.Const(t, a.ExtrapolationValue))
	})
}

// tap gives the element of data that tap r of place i reads, the condition under which it counts, and its weight.
func (a ResizeAttrs) tap(k wide, i, r expr.Expr, t types.DType) (p, met, weight expr.Expr) {
	first, behind := k.floorExpr(i), remainder(affine(k.a, i, k.b), k.d)
	r = scaled(1, r, k.start)
	p = expr.Add(first, r)
	away := expr.Sub(scaled(k.d, r, 0), behind)
	far := scaled(k.p, expr.Max(away, expr.Sub(expr.Index(0), away)), 0)
	met = expr.LT(far, expr.Index(a.radius()*k.unit))
	if a.ExcludeOutside {
		met = expr.AllOf(met, expr.GE(p, expr.Index(0)), expr.LT(p, expr.Index(k.in)))
	}
	x := expr.Div(expr.CastTo(t, far), expr.Const(t, float64(k.unit)))
	if a.Method == "linear" {
		return p, met, expr.Sub(one(x), x)
	}
	return p, met, let("x", x, func(x expr.Expr) expr.Expr {
		return expr.If(expr.LE(x, one(x)), cubicNearExpr(a.CubicCoeffA, x), cubicFarExpr(a.CubicCoeffA, x))
	})
}
