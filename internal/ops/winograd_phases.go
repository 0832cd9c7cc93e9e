package ops

import (
	"lathe/internal/tensor"
)

// A convolution with strides s is one without of more channels: its taps s*j+p, for each phase p < s, read every s-th element of the data,
//
//	y[o] = sum over p and j of x[s*(o+j) + p] * w[s*j + p]
//
// Phases along both axes, those of rows outside, are outside of channels. A phase whose taps are fewer than those of the first ends in zeros.

// PhaseTaps are the taps of a phase along each axis.
func PhaseTaps(kernel, strides []int) []int {
	taps := make([]int, len(kernel))
	for k := range taps {
		taps[k] = (kernel[k] + strides[k] - 1) / strides[k]
	}
	return taps
}

// Phases are the numbers of phases that have taps, along each axis.
func Phases(kernel, strides []int) []int {
	n := make([]int, len(kernel))
	for k := range n {
		n[k] = min(kernel[k], strides[k])
	}
	return n
}

// PhaseWeight is the weight of the convolution without strides: of [O, C, kh, kw] it is [O, phases*C, taps, taps].
func PhaseWeight(w *tensor.Tensor, strides []int) *tensor.Tensor {
	if strides[0] == 1 && strides[1] == 1 {
		return w
	}
	kernel := w.Shape[2:]
	taps, phases := PhaseTaps(kernel, strides), Phases(kernel, strides)
	out, channels := w.Shape[0], w.Shape[1]
	y := tensor.New(w.DType, out, phases[0]*phases[1]*channels, taps[0], taps[1])
	size := w.DType.Size()
	from, to := w.Data, y.Data
	at := 0
	eachIndex([]int{out, phases[0], phases[1], channels, taps[0], taps[1]}, func(i []int) {
		if row, col := strides[0]*i[4]+i[1], strides[1]*i[5]+i[2]; row < kernel[0] && col < kernel[1] {
			e := offsetOf(w.Shape, []int{i[0], i[3], row, col}) * size
			copy(to[at:at+size], from[e:e+size])
		}
		at += size
	})
	return y
}
