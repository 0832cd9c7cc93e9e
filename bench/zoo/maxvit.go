package zoo

import (
	"math"

	"lathe/bench/model"
)

// maxViT is MaxViT: inverted bottlenecks, attention within windows of 7x7 and attention within grids of 7x7 places far apart.
type maxViT struct{ exporter }

// maxWindow is the side of windows and grids, maxHead the size of a head.
const maxWindow, maxHead = 7, 32

// maxViTT is the tiny one (Tu et al. 2022; torchvision's maxvit_t).
func maxViTT(b exporter) {
	m := maxViT{b}
	x := m.GELU(m.conv(m.Input(1, 3, 224, 224), 3, 64, 3, 2, 1))
	x, in, side := m.conv(x, 64, 64, 3, 1, 1), 64, 112
	for st, n := range []int{2, 2, 5, 2} {
		out := 64 << st
		side /= 2
		for i := range n {
			s := 1
			if i == 0 {
				s = 2
			}
			x, in = m.bottleneck(x, in, out, s), out
			x = m.partition(x, side, out, false)
			x = m.partition(x, side, out, true)
		}
	}
	x = m.LayerNorm(b.Op("Flatten", []model.Value{m.pool(x)}, model.At("axis", 1)), in)
	x = m.Do("Tanh", m.Dense(x, in, in))
	m.Output(m.Do("MatMul", x, m.Weight(1/math.Sqrt(float64(in)), in, 1000)))
}

// bottleneck normalises before its first convolution, where nothing folds it, and pools the shortcut.
func (m maxViT) bottleneck(x model.Value, in, out, s int) model.Value {
	w, short := 4*out, x
	if s == 2 {
		short = m.AveragePool(short, model.Square(3).By(2))
	}
	if s == 2 || in != out {
		short = m.conv(short, in, out, 1, 1, 1)
	}
	y := m.GELU(m.conv(m.BatchNorm(x, in), in, w, 1, 1, 1))
	y = m.GELU(m.conv(y, w, w, 3, s, w))
	return m.add(short, m.project(m.excite(y, w, out/4), w, out))
}

// partition cuts a map into windows, or into grids of places that are far apart, and attends within them.
func (m maxViT) partition(x model.Value, side, width int, grid bool) model.Value {
	p, n := maxWindow, side/maxWindow
	if grid {
		p, n = n, p
	}
	x = m.Transpose(m.Reshape(x, 1, width, n, p, n, p), 0, 2, 4, 3, 5, 1)
	x = m.Reshape(x, 1, n*n, p*p, width)
	if grid {
		x = m.Transpose(x, 0, 2, 1, 3)
	}
	groups := side * side / (maxWindow * maxWindow)
	x = m.add(x, m.attention(m.LayerNorm(x, width), groups, width))
	x = m.add(x, m.Linear(m.GELU(m.Linear(m.LayerNorm(x, width), width, 4*width)), 4*width, width))
	if grid {
		x = m.Transpose(x, 0, 2, 1, 3)
	}
	x = m.Transpose(m.Reshape(x, 1, n, n, p, p, width), 0, 5, 1, 3, 2, 4)
	return m.Reshape(x, 1, width, side, side)
}

// attention adds a bias of relative places; its products are Einsum, and keys are scaled by the whole width as torchvision does.
func (m maxViT) attention(x model.Value, groups, width int) model.Value {
	const rows = maxWindow * maxWindow
	heads := width / maxHead
	var parts []model.Value
	for _, v := range m.Split(m.Linear(x, width, 3*width), -1, width, width, width) {
		parts = append(parts, m.Transpose(m.Reshape(v, 1, groups, rows, heads, maxHead), 0, 1, 3, 2, 4))
	}
	k := m.mul(parts[1], m.Number(float32(1/math.Sqrt(float64(width)))))
	m.Parameters += (2*maxWindow - 1) * (2*maxWindow - 1) * heads
	bias := m.Constant(m.Normal(0.1, 1, heads, rows, rows)) // as exporters fold it
	s := m.Op("Einsum", []model.Value{parts[0], k}, model.At("equation", "BGHID,BGHJD -> BGHIJ"))
	s = m.softmax(m.add(s, bias), -1)
	y := m.Op("Einsum", []model.Value{s, parts[2]}, model.At("equation", "BGHIJ,BGHJD -> BGHID"))
	return m.Linear(m.Reshape(m.Transpose(y, 0, 1, 3, 2, 4), 1, groups, rows, width), width, width)
}
