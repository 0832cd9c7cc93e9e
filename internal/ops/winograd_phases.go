package ops

import (
	"lathe/internal/expr"
	"lathe/internal/tensor"
)

// PhaseWeight is the weight of the convolution without strides of the phases of data: of [O, C, kh, kw] it is [O, phases*C, taps, taps]. The phases
// of rows are outside, and phases outside of channels.
func (w *Winograd) PhaseWeight(weight *tensor.Tensor) *tensor.Tensor {
	v, h := &w.Axes[0], &w.Axes[1]
	if v.Stride == 1 && h.Stride == 1 {
		return weight
	}
	out, channels := weight.Shape[0], weight.Shape[1]
	y := tensor.New(weight.DType, out, w.Phases()*channels, v.Taps, h.Taps)
	size, at := weight.DType.Size(), 0
	eachIndex([]int{out, v.Phases, h.Phases, channels, v.Taps, h.Taps}, func(i []int) {
		if row, col := v.Stride*i[4]+i[1], h.Stride*i[5]+i[2]; row < weight.Shape[2] && col < weight.Shape[3] {
			from := offsetOf(weight.Shape, []int{i[0], i[3], row, col}) * size
			copy(y.Bytes()[at:at+size], weight.Bytes()[from:from+size])
		}
		at += size
	})
	return y
}

// adds reports whether product k sums the channels of a phase.
func (w *Winograd) adds(k, phase int) bool {
	v, h := &w.Axes[0], &w.Axes[1]
	return (k/h.Alpha < v.Alpha-1 || phase/h.Phases < v.Full) && (k%h.Alpha < h.Alpha-1 || phase%h.Phases < h.Full)
}

// addsAt is adds of variables; nil where all products sum all phases.
func (w *Winograd) addsAt(k, phase expr.Expr) expr.Expr {
	along := func(x *WinogradAxis, k, phase expr.Expr) expr.Expr {
		if x.Full == x.Phases {
			return nil
		}
		return expr.Or(expr.LT(k, expr.Index(x.Alpha-1)), expr.LT(phase, expr.Index(x.Full)))
	}
	v, h := &w.Axes[0], &w.Axes[1]
	return expr.AllOf(along(v, quotient(k, h.Alpha), quotient(phase, h.Phases)), along(h, remainder(k, h.Alpha), remainder(phase, h.Phases)))
}
