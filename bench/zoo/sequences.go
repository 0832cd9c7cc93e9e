package zoo

import "lathe/bench/model"

// wav2vec2Front turns a second of sound at 16 kHz into 49 frames of 512 numbers.
func wav2vec2Front(b *model.Builder) {
	const wide = 512
	line := func(kernel, stride int) model.Window { return model.Window{Kernel: []int{kernel}, Stride: stride} }
	x := b.Conv(b.Input(1, 1, 16000), 1, wide, line(10, 5))
	// A group per channel, as exporters write it.
	x = b.Reshape(x, 0, wide, -1)
	x = b.Op("InstanceNormalization", []model.Value{x, b.Constant(b.Uniform(1, 1, wide)), b.Constant(b.Uniform(0, 0, wide))})
	x = b.Do("Add", b.Do("Mul", x, b.Scale(wide, 1)), b.Weight(0.1, wide, 1))
	x = b.GELU(x)
	for _, kernel := range []int{3, 3, 3, 3, 2, 2} {
		x = b.GELU(b.Conv(x, wide, wide, line(kernel, 2)))
	}
	b.Output(x)
}

// lstmLanguageModel gives the scores of 10000 next words at 35 places of a text.
func lstmLanguageModel(b *model.Builder) {
	const words, hidden, steps = 10000, 1500, 35
	x := b.Op("Gather", []model.Value{b.Weight(0.05, words, hidden), b.Indices(words, steps, 1)}, model.At("axis", 0))
	for range 2 {
		y := b.Recurrent("LSTM", x, hidden, hidden, 1)
		x = b.Do("Squeeze", y, b.Ints(1))
	}
	b.Output(b.Linear(x, hidden, words))
}
