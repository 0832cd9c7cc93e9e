package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// recurrent is a layer over steps × batch × in that begins with zeros for as many as the batch has; its directions are beside each other
// in the result.
func (b exporter) recurrent(op string, x model.Value, in, hidden, directions int) model.Value {
	gates, outs := 3, 2
	attrs := []model.Attr{model.At("hidden_size", hidden), model.At("linear_before_reset", 1)}
	if op == "LSTM" {
		gates, outs, attrs = 4, 3, attrs[:1]
	}
	deviation := 1 / math.Sqrt(float64(hidden))
	zeros := b.Op("ConstantOfShape", []model.Value{b.Concat(0, b.Ints(directions), b.dim(x, 1), b.Ints(hidden))},
		model.At("value", tensor.Of([]int{1}, []float32{0})))
	operands := []model.Value{x, b.Weight(deviation, directions, gates*hidden, in), b.Weight(deviation, directions, gates*hidden, hidden),
		b.Weight(0.1, directions, 2*gates*hidden), model.Absent, zeros, zeros}
	if directions == 1 {
		return b.Do("Squeeze", b.Ops(op, outs, operands[:outs+4], attrs...)[0], b.Ints(1))
	}
	y := b.Ops(op, outs, operands[:outs+4], append(attrs, model.At("direction", "bidirectional"))...)[0]
	return b.Reshape(b.Transpose(y, 0, 2, 1, 3), 0, 0, -1)
}

// crnn reads a word of 36 characters in an image of 32x100 (Shi et al. 2015, meijieru/crnn.pytorch): scores at 26 places.
func crnn(b exporter) {
	const hidden, classes = 256, 37
	x, in := b.Input(1, 1, 32, 100), 1
	flat := model.Window{Kernel: []int{2, 2}, Pads: []int{0, 1, 0, 1}}
	for i, out := range []int{64, 128, 256, 256, 512, 512} {
		x = b.relu(b.conv(x, in, out, 3, 1, 1))
		switch {
		case i < 2:
			x = b.MaxPool(x, valid(2, 2))
		case i%2 == 1:
			x = b.Op("MaxPool", []model.Value{x}, model.At("kernel_shape", flat.Kernel), model.At("pads", flat.Pads), model.At("strides", []int{2, 1}))
		}
		in = out
	}
	x = b.relu(b.ConvBias(x, in, in, valid(2, 1)))
	x = b.Transpose(b.Do("Squeeze", x, b.Ints(2)), 2, 0, 1)
	x = b.recurrent("LSTM", x, in, hidden, 2)
	x = b.rows(x, 2*hidden, hidden)
	x = b.recurrent("LSTM", x, hidden, hidden, 2)
	b.Output(b.rows(x, 2*hidden, classes))
}

// rows is a fully connected layer over all steps of a batch.
func (b exporter) rows(x model.Value, in, out int) model.Value {
	steps, batch := b.dim(x, 0), b.dim(x, 1)
	y := b.Do("Reshape", x, b.Concat(0, b.mul(steps, batch), b.Ints(in)))
	return b.Do("Reshape", b.Dense(y, in, out), b.Concat(0, steps, batch, b.Ints(-1)))
}

// gruDenoiser is NSNet2 (Braun and Tashev 2020, the baseline of Microsoft's DNS challenge) over 200 frames: gains of 161 bands.
func gruDenoiser(b exporter) {
	const bands, hidden, wide = 161, 400, 600
	x := b.relu(b.Linear(b.Input(1, 200, bands), bands, hidden))
	x = b.Transpose(x, 1, 0, 2)
	for range 2 {
		x = b.recurrent("GRU", x, hidden, hidden, 1)
	}
	x = b.Transpose(x, 1, 0, 2)
	x = b.relu(b.Linear(b.relu(b.Linear(x, hidden, wide)), wide, wide))
	b.Output(b.Do("Sigmoid", b.Linear(x, wide, bands)))
}

// deepSpeech2 writes down two seconds of sound (Amodei et al. 2015, SeanNaren/deepspeech.pytorch with GRUs of 800): 200 frames of 161
// frequencies, scores of 29 letters. Nothing is masked: the sound fills all frames.
func deepSpeech2(b exporter) {
	const hidden, letters = 800, 29
	x := b.brief(b.Input(1, 1, 161, 200), 1, 41, []int{2, 2})
	x = b.brief(x, 32, 21, []int{2, 1})
	in := 32 * 41
	x = b.Transpose(b.Transpose(b.view(x, -100, in, -1), 0, 2, 1), 1, 0, 2)
	for i := range 5 {
		if i > 0 {
			x = b.sequenceNorm(x, in)
		}
		y := b.view(b.recurrent("GRU", x, in, hidden, 2), -100, -101, 2, -1)
		x = b.Op("ReduceSum", []model.Value{y, b.Ints(2)}, model.At("keepdims", 0))
		x = b.view(x, -100, -101, -1)
		in = hidden
	}
	x = b.sequenceNorm(x, in)
	y := b.Do("MatMul", x, b.Weight(1/math.Sqrt(hidden), hidden, letters))
	b.Output(b.softmax(b.Transpose(y, 1, 0, 2), -1))
}

// brief is a convolution of 11 frames and more frequencies to 32 channels, cut off at 0 and 20.
func (b exporter) brief(x model.Value, in, height int, strides []int) model.Value {
	w := b.Weight(math.Sqrt(2/float64(in*height*11)), 32, in, height, 11)
	x = b.Op("Conv", []model.Value{x, w, b.Weight(0.1, 32)}, model.At("kernel_shape", []int{height, 11}),
		model.At("pads", []int{height / 2, 5, height / 2, 5}), model.At("strides", strides))
	return b.Do("Clip", x, b.Number(0), b.Number(20))
}

// sequenceNorm normalises all steps of a batch as rows.
func (b exporter) sequenceNorm(x model.Value, size int) model.Value {
	steps, batch := b.dim(x, 0), b.dim(x, 1)
	y := b.BatchNorm(b.Do("Reshape", x, b.Concat(0, b.mul(steps, batch), b.Ints(-1))), size)
	return b.Do("Reshape", y, b.Concat(0, steps, batch, b.Ints(-1)))
}
