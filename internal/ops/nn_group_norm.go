package ops

import (
	"fmt"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// InstanceNormAttrs are the attributes of nn.instance_norm.
type InstanceNormAttrs struct{ Epsilon float64 }

// GroupNormAttrs are the attributes of nn.group_norm.
type GroupNormAttrs struct {
	Groups  int
	Epsilon float64
}

// GroupNorm has one gamma and beta per channel, as ONNX's opset 21 has it.
var GroupNorm = op.Define(op.Spec[GroupNormAttrs]{
	Name: "nn.group_norm", Doc: "nn.group_norm standardizes each group of channels and scales by gamma and beta.",
	Args: []string{"data", "gamma", "beta"}, Fusion: op.OutFusable, Layout: op.Channels,
	Infer: func(a GroupNormAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := wantScales(in); err != nil {
			return nil, err
		}
		if c := in[0].Shape[1]; a.Groups < 1 || c%a.Groups != 0 || a.Groups > c {
			return nil, fmt.Errorf("%s of %s", spelling.Count(a.Groups, "group"), spelling.Count(c, "channel"))
		}
		return []types.Tensor{in[0].Tensor}, nil
	},
	Eval: func(a GroupNormAttrs, in, out []*tensor.Tensor) error {
		scaledByChannel(byGroup(in[0].Shape, a.Groups), a.Epsilon, in, out[0])
		return nil
	},
	Compute: func(a GroupNormAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{scaledByChannelStage("group_norm", byGroup(in[0].Type.Shape, a.Groups), a.Epsilon, in, out[0])}
	},
	Sample: func(r *rand.Rand) (GroupNormAttrs, []types.Tensor) {
		d := draw{r}
		groups := d.between(1, 3)
		shape := d.full(2, 4)
		shape[1] = groups * d.between(1, 3)
		return GroupNormAttrs{groups, 1e-3}, sampleScales(d, shape)
	},
})

// InstanceNorm is GroupNorm with a group per channel.
var InstanceNorm = op.Define(op.Spec[InstanceNormAttrs]{
	Name: "nn.instance_norm", Doc: "nn.instance_norm standardizes each channel of each batch element and scales by gamma and beta.",
	Args: []string{"data", "gamma", "beta"}, Fusion: op.OutFusable, Layout: op.Channels,
	Infer: func(_ InstanceNormAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := wantScales(in); err != nil {
			return nil, err
		}
		return []types.Tensor{in[0].Tensor}, nil
	},
	Eval: func(a InstanceNormAttrs, in, out []*tensor.Tensor) error {
		scaledByChannel(byChannel(in[0].Shape), a.Epsilon, in, out[0])
		return nil
	},
	Compute: func(a InstanceNormAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{scaledByChannelStage("instance_norm", byChannel(in[0].Type.Shape), a.Epsilon, in, out[0])}
	},
	Sample: func(r *rand.Rand) (InstanceNormAttrs, []types.Tensor) {
		d := draw{r}
		return InstanceNormAttrs{1e-3}, sampleScales(d, d.shape(2, 4))
	},
})

// byChannel takes the statistics of every channel over the spatial axes.
func byChannel(shape []int) statistics {
	axes := make([]int, len(shape)-2)
	for k := range axes {
		axes[k] = 2 + k
	}
	return alongAxes(shape, axes)
}

func scaledByChannel(s statistics, epsilon float64, in []*tensor.Tensor, out *tensor.Tensor) {
	s.standardizedEval(in[0], epsilon, func(at []int, v float64) {
		out.SetFloat(offsetOf(out.Shape, at), v*in[1].Float(at[1])+in[2].Float(at[1]))
	})
}

func scaledByChannelStage(name string, s statistics, epsilon float64, in []*te.Stage, out types.Tensor) *te.Stage {
	standardized := s.standardized(in[0], epsilon)
	return te.Compute(name, out, func(i []expr.Expr) expr.Expr {
		return expr.Add(expr.Mul(standardized(i), in[1].At(i[1])), in[2].At(i[1]))
	})
}

func sampleScales(d draw, shape []int) []types.Tensor {
	t := d.of(floats)
	return []types.Tensor{types.Of(t, shape...), types.Of(t, shape[1]), types.Of(t, shape[1])}
}
