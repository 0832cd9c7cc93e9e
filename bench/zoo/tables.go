package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// ftTransformer scores 256 rows of a table of 6 numbers and 8 categories, each of which is a word of a transformer (Gorishniy et al. 2021,
// yandex-research/rtdl: the default of 3 blocks of 192 numbers with ReGLU, for Adult).
func ftTransformer(b exporter) {
	const batch, numbers, wide, hidden = 256, 6, 192, 256
	sizes := []int{9, 16, 7, 15, 6, 5, 2, 42}
	ids := b.Transpose(b.InputOf(b.categories(sizes, batch)), 1, 0)
	offsets, total := []int64{}, 0
	for _, n := range sizes {
		offsets, total = append(offsets, int64(total)), total+n
	}
	x := b.mul(b.Do("Unsqueeze", b.Input(batch, numbers), b.Ints(-1)), b.Weight(1, numbers, wide))
	x = b.add(x, b.Weight(0.1, numbers, wide))
	c := b.take(b.Weight(1, total, wide), b.add(ids, b.Constant(tensor.Of([]int{len(sizes)}, offsets))))
	x = b.Concat(1, x, b.add(c, b.Weight(0.1, len(sizes), wide)))
	class := b.Do("Expand", b.view(b.Weight(1, wide), 1, 1, -1), b.Concat(0, b.dim(x, 0), b.Ints(1, wide)))
	x = b.Concat(1, x, class)
	for i := range 3 {
		y, q := x, x
		if i > 0 {
			y = b.ln(x, wide)
			q = y
		}
		if i == 2 { // only the last word is read
			last := func(v model.Value) model.Value { return b.Slice(v, 1, -1, 1<<62, 1) }
			q, x = last(q), last(x)
		}
		x = b.add(x, b.tableAttention(q, y, wide))
		parts := b.Split(b.Linear(b.ln(x, wide), wide, 2*hidden), -1, hidden, hidden)
		x = b.add(x, b.Linear(b.mul(parts[0], b.relu(parts[1])), hidden, wide))
	}
	x = b.relu(b.ln(b.at(x, 1, -1), wide))
	b.Output(b.Dense(x, wide, 1))
}

// tableAttention is rtdl's: heads are split behind the batch, and all axes before the last two are one.
func (b exporter) tableAttention(x, y model.Value, wide int) model.Value {
	const heads = 8
	size := wide / heads
	split := func(v model.Value) model.Value {
		w := b.Transpose(b.view(b.Linear(v, wide, wide), -100, -101, heads, size), 0, 2, 1, 3)
		return b.Do("Reshape", w, b.Concat(0, b.mul(b.dim(v, 0), b.Ints(heads)), b.dim(v, 1), b.Ints(size)))
	}
	q, k, v := split(x), split(y), split(y)
	s := b.Do("Div", b.Do("MatMul", q, b.Transpose(k, 0, 2, 1)), b.Number(float32(math.Sqrt(float64(size)))))
	z := b.Do("MatMul", b.softmax(s, -1), v)
	z = b.Do("Reshape", z, b.Concat(0, b.dim(x, 0), b.Ints(heads), b.dim(x, 1), b.Ints(size)))
	z = b.Transpose(z, 0, 2, 1, 3)
	return b.Linear(b.Do("Reshape", z, b.Concat(0, b.dim(x, 0), b.dim(x, 1), b.Ints(wide))), wide, wide)
}

// din scores what 64 users may buy next by what they bought, at most 50 things each (Zhou et al. 2018, zhougr1993/DeepInterestNetwork on
// Amazon's electronics with 10000 of its things): attention by a network over pairs, with Dice in the last layers.
func din(b exporter) {
	const batch, past, things, kinds, half, wide = 64, 50, 10000, 801, 64, 128
	thing, kind := b.Weight(0.3, things, half), b.Weight(0.3, kinds, half)
	embed := func(shape ...int) model.Value {
		return b.Concat(-1, b.take(thing, b.Indices(things, shape...)), b.take(kind, b.Indices(kinds, shape...)))
	}
	candidate, history := embed(batch), embed(batch, past)
	lengths := b.Indices(past, batch)
	q := b.view(b.Do("Tile", candidate, b.Ints(1, past)), -100, past, wide)
	y := b.Concat(-1, q, history, b.Do("Sub", q, history), b.mul(q, history))
	y = b.Do("Sigmoid", b.Linear(y, 4*wide, 80))
	y = b.Transpose(b.Linear(b.Do("Sigmoid", b.Linear(y, 80, 40)), 40, 1), 0, 2, 1)
	places := b.Do("Range", b.integer(0), b.at(b.Do("Shape", history), 0, 1), b.integer(1))
	there := b.Do("Unsqueeze", b.Do("Less", places, b.Do("Unsqueeze", lengths, b.Ints(1))), b.Ints(1))
	y = b.Do("Where", there, y, b.Number(-4294967295))
	y = b.softmax(b.Do("Div", y, b.Number(float32(math.Sqrt(wide)))), -1)
	bought := b.view(b.Do("MatMul", y, history), -100, wide)
	bought = b.Dense(b.BatchNorm(bought, wide), wide, wide)
	x := b.Concat(-1, bought, candidate, b.mul(bought, candidate))
	x = b.dice(b.Dense(b.BatchNorm(x, 3*wide), 3*wide, 80), 80)
	x = b.dice(b.Dense(x, 80, 40), 40)
	x = b.add(b.Dense(x, 40, 1), b.take(b.Weight(0.1, things, 1), b.Indices(things, batch)))
	b.Output(b.Do("Sigmoid", x))
}

// dice is a ReLU with a slope below zero whose bend depends on how numbers are spread.
func (b exporter) dice(x model.Value, size int) model.Value {
	mean, variance := b.Constant(b.Normal(0.1, size)), b.Constant(b.Uniform(0.9, 1.1, size))
	one, none := b.Constant(b.Uniform(1, 1, size)), b.Constant(b.Uniform(0, 0, size))
	p := b.Do("Sigmoid", b.Op("BatchNormalization", []model.Value{x, one, none, mean, variance}, model.At("epsilon", 1e-9)))
	low := b.mul(b.mul(b.Weight(0.25, size), b.Do("Sub", b.Number(1), p)), x)
	return b.add(low, b.mul(p, x))
}

// patchTST predicts 96 steps of 7 series from 336, for 32 of them (Nie et al. 2023, yuqinie98/PatchTST: 3 layers of 128 numbers, 16 heads,
// patches of 16 at every 8): series are normalised by themselves, layers by batches.
func patchTST(b exporter) {
	const batch, steps, series, patch, stride, wide, heads, ahead = 32, 336, 7, 16, 8, 128, 16, 96
	const patches = (steps-patch)/stride + 2
	x := b.Input(batch, steps, series)
	mean := b.mean(x, 1, 1)
	d := b.Do("Sub", x, mean)
	deviation := b.Do("Sqrt", b.add(b.mean(b.mul(d, d), 1, 1), b.Number(1e-5)))
	gain, shift := b.Scale(series), b.Weight(0.1, series)
	x = b.add(b.mul(b.Do("Div", d, deviation), gain), shift)
	x = b.Transpose(x, 0, 2, 1)
	x = b.Op("Pad", []model.Value{x, b.Ints(0, 0, 0, 0, 0, stride)}, model.At("mode", "edge"))
	var list []model.Value // Tensor.unfold
	for i := range patches {
		list = append(list, b.Do("Unsqueeze", b.Slice(x, 2, i*stride, i*stride+patch, 1), b.Ints(2)))
	}
	x = b.Linear(b.Concat(2, list...), patch, wide)
	x = b.Do("Reshape", x, b.Concat(0, b.mul(b.dim(x, 0), b.dim(x, 1)), b.dim(x, 2), b.dim(x, 3)))
	x = b.add(x, b.Weight(0.1, patches, wide))
	var scores model.Value
	for range 3 {
		var y model.Value
		y, scores = b.residualAttention(x, scores, wide, heads)
		x = b.batchNormRows(b.add(x, y), wide)
		y = b.Linear(b.GELU(b.Linear(x, wide, 2*wide)), 2*wide, wide)
		x = b.batchNormRows(b.add(x, y), wide)
	}
	x = b.Transpose(b.view(x, -1, series, patches, wide), 0, 1, 3, 2)
	x = b.Linear(b.view(x, -100, -101, wide*patches), wide*patches, ahead)
	x = b.Do("Div", b.Do("Sub", b.Transpose(x, 0, 2, 1), shift), b.add(gain, b.Number(1e-10)))
	b.Output(b.add(b.mul(x, deviation), mean))
}

// residualAttention adds the scores of the layer before to its own (RealFormer).
func (b exporter) residualAttention(x, before model.Value, wide, heads int) (y, scores model.Value) {
	size := wide / heads
	split := func(perm ...int) model.Value {
		return b.Transpose(b.view(b.Linear(x, wide, wide), -100, -1, heads, size), perm...)
	}
	q, k, v := split(0, 2, 1, 3), split(0, 2, 3, 1), split(0, 2, 1, 3)
	scores = b.mul(b.Do("MatMul", q, k), b.Number(float32(1/math.Sqrt(float64(size)))))
	if before != model.Absent {
		scores = b.add(scores, before)
	}
	y = b.Do("MatMul", b.softmax(scores, -1), v)
	return b.Linear(b.view(b.Transpose(y, 0, 2, 1, 3), -100, -1, wide), wide, wide), scores
}

// batchNormRows normalises numbers of the last axis over batches, between transpositions.
func (b exporter) batchNormRows(x model.Value, size int) model.Value {
	return b.Transpose(b.BatchNorm(b.Transpose(x, 0, 2, 1), size), 0, 2, 1)
}

// rnntStep is what a transducer runs for each letter (NVIDIA/NeMo: stt_en_conformer_transducer_small with 1024 pieces): a step of the LSTM of
// the letters before, and the joint with one frame of sound.
func rnntStep(b exporter) {
	const pieces, hidden, sound, joint = 1024, 320, 176, 320
	frame, ids := b.Input(1, sound, 1), b.Indices(pieces, 1, 1)
	h, c := b.Input(1, 1, hidden), b.Input(1, 1, hidden)
	x := b.Transpose(b.take(b.Weight(1, pieces+1, hidden), ids), 1, 0, 2)
	d := 1 / math.Sqrt(hidden)
	y := b.Ops("LSTM", 3, []model.Value{x, b.Weight(d, 1, 4*hidden, hidden), b.Weight(d, 1, 4*hidden, hidden), b.Weight(0.1, 1, 8*hidden),
		model.Absent, h, c}, model.At("hidden_size", hidden))
	p := b.Transpose(b.Do("Squeeze", y[0], b.Ints(1)), 1, 0, 2)
	f := b.Do("Unsqueeze", b.Linear(b.Transpose(frame, 0, 2, 1), sound, joint), b.Ints(2))
	p = b.Do("Unsqueeze", b.Linear(p, hidden, joint), b.Ints(1))
	z := b.Linear(b.relu(b.add(f, p)), joint, pieces+1)
	b.Output(b.Op("LogSoftmax", []model.Value{z}, model.At("axis", -1)), y[1], y[2])
}

// policy chooses among actions of a robot with 24 sensors, for as many as the batch has (DLR-RM/stable-baselines3: MlpPolicy with a network for
// actions and one for what they are worth).
func policy(batch int) func(b exporter) {
	return func(b exporter) {
		const sensors, wide, actions = 24, 64, 4
		x := b.Op("Flatten", []model.Value{b.Input(batch, sensors)}, model.At("axis", 1))
		hidden := func() model.Value {
			return b.Do("Tanh", b.Dense(b.Do("Tanh", b.Dense(x, sensors, wide)), wide, wide))
		}
		a, v := b.Dense(hidden(), wide, actions), b.Dense(hidden(), wide, 1)
		deviation := b.mul(b.Do("Exp", b.Weight(0.1, actions)), b.Op("ConstantOfShape", []model.Value{b.Do("Shape", a)}, model.At("value", tensor.Of([]int{1}, []float32{1}))))
		far := b.Do("Div", b.Do("Pow", b.Do("Sub", a, a), b.Number(2)), b.mul(b.Do("Pow", deviation, b.Number(2)), b.Number(2)))
		p := b.Do("Sub", b.Do("Sub", b.Do("Neg", far), b.Do("Log", deviation)), b.Number(0.9189385))
		b.Output(a, v, b.sum(p, 0, 1))
	}
}

// autoencoder restores 128 digits of 28x28 from 3 numbers (L1aoXingyu/pytorch-beginner: 08-AutoEncoder).
func autoencoder(b exporter) {
	x := b.Dense(b.layers(b.Input(128, 784), 784, 128, 64, 12), 12, 3)
	x = b.layers(x, 3, 12, 64, 128)
	b.Output(b.Do("Tanh", b.Dense(x, 128, 784)))
}
