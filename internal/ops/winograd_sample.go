package ops

import "lathe/internal/types"

// winogradSample is a random convolution in the Winograd domain.
type winogradSample struct {
	tile                      int
	kernel, strides, dilation []int
	line                      bool        // data has no rows
	weight, data              types.DType // of weights before their transform, and of data
}

func (d draw) winograd() winogradSample {
	s := winogradSample{2 + 2*d.IntN(3), []int{3, 3}, []int{1, 1}, []int{1, 1}, false, types.F32, types.F32}
	switch {
	case s.tile == 2 && d.coin(2):
		s.weight, s.data = types.I8, types.I16
	case d.coin(2):
		for k := range s.kernel {
			s.kernel[k] = 1 + 2*d.IntN((mostAlpha-s.tile)/2+1)
		}
		if s.kernel[0] == 1 && s.kernel[1] == 1 {
			s.kernel[d.IntN(2)] = 3
		}
	case d.coin(2):
		s.tile++ // taps of an even number
		s.kernel = []int{2, 2}
	}
	if d.coin(2) {
		s.dilation = []int{d.between(1, 3), d.between(1, 3)}
	}
	s.line = s.kernel[0] == 1 && d.coin(2)
	return s
}

// strided is s with strides, which make kernels of as many taps of each phase.
func (s winogradSample) strided(d draw) winogradSample {
	for k, taps := range s.kernel {
		if s.dilation[k] == 1 && taps > 1 && d.coin(2) {
			s.strides[k] = d.between(2, 3)
			s.kernel[k] = s.strides[k]*taps - d.IntN(s.strides[k])
		}
	}
	return s
}

// least is the least extent of data along an axis.
func (s winogradSample) least(k int) int { return 1 + (s.kernel[k]-1)*s.dilation[k] }

// of is the type of data of at most so many channels, and less than so many elements more than the least along each axis.
func (s winogradSample) of(d draw, channels, more int) types.Tensor {
	shape := []int{d.between(1, 2), d.between(1, channels), s.least(0) + d.IntN(more), s.least(1) + d.IntN(more)}
	if s.line {
		shape = []int{shape[0], shape[1], shape[3]}
	}
	return types.Of(s.data, shape...)
}

func (s winogradSample) input(d draw) WinogradInputAttrs {
	a := WinogradInputAttrs{s.tile, s.kernel, s.strides, s.dilation, []int{d.IntN(3), d.IntN(3), d.IntN(3), d.IntN(3)}}
	if s.line {
		a.Padding[0], a.Padding[2] = 0, 0
	}
	return a
}
