package compose

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
)

// ByRank picks the operator for a number of spatial axes among those for 1, 2 and so on; nil stands for a number that has none.
func ByRank(n int, defs ...*op.Def) *op.Def {
	if n < 1 || n > len(defs) || defs[n-1] == nil {
		Fail("%s: 1 to %d are supported", spelling.Count(n, "spatial axis"), len(defs))
	}
	return defs[n-1]
}

// Conv is a convolution of data [batch, channels, ...] by a kernel [out, channels/groups, ...], with a bias [out] unless that is nil or left out.
func (b *Builder) Conv(w Window, groups int, in ...*graph.Value) *graph.Value {
	return b.Apply(ByRank(len(w.In), ops.Conv1d, ops.Conv2d, ops.Conv3d),
		ops.ConvAttrs{Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, Groups: groups}, given(in)...)
}

// ConvTranspose is a transposed convolution of data by a kernel [channels, out/groups, ...], with a bias [out] as in Conv; outputPadding is added
// behind the result.
func (b *Builder) ConvTranspose(w Window, outputPadding []int, groups int, in ...*graph.Value) *graph.Value {
	return b.Apply(ByRank(len(w.In), ops.Conv1dTranspose, ops.Conv2dTranspose, ops.Conv3dTranspose),
		ops.ConvTransposeAttrs{Strides: w.Strides, Padding: w.Padding, OutputPadding: outputPadding, Dilation: w.Dilation, Groups: groups}, given(in)...)
}

// given are the operands that are not nil.
func given(in []*graph.Value) []*graph.Value {
	return slices.DeleteFunc(slices.Clone(in), func(v *graph.Value) bool { return v == nil })
}

// MaxPool is the maximum of windows; ceil rounds their number up.
func (b *Builder) MaxPool(x *graph.Value, w Window, ceil bool) *graph.Value {
	return b.Apply(ByRank(len(w.In), ops.MaxPool1d, ops.MaxPool2d, ops.MaxPool3d), w.Pool(ceil), x)
}

// AvgPool is the mean of windows, whose divisor counts padding or only what lies within the data.
func (b *Builder) AvgPool(x *graph.Value, w Window, ceil, countPadding bool) *graph.Value {
	return b.Apply(ByRank(len(w.In), ops.AvgPool1d, ops.AvgPool2d, ops.AvgPool3d),
		ops.AvgPoolAttrs{PoolSize: w.Kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, CeilMode: ceil, CountIncludePad: countPadding}, x)
}

// Pool are the attributes of a pooling by windows.
func (w Window) Pool(ceil bool) ops.PoolAttrs {
	return ops.PoolAttrs{PoolSize: w.Kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, CeilMode: ceil}
}

// CheckCeil fails where the number of windows, rounded up, makes one that begins beyond the data and the padding before it: MXNet and Paddle have
// such windows, and no operator here does. option is what asks for it.
func (w Window) CheckCeil(option string) {
	n := len(w.In)
	for k, in := range w.In {
		s := w.Strides[k]
		if s < 1 || (in+w.Padding[k]+w.Padding[n+k]-w.Kernel[k]+s-1)/s*s >= in+w.Padding[k] {
			Fail("%s makes a window that lies beyond the input, which is not supported", option)
		}
	}
}

// maxWindows bounds the windows of an axis that AdaptivePool computes one by one.
const maxWindows = 1 << 12

// AdaptivePool reduces the axis of x to out windows by d: window i is from i*in/out, rounded down, to (i+1)*in/out, rounded up.
func (b *Builder) AdaptivePool(d *op.Def, x *graph.Value, axis, out int) *graph.Value {
	s := x.Type.Shape
	in := s[axis]
	switch {
	case out < 1 || out > maxWindows:
		Fail("%d windows of %s", out, x.Type)
	case out == in:
		return x
	case in%out == 0:
		return b.Reduce(d, b.Reshape(x, slices.Concat(s[:axis], []int{out, in / out}, s[axis+1:])...), false, axis+1)
	}
	parts := make([]*graph.Value, out)
	for i := range parts {
		parts[i] = b.Reduce(d, b.Slice(x, axis, i*in/out, ((i+1)*in+out-1)/out), true, axis)
	}
	return b.Concat(axis, parts...)
}
