package ops

import (
	"fmt"
	"math"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// statistics says over which elements of a tensor a normalisation takes its mean and variance: one pair for every
// element of a tensor of the given shape, each from types.Count(extents) elements.
type statistics struct {
	shape, extents []int
	element        func(i, r []expr.Expr) []expr.Expr // index of element r of set i
	set            func(i []expr.Expr) []expr.Expr    // index of the set that element i belongs to
	setAt          func(at []int) int                 // the position of that set
}

// alongAxes takes the statistics of data of the given shape along axes; with none, every element is a set.
func alongAxes(shape []int, axes []int) statistics {
	s := statistics{shape: slices.Clone(shape)}
	for _, k := range axes {
		s.shape[k] = 1
		s.extents = append(s.extents, shape[k])
	}
	s.element = func(i, r []expr.Expr) []expr.Expr {
		at := slices.Clone(i)
		for n, k := range axes {
			at[k] = r[n]
		}
		return at
	}
	s.set = func(i []expr.Expr) []expr.Expr {
		at := slices.Clone(i)
		for _, k := range axes {
			at[k] = expr.Index(0)
		}
		return at
	}
	s.setAt = func(at []int) int { return broadcastOffset(s.shape, at) }
	return s
}

// byGroup takes the statistics of data [N, C, spatial...] over equal groups of channels and all spatial axes.
func byGroup(shape []int, groups int) statistics {
	per := shape[1] / groups
	s := statistics{shape: []int{shape[0], groups}, extents: shape[2:]}
	if per != 1 {
		s.extents = append([]int{per}, shape[2:]...)
	}
	s.element = func(i, r []expr.Expr) []expr.Expr {
		c := i[1]
		if per != 1 {
			c, r = expr.Add(scaled(per, c, 0), r[0]), r[1:]
		}
		return append([]expr.Expr{i[0], c}, r...)
	}
	s.set = func(i []expr.Expr) []expr.Expr { return []expr.Expr{i[0], quotient(i[1], per)} }
	s.setAt = func(at []int) int { return at[0]*groups + at[1]/per }
	return s
}

// average is the mean over each set of body(element, its index within the statistics).
func (s statistics) average(name string, x *te.Stage, body func(x expr.Expr, i []expr.Expr) expr.Expr) *te.Stage {
	t := types.Of(x.Type.DType.Compute(), s.shape...)
	sum := te.Fold(name+"_sum", t, te.Sum, s.extents, func(i, r []expr.Expr) expr.Expr {
		return body(x.At(s.element(i, r)...), i)
	})
	n := float64(types.Count(s.extents))
	return te.Compute(name, t, func(i []expr.Expr) expr.Expr { return expr.Div(sum.At(i...), expr.Const(t.DType, n)) })
}

// moments are the mean and the variance of each set.
func (s statistics) moments(x *te.Stage) (mean, variance *te.Stage) {
	mean = s.average("mean", x, func(x expr.Expr, _ []expr.Expr) expr.Expr { return x })
	variance = s.average("variance", x, func(x expr.Expr, i []expr.Expr) expr.Expr {
		d := expr.Sub(x, mean.At(i...))
		return expr.Mul(d, d)
	})
	return mean, variance
}

// averageEval is the mean over each set of f(element, set).
func (s statistics) averageEval(x *tensor.Tensor, f func(x float64, set int) float64) []float64 {
	mean := make([]float64, types.Count(s.shape))
	eachIndex(x.Shape, func(at []int) {
		j := s.setAt(at)
		mean[j] += f(x.Float(offsetOf(x.Shape, at)), j)
	})
	for j := range mean {
		mean[j] /= float64(types.Count(s.extents))
	}
	return mean
}

func (s statistics) momentsEval(x *tensor.Tensor) (mean, variance []float64) {
	mean = s.averageEval(x, func(x float64, _ int) float64 { return x })
	variance = s.averageEval(x, func(x float64, set int) float64 { return (x - mean[set]) * (x - mean[set]) })
	return mean, variance
}

// standardized gives (x - mean) / sqrt(variance + epsilon) for the elements of x.
func (s statistics) standardized(x *te.Stage, epsilon float64) func(i []expr.Expr) expr.Expr {
	mean, variance := s.moments(x)
	inverse := inverseRoot("inverse_deviation", variance, epsilon)
	return func(i []expr.Expr) expr.Expr {
		return expr.Mul(expr.Sub(x.At(i...), mean.At(s.set(i)...)), inverse.At(s.set(i)...))
	}
}

// inverseRoot is 1 / sqrt(x + epsilon): a stage of its own, since there are fewer of them than what they scale.
func inverseRoot(name string, x *te.Stage, epsilon float64) *te.Stage {
	return te.Compute(name, x.Type, func(i []expr.Expr) expr.Expr {
		v := x.At(i...)
		return expr.Div(like(v, 1), expr.Call(expr.FnSqrt, expr.Add(v, like(v, epsilon))))
	})
}

// standardizedEval calls f with every index of x and its standardized element.
func (s statistics) standardizedEval(x *tensor.Tensor, epsilon float64, f func(at []int, v float64)) {
	mean, variance := s.momentsEval(x)
	eachIndex(x.Shape, func(at []int) {
		j := s.setAt(at)
		f(at, (x.Float(offsetOf(x.Shape, at))-mean[j])/math.Sqrt(variance[j]+epsilon))
	})
}

// wantScales checks data [N, C, spatial...] and one gamma and beta per channel.
func wantScales(in []op.Arg) error {
	if err := sameDType(floats, []string{"data", "gamma", "beta"}, in); err != nil {
		return err
	}
	if in[0].Rank() < 2 {
		return fmt.Errorf("data %s has rank %d; it must be 2 or more: batch, channels and spatial axes", in[0].Tensor, in[0].Rank())
	}
	if err := wantShape("gamma", in[1], in[0].Shape[1]); err != nil {
		return err
	}
	return wantShape("beta", in[2], in[0].Shape[1])
}
