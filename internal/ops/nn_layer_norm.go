package ops

import (
	"fmt"
	"math"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// LayerNormAttrs are the attributes of nn.layer_norm and nn.rms_norm, which normalise over Axis and all axes after it.
type LayerNormAttrs struct {
	Axis    int
	Epsilon float64
}

// LayerNorm is ONNX's LayerNormalization, first result. Gamma and beta broadcast to data.
var LayerNorm = op.Define(op.Spec[LayerNormAttrs]{
	Name: "nn.layer_norm", Doc: "nn.layer_norm standardizes data over its last axes and scales by gamma and beta, if there are any.",
	Args: []string{"data", "gamma", "beta"}, MinIn: 1, Fusion: op.OutFusable, Layout: op.Plain,
	Infer: func(a LayerNormAttrs, in []op.Arg) ([]types.Tensor, error) { return a.infer(in) },
	Eval: func(a LayerNormAttrs, in, out []*tensor.Tensor) error {
		alongAxes(in[0].Shape, a.axes(in[0].Shape)).standardizedEval(in[0], a.Epsilon, func(at []int, v float64) {
			out[0].SetFloat(offsetOf(out[0].Shape, at), scaleAndShift(v, in, at))
		})
		return nil
	},
	Compute: func(a LayerNormAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		s := alongAxes(out[0].Shape, a.axes(out[0].Shape))
		standardized := s.standardized(in[0], a.Epsilon)
		return []*te.Stage{te.Compute("layer_norm", out[0], func(i []expr.Expr) expr.Expr {
			return scaleAndShiftExpr(standardized(i), in, out[0], i)
		})}
	},
	Sample: func(r *rand.Rand) (LayerNormAttrs, []types.Tensor) { return sampleLayerNorm(draw{r}, 3) },
})

// RMSNorm is ONNX's RMSNormalization: no mean is subtracted. Gamma broadcasts to data.
var RMSNorm = op.Define(op.Spec[LayerNormAttrs]{
	Name: "nn.rms_norm", Doc: "nn.rms_norm divides data by its root mean square over the last axes and scales by gamma, if there is one.",
	Args: []string{"data", "gamma"}, MinIn: 1, Fusion: op.OutFusable, Layout: op.Plain,
	Infer: func(a LayerNormAttrs, in []op.Arg) ([]types.Tensor, error) { return a.infer(in) },
	Eval: func(a LayerNormAttrs, in, out []*tensor.Tensor) error {
		x, s := in[0], alongAxes(in[0].Shape, a.axes(in[0].Shape))
		mean := s.averageEval(x, func(x float64, _ int) float64 { return x * x })
		eachIndex(x.Shape, func(at []int) {
			i := offsetOf(x.Shape, at)
			out[0].SetFloat(i, scaleAndShift(x.Float(i)/math.Sqrt(mean[s.setAt(at)]+a.Epsilon), in, at))
		})
		return nil
	},
	Compute: func(a LayerNormAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		s := alongAxes(out[0].Shape, a.axes(out[0].Shape))
		mean := s.average("mean_square", in[0], func(x expr.Expr, _ []expr.Expr) expr.Expr { return expr.Mul(x, x) })
		inverse := inverseRoot("inverse_root", mean, a.Epsilon)
		return []*te.Stage{te.Compute("rms_norm", out[0], func(i []expr.Expr) expr.Expr {
			return scaleAndShiftExpr(expr.Mul(in[0].At(i...), inverse.At(s.set(i)...)), in, out[0], i)
		})}
	},
	Sample: func(r *rand.Rand) (LayerNormAttrs, []types.Tensor) { return sampleLayerNorm(draw{r}, 2) },
})

func (a LayerNormAttrs) infer(in []op.Arg) ([]types.Tensor, error) {
	names := []string{"data", "gamma", "beta"}
	if err := sameDType(floats, names, in); err != nil {
		return nil, err
	}
	if err := wantAxis(a.Axis, in[0].Rank()); err != nil {
		return nil, err
	}
	for i := 1; i < len(in); i++ {
		if !broadcastsTo(in[i].Shape, in[0].Shape) {
			return nil, fmt.Errorf("%s %s does not broadcast to data %s", names[i], in[i].Tensor, in[0].Tensor)
		}
	}
	return []types.Tensor{in[0].Tensor}, nil
}

func (a LayerNormAttrs) axes(shape []int) []int {
	var axes []int
	for k := a.Axis; k < len(shape); k++ {
		axes = append(axes, k)
	}
	return axes
}

// scaleAndShift is v times the second operand plus the third, as far as there are any.
func scaleAndShift(v float64, in []*tensor.Tensor, at []int) float64 {
	if len(in) > 1 {
		v *= in[1].Float(broadcastOffset(in[1].Shape, at))
	}
	if len(in) > 2 {
		v += in[2].Float(broadcastOffset(in[2].Shape, at))
	}
	return v
}

func scaleAndShiftExpr(v expr.Expr, in []*te.Stage, out types.Tensor, i []expr.Expr) expr.Expr {
	if len(in) > 1 {
		v = expr.Mul(v, broadcastLoad(in[1], out, i))
	}
	if len(in) > 2 {
		v = expr.Add(v, broadcastLoad(in[2], out, i))
	}
	return v
}

func sampleLayerNorm(d draw, most int) (LayerNormAttrs, []types.Tensor) {
	shape := d.shape(1, 4)
	axis := d.IntN(len(shape))
	t := d.of(floats)
	in := []types.Tensor{types.Of(t, shape...)}
	for range d.IntN(most) {
		scale := shape[axis:]
		if d.coin(4) {
			scale = d.stretched(shape)
		}
		in = append(in, types.Of(t, scale...))
	}
	return LayerNormAttrs{axis, 1e-3}, in
}
