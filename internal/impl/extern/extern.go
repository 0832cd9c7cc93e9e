// Package extern holds kernels of operators that tensor expressions cannot say, or only at a cost.
package extern

import (
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// Algorithm makes kernels one by one.
var Algorithm = impl.Algorithm{
	Decisions: []impl.DecisionInfo{
		{Name: "row_blocks", Owner: "extern", Doc: "blocks into which a scatter cuts the rows that coordinates name, each of which looks at all updates", Prefer: "8 where to copy all rows is more work than that, else 1"},
		{Name: "channels", Owner: "extern", Doc: "channels of a region that are aligned with one table of sample points", Prefer: "32"},
		{Name: "sorted", Owner: "extern", Doc: "whether rows beside each other keep their best elements in order, a lane each, rather than in heaps"},
		{Name: "beside", Owner: "extern", Doc: "rows beside each other that a selection scans together, a lane each"},
		{Name: "scan", Owner: "extern", Doc: "vectors of a row by itself that are compared together with the worst of the best elements", Prefer: "4"},
	},
	Externs: map[*op.Def]impl.Extern{
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
	},
}
