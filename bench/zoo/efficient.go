package zoo

import (
	"math"

	"lathe/bench/model"
)

// A scaled stage is blocks of one kind: their number, how much wider they are inside, channels, the first one's stride, and whether the
// widening is joined with the depthwise convolution.
type scaled struct {
	n, wider, out, s int
	fused            bool
}

// efficientNetV2S has inverted bottlenecks whose first stages are fused into full convolutions (Tan and Le 2021; torchvision's
// efficientnet_v2_s, at 224 instead of 384).
func efficientNetV2S(b exporter) {
	x := b.SiLU(b.conv(b.Input(1, 3, 224, 224), 3, 24, 3, 2, 1))
	in := 24
	for _, st := range []scaled{{2, 1, 24, 1, true}, {4, 4, 48, 2, true}, {4, 4, 64, 2, true}, {6, 4, 128, 2, false}, {9, 6, 160, 1, false}, {15, 6, 256, 2, false}} {
		for i := range st.n {
			s := 1
			if i == 0 {
				s = st.s
			}
			y := b.scaledBlock(x, in, st, s)
			if s == 1 && in == st.out {
				y = b.add(y, x)
			}
			x, in = y, st.out
		}
	}
	b.head(b.SiLU(b.conv(x, 256, 1280, 1, 1, 1)), 1280, 1000)
}

// scaledBlock is a block of a stage without the shortcut.
func (b exporter) scaledBlock(x model.Value, in int, st scaled, s int) model.Value {
	w := in * st.wider
	switch {
	case st.fused && w == in:
		return b.SiLU(b.conv(x, in, st.out, 3, s, 1))
	case st.fused:
		return b.project(b.SiLU(b.conv(x, in, w, 3, s, 1)), w, st.out)
	}
	y := b.SiLU(b.conv(x, in, w, 1, 1, 1))
	y = b.SiLU(b.conv(y, w, w, 3, s, w))
	return b.project(b.excite(y, w, in/4), w, st.out)
}

// project is a convolution of 1x1 whose results are small, as after a normalisation, so that sums over many blocks do not grow: gates of
// large numbers are steps, which enlarge what rounding changes.
func (b exporter) project(x model.Value, in, out int) model.Value {
	w := b.Weight(0.7/math.Sqrt(float64(in)), out, in, 1, 1)
	return b.Op("Conv", []model.Value{x, w, b.Weight(0.1, out)}, model.Square(1).Attrs()...)
}

// excite is squeeze and excitation with a SiLU inside.
func (b exporter) excite(x model.Value, channels, inner int) model.Value {
	s := b.SiLU(b.conv(b.pool(x), channels, inner, 1, 1, 1))
	return b.mul(b.Do("Sigmoid", b.conv(s, inner, channels, 1, 1, 1)), x)
}

// ghostNet makes half of the channels of each layer from the other half by cheap depthwise convolutions (Han et al. 2020, 1.0x;
// huawei-noah/Efficient-AI-Backbones).
func ghostNet(b exporter) {
	x := b.relu(b.conv(b.Input(1, 3, 224, 224), 3, 16, 3, 2, 1))
	in := 16
	for _, c := range []inverted{{k: 3, exp: 16, out: 16, s: 1}, {k: 3, exp: 48, out: 24, s: 2}, {k: 3, exp: 72, out: 24, s: 1},
		{k: 5, exp: 72, out: 40, se: true, s: 2}, {k: 5, exp: 120, out: 40, se: true, s: 1}, {k: 3, exp: 240, out: 80, s: 2},
		{k: 3, exp: 200, out: 80, s: 1}, {k: 3, exp: 184, out: 80, s: 1}, {k: 3, exp: 184, out: 80, s: 1},
		{k: 3, exp: 480, out: 112, se: true, s: 1}, {k: 3, exp: 672, out: 112, se: true, s: 1}, {k: 5, exp: 672, out: 160, se: true, s: 2},
		{k: 5, exp: 960, out: 160, s: 1}, {k: 5, exp: 960, out: 160, se: true, s: 1}, {k: 5, exp: 960, out: 160, s: 1}, {k: 5, exp: 960, out: 160, se: true, s: 1}} {
		x, in = b.ghostBottleneck(x, in, c), c.out
	}
	x = b.pool(b.relu(b.conv(x, 160, 960, 1, 1, 1)))
	x = b.relu(b.conv(x, 960, 1280, 1, 1, 1))
	b.Output(b.Dense(b.Op("Flatten", []model.Value{x}, model.At("axis", 1)), 1280, 1000))
}

// ghostBottleneck is two ghost modules around a depthwise convolution, which is there only with a stride.
func (b exporter) ghostBottleneck(x model.Value, in int, c inverted) model.Value {
	same := func(v model.Value) model.Value { return v }
	y := b.ghost(x, in, c.exp, b.relu)
	if c.s > 1 {
		y = b.conv(y, c.exp, c.exp, c.k, c.s, c.exp)
	}
	if c.se {
		q := (c.exp/4 + 2) / 4 * 4
		s := b.conv(b.relu(b.conv(b.pool(y), c.exp, q, 1, 1, 1)), q, c.exp, 1, 1, 1)
		s = b.Do("Div", b.Do("Clip", b.add(s, b.Number(3)), b.Number(0), b.Number(6)), b.Number(6))
		y = b.mul(y, s)
	}
	y = b.ghost(y, c.exp, c.out, same)
	if c.s > 1 || in != c.out {
		x = b.conv(b.conv(x, in, in, c.k, c.s, in), in, c.out, 1, 1, 1)
	}
	return b.add(y, x)
}

// ghost is a ghost module: its slice takes all channels, since their number is even.
func (b exporter) ghost(x model.Value, in, out int, act func(model.Value) model.Value) model.Value {
	half := (out + 1) / 2
	y := act(b.conv(x, in, half, 1, 1, 1))
	z := act(b.conv(y, half, half, 3, 1, half))
	return b.Slice(b.Concat(1, y, z), 1, 0, out, 1)
}

// repVGGA0 is a row of convolutions of 3x3, into which the branches that training has are folded (Ding et al. 2021, deployed form;
// DingXiaoH/RepVGG).
func repVGGA0(b exporter) {
	x, in := b.relu(b.conv(b.Input(1, 3, 224, 224), 3, 48, 3, 2, 1)), 48
	for st, n := range []int{2, 4, 14, 1} {
		out := []int{48, 96, 192, 1280}[st]
		for i := range n {
			s := 1
			if i == 0 {
				s = 2
			}
			x, in = b.relu(b.conv(x, in, out, 3, s, 1)), out
		}
	}
	b.head(x, in, 1000)
}
