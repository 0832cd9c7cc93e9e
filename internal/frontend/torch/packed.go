package torch

import (
	"math"
	"slices"
	"strings"

	"lathe/internal/graph"
	"lathe/internal/ops"
)

// A packed is what PyTorch packs for a kernel: a weight with a bias and what a convolution is given besides.
type packed struct {
	weight     *tensor
	bias       *graph.Value // or nil
	stride     []int
	padding    []int
	dilation   []int
	extra      []int // output padding
	groups     int
	transposed bool
	low, high  *float64 // bounds of the result
}

// packed is an argument that is packed parameters.
func (c *call) packed(name string) *packed {
	p, ok := c.args[name].(*packed)
	if !ok {
		fail("argument %s is %s instead of packed parameters", name, kind(c.args[name]))
	}
	if p.weight == nil {
		fail("packed parameters without a weight")
	}
	return p
}

// prepack packs the arguments of a convolution.
func (c *call) prepack(transposed bool) *packed {
	return &packed{weight: c.t("weight"), bias: c.opt("bias"), stride: c.ints("stride"), padding: c.ints("padding"), dilation: c.ints("dilation"), extra: c.ints("output_padding"),
		groups: c.int("groups", 1), transposed: transposed}
}

// limits sets the bounds of a result.
func (c *call) limits(p *packed) {
	for name, at := range map[string]**float64{"output_min": &p.low, "output_max": &p.high} {
		if c.given(name) {
			v := c.num(name, 0)
			*at = &v
		}
	}
}

// clamped limits y to p's bounds.
func (c *call) clamped(p *packed, y *graph.Value) any {
	low, high := math.Inf(-1), math.Inf(1)
	if p.low != nil {
		low = *p.low
	}
	if p.high != nil {
		high = *p.high
	}
	if math.IsInf(low, -1) && math.IsInf(high, 1) {
		return y
	}
	if low == 0 && math.IsInf(high, 1) {
		return c.Do(ops.Relu, y)
	}
	return c.bounded(y, low, high)
}

func fill(list []int, n, absent int) []int {
	switch len(list) {
	case 0:
		return slices.Repeat([]int{absent}, n)
	case 1:
		return slices.Repeat(list, n)
	case n:
		return list
	}
	fail("%d numbers for %d axes", len(list), n)
	return nil
}

// conv are the attributes of a convolution over n axes.
func (p *packed) conv(n int) ops.ConvAttrs {
	pad := fill(p.padding, n, 0)
	return ops.ConvAttrs{Strides: fill(p.stride, n, 1), Padding: slices.Concat(pad, pad), Dilation: fill(p.dilation, n, 1), Groups: max(p.groups, 1)}
}

// packedConv is the convolution of floats.
func (c *call) packedConv(p *packed, x *graph.Value) *graph.Value {
	return c.convolvePacked(p, x, c.get(p.weight))
}

func (c *call) convolvePacked(p *packed, x, w *graph.Value) *graph.Value {
	n := w.Type.Rank() - 2
	in := []*graph.Value{x, w}
	if p.bias != nil {
		in = append(in, p.bias)
	}
	a := p.conv(n)
	if p.transposed {
		return c.Apply(byRank(n, ops.Conv1dTranspose, ops.Conv2dTranspose, ops.Conv3dTranspose), ops.ConvTransposeAttrs{
			Strides: a.Strides, Padding: a.Padding, Dilation: a.Dilation, OutputPadding: fill(p.extra, n, 0), Groups: a.Groups}, in...)
	}
	return c.Apply(byRank(n, ops.Conv1d, ops.Conv2d, ops.Conv3d), a, in...)
}

// pack makes packed parameters of what a class of torch saves of itself.
func (l *loader) pack(class string, state value) value {
	parts, ok := items(state)
	if !ok {
		fail("the state of %s is %s instead of a tuple", class, kind(state))
	}
	switch {
	case strings.Contains(class, "Linear"):
		return l.packLinear(class, parts)
	case class == "rnn.CellParamsBase" && len(parts) >= 5:
		return l.packCell(class, parts)
	case strings.HasPrefix(class, "quantized.Conv"):
		return l.packConv(class, parts)
	case strings.HasPrefix(class, "xnnpack.") && len(parts) >= 6: // weight, bias, stride, padding, [output padding], dilation, groups, min, max
		p := &packed{weight: l.weight(parts[0]), bias: l.bias(parts[1]), transposed: strings.Contains(class, "Transpose")}
		p.stride, p.padding = l.wholes(parts[2]), l.wholes(parts[3])
		rest := parts[4:]
		if p.transposed {
			p.extra, rest = l.wholes(rest[0]), rest[1:]
		}
		if len(rest) < 2 {
			break
		}
		p.dilation, p.groups = l.wholes(rest[0]), l.whole(rest[1], "groups")
		p.bounds(rest[2:])
		return p
	}
	fail("an object of class %s, which is not supported", class)
	return nil
}

// bounds reads the bounds of a result.
func (p *packed) bounds(parts []value) {
	for i, at := range []**float64{&p.low, &p.high} {
		if i < len(parts) {
			if v, ok := number(parts[i]); ok {
				*at = &v
			}
		}
	}
}

func (l *loader) weight(v value) *tensor {
	t, ok := v.(*tensor)
	if !ok {
		fail("packed parameters whose weight is %s", kind(v))
	}
	return t
}

func (l *loader) bias(v value) *graph.Value {
	if t, ok := v.(*tensor); ok {
		return l.get(t)
	}
	return nil
}

// wholes are whole numbers, which may be tensors of one element.
func (l *loader) wholes(v value) (out []int) {
	parts, ok := items(v)
	if !ok {
		parts = []value{v}
	}
	for _, p := range parts {
		out = append(out, l.whole(p, "packed"))
	}
	return out
}

// packLinear reads (weight, bias), with bounds behind for xnnpack. The weight may be wrapped once more.
func (l *loader) packLinear(class string, parts []value) value {
	if len(parts) == 1 {
		if inner, ok := items(parts[0]); ok {
			parts = inner
		}
	}
	if len(parts) < 2 {
		fail("the state of %s has %d parts", class, len(parts))
	}
	p := &packed{weight: l.weight(parts[0]), bias: l.bias(parts[1]), groups: 1}
	p.bounds(parts[2:])
	return p
}

// packConv reads the three forms that convolutions were saved in: version 1 (weight, bias, stride, padding, dilation, groups), version 2
// ("2", [numbers as a tensor, weight], [bias]), version 3 (3, [numbers], [weight, bias]).
func (l *loader) packConv(class string, parts []value) value {
	p := &packed{}
	if len(parts) == 6 {
		p.weight, p.bias = l.weight(parts[0]), l.bias(parts[1])
		p.stride, p.padding, p.dilation, p.groups = l.wholes(parts[2]), l.wholes(parts[3]), l.wholes(parts[4]), l.whole(parts[5], "groups")
		return p
	}
	if len(parts) != 3 {
		fail("the state of %s has %d parts", class, len(parts))
	}
	second, ok1 := items(parts[1])
	third, ok2 := items(parts[2])
	if !ok1 || !ok2 {
		fail("the state of %s is of a version that is not supported", class)
	}
	var numbers []int
	if parts[0] == value("2") {
		if len(second) < 2 {
			fail("the state of %s lacks a weight", class)
		}
		p.weight = l.weight(second[1])
		for _, v := range l.known(l.weight(second[0]), "packed parameters") {
			numbers = append(numbers, l.whole(v, "packed"))
		}
		if len(third) > 0 {
			p.bias = l.bias(third[0])
		}
	} else {
		numbers = l.wholes(parts[1])
		if len(third) > 0 {
			p.weight = l.weight(third[0])
		}
		if len(third) > 1 {
			p.bias = l.bias(third[1])
		}
	}
	if len(numbers) == 0 || numbers[0] < 1 || numbers[0] > 3 || len(numbers) < 4*numbers[0]+3 || p.weight == nil {
		fail("the state of %s is of a version that is not supported", class)
	}
	n := numbers[0]
	part := func(i int) []int { return numbers[1+i*n : 1+(i+1)*n] }
	p.stride, p.padding, p.dilation, p.extra = part(0), part(1), part(2), part(3)
	p.groups, p.transposed = numbers[1+4*n], numbers[2+4*n]&1 != 0
	return p
}
