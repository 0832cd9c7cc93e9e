package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// ConvAttrs are the attributes of convolutions. Padding is that before each spatial axis and then that after each.
type ConvAttrs struct {
	Strides, Padding, Dilation []int
	Groups                     int
}

// Convolutions by number of spatial axes: ONNX's Conv.
var (
	Conv1d = conv("nn.conv1d", 1)
	Conv2d = conv("nn.conv2d", 2)
	Conv3d = conv("nn.conv3d", 3)
)

// Conv is the convolution over n spatial axes, for n from 1 to 3.
var Conv = [...]*op.Def{1: Conv1d, 2: Conv2d, 3: Conv3d}

// conv correlates data [N, C, spatial...] with weight [O, C/groups, kernel...] and adds bias [O], if there is one.
func conv(name string, rank int) *op.Def {
	return op.Define(op.Spec[ConvAttrs]{
		Name: name,
		Doc:  fmt.Sprintf("%s is the convolution (without flipping) of data by weight over %s, plus bias.", name, spelling.Count(rank, "spatial axis")),
		Args: []string{"data", "weight", "bias"}, MinIn: 2, Fusion: op.OutFusable, Layout: op.Channels,
		Infer: func(a ConvAttrs, in []op.Arg) ([]types.Tensor, error) {
			if err := sameDType(numbers, []string{"data", "weight", "bias"}, in); err != nil {
				return nil, err
			}
			ws, err := a.windows(in[0], in[1], rank)
			if err != nil {
				return nil, err
			}
			o := in[1].Shape[0]
			if len(in) == 3 {
				if err := wantShape("bias", in[2], o); err != nil {
					return nil, err
				}
			}
			return []types.Tensor{types.Of(in[0].DType, append([]int{in[0].Shape[0], o}, outs(ws)...)...)}, nil
		},
		Eval: func(a ConvAttrs, in, out []*tensor.Tensor) error {
			ws := a.mustWindows(in[0].Shape, in[1].Shape)
			convEval(ws, a.Groups, in, out[0])
			return nil
		},
		Compute: func(a ConvAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
			return []*te.Stage{a.compute(in, out[0])}
		},
		Sample: func(r *rand.Rand) (ConvAttrs, []types.Tensor) { return sampleConv(draw{r}, rank) },
	})
}

// windows checks attributes and shapes of data and weight.
func (a ConvAttrs) windows(data, weight op.Arg, rank int) ([]window, error) {
	in, err := spatial("data", data, rank)
	if err != nil {
		return nil, err
	}
	if len(weight.Shape) != rank+2 {
		return nil, fmt.Errorf("weight %s has rank %d; it must be %d: output channels, input channels per group and %s",
			weight.Tensor, len(weight.Shape), rank+2, spelling.Count(rank, "kernel axis"))
	}
	c, o, i := data.Shape[1], weight.Shape[0], weight.Shape[1]
	switch {
	case a.Groups < 1 || c%a.Groups != 0 || o%a.Groups != 0:
		return nil, fmt.Errorf("%s of %s and %s", spelling.Count(a.Groups, "group"), spelling.Count(c, "input channel"), spelling.Count(o, "output channel"))
	case i != c/a.Groups:
		return nil, fmt.Errorf("weight %s takes %s a group; data %s has %d in %s", weight.Tensor, spelling.Count(i, "channel"), data.Tensor, c, spelling.Count(a.Groups, "group"))
	}
	return windows(in, weight.Shape[2:], a.Strides, a.Padding, a.Dilation, false)
}

// mustWindows is windows for shapes that Infer has accepted.
func (a ConvAttrs) mustWindows(data, weight []int) []window {
	ws, err := windows(data[2:], weight[2:], a.Strides, a.Padding, a.Dilation, false)
	if err != nil {
		panic(err)
	}
	return ws
}

func (a ConvAttrs) compute(in []*te.Stage, out types.Tensor) *te.Stage {
	wide := types.Of(out.DType.Compute(), out.Shape...)
	y := a.fold("conv", in[0], in[1], wide, func(x, w, _ expr.Expr) expr.Expr { return expr.Mul(x, w) })
	return biased(y, in, out)
}

// fold sums product(data element, weight element, output channel) over input channels and taps. A depthwise convolution
// has no channel axis to reduce; one group needs no group arithmetic.
func (a ConvAttrs) fold(name string, x, w *te.Stage, out types.Tensor, product func(x, w, o expr.Expr) expr.Expr) *te.Stage {
	ws := a.mustWindows(x.Type.Shape, w.Type.Shape)
	perIn, perOut := w.Type.Shape[1], w.Type.Shape[0]/a.Groups
	depthwise := a.Groups > 1 && perIn == 1
	extents := sizes(ws)
	if !depthwise {
		extents = append([]int{perIn}, extents...)
	}
	y := te.Fold(name, out, te.Sum, extents, func(i, r []expr.Expr) expr.Expr {
		c, from := expr.Expr(expr.Index(0)), quotient(i[1], perOut)
		if !depthwise {
			c, r = r[0], r[1:]
			if a.Groups == 1 {
				from = c
			} else {
				from = expr.Add(scaled(perIn, from, 0), c)
			}
		}
		at, inside := indices(ws, i[2:], r)
		p := product(x.At(append([]expr.Expr{i[0], from}, at...)...), w.At(append([]expr.Expr{i[1], c}, r...)...), i[1])
		return expr.If(inside, p, zero(p))
	})
	y.Tag = te.Convolution
	return y
}

// biased adds the optional third operand, one number per channel, and narrows to the result's type.
func biased(y *te.Stage, in []*te.Stage, out types.Tensor) *te.Stage {
	if len(in) < 3 {
		y.Type = out
		return y
	}
	return te.Compute("bias", out, func(i []expr.Expr) expr.Expr { return expr.Add(y.At(i...), in[2].At(i[1])) })
}

func sampleConv(d draw, rank int) (ConvAttrs, []types.Tensor) {
	in, size, strides, padding, dilation := d.aWindow(rank, true)
	groups, perIn, perOut := 1, d.between(1, 3), d.between(1, 3)
	if d.coin(2) {
		groups = d.between(1, 3)
	}
	t := d.of(numbers)
	ts := []types.Tensor{
		types.Of(t, append([]int{d.between(1, 2), groups * perIn}, in...)...),
		types.Of(t, append([]int{groups * perOut, perIn}, size...)...),
	}
	if d.coin(2) {
		ts = append(ts, types.Of(t, groups*perOut))
	}
	return ConvAttrs{strides, padding, dilation, groups}, slices.Clip(ts)
}
