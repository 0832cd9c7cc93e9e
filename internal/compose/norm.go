package compose

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// moments are mean and variance of x along axes, which stay with extent 1.
func (b *Builder) moments(x *graph.Value, axes ...int) (mean, variance *graph.Value) {
	mean = b.Reduce(ops.Mean, x, true, axes...)
	d := b.Do(ops.Subtract, x, mean)
	return mean, b.Reduce(ops.Mean, b.Do(ops.Multiply, d, d), true, axes...)
}

// BatchStatistics are mean and variance of each channel, axis 1, as vectors.
func (b *Builder) BatchStatistics(x *graph.Value) (mean, variance *graph.Value) {
	axes := append([]int{0}, LastAxes(x, 2)...)
	mean, variance = b.moments(x, axes...)
	return b.Reshape(mean, x.Type.Shape[1]), b.Reshape(variance, x.Type.Shape[1])
}

// Standardization are mean and 1/sqrt(variance + epsilon) along axes, which stay with extent 1, in float32 for narrower
// data.
func (b *Builder) Standardization(x *graph.Value, epsilon float64, axes ...int) (mean, inverse *graph.Value) {
	if x.Type.DType.Compute() != x.Type.DType {
		x = b.Cast(x, types.F32)
	}
	mean, variance := b.moments(x, axes...)
	return mean, b.Do(ops.Rsqrt, b.Do(ops.Add, variance, Like(x, epsilon)))
}

// MeanVarianceNormalization is (x - mean) / (deviation + 1e-9) along axes, as ONNX's function has it.
func (b *Builder) MeanVarianceNormalization(x *graph.Value, axes ...int) *graph.Value {
	mean, variance := b.moments(x, axes...)
	return b.Do(ops.Divide, b.Do(ops.Subtract, x, mean), b.Do(ops.Add, b.Do(ops.Sqrt, variance), Like(x, 1e-9)))
}
