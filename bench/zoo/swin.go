package zoo

import (
	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// swinWindow is the side of the windows that attention looks at.
const swinWindow = 7

// swinTiny attends within windows, which every other block moves by half their size (Liu et al. 2021).
func swinTiny(s style) func(b *model.Builder) {
	return func(b *model.Builder) {
		t := transformer{b, s}
		side, width := 56, 96
		x := t.conv(t.Input(1, 3, 224, 224), 3, width, model.Window{Kernel: []int{4, 4}, Stride: 4})
		x = t.LayerNorm(t.Transpose(x, 0, 2, 3, 1), width)
		for stage, blocks := range []int{2, 2, 6, 2} {
			if stage > 0 {
				x = t.merge(x, side, width)
				side, width = side/2, 2*width
			}
			for i := range blocks {
				shift := i % 2 * (swinWindow / 2)
				if side == swinWindow {
					shift = 0
				}
				y := t.windows(t.LayerNorm(x, width), side, width, 3<<stage, shift)
				x = t.Do("Add", x, y)
				x = t.Do("Add", x, t.feedForward(t.LayerNorm(x, width), width, 4*width))
			}
		}
		x = t.Op("ReduceMean", []model.Value{t.LayerNorm(x, width)}, model.At("axes", []int{1, 2}), model.At("keepdims", 0))
		t.Output(t.linear(x, width, 1000))
	}
}

// merge joins the four neighbours of a place, at half the side and twice the width.
func (t transformer) merge(x model.Value, side, width int) model.Value {
	every := func(row, column int) model.Value {
		return t.Slice(t.Slice(x, 1, row, side, 2), 2, column, side, 2)
	}
	x = t.LayerNorm(t.Concat(-1, every(0, 0), every(1, 0), every(0, 1), every(1, 1)), 4*width)
	if t.style == static {
		return t.Do("MatMul", t.Quantize(x, unit), t.Bytes8(1, 0.0003, 4*width, 2*width))
	}
	return t.Do("MatMul", x, t.Weight(0.05, 4*width, 2*width))
}

// windows is attention within windows of a map that is rolled by shift.
func (t transformer) windows(x model.Value, side, width, heads, shift int) model.Value {
	const rows = swinWindow * swinWindow
	n := side / swinWindow
	x = t.roll(x, side, shift)
	x = t.Transpose(t.Reshape(x, 1, n, swinWindow, n, swinWindow, width), 0, 1, 3, 2, 4, 5)
	x = t.Reshape(x, n*n, rows, width)
	t.Parameters += (2*swinWindow - 1) * (2*swinWindow - 1) * heads
	bias := t.Constant(t.Normal(0.1, 1, heads, rows, rows)) // of relative places, as exporters fold it
	masks := []func(model.Value) model.Value{func(s model.Value) model.Value { return t.Do("Add", s, bias) }}
	if shift > 0 {
		apart := t.Constant(shifted(n, side, shift))
		masks = append(masks, func(s model.Value) model.Value {
			s = t.Do("Add", t.Reshape(s, 1, n*n, heads, rows, rows), apart)
			return t.Reshape(s, n*n, heads, rows, rows)
		})
	}
	x = t.attention(x, n*n, rows, heads, width/heads, masks...)
	x = t.Transpose(t.Reshape(x, 1, n, n, swinWindow, swinWindow, width), 0, 1, 3, 2, 4, 5)
	return t.roll(t.Reshape(x, 1, side, side, width), side, side-shift)
}

// roll moves rows and columns from the front to the back.
func (t transformer) roll(x model.Value, side, by int) model.Value {
	for axis := 1; axis <= 2 && by%side != 0; axis++ {
		x = t.Concat(axis, t.Slice(x, axis, by, side, 1), t.Slice(x, axis, 0, by, 1))
	}
	return x
}

// shifted is -100 where two places of a window of a rolled map are no neighbours, 1 × windows × 1 × places × places.
func shifted(n, side, shift int) *tensor.Tensor {
	const rows = swinWindow * swinWindow
	region := func(at int) int {
		switch {
		case at < side-swinWindow:
			return 0
		case at < side-shift:
			return 1
		}
		return 2
	}
	out := tensor.New(types.F32, 1, n*n, 1, rows, rows)
	v := tensor.As[float32](out)
	place := func(window, p int) int {
		y, x := window/n*swinWindow+p/swinWindow, window%n*swinWindow+p%swinWindow
		return 3*region(y) + region(x)
	}
	for w := range n * n {
		for p := range rows {
			for q := range rows {
				if place(w, p) != place(w, q) {
					v[(w*rows+p)*rows+q] = -100
				}
			}
		}
	}
	return out
}
