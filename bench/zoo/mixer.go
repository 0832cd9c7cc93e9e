package zoo

import "lathe/bench/model"

// mlpMixerS16 is timm's mixer_s16_224 (Tolstikhin et al. 2021): layers over the places of an image, as rows of a transposed matrix, and
// over its channels.
func mlpMixerS16(b exporter) {
	const wide, places = 512, 14 * 14
	x := b.ConvBias(b.Input(1, 3, 224, 224), 3, wide, model.Window{Kernel: []int{16, 16}, Stride: 16})
	x = b.Transpose(b.view(x, -100, -101, -1), 0, 2, 1)
	for range 8 {
		y := b.Transpose(b.ln(x, wide), 0, 2, 1)
		y = b.Linear(b.GELU(b.Linear(y, places, 256)), 256, places)
		x = b.add(x, b.Transpose(y, 0, 2, 1))
		y = b.ln(x, wide)
		x = b.add(x, b.Linear(b.GELU(b.Linear(y, wide, 2048)), 2048, wide))
	}
	b.Output(b.Dense(b.mean(b.ln(x, wide), 0, 1), wide, 1000))
}
