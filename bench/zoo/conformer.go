package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// The extents of NeMo's small Conformer.
const (
	conformerWide, conformerHeads, conformerSize = 176, 4, 44
	conformerPlaces                              = 5000 // of the table of positions
)

// A conformer writes the blocks of Conformer (Gulati et al. 2020) as NVIDIA NeMo exports them.
type conformer struct {
	exporter
	apart, beyond model.Value // pairs of frames, and frames, that the sound does not reach
	positions     model.Value
}

// conformerS is NeMo's stt_en_conformer_ctc_small: 16 blocks over 1600 frames of 80 bands, of which 1500 are filled, and scores of 1024
// pieces of words.
func conformerS(b exporter) {
	const wide, pieces = conformerWide, 1025
	sound, length := b.Input(1, 80, 1600), b.InputOf(tensor.Of([]int{1}, []int64{1500}))
	x := b.Do("Unsqueeze", b.Transpose(sound, 0, 2, 1), b.Ints(1))
	x = b.relu(b.conv(b.relu(b.conv(x, 1, wide, 3, 2, 1)), wide, wide, 3, 2, 1))
	x = b.Linear(b.view(b.Transpose(x, 0, 2, 1, 3), -100, -101, 20*wide), 20*wide, wide)
	c := conformer{exporter: b}
	c.masks(x, c.quarter(length))
	c.places(x)
	x = b.mul(x, b.Number(float32(math.Sqrt(wide))))
	for range 16 {
		x = c.block(x)
	}
	y := b.Transpose(b.conv1(b.Transpose(x, 0, 2, 1), wide, pieces, 1, 1, 1, 1), 0, 2, 1)
	b.Output(b.Op("LogSoftmax", []model.Value{y}, model.At("axis", -1)))
}

// quarter is how many frames two convolutions of stride 2 leave.
func (c *conformer) quarter(length model.Value) model.Value {
	n := c.Op("Cast", []model.Value{length}, model.At("to", 1))
	for range 2 {
		n = c.add(c.Do("Div", c.add(n, c.Number(-1)), c.Number(2)), c.Number(1))
		n = c.Do("Floor", n)
	}
	return c.Op("Cast", []model.Value{n}, model.At("to", 7))
}

// masks computes which frames are beyond the sound, from its length.
func (c *conformer) masks(x, length model.Value) {
	i64 := func(v int) model.Value { return c.Constant(tensor.Scalar(int64(v))) }
	frames := c.Do("Range", i64(0), c.at(c.Do("Shape", x), 0, 1), i64(1))
	frames = c.Do("Expand", c.Do("Unsqueeze", frames, c.Ints(0)), c.Concat(0, c.dim(x, 0), c.dim(x, 1)))
	within := c.Do("Less", frames, c.Do("Unsqueeze", length, c.Ints(-1)))
	rows := c.Do("Tile", c.Do("Unsqueeze", within, c.Ints(1)), c.Concat(0, c.Ints(1), c.dim(x, 1), c.Ints(1)))
	pairs := c.Do("And", rows, c.Transpose(rows, 0, 2, 1))
	c.apart = c.Do("Unsqueeze", c.Do("Not", pairs), c.Ints(1))
	c.beyond = c.Do("Unsqueeze", c.Do("Not", within), c.Ints(1))
}

// places cuts the codes of the distances from rows-1 to 1-rows out of a table.
func (c *conformer) places(x model.Value) {
	const wide, rows = conformerWide, 2*conformerPlaces - 1
	table := make([]float32, rows*wide)
	for i := range table {
		at := float64(conformerPlaces-1-i/wide) * math.Exp(-math.Log(10000)*float64(i%wide/2*2)/wide)
		if table[i] = float32(math.Sin(at)); i%2 == 1 {
			table[i] = float32(math.Cos(at))
		}
	}
	n := c.dim(x, 1)
	from, to := c.Do("Sub", c.Ints(conformerPlaces), n), c.Do("Sub", c.add(c.Ints(conformerPlaces), n), c.Ints(1))
	c.positions = c.Do("Slice", c.Constant(tensor.Of([]int{1, rows, wide}, table)), from, to, c.Ints(1), c.Ints(1))
}

// block is attention and convolution between two halves of a feed forward.
func (c *conformer) block(x model.Value) model.Value {
	const wide = conformerWide
	half := func(x model.Value) model.Value {
		y := c.Linear(c.SiLU(c.Linear(c.ln(x, wide), wide, 4*wide)), 4*wide, wide)
		return c.add(x, c.mul(y, c.Number(0.5)))
	}
	x = half(x)
	x = c.add(x, c.attention(c.ln(x, wide)))
	x = c.add(x, c.convolution(c.ln(x, wide)))
	return c.ln(half(x), wide)
}

// attention is by what frames hold and by how far they are from each other (Dai et al. 2019).
func (c *conformer) attention(x model.Value) model.Value {
	const wide, heads, size = conformerWide, conformerHeads, conformerSize
	split := func(v model.Value) model.Value { return c.Transpose(c.view(v, -100, -1, heads, size), 0, 2, 1, 3) }
	q, k, v := split(c.Linear(x, wide, wide)), split(c.Linear(x, wide, wide)), split(c.Linear(x, wide, wide))
	p := split(c.Do("MatMul", c.positions, c.Weight(1/math.Sqrt(wide), wide, wide)))
	q = c.Transpose(q, 0, 2, 1, 3)
	biased := func() model.Value { return c.Transpose(c.add(q, c.Weight(0.1, heads, size)), 0, 2, 1, 3) }
	content := c.Do("MatMul", biased(), c.Transpose(k, 0, 1, 3, 2))
	place := c.shift(c.Do("MatMul", biased(), c.Transpose(p, 0, 1, 3, 2)))
	place = c.Do("Slice", place, c.Ints(0), c.dim(content, 3), c.Ints(3), c.Ints(1))
	s := c.Do("Div", c.add(content, place), c.Number(float32(math.Sqrt(size))))
	s = c.softmax(c.Do("Where", c.apart, c.Number(-10000), s), -1)
	s = c.Do("Where", c.apart, c.Number(0), s)
	y := c.Transpose(c.Do("MatMul", s, v), 0, 2, 1, 3)
	return c.Linear(c.view(y, -100, -1, wide), wide, wide)
}

// shift moves row i of the scores of distances by i: a column of zeros, and another number of columns.
func (c *conformer) shift(s model.Value) model.Value {
	batch, heads, rows, columns := c.dim(s, 0), c.dim(s, 1), c.dim(s, 2), c.dim(s, 3)
	y := c.Op("Pad", []model.Value{s, c.Ints(0, 0, 0, 1, 0, 0, 0, 0), c.Number(0)}, model.At("mode", "constant"))
	y = c.Do("Reshape", y, c.Concat(0, batch, heads, c.Ints(-1), rows))
	y = c.Slice(y, 2, 1, 1<<62, 1)
	return c.Do("Reshape", y, c.Concat(0, batch, heads, rows, columns))
}

// convolution is one along the frames for each channel, behind a gate.
func (c *conformer) convolution(x model.Value) model.Value {
	const wide, kernel = conformerWide, 31
	y := c.conv1(c.Transpose(x, 0, 2, 1), wide, 2*wide, 1, 1, 1, 1)
	parts := c.Split(y, 1, wide, wide)
	y = c.mul(parts[0], c.Do("Sigmoid", parts[1]))
	y = c.Do("Where", c.beyond, c.Number(0), y)
	y = c.Op("Pad", []model.Value{y, c.Ints(0, 0, kernel/2, 0, 0, kernel/2), c.Number(0)}, model.At("mode", "constant"))
	y = c.SiLU(c.ConvBias(y, wide, wide, model.Window{Kernel: []int{kernel}, Group: wide}))
	return c.Transpose(c.conv1(y, wide, wide, 1, 1, 1, 1), 0, 2, 1)
}
