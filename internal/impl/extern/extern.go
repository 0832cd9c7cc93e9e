// Package extern holds kernels of operators that tensor expressions cannot say, or only at a cost.
package extern

import (
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// Algorithm makes kernels one by one.
var Algorithm = impl.Algorithm{Externs: map[*op.Def]impl.Extern{
	ops.AllClassNMS:     {Build: allClassNMS},
	ops.ArgWhere:        {Build: argWhere},
	ops.Compress:        {Build: compress},
	ops.CumProd:         {Build: cumulative(expr.OpMul, 1), OverTE: true},
	ops.CumSum:          {Build: cumulative(expr.OpAdd, 0), OverTE: true},
	ops.DynamicPack:     {Build: dynamicPack},
	ops.MaxUnpool:       {Build: maxUnpool},
	ops.RoiAlign:        {Build: roiAlign},
	ops.RoiPool:         {Build: roiPool},
	ops.ScatterElements: {Build: scatterElements},
	ops.ScatterND:       {Build: scatterND},
	ops.TopK:            {Build: topK},
}}
