package dpu

import (
	"fmt"
	"math"

	"lathe/internal/byoc/dpu/positions"
)

// Run computes a network slowly and obviously, value by value as the definitions are published: what the compiled form is compared
// with. Inputs and outputs are float32 in row-major order [N, C, H, W].
func (f *Fixed) Run(inputs [][]float32) ([][]float32, error) {
	if len(inputs) != len(f.Inputs) {
		return nil, fmt.Errorf("%d inputs instead of %d", len(inputs), len(f.Inputs))
	}
	maps := make([][]int8, len(f.Tensors))
	for i, at := range f.Inputs {
		if len(inputs[i]) != f.Tensors[at].elements() {
			return nil, fmt.Errorf("input %d has %d elements instead of %d", i, len(inputs[i]), f.Tensors[at].elements())
		}
		maps[at] = positions.Fixed(inputs[i], f.Positions[at])
	}
	for i := range f.Layers {
		f.layer(i, maps)
	}
	outputs := make([][]float32, len(f.Outputs))
	for i, o := range f.Outputs {
		for _, q := range maps[o.Tensor] {
			outputs[i] = append(outputs[i], float32(math.Ldexp(float64(q), -f.Positions[o.Tensor])))
		}
	}
	return outputs, nil
}

// layer computes a layer's result from those before it.
func (f *Fixed) layer(i int, maps [][]int8) {
	l := &f.Layers[i]
	shape := f.Tensors[l.To].Shape
	out := make([]int8, 0, f.Tensors[l.To].elements())
	for n := range shape[0] {
		for c := range shape[1] {
			for y := range shape[2] {
				for x := range shape[3] {
					out = append(out, f.element(i, maps, n, c, y, x))
				}
			}
		}
	}
	maps[l.To] = out
}

// element is one value of a layer's result.
func (f *Fixed) element(i int, maps [][]int8, n, c, y, x int) int8 {
	l := &f.Layers[i]
	in, position, out := l.From[0], f.Positions[l.From[0]], f.Positions[l.To]
	read := func(t, c, y, x int) (v int64, inside bool) {
		s := f.Tensors[t].Shape
		if y < 0 || x < 0 || y >= s[2] || x >= s[3] {
			return 0, false
		}
		return int64(maps[t][((n*s[1]+c)*s[2]+y)*s[3]+x]), true
	}
	tap := func(c, ky, kx int) (int64, bool) {
		return read(in, c, y*l.Stride[0]+ky*l.Dilation[0]-l.Pad[0], x*l.Stride[1]+kx*l.Dilation[1]-l.Pad[1])
	}
	sum, bits := int64(0), 0
	switch l.Kind {
	case Conv, Depthwise:
		p, from, to := &f.Params[i], 0, l.InChannels
		if l.Kind == Depthwise {
			from, to = c, c+1
		}
		at := c * (to - from) * l.Kernel[0] * l.Kernel[1]
		for channel := from; channel < to; channel++ {
			for ky := range l.Kernel[0] {
				for kx := range l.Kernel[1] {
					v, _ := tap(channel, ky, kx)
					sum += v * int64(p.Weights[at])
					at++
				}
			}
		}
		cut, bias := f.shifts(i)
		bits = cut
		if p.Bias != nil {
			if bias < 0 {
				sum, bits, bias = sum<<-bias, cut-bias, 0
			}
			sum += int64(p.Bias[c]) << bias
		}
	case MaxPool, AvgPool:
		greatest := int64(math.MinInt8)
		for ky := range l.Kernel[0] {
			for kx := range l.Kernel[1] {
				if v, inside := tap(c, ky, kx); inside {
					sum, greatest = sum+v, max(greatest, v)
				}
			}
		}
		if l.Kind == MaxPool {
			return int8(greatest)
		}
		factor, shift := averageFactor(l.Kernel)
		sum, bits = sum*int64(factor), shift
	case Add:
		least := position
		for _, t := range l.From {
			least = min(least, f.Positions[t])
		}
		for _, t := range l.From {
			v, _ := read(t, c, y, x)
			sum += aligned(v, f.Positions[t]-least)
		}
		bits = alignBits + least - out
	case Multiply:
		a, _ := read(in, c, y, x)
		b, _ := read(l.From[1], c, y, x)
		sum, bits = a*b, position+f.Positions[l.From[1]]-out
	case Concat:
		for _, t := range l.From {
			if c < f.Tensors[t].Shape[1] {
				v, _ := read(t, c, y, x)
				return int8(v)
			}
			c -= f.Tensors[t].Shape[1]
		}
	case Upsample:
		v, _ := read(in, c, y/l.Stride[0], x/l.Stride[1])
		return int8(v)
	case Activate:
		sum, _ = read(in, c, y, x)
	case HardSigmoid:
		v, _ := read(in, c, y, x)
		sum, bits = hardSum(v, position)
		bits -= out
	}
	sum, bits = activate(l.Act, sum, bits)
	q := clamp8(shiftRight(sum, bits))
	if l.Act == Relu6 {
		q = int8(min(int64(q), sixAt(out)))
	}
	return q
}
