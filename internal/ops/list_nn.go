package ops

import "lathe/internal/op"

// nnOps lists the operators of neural networks that are no function of single elements.
var nnOps = []*op.Def{
	Conv1d, Conv2d, Conv3d, Conv1dTranspose, Conv2dTranspose, Conv3dTranspose,
	Dense, Matmul, MatmulNBits, WinogradWeight, WinogradInput, WinogradProduct, WinogradConv,
	AvgPool1d, AvgPool2d, AvgPool3d, MaxPool1d, MaxPool2d, MaxPool3d, LpPool, MaxPoolIndices,
	Softmax, LogSoftmax,
	BatchNorm, InstanceNorm, GroupNorm, LayerNorm, RMSNorm, L2Normalize, LRN,
}
