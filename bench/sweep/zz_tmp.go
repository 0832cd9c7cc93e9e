package sweep

import "lathe/bench/model"

var zzCases = []Case{
	row("k1_4096", func(b *model.Builder) model.Value {
		x := b.ConvBias(b.Input(1, 16, 512, 1), 16, 4096, model.Square(1))
		return b.ConvBias(b.ConvBias(x, 4096, 4096, model.Square(1)), 4096, 16, model.Square(1))
	}),
	row("c768", func(b *model.Builder) model.Value {
		x := b.ConvBias(b.Input(1, 16, 32, 32), 16, 768, model.Square(1))
		return b.ConvBias(b.ConvBias(x, 768, 768, model.Square(1)), 768, 16, model.Square(1))
	}),
	product(128, 768, 3072, ""), product(128, 3072, 768, ""), product(196, 384, 1536, ""), product(1024, 768, 768, ""), product(512, 4096, 4096, ""), product(128, 768, 768, ""),
	wrapped("c256_14", image(256, 14), 256, model.Square(3)),
	wrapped("c512_7", image(512, 7), 512, model.Square(3)),
	wrapped("c128_28", image(128, 28), 128, model.Square(3)),
	wrapped("c64_56", image(64, 56), 64, model.Square(3)),
	wrapped("p256_64_56", image(256, 56), 64, model.Square(1)),
	wrapped("p512_2048_7", image(512, 7), 2048, model.Square(1)),
}
