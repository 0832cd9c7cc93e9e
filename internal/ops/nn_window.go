package ops

import (
	"errors"
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/tool/spelling"
)

// A window is one spatial axis of a convolution or pooling: size taps, dilation apart, moved by stride over an axis of
// extent in with padding before and after it. Output position o and tap r read input position o*stride + r*dilation - before.
type window struct {
	in, out, size, stride, dilation, before, after int
}

// Limits that keep products of extents and attributes within an int.
const (
	maxStep = 1 << 20
	maxPad  = 1 << 30
)

// checkWindows checks the attributes of windows over n spatial axes. padding holds the padding before each axis and then
// that after each axis.
func checkWindows(n int, size, strides, padding, dilation []int) error {
	return errors.Join(
		wantEach("kernel size", size, n, 1, maxStep),
		wantEach("strides", strides, n, 1, maxStep),
		wantEach("dilation", dilation, n, 1, maxStep),
		wantEach("padding", padding, 2*n, 0, maxPad))
}

// windows gives the windows of a convolution or pooling with the given spatial extents. ceil rounds their number up, as
// ONNX has it: a window must start within the input or the padding before it.
func windows(in, size, strides, padding, dilation []int, ceil bool) ([]window, error) {
	n := len(in)
	if err := checkWindows(n, size, strides, padding, dilation); err != nil {
		return nil, err
	}
	ws := make([]window, n)
	for k := range ws {
		w := window{in: in[k], size: size[k], stride: strides[k], dilation: dilation[k], before: padding[k], after: padding[n+k]}
		room := w.in + w.before + w.after - w.span()
		if room < 0 {
			return nil, fmt.Errorf("kernel spans %s of spatial axis %d, which has %d with padding", spelling.Count(w.span(), "element"), k, w.in+w.before+w.after)
		}
		w.out = room/w.stride + 1
		if ceil && room%w.stride != 0 && w.out*w.stride < w.in+w.before {
			w.out++
		}
		ws[k] = w
	}
	return ws, nil
}

// span is the number of input positions from the first tap to the last.
func (w window) span() int { return (w.size-1)*w.dilation + 1 }

// at is the input position tap r reads for output o. It may lie in the padding.
func (w window) at(o, r int) int { return o*w.stride + r*w.dilation - w.before }

// inside gives the taps [lo, hi) that read a position in the input.
func (w window) inside(o int) (lo, hi int) {
	for lo < w.size && w.at(o, lo) < 0 {
		lo++
	}
	for hi = lo; hi < w.size && w.at(o, hi) < w.in; {
		hi++
	}
	return lo, hi
}

// index is at for tensor expressions, with the condition under which it is in the input; nil means always.
func (w window) index(o, r expr.Expr) (at, inside expr.Expr) {
	if w.size > 1 {
		at = expr.Add(scaled(w.stride, o, 0), scaled(w.dilation, r, 0))
	} else {
		at = scaled(w.stride, o, 0)
	}
	if w.before > 0 {
		at = expr.Sub(at, expr.Index(w.before))
		inside = expr.GE(at, expr.Index(0))
	}
	if w.overruns() {
		inside = expr.AllOf(inside, expr.LT(at, expr.Index(w.in)))
	}
	return at, inside
}

// overruns reports whether some window reads behind the input.
func (w window) overruns() bool { return w.at(w.out-1, w.size-1) >= w.in }

// outs are the output extents and sizes the numbers of taps.
func outs(ws []window) []int {
	v := make([]int, len(ws))
	for k, w := range ws {
		v[k] = w.out
	}
	return v
}

func sizes(ws []window) []int {
	v := make([]int, len(ws))
	for k, w := range ws {
		v[k] = w.size
	}
	return v
}

// eachTap calls f with every tap of the windows at output position o that reads the input, and the position it reads.
// f must not keep the slices.
func eachTap(ws []window, o []int, f func(tap, at []int)) {
	first, taps := make([]int, len(ws)), make([]int, len(ws))
	for k, w := range ws {
		lo, hi := w.inside(o[k])
		first[k], taps[k] = lo, hi-lo
	}
	tap, at := make([]int, len(ws)), make([]int, len(ws))
	eachIndex(taps, func(i []int) {
		for k, w := range ws {
			tap[k] = first[k] + i[k]
			at[k] = w.at(o[k], tap[k])
		}
		f(tap, at)
	})
}

// indices applies index to every axis: the input index and the condition under which it is in the input.
func indices(ws []window, o, r []expr.Expr) (at []expr.Expr, inside expr.Expr) {
	var conds []expr.Expr
	for k, w := range ws {
		i, c := w.index(o[k], r[k])
		at, conds = append(at, i), append(conds, c)
	}
	return at, expr.AllOf(conds...)
}

// spatial is the shape of a batched, channelled operand without its first two axes.
func spatial(operand string, a op.Arg, rank int) ([]int, error) {
	if len(a.Shape) != rank+2 {
		return nil, fmt.Errorf("%s %s has rank %d; it must be %d: batch, channels and %s", operand, a.Tensor, len(a.Shape), rank+2, spelling.Count(rank, "spatial axis"))
	}
	return a.Shape[2:], nil
}

// aWindow draws attributes of a window over n spatial axes and extents that fit it.
func (d draw) aWindow(n int, pads bool) (in, size, strides, padding, dilation []int) {
	in, size, strides, dilation = make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	padding = make([]int, 2*n)
	for k := range n {
		size[k], strides[k], dilation[k] = d.between(1, 3), d.between(1, 3), 1
		if d.coin(3) {
			dilation[k] = 2
		}
		if pads && d.coin(2) {
			padding[k], padding[n+k] = d.IntN(size[k]), d.IntN(size[k])
		}
		in[k] = (size[k]-1)*dilation[k] + d.between(1, 7-n)
	}
	return in, size, strides, padding, dilation
}
