package zoo

import (
	"math"

	"lathe/bench/model"
)

// swinIRWidth is the width of SwinIR-light, of heads of 10 numbers.
const swinIRWidth, swinIRHeads = 60, 6

// swinIRLight doubles an image of 61x57, which is padded to windows of 8x8 by reflection and cut again: transformers between convolutions
// (Liang et al. 2021; JingyunLiang/SwinIR, lightweight, x2).
func swinIRLight(b exporter) {
	const height, width, side = 61, 57, 64
	w := windowed{b}
	x := w.Op("Pad", []model.Value{w.Input(1, 3, height, width), w.Ints(0, 0, 0, 0, 0, 0, side-height, side-width)}, model.At("mode", "reflect"))
	mean := w.Constant(w.Uniform(0.4, 0.5, 1, 3, 1, 1))
	x = w.conv(w.mul(w.Do("Sub", x, mean), w.Number(1)), 3, swinIRWidth, 3, 1, 1)
	y := w.LayerNorm(w.places(x), swinIRWidth)
	for range 4 {
		z := y
		for i := range 6 {
			z = w.swinIRLayer(z, side, i%2*windowSide/2)
		}
		z = w.conv(w.swinIRImage(z, side), swinIRWidth, swinIRWidth, 3, 1, 1)
		y = w.add(w.places(z), y)
	}
	y = w.swinIRImage(w.LayerNorm(y, swinIRWidth), side)
	y = w.add(w.conv(y, swinIRWidth, swinIRWidth, 3, 1, 1), x)
	y = w.conv(y, swinIRWidth, 3*4, 3, 1, 1)
	y = w.Op("DepthToSpace", []model.Value{y}, model.At("blocksize", 2), model.At("mode", "CRD"))
	y = w.add(w.Do("Div", y, w.Number(1)), mean)
	w.Output(w.Slice(w.Slice(y, 2, 0, 2*height, 1), 3, 0, 2*width, 1))
}

// swinIRImage is a list of places as an image.
func (w windowed) swinIRImage(x model.Value, side int) model.Value {
	return w.view(w.Transpose(x, 0, 2, 1), -100, swinIRWidth, side, side)
}

// swinIRLayer is a layer over a list of places, normalised before its parts.
func (w windowed) swinIRLayer(x model.Value, side, shift int) model.Value {
	const wide = swinIRWidth
	y := w.view(w.LayerNorm(x, wide), -100, side, side, wide)
	y = w.cut(w.roll(y, shift), side, wide)
	n := side / windowSide * side / windowSide
	qkv := w.Transpose(w.Reshape(w.Linear(y, wide, 3*wide), n, windowRows, 3, swinIRHeads, wide/swinIRHeads), 2, 0, 3, 1, 4)
	q := w.mul(w.at(qkv, 0, 0), w.Number(float32(math.Sqrt(float64(swinIRHeads)/wide))))
	w.Parameters += (2*windowSide - 1) * (2*windowSide - 1) * swinIRHeads
	bias := w.Constant(w.Normal(0.1, 1, swinIRHeads, windowRows, windowRows)) // of relative places, as exporters fold it
	s := w.add(w.Do("MatMul", q, w.Transpose(w.at(qkv, 0, 1), 0, 1, 3, 2)), bias)
	s = w.softmax(w.masked(s, side, swinIRHeads, shift), -1)
	y = w.Transpose(w.Do("MatMul", s, w.at(qkv, 0, 2)), 0, 2, 1, 3)
	y = w.Linear(w.Reshape(y, n, windowRows, wide), wide, wide)
	y = w.roll(w.join(y, side, wide), (side-shift)%side)
	x = w.add(x, w.view(y, -100, side*side, wide))
	return w.add(x, w.Linear(w.GELU(w.Linear(w.LayerNorm(x, wide), wide, 2*wide)), 2*wide, wide))
}
