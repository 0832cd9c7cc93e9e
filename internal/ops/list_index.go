package ops

import "lathe/internal/op"

// indexOps lists the operators whose result depends on index operands or on the order of values.
var indexOps = []*op.Def{
	Take,
	Gather,
	GatherND,
	OneHot,
	ScatterElements,
	ScatterND,
	TensorScatter,
	TopK,
	MaxUnpool,
	RoiAlign,
	RoiPool,
	ArgWhere,
	Compress,
	DynamicPack,
	AllClassNMS,
}
