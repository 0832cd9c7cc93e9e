package fuzz

import (
	"slices"
	"strings"

	export "lathe/internal/export/onnx"
	"lathe/internal/types"
)

// A template appends nodes and names the results that others may read. What does not import is taken back.
type template func(b *builder) []string

func at(name string, v any) export.Attr { return export.Attr{Name: name, Value: v} }

// templates are the uses of ONNX's operators, those of networks more often.
var templates = slices.Concat(repeat(6, convLayer), repeat(3, convTranspose), repeat(3, pooling), repeat(4, elementwise), repeat(3, broadcasting),
	repeat(3, gemm), repeat(3, matmul), repeat(3, softmax), repeat(3, norm), repeat(4, reduction), repeat(6, moving), repeat(3, indexing), repeat(2, resizing),
	repeat(4, quantizedLayer), repeat(2, qlinear), repeat(2, recurrent), repeat(2, attention), repeat(2, microsoft), repeat(2, matMulNBits), repeat(2, shapeArithmetic),
	[]template{casts, casts, einsum, dynamicExtent, loss, signal, variadic, clip, quantizeDynamic})

func repeat(n int, t template) []template { return slices.Repeat([]template{t}, n) }

// image is a value [N, C, spatial...] and its shape.
func (b *builder) image(d types.DType, spatial int) (string, []int) {
	s := []int{b.between(1, 2), []int{1, 2, 3, 4, 7, 8, 16, 17, 32, 33}[b.IntN(10)]}
	for range spatial {
		s = append(s, []int{1, 2, 3, 5, 7, 8, 9, 13, 16}[b.IntN(9)]/max(1, spatial-1)+1)
	}
	// Layers follow each other where an earlier value fits.
	for _, i := range b.Perm(len(b.values)) {
		if t := b.types[b.values[i]]; b.coin(4) && t.DType == d && t.Rank() == spatial+2 && t.Elements() > 0 {
			return b.values[i], t.Shape
		}
	}
	return b.value(d, s...), s
}

func (b *builder) spatial() int { return []int{2, 2, 2, 2, 1, 3}[b.IntN(6)] }

// each draws n numbers.
func (b *builder) each(n, lo, hi int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = b.between(lo, hi)
	}
	return v
}

// window are the attributes of convolutions and poolings.
func (b *builder) window(n int, kernel []int) []export.Attr {
	list := []export.Attr{b.maybe("strides", b.each(n, 1, 3))}
	if b.IntN(3) == 0 {
		list = append(list, at("dilations", b.each(n, 1, 2)))
	}
	switch b.IntN(4) {
	case 0:
		list = append(list, at("auto_pad", b.word("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")))
	case 1, 2:
		pads := make([]int, 2*n)
		for i := range pads {
			pads[i] = b.IntN(kernel[i%n] + 1)
		}
		list = append(list, at("pads", pads))
	}
	return list
}

var unaries = strings.Fields("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSwish Log Mish Neg Reciprocal Relu Round Sigmoid Sign " +
	"Sin Sinh Softplus Softsign Sqrt Tan Tanh Celu Elu LeakyRelu ThresholdedRelu Selu HardSigmoid Shrink Gelu Swish Identity Dropout")

func elementwise(b *builder) []string {
	x, _ := b.some(0, 6, floatTypes...)
	for range b.between(1, 3) {
		op := b.word(unaries...)
		var a export.Attr
		if slices.Contains([]string{"Celu", "Elu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid"}, op) {
			a = b.maybe("alpha", []float64{0.1, 0.5, 2}[b.IntN(3)])
		}
		x = b.one(op, []string{x}, a)
	}
	return []string{x}
}

// stretched is a shape that broadcasts with s.
func (b *builder) stretched(s []int) []int {
	t := slices.Clone(s[b.IntN(len(s)+1):])
	for i := range t {
		if b.IntN(3) == 0 {
			t[i] = 1
		}
	}
	return t
}

func broadcasting(b *builder) []string {
	op := b.word("Add", "Sub", "Mul", "Div", "Pow", "Mod", "PRelu", "Equal", "Less", "Greater", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor",
		"BitwiseAnd", "BitwiseOr", "BitShift", "Where", "Max", "Min")
	d := b.dtype(b.float(), b.float(), types.I32, types.I64, types.U8, types.I8, types.U32)
	var attrs []export.Attr
	switch op {
	case "And", "Or", "Xor":
		d = types.Bool
	case "BitwiseAnd", "BitwiseOr":
		d = b.dtype(types.I32, types.I64, types.U8, types.I16)
	case "BitShift":
		d = b.dtype(types.U8, types.U16, types.U32, types.U64)
		attrs = append(attrs, at("direction", b.word("LEFT", "RIGHT")))
	case "Mod":
		if d.IsFloat() {
			attrs = append(attrs, at("fmod", 1))
		}
	}
	x, t := b.some(0, 6, d)
	s := t.Shape
	y := b.value(d, b.stretched(s)...)
	if b.IntN(2) == 0 && op != "PRelu" {
		x, y = y, x
	}
	if op == "Where" {
		return []string{b.one(op, []string{b.value(types.Bool, b.stretched(s)...), x, y})}
	}
	return []string{b.one(op, []string{x, y}, attrs...)}
}

// casts goes through one or two other types, and often back.
func casts(b *builder) []string {
	x, t := b.some(0, 5, append([]types.DType{types.U8, types.Bool}, numberTypes...)...)
	to := []types.DType{types.DTypes()[b.IntN(len(types.DTypes()))], b.dtype(types.F16, types.BF16, types.F32, types.I8, types.U8)}
	if to = to[b.IntN(2):]; b.IntN(2) == 0 {
		to = append(to, t.DType)
	}
	for _, d := range to {
		x = b.one("Cast", []string{x}, at("to", export.ElemType(d)))
	}
	return []string{x}
}

func variadic(b *builder) []string {
	x, t := b.some(0, 5, floatTypes...)
	d, s := t.DType, t.Shape
	in := []string{x}
	for range b.IntN(4) {
		in = append(in, b.value(d, b.stretched(s)...))
	}
	return []string{b.one(b.word("Sum", "Mean", "Max", "Min"), in)}
}

func clip(b *builder) []string {
	x, t := b.some(0, 5, append([]types.DType{types.I8}, numberTypes...)...)
	d := t.DType
	in := []string{x, "", ""}
	for i := 1; i < 3; i++ {
		switch b.IntN(3) {
		case 0:
			in[i] = b.number(d, float64(b.between(-2, 2)))
		case 1:
			in[i] = b.value(d)
		}
	}
	return []string{b.one("Clip", in)}
}

func gemm(b *builder) []string {
	d := b.float()
	m, k, n := b.between(1, 17), b.between(1, 40), b.between(1, 40)
	ta, tb := b.IntN(2), b.IntN(2)
	two := func(x, y, t int) []int {
		if t == 1 {
			return []int{y, x}
		}
		return []int{x, y}
	}
	in := []string{b.value(d, two(m, k, ta)...), b.weight(d, two(k, n, tb)...)}
	if b.coin(3) {
		in = append(in, b.value(d, b.stretched([]int{m, n})...))
	}
	return []string{b.one("Gemm", in, at("transA", ta), at("transB", tb), b.maybe("alpha", 0.5), b.maybe("beta", []float64{0, 1, -2}[b.IntN(3)]))}
}

func matmul(b *builder) []string {
	d := b.dtype(b.float(), b.float(), b.float(), types.I32, types.I64)
	batch := b.shape(0, 2)
	m, k, n := b.between(1, 20), b.between(1, 40), b.between(1, 40)
	x, y := append(b.stretched(batch), m, k), append(b.stretched(batch), k, n)
	switch b.IntN(8) {
	case 0:
		x = []int{k}
	case 1:
		y = []int{k}
	}
	if b.IntN(2) == 0 {
		return []string{b.one("MatMul", []string{b.value(d, x...), b.weight(d, y...)})}
	}
	return []string{b.one("MatMul", []string{b.value(d, x...), b.value(d, y...)})}
}

func softmax(b *builder) []string {
	x, t := b.some(1, 5, floatTypes...)
	return []string{b.one(b.word("Softmax", "Softmax", "LogSoftmax", "Hardmax"), []string{x}, b.maybe("axis", b.axis(t.Rank())))}
}

func norm(b *builder) []string {
	d := b.float()
	x, s := b.image(d, b.spatial())
	c := s[1]
	w := func(n ...int) string { return b.weight(d, n...) }
	eps := b.maybe("epsilon", 1e-3)
	switch b.IntN(9) {
	case 0:
		return []string{b.one("InstanceNormalization", []string{x, w(c), w(c)}, eps)}
	case 1:
		a := b.axis(len(s))
		k := (a + len(s)) % len(s)
		in := []string{x, w(s[k:]...)}
		if b.IntN(2) == 0 {
			in = append(in, w(s[k:]...))
		}
		return b.node("LayerNormalization", in, []int{1, 1, 3}[b.IntN(3)], at("axis", a), eps)
	case 2:
		groups := []int{1, c}[b.IntN(2)]
		n := c
		if b.opset < 21 {
			n = groups
		}
		return []string{b.one("GroupNormalization", []string{x, w(n), w(n)}, at("num_groups", groups), eps)}
	case 3:
		return []string{b.one("LRN", []string{x}, at("size", b.between(1, 5)), b.maybe("alpha", 0.1), b.maybe("beta", 0.5), b.maybe("bias", 2.0))}
	case 4:
		return []string{b.one("LpNormalization", []string{x}, b.maybe("p", b.between(1, 2)), b.maybe("axis", b.axis(len(s))))}
	case 5:
		return []string{b.one("MeanVarianceNormalization", []string{x}, b.maybe("axes", []int{b.IntN(len(s))}))}
	case 6:
		k := b.IntN(len(s))
		return []string{b.one("RMSNormalization", []string{x, w(s[k:]...)}, at("axis", k), eps)}
	case 7: // spelled out, as exporters do
		mean := b.one("ReduceMean", b.withAxes(x, -1))
		y := b.one("Sub", []string{x, mean})
		square := b.one("Pow", []string{y, b.number(d, 2)})
		v := b.one("Sqrt", []string{b.one("Add", []string{b.one("ReduceMean", b.withAxes(square, -1)), b.number(d, 1e-5)})})
		return []string{b.one("Mul", []string{b.one("Div", []string{y, v}), w(s[len(s)-1])})}
	}
	return []string{b.one("BatchNormalization", []string{x, w(c), w(c), w(c), b.one("Abs", []string{w(c)})}, eps)}
}

// withAxes are the operands of a reduction; before opset 18 only of those with the default axes.
func (b *builder) withAxes(x string, axes ...int) []string {
	if b.opset < 18 {
		return []string{x}
	}
	return []string{x, b.ints(axes...)}
}

func reduction(b *builder) []string {
	x, t := b.some(0, 5, numberTypes...)
	s := t.Shape
	op := b.word("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp",
		"ArgMax", "ArgMin", "CumSum", "CumProd")
	rank := len(s)
	switch op {
	case "ArgMax", "ArgMin":
		return []string{b.one(op, []string{x}, b.maybe("axis", b.axis(rank)), b.flag("keepdims"), b.flag("select_last_index"))}
	case "CumSum", "CumProd":
		return []string{b.one(op, []string{x, b.number(types.I64, float64(b.axis(rank)))}, b.flag("exclusive"), b.flag("reverse"))}
	}
	var axes []int
	for _, a := range b.Perm(rank)[:b.IntN(rank+1)] {
		axes = append(axes, a-rank*b.IntN(2))
	}
	if b.opset >= 18 || op == "ReduceSum" && b.opset >= 13 {
		in := []string{x}
		if b.coin(4) {
			in = append(in, b.ints(axes...))
		}
		return []string{b.one(op, in, b.flag("keepdims"), b.flag("noop_with_empty_axes"))}
	}
	a := export.Attr{}
	if len(axes) > 0 {
		a = at("axes", axes)
	}
	return []string{b.one(op, []string{x}, a, b.flag("keepdims"))}
}

func loss(b *builder) []string {
	n, c, d := b.between(1, 5), b.between(2, 7), b.between(1, 4)
	x, y := b.value(types.F32, n, c, d), b.value(types.I64, n, d)
	red := b.maybe("reduction", b.word("none", "mean", "sum"))
	if b.IntN(2) == 0 {
		return []string{b.one("NegativeLogLikelihoodLoss", []string{x, y}, red)}
	}
	return []string{b.one("SoftmaxCrossEntropyLoss", []string{x, y}, red, b.maybe("ignore_index", 1))}
}

func signal(b *builder) []string {
	n := b.between(2, 12)
	switch b.IntN(3) {
	case 0:
		x := b.value(types.F32, b.between(1, 2), n, b.between(1, 2))
		if b.opset >= 20 {
			return []string{b.one("DFT", []string{x, "", b.number(types.I64, 1)}, b.flag("inverse"))}
		}
		return []string{b.one("DFT", []string{x}, at("axis", 1), b.flag("onesided"))}
	case 1:
		return []string{b.one("Mul", []string{b.value(types.F32, n), b.one(b.word("HannWindow", "HammingWindow", "BlackmanWindow"), []string{b.number(types.I64, float64(n))}, b.flag("periodic"))})}
	}
	return []string{b.one("STFT", []string{b.value(types.F32, 1, 4*n, 1), b.number(types.I64, float64(b.between(1, 3))), "", b.number(types.I64, float64(n))}, b.flag("onesided"))}
}
