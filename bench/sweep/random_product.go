package sweep

import (
	"fmt"
	"math"

	"lathe/bench/model"
)

func (d dice) gemm() Case {
	m, k, n := d.size(1, 1024), d.size(1, 4096), d.size(1, 4096)
	for m*k*n > mostProducts {
		m, k, n = (m+1)/2, k*7/8+1, n*7/8+1
	}
	switch kind := pick(d, "weights", "weights", "dense", "inputs", "batch"); kind {
	case "weights":
		act := pick(d, "", "", "gelu", "silu", "relu")
		return named(kind+act, []any{shape{m, k, n}}, func(b *model.Builder) model.Value {
			y := b.Linear(b.Input(m, k), k, n)
			switch act {
			case "gelu":
				return b.GELU(y)
			case "silu":
				return b.SiLU(y)
			case "relu":
				return b.Do("Relu", y)
			}
			return y
		})
	case "dense":
		return named(kind, []any{shape{m, k, n}}, func(b *model.Builder) model.Value { return b.Dense(b.Input(m, k), k, n) })
	case "inputs":
		ta, tb := d.IntN(2), d.IntN(2)
		x, y := shape{m, k}, shape{k, n}
		if ta == 1 {
			x = shape{k, m}
		}
		if tb == 1 {
			y = shape{n, k}
		}
		return named(fmt.Sprintf("%s%d%d", kind, ta, tb), []any{shape{m, k, n}}, func(b *model.Builder) model.Value {
			return b.Op("Gemm", inputs(b, on(x, y)), at("transA", ta), at("transB", tb))
		})
	default:
		m, k, n := d.size(1, 256), d.size(1, 256), d.size(1, 256)
		most := max(1, min(64, mostProducts/(m*k*n), mostElements/max(m*k, k*n, m*n)))
		batch, heads := d.size(1, most), 1
		if batch > 4 {
			heads, batch = batch/2, 2
		}
		return named(kind, []any{shape{batch, heads, m, k, n}}, func(b *model.Builder) model.Value {
			return b.Do("MatMul", b.Input(batch, heads, m, k), b.Input(batch, heads, k, n))
		})
	}
}

func (d dice) attention() Case {
	count, queries, keys, size := d.size(1, 16), d.size(1, 512), d.size(4, 768), pick(d, 16, 24, 32, 48, 64, 64, 80, 128)
	if d.chance(60) {
		keys = queries
	}
	for count*queries*keys*size*2 > mostProducts {
		count = (count + 1) / 2
		queries, keys = queries*7/8+1, keys*7/8+1
	}
	masked := d.chance(40)
	return heads(fmt.Sprintf("h%d_%dx%dx%d_%t", count, queries, keys, size, masked), count, queries, keys, size, masked)
}

func (d dice) rnn() Case {
	op := pick(d, "LSTM", "LSTM", "GRU", "RNN")
	steps, batch, in, hidden, directions := d.size(1, 200), d.batch(), d.size(1, 512), d.size(4, 512), 1+d.IntN(2)
	for steps*batch*hidden*(in+hidden)*4*directions > mostProducts {
		steps, hidden = steps*3/4+1, hidden*7/8+1
	}
	return recurrent(fmt.Sprintf("%s_t%d_b%d_%d_h%d_d%d", op, steps, batch, in, hidden, directions), op, steps, batch, in, hidden, directions)
}

func (d dice) softmax() Case {
	s := d.shape(2+d.IntN(3), mostElements)
	axis := pick(d, len(s)-1, len(s)-1, d.IntN(len(s)))
	how := pick(d, "Softmax", "Softmax", "Softmax", "LogSoftmax")
	return named(fmt.Sprintf("%s%d", how, axis), []any{s}, func(b *model.Builder) model.Value {
		return b.Op(how, []model.Value{b.Input(s...)}, at("axis", axis))
	})
}

func (d dice) norm() Case {
	switch kind := pick(d, "layer", "layer", "rms", "instance", "group", "l2"); kind {
	case "layer", "rms":
		size := d.size(2, 4096)
		s := append(shrunk(d.shape(1+d.IntN(2), mostElements), mostElements/size), size)
		return named(kind, []any{s}, func(b *model.Builder) model.Value {
			if kind == "rms" {
				return rmsNorm(size)(b, b.Input(s...))
			}
			return b.LayerNorm(b.Input(s...), size)
		})
	case "instance":
		s := append(shape{d.batch(), d.size(1, 256)}, d.shape(1+d.IntN(2), 1<<13)...)
		return named(kind, []any{s}, func(b *model.Builder) model.Value { return instanceNorm(b, b.Input(s...), s[1]) })
	case "group":
		groups := d.size(1, 32)
		channels, size := groups*d.size(1, 16), d.size(2, 64)
		return named(kind, []any{groups, channels, size}, func(b *model.Builder) model.Value {
			return groupNorm(groups, channels, size)(b, b.Input(1, channels, size, size))
		})
	default:
		s := d.shape(2+d.IntN(2), mostElements)
		axis := d.IntN(len(s))
		return named(fmt.Sprintf("%s_%d", kind, axis), []any{s}, func(b *model.Builder) model.Value {
			x := b.Input(s...)
			return b.Do("Div", x, b.Do("Add", b.Op("ReduceL2", []model.Value{x}, at("axes", []int{axis})), b.Number(1e-6)))
		})
	}
}

func (d dice) reduce() Case {
	s := d.shape(2+d.IntN(3), mostElements)
	var axes []int
	for len(axes) == 0 || len(axes) == len(s) { // ONNX Runtime's interface has no results without axes
		axes = nil
		for i := range s {
			if d.chance(45) {
				axes = append(axes, i)
			}
		}
	}
	how := pick(d, "ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare", "ReduceL1")
	return over(fmt.Sprintf("%s_%s_of_%s", how, joined(axes), joined(s)), how, s, axes...)
}

func (d dice) act() Case {
	s := d.shape(1+d.IntN(4), mostElements)
	how := pick(d, "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Exp", "Erf", "Elu", "Softplus", "HardSwish", "HardSigmoid", "Sin", "Cos", "Atan", "Abs", "Round", "Floor", "Neg", "Sqrt", "gelu", "silu", "mish")
	return named(how, []any{s}, func(b *model.Builder) model.Value {
		x := b.Input(s...)
		switch how {
		case "gelu":
			return gelu(b, x)
		case "silu":
			return silu(b, x)
		case "mish":
			return mish(b, x)
		case "Sqrt":
			return b.Do(how, b.Do("Abs", x))
		}
		return b.Do(how, x)
	})
}

func (d dice) elementwise() Case {
	s := d.shape(1+d.IntN(4), mostElements)
	x, y := append(shape{}, s...), append(shape{}, s...)
	for i := range s {
		switch d.IntN(6) {
		case 0:
			x[i] = 1
		case 1, 2:
			y[i] = 1
		}
	}
	how := pick(d, "Add", "Mul", "Sub", "Div", "Max", "Min", "Where", "Less", "Pow")
	return named(how, []any{x, y}, func(b *model.Builder) model.Value {
		p, q := b.Input(x...), b.Input(y...)
		switch how {
		case "Div":
			q = b.Do("Add", b.Do("Abs", q), b.Number(0.5))
		case "Pow":
			p, q = b.Do("Abs", p), b.Number(float32(math.Round(4*d.Float64())/2+0.5))
		case "Less":
			return b.Op("Cast", []model.Value{b.Do("Less", p, q)}, at("to", 1))
		case "Where":
			return b.Do(how, b.Do("Less", p, b.Number(0)), p, q)
		}
		return b.Do(how, p, q)
	})
}
