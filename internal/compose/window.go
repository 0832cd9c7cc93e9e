package compose

// A Window holds the spatial attributes of a convolution or pooling, one entry for each spatial axis; Padding has those
// before each axis and then those after each.
type Window struct {
	In, Kernel, Strides, Dilation, Padding []int
}

func (w Window) span(k int) int { return (w.Kernel[k]-1)*w.Dilation[k] + 1 }

// Same is the padding with which every stride of the input gives one output. Of an odd amount, upper puts the larger
// part behind the input.
func (w Window) Same(upper bool) []int {
	n := len(w.In)
	pads := make([]int, 2*n)
	for k, in := range w.In {
		if w.Strides[k] < 1 {
			Fail("stride %d", w.Strides[k])
		}
		out := (in + w.Strides[k] - 1) / w.Strides[k]
		pads[k], pads[n+k] = halves(max((out-1)*w.Strides[k]+w.span(k)-in, 0), upper)
	}
	return pads
}

// Transposed is the padding, and the output padding, with which a transposed convolution gives spatial extents out.
func (w Window) Transposed(out, extra []int, upper bool) (pads, outputPadding []int) {
	n := len(w.In)
	pads, outputPadding = make([]int, 2*n), make([]int, n)
	for k, in := range w.In {
		total := (in-1)*w.Strides[k] + w.span(k) + extra[k] - out[k]
		outputPadding[k] = extra[k]
		if total < 0 {
			outputPadding[k], total = extra[k]-total, 0
		}
		pads[k], pads[n+k] = halves(total, upper)
	}
	return pads, outputPadding
}

// halves divides total in two, the larger part last with upper.
func halves(total int, upper bool) (before, after int) {
	if upper {
		return total / 2, total - total/2
	}
	return total - total/2, total / 2
}
