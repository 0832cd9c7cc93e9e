package zoo

import (
	"lathe/bench/model"
	"lathe/internal/tensor"
)

// dlrm scores 32 pairs of users and advertisements by 13 numbers and 26 categories: facebookresearch/dlrm in the shape of MLPerf (Naumov
// et al. 2019), with the rows of Criteo's terabyte of which no table keeps more than 10000.
func dlrm(b exporter) {
	const batch, wide, features = 32, 128, 27
	x := b.layers(b.Input(batch, 13), 13, 512, 256, wide)
	rows := []int{10000, 10000, 10000, 7420, 10000, 3, 7120, 1543, 63, 10000, 10000, 10000, 10, 2208, 10000, 155, 4, 976, 14, 10000, 10000,
		10000, 10000, 10000, 108, 36}
	ids := b.InputOf(b.categories(rows, batch))
	all := []model.Value{x}
	for i, n := range rows {
		all = append(all, b.take(b.Weight(0.5, n, wide), b.at(ids, 0, i)))
	}
	t := b.view(b.Concat(1, all...), -100, -1, wide)
	z := b.Do("MatMul", t, b.Transpose(t, 0, 2, 1))
	y := b.Concat(1, x, b.pairs(z, features))
	y = b.layers(y, wide+features*(features-1)/2, 1024, 1024, 512, 256)
	b.Output(b.Do("Sigmoid", b.Dense(y, 256, 1)))
}

// layers are fully connected with ReLUs.
func (b exporter) layers(x model.Value, in int, outs ...int) model.Value {
	for _, out := range outs {
		x, in = b.relu(b.Dense(x, in, out)), out
	}
	return x
}

// categories are random rows of tables, as tables × batch.
func (b exporter) categories(rows []int, batch int) *tensor.Tensor {
	t := b.Integers(1<<62, len(rows), batch)
	v := tensor.As[int64](t)
	for i := range v {
		v[i] %= int64(rows[i/batch])
	}
	return t
}

// pairs takes what is below the diagonal of n × n matrices, as the exporter writes z[:, i, j]: rows of both axes together are gathered
// and put back to their place.
func (b exporter) pairs(z model.Value, n int) model.Value {
	var at []int
	for i := range n {
		for j := range i {
			at = append(at, i*n+j)
		}
	}
	batch := b.dim(z, 0)
	y := b.Op("Flatten", []model.Value{b.Transpose(z, 1, 2, 0)}, model.At("axis", 2))
	y = b.Op("Gather", []model.Value{y, b.Ints(at...)}, model.At("axis", 0))
	y = b.Transpose(b.Do("Reshape", y, b.Concat(0, b.Ints(-1), batch)), 1, 0)
	return b.Do("Reshape", y, b.Concat(0, batch, b.Ints(len(at))))
}
