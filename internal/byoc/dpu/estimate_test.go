package dpu

import "testing"

// A sketch makes networks of layers without weights' values: what an estimate reads.
type sketch struct{ *Network }

func newSketch(t *testing.T, name string, size int) (sketch, int) {
	a, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	s := sketch{&Network{Arch: a}}
	return s, s.tensor(3, size, size)
}

func (s sketch) tensor(c, h, w int) int {
	s.Tensors = append(s.Tensors, Tensor{Shape: [4]int{1, c, h, w}})
	return len(s.Tensors) - 1
}

func (s sketch) layer(kind Kind, out, kernel, stride, pad int, in ...int) int {
	x := s.Tensors[in[0]].Shape
	extent := func(n int) int { return (n+2*pad-kernel)/stride + 1 }
	l := Layer{Kind: kind, From: in, Kernel: [2]int{kernel, kernel}, Stride: [2]int{stride, stride}, InChannels: x[1], OutChannels: out}
	if kind == Conv {
		l.Weights, l.Bias = make([]float32, out*x[1]*kernel*kernel), make([]float32, out)
	}
	l.To = s.tensor(out, extent(x[2]), extent(x[3]))
	s.Layers = append(s.Layers, l)
	return l.To
}

func (s sketch) conv(x, out, kernel, stride, pad int) int {
	return s.layer(Conv, out, kernel, stride, pad, x)
}

func (s sketch) pool(x, kernel, stride, pad int) int {
	return s.layer(MaxPool, s.Tensors[x].Shape[1], kernel, stride, pad, x)
}

// joined is a concatenation, which maps that are written side by side need no layer for.
func (s sketch) joined(in ...int) int {
	c, x := 0, s.Tensors[in[0]].Shape
	for _, t := range in {
		c += s.Tensors[t].Shape[1]
	}
	return s.tensor(c, x[2], x[3])
}

func resnet50(t *testing.T) *Network {
	s, x := newSketch(t, "DPUCZDX8G-zcu102", 224)
	x = s.pool(s.conv(x, 64, 7, 2, 3), 3, 2, 1)
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := 64 << stage
		for b := range blocks {
			stride, short := 1, x
			if b == 0 {
				if stage > 0 {
					stride = 2
				}
				short = s.conv(x, 4*width, 1, stride, 0)
			}
			y := s.conv(s.conv(s.conv(x, width, 1, stride, 0), width, 3, 1, 1), 4*width, 1, 1, 0)
			x = s.layer(Add, 4*width, 1, 1, 0, y, short)
		}
	}
	s.conv(s.layer(AvgPool, 2048, 7, 1, 0, x), 1000, 1, 1, 0)
	return s.Network
}

func inception1(t *testing.T) *Network {
	s, x := newSketch(t, "DPUCZDX8G-zcu102", 224)
	x = s.pool(s.conv(x, 64, 7, 2, 3), 3, 2, 1)
	x = s.pool(s.conv(s.conv(x, 64, 1, 1, 0), 192, 3, 1, 1), 3, 2, 1)
	for i, m := range [][6]int{{64, 96, 128, 16, 32, 32}, {128, 128, 192, 32, 96, 64}, {192, 96, 208, 16, 48, 64}, {160, 112, 224, 24, 64, 64}, {128, 128, 256, 24, 64, 64},
		{112, 144, 288, 32, 64, 64}, {256, 160, 320, 32, 128, 128}, {256, 160, 320, 32, 128, 128}, {384, 192, 384, 48, 128, 128}} {
		if i == 2 || i == 7 {
			x = s.pool(x, 3, 2, 1)
		}
		x = s.joined(s.conv(x, m[0], 1, 1, 0), s.conv(s.conv(x, m[1], 1, 1, 0), m[2], 3, 1, 1),
			s.conv(s.conv(x, m[3], 1, 1, 0), m[4], 5, 1, 2), s.conv(s.pool(x, 3, 1, 1), m[5], 1, 1, 0))
	}
	s.conv(s.layer(AvgPool, 1024, 7, 1, 0, x), 1000, 1, 1, 0)
	return s.Network
}

// squeezenet is version 1.0.
func squeezenet(t *testing.T) *Network {
	s, x := newSketch(t, "DPUCZDX8G-zcu102", 224)
	x = s.pool(s.conv(x, 96, 7, 2, 0), 3, 2, 0)
	for i, squeeze := range []int{16, 16, 32, 32, 48, 48, 64, 64} {
		y := s.conv(x, squeeze, 1, 1, 0)
		x = s.joined(s.conv(y, 4*squeeze, 1, 1, 0), s.conv(y, 4*squeeze, 3, 1, 1))
		if i == 2 || i == 6 {
			x = s.pool(x, 3, 2, 0)
		}
	}
	x = s.conv(x, 1000, 1, 1, 0)
	s.layer(AvgPool, 1000, s.Tensors[x].Shape[2], 1, 0, x)
	return s.Network
}

// TestEstimate compares estimates with the pictures per second that PG338 gives of three B4096 cores at 287 MHz: within 30 %.
func TestEstimate(t *testing.T) {
	for _, c := range []struct {
		name    string
		network *Network
		want    float64
	}{{"ResNet-50", resnet50(t), 175}, {"Inception-v1", inception1(t), 405}, {"SqueezeNet", squeezenet(t), 1048}} {
		e := c.network.Estimate()
		got := e.PerSecond(c.network.Arch)
		t.Logf("%s: %d cycles, %d bytes, %.2f GOP: %.0f pictures/s instead of %.0f", c.name, e.Cycles, e.Bytes, float64(e.Ops)/1e9, got, c.want)
		if got < 0.7*c.want || got > 1.3*c.want {
			t.Errorf("%s: %.0f pictures/s instead of %.0f", c.name, got, c.want)
		}
	}
}
