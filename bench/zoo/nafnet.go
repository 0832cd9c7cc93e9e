package zoo

import "lathe/bench/model"

// nafNet is NAFNet: blocks whose only nonlinearities are products of halves of the channels.
type nafNet struct{ exporter }

// nafNet32 removes the blur of an image of 128x128 (Chen et al. 2022; megvii-research/NAFNet, GoPro-width32).
func nafNet32(b exporter) {
	n := nafNet{b}
	image := n.Input(1, 3, 128, 128)
	x, width := n.conv(image, 3, 32, 3, 1, 1), 32
	var skips []model.Value
	for _, blocks := range []int{1, 1, 1, 28} {
		for range blocks {
			x = n.block(x, width)
		}
		skips = append(skips, x)
		x = n.ConvBias(x, width, 2*width, model.Window{Kernel: []int{2, 2}, Stride: 2})
		width *= 2
	}
	x = n.block(x, width)
	for i := range skips {
		x = n.Conv(x, width, 2*width, model.Square(1))
		x = n.Op("DepthToSpace", []model.Value{x}, model.At("blocksize", 2), model.At("mode", "CRD"))
		width /= 2
		x = n.block(n.add(x, skips[len(skips)-1-i]), width)
	}
	n.Output(n.add(n.conv(x, width, 3, 3, 1, 1), image))
}

// norm is layer normalisation over channels, in its parts.
func (n nafNet) norm(x model.Value, width int) model.Value {
	d := n.Do("Sub", x, n.mean(x, 1, 1))
	v := n.mean(n.Do("Pow", d, n.Number(2)), 1, 1)
	y := n.Do("Div", d, n.Do("Sqrt", n.add(v, n.Number(1e-6))))
	return n.add(n.mul(n.Scale(1, width, 1, 1), y), n.Weight(0.1, 1, width, 1, 1))
}

// gate is the product of halves.
func (n nafNet) gate(x model.Value, width int) model.Value {
	parts := n.Split(x, 1, width, width)
	return n.mul(parts[0], parts[1])
}

// block has a depthwise convolution with an attention of channels, and a feed forward.
func (n nafNet) block(x model.Value, width int) model.Value {
	y := n.conv(n.norm(x, width), width, 2*width, 1, 1, 1)
	y = n.gate(n.conv(y, 2*width, 2*width, 3, 1, 2*width), width)
	y = n.mul(y, n.conv(n.pool(y), width, width, 1, 1, 1))
	y = n.conv(y, width, width, 1, 1, 1)
	x = n.add(x, n.mul(y, n.Weight(0.1, 1, width, 1, 1)))
	y = n.gate(n.conv(n.norm(x, width), width, 2*width, 1, 1, 1), width)
	y = n.conv(y, width, width, 1, 1, 1)
	return n.add(x, n.mul(y, n.Weight(0.1, 1, width, 1, 1)))
}
