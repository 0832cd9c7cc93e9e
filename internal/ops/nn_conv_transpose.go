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

// ConvTransposeAttrs are the attributes of transposed convolutions. OutputPadding extends each spatial axis at its end.
type ConvTransposeAttrs struct {
	Strides, Padding, OutputPadding, Dilation []int
	Groups                                    int
}

// Transposed convolutions by number of spatial axes: ONNX's ConvTranspose.
var (
	Conv1dTranspose = convTranspose("nn.conv1d_transpose", 1)
	Conv2dTranspose = convTranspose("nn.conv2d_transpose", 2)
	Conv3dTranspose = convTranspose("nn.conv3d_transpose", 3)
)

// ConvTranspose is the transposed convolution over n spatial axes, for n from 1 to 3.
var ConvTranspose = [...]*op.Def{1: Conv1dTranspose, 2: Conv2dTranspose, 3: Conv3dTranspose}

// convTranspose scatters data [N, C, spatial...] by weight [C, O/groups, kernel...] and adds bias [O], if there is one.
func convTranspose(name string, rank int) *op.Def {
	return op.Define(op.Spec[ConvTransposeAttrs]{
		Name: name,
		Doc:  fmt.Sprintf("%s is the gradient of a convolution over %s applied to data, plus bias.", name, spelling.Count(rank, "spatial axis")),
		Args: []string{"data", "weight", "bias"}, MinIn: 2, Fusion: op.OutFusable, Layout: op.Channels,
		Infer: func(a ConvTransposeAttrs, in []op.Arg) ([]types.Tensor, error) {
			if err := sameDType(numbers, []string{"data", "weight", "bias"}, in); err != nil {
				return nil, err
			}
			ws, err := a.windows(in[0], in[1], rank)
			if err != nil {
				return nil, err
			}
			o := in[1].Shape[1] * a.Groups
			if len(in) == 3 {
				if err := wantShape("bias", in[2], o); err != nil {
					return nil, err
				}
			}
			return []types.Tensor{types.Of(in[0].DType, append([]int{in[0].Shape[0], o}, ins(ws)...)...)}, nil
		},
		Eval: func(a ConvTransposeAttrs, in, out []*tensor.Tensor) error {
			ws, err := a.scatterWindows(in[0].Shape[2:], in[1].Shape[2:])
			if err != nil {
				return err
			}
			convTransposeEval(ws, a.Groups, in, out[0])
			return nil
		},
		Compute: func(a ConvTransposeAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
			return []*te.Stage{a.compute(in, out[0])}
		},
		Sample: func(r *rand.Rand) (ConvTransposeAttrs, []types.Tensor) { return sampleConvTranspose(draw{r}, rank) },
	})
}

// windows checks attributes and shapes of data and weight.
func (a ConvTransposeAttrs) windows(data, weight op.Arg, rank int) ([]window, error) {
	out, err := spatial("data", data, rank)
	if err != nil {
		return nil, err
	}
	if len(weight.Shape) != rank+2 {
		return nil, fmt.Errorf("weight %s has rank %d; it must be %d: input channels, output channels per group and %s",
			weight.Tensor, len(weight.Shape), rank+2, spelling.Count(rank, "kernel axis"))
	}
	c, i := data.Shape[1], weight.Shape[0]
	switch {
	case a.Groups < 1 || a.Groups > maxStep || c%a.Groups != 0:
		return nil, fmt.Errorf("%s of %s", spelling.Count(a.Groups, "group"), spelling.Count(c, "input channel"))
	case i != c:
		return nil, fmt.Errorf("weight %s takes %s; data %s has %d", weight.Tensor, spelling.Count(i, "input channel"), data.Tensor, c)
	}
	return a.scatterWindows(out, weight.Shape[2:])
}

// scatterWindows describes the convolution this one transposes: its output is our data, its input our result.
func (a ConvTransposeAttrs) scatterWindows(data, size []int) ([]window, error) {
	n := len(data)
	if err := wantEach("output_padding", a.OutputPadding, n, 0, maxPad); err != nil {
		return nil, err
	}
	if err := checkWindows(n, size, a.Strides, a.Padding, a.Dilation); err != nil {
		return nil, err
	}
	ws := make([]window, n)
	for k := range ws {
		w := window{out: data[k], size: size[k], stride: a.Strides[k], dilation: a.Dilation[k], before: a.Padding[k], after: a.Padding[n+k]}
		if w.in = (w.out-1)*w.stride + w.span() - w.before - w.after + a.OutputPadding[k]; w.out == 0 || w.in < 0 {
			return nil, fmt.Errorf("spatial axis %d: an extent of %d gives a result of %d", k, w.out, w.in)
		}
		ws[k] = w
	}
	return ws, nil
}

func ins(ws []window) []int {
	v := make([]int, len(ws))
	for k, w := range ws {
		v[k] = w.in
	}
	return v
}

// convTransposeEval adds each element of data times each tap to the element of the result the tap falls on.
func convTransposeEval(ws []window, groups int, in []*tensor.Tensor, out *tensor.Tensor) {
	x, w := in[0], in[1]
	perIn, perOut := w.Shape[0]/groups, w.Shape[1]
	acc := make([]total, out.Len())
	eachIndex(x.Shape, func(at []int) {
		for o := range perOut {
			eachTap(ws, at[2:], func(tap, to []int) {
				i := offsetOf(out.Shape, append([]int{at[0], at[1]/perIn*perOut + o}, to...))
				acc[i].product(x, offsetOf(x.Shape, at), w, offsetOf(w.Shape, append([]int{at[1], o}, tap...)))
			})
		}
	})
	eachIndex(out.Shape, func(at []int) {
		i := offsetOf(out.Shape, at)
		if len(in) == 3 {
			acc[i].add(in[2], at[1])
		}
		acc[i].store(out, i)
	})
}

// compute gathers: tap r of result position o comes from data position (o + before - r*dilation) / stride, where that
// is a whole number within the data.
func (a ConvTransposeAttrs) compute(in []*te.Stage, out types.Tensor) *te.Stage {
	x, w := in[0], in[1]
	ws, err := a.scatterWindows(x.Type.Shape[2:], w.Type.Shape[2:])
	if err != nil {
		panic(err)
	}
	perIn, perOut := w.Type.Shape[0]/a.Groups, w.Type.Shape[1]
	depthwise := a.Groups > 1 && perIn == 1
	extents := sizes(ws)
	if !depthwise {
		extents = append([]int{perIn}, extents...)
	}
	wide := types.Of(out.DType.Compute(), out.Shape...)
	y := te.Fold("conv_transpose", wide, te.Sum, extents, func(i, r []expr.Expr) expr.Expr {
		group, o := expr.Expr(expr.Index(0)), i[1]
		if a.Groups > 1 {
			group, o = quotient(i[1], perOut), remainder(i[1], perOut)
		}
		from := group
		if !depthwise {
			if from = r[0]; a.Groups > 1 {
				from = expr.Add(scaled(perIn, group, 0), r[0])
			}
			r = r[1:]
		}
		var at, conds []expr.Expr
		for k, v := range ws {
			p, c := v.gather(i[2+k], r[k])
			at, conds = append(at, p), append(conds, c)
		}
		value := x.At(append([]expr.Expr{i[0], from}, at...)...)
		product := expr.Mul(value, w.At(append([]expr.Expr{from, o}, r...)...))
		return expr.If(expr.AllOf(conds...), product, zero(product))
	})
	return biased(y, in, out)
}

// gather inverts index: the output position o from which tap r reaches input position p, and the condition under which
// there is one.
func (w window) gather(p, r expr.Expr) (o, exists expr.Expr) {
	reach := scaled(1, p, w.before)
	if w.size > 1 {
		reach = expr.Sub(reach, scaled(w.dilation, r, 0))
	}
	var whole, low, high expr.Expr
	if w.size > 1 && (w.size-1)*w.dilation > w.before {
		low = expr.GE(reach, expr.Index(0))
	}
	if w.in-1+w.before >= w.out*w.stride {
		high = expr.LT(reach, expr.Index(w.out*w.stride))
	}
	if w.stride > 1 {
		whole = expr.EQ(remainder(reach, w.stride), expr.Index(0))
	}
	return quotient(reach, w.stride), expr.AllOf(low, high, whole)
}

func sampleConvTranspose(d draw, rank int) (ConvTransposeAttrs, []types.Tensor) {
	in, size, strides, _, dilation := d.aWindow(rank, false)
	a := ConvTransposeAttrs{strides, make([]int, 2*rank), make([]int, rank), dilation, 1}
	perIn, perOut := d.between(1, 3), d.between(1, 3)
	if d.coin(2) {
		a.Groups = d.between(1, 3)
	}
	for k := range rank {
		in[k] = d.between(1, 4)
		a.OutputPadding[k] = d.IntN(strides[k])
		a.Padding[k], a.Padding[rank+k] = d.IntN(2), d.IntN(2)
		if (in[k]-1)*strides[k]+(size[k]-1)*dilation[k]+1+a.OutputPadding[k] < a.Padding[k]+a.Padding[rank+k] {
			a.Padding[k], a.Padding[rank+k] = 0, 0
		}
	}
	t := d.of(numbers)
	ts := []types.Tensor{
		types.Of(t, append([]int{d.between(1, 2), a.Groups * perIn}, in...)...),
		types.Of(t, append([]int{a.Groups * perIn, perOut}, size...)...),
	}
	if d.coin(2) {
		ts = append(ts, types.Of(t, a.Groups*perOut))
	}
	return a, ts
}
