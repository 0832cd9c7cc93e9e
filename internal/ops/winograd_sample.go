package ops

import "lathe/internal/types"

// winogradSample is a random convolution in the Winograd domain.
type winogradSample struct {
	tile             int
	kernel, dilation []int
	weight, data     types.DType // of weights before their transform, and of data
}

func (d draw) winograd() winogradSample {
	s := winogradSample{2 + 2*d.IntN(3), []int{3, 3}, []int{1, 1}, types.F32, types.F32}
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
	}
	if d.coin(2) {
		s.dilation = []int{d.between(1, 3), d.between(1, 3)}
	}
	return s
}

// least is the least extent of data along an axis.
func (s winogradSample) least(k int) int { return 1 + (s.kernel[k]-1)*s.dilation[k] }

func (s winogradSample) input(d draw) WinogradInputAttrs {
	return WinogradInputAttrs{s.tile, s.kernel, s.dilation, []int{d.IntN(3), d.IntN(3), d.IntN(3), d.IntN(3)}}
}
