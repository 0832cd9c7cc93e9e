package fuzz

import "slices"

func convLayer(b *builder) []string {
	n, d := b.spatial(), b.float()
	x, s := b.image(d, n)
	groups := 1
	switch b.IntN(4) {
	case 0:
		groups = s[1]
	case 1:
		for _, g := range []int{2, 3, 4} {
			if s[1]%g == 0 {
				groups = g
			}
		}
	}
	out := groups * []int{1, 1, 2, 3, 4, 8, 16, 32}[b.IntN(8)]
	kernel := b.each(n, 1, 3)
	if b.IntN(3) == 0 {
		kernel = slices.Repeat([]int{3}, n)
	}
	in := []string{x, b.weight(d, append([]int{out, s[1] / groups}, kernel...)...)}
	if b.IntN(8) == 0 {
		in[1] = b.value(d, append([]int{out, s[1] / groups}, kernel...)...)
	}
	if b.coin(3) {
		in = append(in, b.weight(d, out))
	}
	attrs := append(b.window(n, kernel), b.maybe("kernel_shape", kernel))
	if groups > 1 {
		attrs = append(attrs, at("group", groups))
	}
	y := b.one("Conv", in, attrs...)
	switch b.IntN(5) {
	case 0:
		y = b.one("Relu", []string{y})
	case 1:
		y = b.one("Mul", []string{y, b.one("Sigmoid", []string{y})})
	case 2:
		y = b.one("BatchNormalization", []string{y, b.weight(d, out), b.weight(d, out), b.weight(d, out), b.one("Abs", []string{b.weight(d, out)})})
	}
	return []string{y}
}

func convTranspose(b *builder) []string {
	n, d := b.spatial(), b.float()
	x, s := b.image(d, n)
	groups := 1
	if s[1]%2 == 0 && b.IntN(3) == 0 {
		groups = 2
	}
	kernel := b.each(n, 1, 4)
	out := b.between(1, 9)
	in := []string{x, b.weight(d, append([]int{s[1], out}, kernel...)...)}
	if b.IntN(2) == 0 {
		in = append(in, b.weight(d, out*groups))
	}
	attrs := append(b.window(n, kernel), at("group", groups), b.maybe("output_padding", b.each(n, 0, 1)))
	return []string{b.one("ConvTranspose", in, attrs...)}
}

func pooling(b *builder) []string {
	n, d := b.spatial(), b.float()
	x, _ := b.image(d, n)
	kernel := b.each(n, 1, 3)
	attrs := append(b.window(n, kernel), at("kernel_shape", kernel))
	switch b.IntN(8) {
	case 0:
		return []string{b.one(b.word("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), []string{x})}
	case 1:
		return []string{b.one("LpPool", []string{x}, append(attrs, b.maybe("p", b.between(1, 3)))...)}
	case 2:
		return b.node("MaxPool", []string{x}, 2, append(attrs, b.flag("ceil_mode"), b.flag("storage_order"))...)
	case 3, 4:
		return []string{b.one("AveragePool", []string{x}, append(attrs, b.flag("ceil_mode"), b.flag("count_include_pad"))...)}
	}
	return []string{b.one("MaxPool", []string{x}, append(attrs, b.flag("ceil_mode"))...)}
}
