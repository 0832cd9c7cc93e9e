package fuzz

import (
	"slices"

	export "lathe/internal/export/onnx"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

func floats(v ...float32) *tensor.Tensor { return tensor.Of([]int{len(v)}, v) }

// scale is a scale of quantised values, and zero a zero point.
func (b *builder) scale() string {
	return b.number(types.F32, float64([]float32{0.02, 0.05, 0.1, 0.25, 0.0078125}[b.IntN(5)]))
}

func (b *builder) zero(d types.DType) string {
	z := 0
	if b.coin(3) {
		z = b.between(-5, 5)
		if d.IsUnsigned() {
			z = b.between(100, 140)
		}
	}
	return b.number(d, float64(z))
}

func (b *builder) byteType() types.DType { return b.dtype(types.U8, types.U8, types.I8) }

// dequantized is a float32 value that was quantised.
func (b *builder) dequantized(x string) string {
	d := b.byteType()
	s, z := b.scale(), b.zero(d)
	return b.one("DequantizeLinear", []string{b.one("QuantizeLinear", []string{x, s, z}), s, z})
}

// channelScales are n scales.
func (b *builder) channelScales(n int) string {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(b.between(1, 8)) / 256
	}
	return b.constant(floats(v...))
}

// random bytes of a weight.
func (b *builder) bytes(d types.DType, shape ...int) string {
	t := tensor.New(d, shape...)
	for i := range t.Len() {
		if d == types.U8 {
			t.SetInt(i, int64(b.IntN(256)))
		} else {
			t.SetInt(i, int64(b.IntN(255)-127))
		}
	}
	return b.constant(t)
}

// quantizedLayer are layers between quantize and dequantize nodes, as exporters of quantised models write them.
func quantizedLayer(b *builder) []string {
	x, s := b.image(types.F32, 2)
	x = b.dequantized(x)
	var y string
	switch b.IntN(7) {
	case 0, 1, 2: // convolution
		groups, out := 1, []int{1, 3, 4, 8, 16, 17, 32}[b.IntN(7)]
		if b.IntN(3) == 0 {
			groups, out = s[1], s[1]
		}
		k := b.between(1, 3)
		d := b.dtype(types.I8, types.I8, types.U8)
		w := b.bytes(d, out, s[1]/groups, k, k)
		var scaled string
		if b.IntN(2) == 0 && b.opset >= 13 {
			scaled = b.one("DequantizeLinear", []string{w, b.channelScales(out), b.constant(tensor.New(d, out))}, at("axis", 0))
		} else {
			scaled = b.one("DequantizeLinear", []string{w, b.scale(), b.zero(d)})
		}
		in := []string{x, scaled}
		if b.coin(3) {
			in = append(in, b.weight(types.F32, out))
		}
		y = b.one("Conv", in, append(b.window(2, []int{k, k}), at("group", groups))...)
	case 3:
		y = b.one("Add", []string{x, b.dequantized(b.value(types.F32, s...))})
	case 4:
		y = b.one(b.word("MaxPool", "AveragePool"), []string{x}, at("kernel_shape", []int{2, 2}), at("strides", b.each(2, 1, 2)), at("pads", []int{1, 1, 1, 1}))
	case 5:
		y = b.one("GlobalAveragePool", []string{x})
	case 6:
		n := b.between(1, 20)
		w := b.one("DequantizeLinear", []string{b.bytes(types.I8, s[3], n), b.scale(), b.number(types.I8, 0)})
		y = b.one("MatMul", []string{x, w})
	}
	if b.IntN(3) == 0 {
		y = b.one(b.word("Relu", "Sigmoid", "HardSwish", "LeakyRelu"), []string{y})
	}
	return []string{b.dequantized(y)}
}

// qlinear are operators on integers.
func qlinear(b *builder) []string {
	d, w := b.byteType(), b.dtype(types.I8, types.I8, types.U8)
	x, s := b.image(d, 2)
	switch b.IntN(9) {
	case 0:
		out, k := b.between(1, 17), b.between(1, 3)
		in := []string{x, b.scale(), b.zero(d), b.bytes(w, out, s[1], k, k), b.scale(), b.zero(w), b.scale(), b.zero(d)}
		if b.IntN(2) == 0 {
			in[4], in[5] = b.channelScales(out), b.constant(tensor.New(w, out))
		}
		if b.IntN(2) == 0 {
			in = append(in, b.weight(types.I32, out))
		}
		return []string{b.one("QLinearConv", in, b.window(2, []int{k, k})...)}
	case 1:
		k := b.between(1, 3)
		return []string{b.one("ConvInteger", []string{x, b.bytes(w, b.between(1, 9), s[1], k, k), b.zero(d), b.zero(w)}[:2+b.IntN(3)], b.window(2, []int{k, k})...)}
	case 2:
		n, k := b.between(1, 33), b.between(1, 40)
		a := b.value(d, append(b.shape(0, 1), b.between(1, 9), k)...)
		return []string{b.one("MatMulInteger", []string{a, b.bytes(w, k, n), b.zero(d), b.zero(w)}[:2+b.IntN(3)])}
	case 3:
		n, k := b.between(1, 33), b.between(1, 40)
		return []string{b.one("QLinearMatMul", []string{b.value(d, b.between(1, 9), k), b.scale(), b.zero(d), b.bytes(w, k, n), b.scale(), b.zero(w), b.scale(), b.zero(d)})}
	case 4:
		return []string{b.one("com.microsoft.QLinearAdd", []string{x, b.scale(), b.zero(d), b.value(d, b.stretched(s)...), b.scale(), b.zero(d), b.scale(), b.zero(d)})}
	case 5:
		return []string{b.one("com.microsoft.QLinearMul", []string{x, b.scale(), b.zero(d), b.value(d, b.stretched(s)...), b.scale(), b.zero(d), b.scale(), b.zero(d)})}
	case 6:
		return []string{b.one("com.microsoft."+b.word("QLinearSigmoid", "QLinearLeakyRelu", "QLinearGlobalAveragePool"), []string{x, b.scale(), b.zero(d), b.scale(), b.zero(d)})}
	case 7:
		in := []string{b.scale(), b.zero(d)}
		for range b.between(1, 3) {
			in = append(in, b.value(d, s...), b.scale(), b.zero(d))
		}
		return []string{b.one("com.microsoft.QLinearConcat", in, at("axis", b.IntN(4)))}
	}
	m, n, k := b.between(1, 9), b.between(1, 17), b.between(1, 20)
	in := []string{b.value(d, m, k), b.scale(), b.zero(d), b.bytes(w, k, n), b.scale(), b.zero(w), "", b.scale(), b.zero(d)}
	return []string{b.one("com.microsoft.QGemm", in[:[]int{6, 9}[b.IntN(2)]], b.maybe("alpha", 0.5))}
}

// quantizeDynamic is a layer whose data are quantised by their own range.
func quantizeDynamic(b *builder) []string {
	k, n := b.between(1, 30), b.between(1, 20)
	q := b.node("DynamicQuantizeLinear", []string{b.value(types.F32, b.between(1, 5), k)}, 3)
	y := b.one("MatMulInteger", []string{q[0], b.bytes(types.I8, k, n), q[2]})
	y = b.one("Cast", []string{y}, at("to", export.ElemType(types.F32)))
	return []string{b.one("Mul", []string{y, b.one("Mul", []string{q[1], b.scale()})})}
}

// microsoft are ONNX Runtime's fused operators.
func microsoft(b *builder) []string {
	n, h := b.between(1, 5), []int{4, 8, 12, 17}[b.IntN(4)]
	x := b.value(types.F32, n, b.between(1, 3), h)
	w := func() string { return b.weight(types.F32, h) }
	switch b.IntN(6) {
	case 0:
		return []string{b.one("com.microsoft."+b.word("Gelu", "FastGelu", "QuickGelu"), []string{x})}
	case 1:
		return []string{b.one("com.microsoft.BiasGelu", []string{x, w()})}
	case 2:
		m := b.between(1, 3)
		in := []string{b.value(types.F32, n, m, h), b.value(types.F32, n, m, h), w(), w()}
		return []string{b.one("com.microsoft.SkipLayerNormalization", in, b.maybe("epsilon", 1e-3))}
	case 3:
		k, o := b.between(1, 20), b.between(1, 20)
		ta, tb := b.IntN(2), b.IntN(2)
		a, c := []int{n, k}, []int{k, o}
		if ta == 1 {
			slices.Reverse(a)
		}
		if tb == 1 {
			slices.Reverse(c)
		}
		return []string{b.one("com.microsoft.FusedMatMul", []string{b.value(types.F32, append([]int{2}, a...)...), b.value(types.F32, append([]int{2}, c...)...)},
			at("transA", ta), at("transB", tb), b.maybe("alpha", 0.5))}
	case 4:
		y, s := b.image(types.F32, 2)
		return []string{b.one("com.microsoft.FusedConv", []string{y, b.weight(types.F32, 5, s[1], 1, 1)}, at("activation", b.word("Relu", "Tanh", "Sigmoid")))}
	}
	k, o := b.between(1, 20), b.between(1, 20)
	return []string{b.one("com.microsoft.FusedGemm", []string{b.value(types.F32, n, k), b.weight(types.F32, k, o), b.weight(types.F32, o)}, at("activation", b.word("Relu", "Tanh")))}
}

// recurrent are LSTM, GRU and RNN.
func recurrent(b *builder) []string {
	gates := map[string]int{"LSTM": 4, "GRU": 3, "RNN": 1}
	op := b.word("LSTM", "GRU", "RNN")
	steps, batch, in, hidden := b.between(1, 4), b.between(1, 3), b.between(1, 9), b.between(1, 9)
	direction, d := b.word("forward", "reverse", "bidirectional"), 1
	if direction == "bidirectional" {
		d = 2
	}
	g := gates[op]
	operands := []string{b.value(types.F32, steps, batch, in), b.weight(types.F32, d, g*hidden, in), b.weight(types.F32, d, g*hidden, hidden)}
	if b.IntN(2) == 0 {
		operands = append(operands, b.weight(types.F32, d, 2*g*hidden))
		if b.IntN(2) == 0 {
			operands = append(operands, "", b.value(types.F32, d, batch, hidden))
		}
	}
	attrs := []export.Attr{at("hidden_size", hidden), at("direction", direction)}
	if op == "GRU" {
		attrs = append(attrs, b.flag("linear_before_reset"))
	}
	if b.IntN(4) == 0 {
		attrs = append(attrs, at("clip", 0.5))
	}
	n := 2
	if op == "LSTM" {
		n = 3
	}
	return b.node(op, operands, b.between(1, n), attrs...)
}

// attention is ONNX's operator or what exporters spell it with.
func attention(b *builder) []string {
	batch, heads, q, k, h := b.between(1, 2), b.between(1, 4), b.between(1, 9), b.between(1, 17), []int{4, 8, 16, 5}[b.IntN(4)]
	if b.opset >= 23 && b.IntN(2) == 0 {
		in := []string{b.value(types.F32, batch, heads, q, h), b.value(types.F32, batch, heads, k, h), b.value(types.F32, batch, heads, k, h)}
		if b.IntN(2) == 0 {
			in = append(in, b.value(b.dtype(types.F32, types.Bool), q, k))
		}
		return []string{b.one("Attention", in, b.flag("is_causal"), b.maybe("softcap", 2.0), b.maybe("scale", 0.3))}
	}
	query := b.value(types.F32, batch, heads, q, h)
	key := b.one("Transpose", []string{b.value(types.F32, batch, heads, k, h)}, at("perm", []int{0, 1, 3, 2}))
	scores := b.one("MatMul", []string{query, key})
	scores = b.one(b.word("Mul", "Div"), []string{scores, b.number(types.F32, 0.5)})
	if b.IntN(2) == 0 {
		scores = b.one("Add", []string{scores, b.value(types.F32, b.stretched([]int{batch, heads, q, k})...)})
	}
	p := b.one("Softmax", []string{scores}, at("axis", -1))
	return []string{b.one("MatMul", []string{p, b.value(types.F32, batch, heads, k, h)})}
}

// matMulNBits is a product by weights of 4 or 8 bits in blocks, as language models are exported with.
func matMulNBits(b *builder) []string {
	bits, block := []int{4, 8}[b.IntN(2)], []int{16, 32, 64}[b.IntN(3)]
	k, n := b.between(1, 100), b.between(1, 40)
	blocks := (k + block - 1) / block
	in := []string{b.value(types.F32, b.between(1, 5), k), b.bytes(types.U8, n, blocks, block*bits/8), b.weight(types.F32, n*blocks)}
	if b.IntN(2) == 0 {
		in = append(in, b.bytes(types.U8, n*((blocks*bits+7)/8)))
	}
	return []string{b.one("com.microsoft.MatMulNBits", in, at("K", k), at("N", n), at("bits", bits), at("block_size", block))}
}
