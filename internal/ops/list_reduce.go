package ops

import "lathe/internal/op"

// reduceOps lists the operators that fold elements along axes.
var reduceOps = []*op.Def{
	Sum, Mean, Prod, Max, Min, Any, AllOf, ArgMax, ArgMin, CumSum, CumProd,
}
