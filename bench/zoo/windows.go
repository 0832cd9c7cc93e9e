package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A windowed writes attention within windows of 8x8 of maps that are padded to whole ones.
type windowed struct{ exporter }

// windowSide is the side of a window, windowRows its number of places.
const windowSide, windowRows = 8, windowSide * windowSide

// swinV2Tiny attends by cosines, with a bias that a small network makes of logarithmic distances (Liu et al. 2022; torchvision's swin_v2_t).
// An image of 224x224 has maps of 28, 14 and 7 places a side, which no window divides.
func swinV2Tiny(b exporter) {
	w := windowed{b}
	side, width := 56, 96
	x := w.ConvBias(w.Input(1, 3, 224, 224), 3, width, model.Window{Kernel: []int{4, 4}, Stride: 4})
	x = w.LayerNorm(w.Transpose(x, 0, 2, 3, 1), width)
	for stage, blocks := range []int{2, 2, 6, 2} {
		if stage > 0 {
			x = w.merge(x, width)
			side, width = side/2, 2*width
		}
		for i := range blocks {
			x = w.add(x, w.LayerNorm(w.cosine(x, side, width, 3<<stage, i%2*windowSide/2), width))
			y := w.Linear(w.GELU(w.Linear(x, width, 4*width)), 4*width, width)
			x = w.add(x, w.LayerNorm(y, width))
		}
	}
	x = w.Transpose(w.LayerNorm(x, width), 0, 3, 1, 2)
	w.head(x, width, 1000)
}

// merge joins the four neighbours of a place, and normalises behind the product.
func (w windowed) merge(x model.Value, width int) model.Value {
	every := func(row, column int) model.Value {
		return w.Slice(w.Slice(x, 1, row, math.MaxInt64, 2), 2, column, math.MaxInt64, 2)
	}
	x = w.Concat(-1, every(0, 0), every(1, 0), every(0, 1), every(1, 1))
	x = w.Do("MatMul", x, w.Weight(1/math.Sqrt(float64(4*width)), 4*width, 2*width))
	return w.LayerNorm(x, 2*width)
}

// cosine is SwinV2's attention within windows.
func (w windowed) cosine(x model.Value, side, width, heads, shift int) model.Value {
	whole := (side + windowSide - 1) / windowSide * windowSide
	if whole == windowSide {
		shift = 0
	}
	bias := w.distances(heads)
	x = w.Do("Pad", x, w.Ints(0, 0, 0, 0, 0, whole-side, whole-side, 0)) // written for whole ones too
	x = w.cut(w.roll(x, shift), whole, width)
	n := whole / windowSide * whole / windowSide
	qkv := w.Transpose(w.Reshape(w.Linear(x, width, 3*width), n, windowRows, 3, heads, width/heads), 2, 0, 3, 1, 4)
	q, k, v := w.unit(w.at(qkv, 0, 0)), w.unit(w.at(qkv, 0, 1)), w.at(qkv, 0, 2)
	w.Parameters += heads
	scale := w.Do("Exp", w.Do("Clip", w.Constant(w.Uniform(2, 2.6, heads, 1, 1)), model.Absent, w.Number(float32(math.Log(100)))))
	s := w.add(w.mul(w.Do("MatMul", q, w.Transpose(k, 0, 1, 3, 2)), scale), bias)
	s = w.masked(s, whole, heads, shift)
	y := w.Transpose(w.Do("MatMul", w.softmax(s, -1), v), 0, 2, 1, 3)
	y = w.join(w.Linear(w.Reshape(y, n, windowRows, width), width, width), whole, width)
	y = w.roll(y, (whole-shift)%whole)
	return w.Slice(w.Slice(y, 1, 0, side, 1), 2, 0, side, 1)
}

// distances is the bias of heads, of constants alone: the exporter leaves products to whoever reads the graph.
func (w windowed) distances(heads int) model.Value {
	const wide = 2*windowSide - 1
	table, index := make([]float32, 2*wide*wide), make([]int64, windowRows*windowRows)
	for i := range wide * wide {
		for axis, d := range []int{i/wide - windowSide + 1, i%wide - windowSide + 1} {
			far := 8 * float64(d) / (windowSide - 1)
			table[2*i+axis] = float32(math.Copysign(math.Log2(math.Abs(far)+1)/3, far))
		}
	}
	for i := range index {
		p, q := i/windowRows, i%windowRows
		rows, columns := p/windowSide-q/windowSide+windowSide-1, p%windowSide-q%windowSide+windowSide-1
		index[i] = int64(rows*wide + columns)
	}
	y := w.relu(w.Linear(w.Constant(tensor.Of([]int{1, wide, wide, 2}, table)), 2, 512))
	y = w.Reshape(w.Do("MatMul", y, w.Weight(0.05, 512, heads)), -1, heads)
	y = w.Reshape(w.take(y, w.Constant(tensor.Of([]int{len(index)}, index))), windowRows, windowRows, -1)
	y = w.Do("Unsqueeze", w.Transpose(y, 2, 0, 1), w.Ints(0))
	return w.mul(w.Do("Sigmoid", y), w.Number(16))
}

// roll moves rows and columns from the front to the back.
func (w windowed) roll(x model.Value, by int) model.Value {
	for axis := 1; axis <= 2 && by > 0; axis++ {
		x = w.Concat(axis, w.Slice(x, axis, by, math.MaxInt64, 1), w.Slice(x, axis, 0, by, 1))
	}
	return x
}

// cut is the windows of a map, and join the map of windows.
func (w windowed) cut(x model.Value, side, width int) model.Value {
	n := side / windowSide
	x = w.Transpose(w.Reshape(x, 1, n, windowSide, n, windowSide, width), 0, 1, 3, 2, 4, 5)
	return w.Reshape(x, n*n, windowRows, width)
}

func (w windowed) join(x model.Value, side, width int) model.Value {
	n := side / windowSide
	x = w.Transpose(w.Reshape(x, 1, n, n, windowSide, windowSide, width), 0, 1, 3, 2, 4, 5)
	return w.Reshape(x, 1, side, side, width)
}

// masked keeps the places of a rolled map apart that are no neighbours.
func (w windowed) masked(s model.Value, side, heads, shift int) model.Value {
	if shift == 0 {
		return s
	}
	n := side / windowSide * side / windowSide
	mask := w.Do("Unsqueeze", w.Do("Unsqueeze", w.Constant(apart(side, shift)), w.Ints(1)), w.Ints(0))
	s = w.add(w.Reshape(s, 1, n, heads, windowRows, windowRows), mask)
	return w.Reshape(s, -1, heads, windowRows, windowRows)
}

// apart is -100 for pairs of places that are no neighbours, windows × places × places.
func apart(side, shift int) *tensor.Tensor {
	n := side / windowSide
	region := func(at int) int {
		switch {
		case at < side-windowSide:
			return 0
		case at < side-shift:
			return 1
		}
		return 2
	}
	place := func(window, p int) int {
		return 3*region(window/n*windowSide+p/windowSide) + region(window%n*windowSide+p%windowSide)
	}
	out := tensor.New(types.F32, n*n, windowRows, windowRows)
	v := tensor.As[float32](out)
	for i := range v {
		window, p, q := i/(windowRows*windowRows), i/windowRows%windowRows, i%windowRows
		if place(window, p) != place(window, q) {
			v[i] = -100
		}
	}
	return out
}
