package ops

import "lathe/internal/op"

// qnnOps lists the operators on quantised tensors. Scales and zero points are operands, usually constants.
var qnnOps = []*op.Def{
	Quantize,
	Dequantize,
	Requantize,
	QnnLookup,
	QnnConv1d,
	QnnConv2d,
	QnnConv3d,
	QnnMatmul,
}
