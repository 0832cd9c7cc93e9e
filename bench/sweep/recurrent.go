package sweep

import (
	"lathe/bench/model"
	"lathe/internal/types"
)

// recurrent is one layer of an LSTM, GRU or RNN.
func recurrent(name, op string, steps, batch, in, hidden, directions int) Case {
	return row(name, func(b *model.Builder) model.Value {
		return b.Recurrent(op, b.Input(steps, batch, in), in, hidden, directions)
	})
}

var rnn = []Case{
	recurrent("lstm_t1_h128_step", "LSTM", 1, 1, 128, 128, 1),
	recurrent("lstm_t10_h64", "LSTM", 10, 1, 32, 64, 1),
	recurrent("lstm_t100_h256", "LSTM", 100, 1, 256, 256, 1),
	recurrent("lstm_b16_t20_h128", "LSTM", 20, 16, 64, 128, 1),
	recurrent("lstm_t400_h128_long", "LSTM", 400, 1, 64, 128, 1),
	recurrent("lstm_t50_h100_odd", "LSTM", 50, 1, 50, 100, 1),
	recurrent("bilstm_t100_h256", "LSTM", 100, 1, 256, 256, 2),
	row("lstm_t100_h512_x2", func(b *model.Builder) model.Value {
		x := b.Do("Squeeze", b.Recurrent("LSTM", b.Input(100, 1, 512), 512, 512, 1), b.Ints(1))
		return b.Recurrent("LSTM", x, 512, 512, 1)
	}),
	row("crnn_bilstm_t26_h256", func(b *model.Builder) model.Value {
		y := b.Recurrent("LSTM", b.Input(26, 1, 512), 512, 256, 2)
		x := b.Reshape(b.Transpose(y, 0, 2, 1, 3), 26, 1, 512)
		return b.Recurrent("LSTM", b.Linear(x, 512, 256), 256, 256, 2)
	}),
	recurrent("gru_t1_h384_step", "GRU", 1, 1, 128, 384, 1),
	recurrent("gru_t100_h256", "GRU", 100, 1, 256, 256, 1),
	recurrent("gru_b8_t50_h256", "GRU", 50, 8, 256, 256, 1),
	recurrent("gru_b64_t100_h96", "GRU", 100, 64, 32, 96, 1),
	recurrent("bigru_t100_h512", "GRU", 100, 1, 512, 512, 2),
	recurrent("rnn_t50_h128", "RNN", 50, 1, 64, 128, 1),
	recurrent("rnn_b32_t28_h64", "RNN", 28, 32, 28, 64, 1),
}

var control = []Case{
	{"scan_gru_like_50", scanGRU},
	{"loop_20_dense_64", loopDense},
	{"if_two_means", ifMeans},
}

// scanGRU is a Scan over 50 steps whose body has two gates.
func scanGRU(b *model.Builder) {
	const steps, size = 50, 64
	w, u, c := b.Weight(0.1, size, size), b.Weight(0.1, size, size), b.Weight(0.1, size, size)
	state, x := b.Input(1, size), b.Input(steps, 1, size)
	body := b.Body("step")
	h, in := body.Argument(types.F32, 1, size), body.Argument(types.F32, 1, size)
	gate := body.Do("Sigmoid", body.Do("Add", body.Do("MatMul", in, w), body.Do("MatMul", h, u)))
	next := body.Do("Tanh", body.Do("Add", in, body.Do("MatMul", body.Do("Mul", gate, h), c)))
	y := body.Do("Add", body.Do("Mul", gate, next), body.Do("Sub", h, body.Do("Mul", gate, h)))
	body.Output(y, body.Do("Identity", y))
	b.Output(b.Ops("Scan", 2, []model.Value{state, x}, at("num_scan_inputs", 1), at("body", body.Graph()))...)
}

// loopDense is a Loop that applies a layer 20 times.
func loopDense(b *model.Builder) {
	const size = 64
	w := b.Weight(0.1, size, size)
	x, more := b.Input(1, size), b.Constant(b.Bools(1<<30, 1))
	body := b.Body("turn")
	body.Argument(types.I64)
	again, h := body.Argument(types.Bool), body.Argument(types.F32, 1, size)
	y := body.Do("Tanh", body.Do("MatMul", h, w))
	body.OutputOf(types.Bool, body.Do("Identity", again))
	body.Output(y)
	more = b.Do("Squeeze", more)
	b.Output(b.Op("Loop", []model.Value{b.Do("Squeeze", b.Ints(20)), more, x}, at("body", body.Graph())))
}

// ifMeans takes one of two means of a large input.
func ifMeans(b *model.Builder) {
	x := b.Input(64, 4096)
	which := b.Do("Squeeze", b.InputOf(b.Bools(1<<30, 1)))
	branch := func(name, op string) model.Attr {
		body := b.Body(name)
		body.Output(body.Do(op, x))
		return at(name, body.Graph())
	}
	b.Output(b.Op("If", []model.Value{which}, branch("then_branch", "ReduceMean"), branch("else_branch", "ReduceMax")))
}
