package compose

import "lathe/internal/graph"

// ChannelsFirst moves the channels of x, its last axis, behind the batch, where the operators of images have them.
func (b *Builder) ChannelsFirst(x *graph.Value) *graph.Value {
	axes := []int{0, x.Type.Rank() - 1}
	for k := 1; k < x.Type.Rank()-1; k++ {
		axes = append(axes, k)
	}
	return b.Transpose(x, axes...)
}

// OverChannels applies f, which has channels as the second axis, to x, whose channels are its last axis or, unless last, its second.
func (b *Builder) OverChannels(x *graph.Value, last bool, f func(x *graph.Value) *graph.Value) *graph.Value {
	if x.Type.Rank() < 2 {
		Fail("%q is %s: there are no channels", x.Name, x.Type)
	}
	if !last {
		return f(x)
	}
	return b.ChannelsLast(f(b.ChannelsFirst(x)))
}

// ChannelsLast is the inverse of ChannelsFirst.
func (b *Builder) ChannelsLast(x *graph.Value) *graph.Value {
	axes := []int{0}
	for k := 2; k < x.Type.Rank(); k++ {
		axes = append(axes, k)
	}
	return b.Transpose(x, append(axes, 1)...)
}
