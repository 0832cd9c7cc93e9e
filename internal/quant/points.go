package quant

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// A class says what an operator means to the values around it.
type class uint8

const (
	// float operators compute with floats, whose operands and results are quantised only because of others.
	float class = iota
	// product operators are sums of products with constant weights: what they read is quantised, and they compute on integers.
	product
	// move operators move or compare elements: their result has the scale of their operands, and they run on integers.
	move
	// between operators compute with floats in the registers of the kernel before them: their result is quantised only where a
	// product reads it.
	between
)

// table is the table of points: every operator of package ops stands in it once. The moves are those that
// FakeQuantizationToInteger takes scales through.
var table = [...][]*op.Def{
	product: {ops.Conv1d, ops.Conv2d, ops.Conv3d, ops.Dense, ops.Matmul},
	move: {
		ops.MaxPool1d, ops.MaxPool2d, ops.MaxPool3d, ops.Reshape, ops.Transpose, ops.StridedSlice, ops.Concatenate, ops.DepthToSpaceND,
	},
	between: {
		ops.Abs, ops.Acos, ops.Acosh, ops.Asin, ops.Asinh, ops.Atan, ops.Atanh, ops.BitwiseNot, ops.Ceil, ops.Copy, ops.Cos, ops.Cosh, ops.Erf,
		ops.Exp, ops.Expm1, ops.Floor, ops.HardSwish, ops.IsNaN, ops.Log, ops.Log1p, ops.LogicalNot, ops.Mish, ops.Negative, ops.Reciprocal,
		ops.Relu, ops.Round, ops.Rsqrt, ops.Sigmoid, ops.Sign, ops.Sin, ops.Sinh, ops.Softplus, ops.Softsign, ops.Sqrt, ops.Tan, ops.Tanh,
		ops.Trunc, ops.Cast, ops.Celu, ops.Clip, ops.Elu, ops.HardSigmoid, ops.IsInf, ops.LeakyRelu, ops.Selu, ops.Shrink, ops.ThresholdedRelu,
		ops.Add, ops.Atan2, ops.BitwiseAnd, ops.BitwiseOr, ops.BitwiseXor, ops.Divide, ops.Equal, ops.FloorDivide, ops.FloorMod, ops.Greater,
		ops.GreaterEqual, ops.LeftShift, ops.Less, ops.LessEqual, ops.LogicalAnd, ops.LogicalOr, ops.LogicalXor, ops.Maximum, ops.Minimum,
		ops.Mod, ops.Multiply, ops.NotEqual, ops.Power, ops.RightShift, ops.Subtract, ops.Prelu, ops.Where,
		ops.Mean, ops.AvgPool1d, ops.AvgPool2d, ops.AvgPool3d,
	},
	float: {
		ops.Sum, ops.Prod, ops.Max, ops.Min, ops.Any, ops.AllOf, ops.ArgMax, ops.ArgMin, ops.CumSum, ops.CumProd,
		ops.Conv1dTranspose, ops.Conv2dTranspose, ops.Conv3dTranspose,
		ops.WinogradWeight, ops.WinogradInput, ops.WinogradProduct, ops.WinogradConv, ops.LpPool, ops.MaxPoolIndices, ops.Softmax, ops.LogSoftmax,
		ops.BatchNorm, ops.InstanceNorm, ops.GroupNorm, ops.LayerNorm, ops.RMSNorm, ops.L2Normalize, ops.LRN,
		ops.Split, ops.Pad, ops.BroadcastTo, ops.Tile, ops.Repeat, ops.Reverse, ops.ReverseSequence, ops.SpaceToDepth, ops.DepthToSpace,
		ops.LayoutTransform, ops.Trilu, ops.Col2Im, ops.Resize, ops.GridSample, ops.AffineGrid,
		ops.Take, ops.Gather, ops.GatherND, ops.OneHot, ops.ScatterElements, ops.ScatterND, ops.TensorScatter, ops.TopK, ops.MaxUnpool,
		ops.RoiAlign, ops.RoiPool, ops.ArgWhere, ops.Compress, ops.DynamicPack, ops.AllClassNMS,
		ops.MatmulNBits, ops.Quantize, ops.Dequantize, ops.Requantize, ops.QnnConv1d, ops.QnnConv2d, ops.QnnConv3d, ops.QnnMatmul, ops.QnnLookup,
	},
}

// classes is the table by operator.
var classes = func() map[*op.Def]class {
	by := map[*op.Def]class{}
	for c, list := range table {
		for _, d := range list {
			by[d] = class(c)
		}
	}
	return by
}()

// isMove reports whether a node moves or compares elements, all of which are computed.
func isMove(n *graph.Node) bool {
	return classes[n.Op] == move && !slices.ContainsFunc(moved(n), func(v *graph.Value) bool { return v.Value() != nil })
}

// moved are the operands whose elements a move takes.
func moved(n *graph.Node) []*graph.Value {
	if n.Op == ops.Concatenate {
		return n.In
	}
	return n.In[:1]
}
