package zoo

import (
	"lathe/bench/model"
	"lathe/internal/tensor"
)

// pointNet classifies 2048 points, which two small networks turn: matrices of a run between layers that all points share.
func pointNet(b exporter) {
	const n = 2048
	x := b.Input(1, 3, n)
	tnet := func(x model.Value, k int) model.Value {
		y := b.relu(b.conv1(b.relu(b.conv1(b.relu(b.conv1(x, k, 64, 1, 1, 1, 1)), 64, 128, 1, 1, 1, 1)), 128, 1024, 1, 1, 1, 1))
		y = b.Op("ReduceMax", []model.Value{y}, model.At("axes", []int{2}), model.At("keepdims", 0))
		y = b.Dense(b.relu(b.Dense(b.relu(b.Dense(y, 1024, 512)), 512, 256)), 256, k*k)
		id := b.Uniform(0, 0, k*k)
		for i := range k {
			tensor.As[float32](id)[i*k+i] = 1
		}
		return b.view(b.add(y, b.Constant(id)), -1, k, k)
	}
	apply := func(x, t model.Value) model.Value {
		return b.Transpose(b.Do("MatMul", b.Transpose(x, 0, 2, 1), t), 0, 2, 1)
	}
	x = apply(x, tnet(x, 3))
	x = b.relu(b.conv1(x, 3, 64, 1, 1, 1, 1))
	x = apply(x, tnet(x, 64))
	x = b.relu(b.conv1(x, 64, 128, 1, 1, 1, 1))
	x = b.conv1(x, 128, 1024, 1, 1, 1, 1)
	x = b.Op("ReduceMax", []model.Value{x}, model.At("axes", []int{2}), model.At("keepdims", 0))
	x = b.Dense(b.relu(b.Dense(b.relu(b.Dense(x, 1024, 512)), 512, 256)), 256, 40)
	b.Output(b.Op("LogSoftmax", []model.Value{x}, model.At("axis", 1)))
}
