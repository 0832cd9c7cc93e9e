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

// PoolAttrs are the attributes of pooling. Padding is that before each spatial axis and then that after each. CeilMode
// rounds the number of windows up, as ONNX has it: no window starts in the padding behind the input.
type PoolAttrs struct {
	PoolSize, Strides, Padding, Dilation []int
	CeilMode                             bool
}

// Maximum pooling by number of spatial axes: ONNX's MaxPool without indices.
var (
	MaxPool1d = maxPool("nn.max_pool1d", 1)
	MaxPool2d = maxPool("nn.max_pool2d", 2)
	MaxPool3d = maxPool("nn.max_pool3d", 3)
)

// MaxPool is maximum pooling over n spatial axes, for n from 1 to 3.
var MaxPool = [...]*op.Def{1: MaxPool1d, 2: MaxPool2d, 3: MaxPool3d}

func maxPool(name string, rank int) *op.Def {
	return op.Define(op.Spec[PoolAttrs]{
		Name: name,
		Doc:  fmt.Sprintf("%s is the greatest element of each window over %s; padding does not count.", name, spelling.Count(rank, "spatial axis")),
		Args: []string{"data"}, Fusion: op.OutFusable, Layout: op.Channels,
		Infer: func(a PoolAttrs, in []op.Arg) ([]types.Tensor, error) { return a.infer(numbers, in[0], rank) },
		Eval: func(a PoolAttrs, in, out []*tensor.Tensor) error {
			ws := a.mustWindows(in[0].Shape)
			eachIndex(out[0].Shape, func(at []int) {
				i := offsetOf(out[0].Shape, at)
				best := greatestInWindow(ws, in[0], at)
				if best < 0 {
					storeLeast(out[0], i)
				} else {
					setElement(out[0], i, in[0], best)
				}
			})
			return nil
		},
		Compute: func(a PoolAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
			return []*te.Stage{a.fold("max_pool", in[0], out[0], te.Max, func(x expr.Expr) expr.Expr { return x })}
		},
		Sample: func(r *rand.Rand) (PoolAttrs, []types.Tensor) { return samplePool(draw{r}, rank, numbers) },
	})
}

func (a PoolAttrs) infer(k kind, data op.Arg, rank int) ([]types.Tensor, error) {
	if err := k.check("data", data.DType); err != nil {
		return nil, err
	}
	in, err := spatial("data", data, rank)
	if err != nil {
		return nil, err
	}
	ws, err := windows(in, a.PoolSize, a.Strides, a.Padding, a.Dilation, a.CeilMode)
	if err != nil {
		return nil, err
	}
	return []types.Tensor{types.Of(data.DType, append(append([]int{}, data.Shape[:2]...), outs(ws)...)...)}, nil
}

// mustWindows is for shapes that Infer has accepted.
func (a PoolAttrs) mustWindows(data []int) []window {
	ws, err := windows(data[2:], a.PoolSize, a.Strides, a.Padding, a.Dilation, a.CeilMode)
	if err != nil {
		panic(err)
	}
	return ws
}

// EachReads reports whether every window over data of a shape reads an element. One that lies in the padding gives the
// identity of the fold, which is no number of quantised data.
func (a PoolAttrs) EachReads(data []int) bool {
	for _, w := range a.mustWindows(data) {
		for o := range w.out {
			if lo, hi := w.inside(o); lo == hi {
				return false
			}
		}
	}
	return true
}

// fold combines body(element) over each window; padding contributes the combiner's identity.
func (a PoolAttrs) fold(name string, x *te.Stage, out types.Tensor, c te.Combiner, body func(x expr.Expr) expr.Expr) *te.Stage {
	ws := a.mustWindows(x.Type.Shape)
	y := te.Fold(name, out, c, sizes(ws), func(i, r []expr.Expr) expr.Expr {
		at, inside := indices(ws, i[2:], r)
		v := body(x.At(append([]expr.Expr{i[0], i[1]}, at...)...))
		return expr.If(inside, v, c.Identity(v.DType()))
	})
	return y
}

// eachInWindow calls f with the position of every element of x in the window of result element at.
func eachInWindow(ws []window, x *tensor.Tensor, at []int, f func(i int)) {
	eachTap(ws, at[2:], func(_, from []int) { f(offsetOf(x.Shape, append([]int{at[0], at[1]}, from...))) })
}

// greatestInWindow is the position of the first greatest element (or NaN) in a window; -1 in a window of padding.
func greatestInWindow(ws []window, x *tensor.Tensor, at []int) int {
	best := -1
	eachInWindow(ws, x, at, func(i int) {
		if best < 0 || better(te.Max, x, i, best, false) {
			best = i
		}
	})
	return best
}

// storeLeast stores the maximum of nothing.
func storeLeast(x *tensor.Tensor, i int) {
	switch least := te.Max.Identity(x.DType.Compute()).(type) {
	case *expr.Int:
		x.SetInt(i, least.V)
	case *expr.Float:
		x.SetFloat(i, least.V)
	}
}

func samplePool(d draw, rank int, k kind) (PoolAttrs, []types.Tensor) {
	in, size, strides, padding, dilation := d.aWindow(rank, true)
	data := types.Of(d.of(k), append([]int{d.between(1, 2), d.between(1, 4)}, in...)...)
	return PoolAttrs{size, strides, padding, dilation, d.coin(2)}, []types.Tensor{data}
}
