package intrin

import (
	"lathe/internal/expr"
	"lathe/internal/types"
)

// An Entry states how good an expansion is.
type Entry struct {
	Name   string // as in expressions
	Type   types.DType
	MaxULP float64 // bound of the error in units in the last place; correct rounding has 0.5
	Notes  string  // where the bound does not hold
}

const (
	flush = "results below 2^-126 are 0"
	least = "results below 2^-125.5 are 0"
	huge  = "for |x| <= 2^20; beyond, the error grows as |x| 2^-53, and from about 2^50 on the result is that of 0"
	far   = "NaN where |x/y| >= 2^96"
)

// Table lists the expansions. The bounds are the greatest errors found, rounded up: in F32 on every 3rd to 31st number in
// generated code and every 257th with contraction, in F64 on 200000 arguments with and without.
func Table() []Entry {
	var table []Entry
	for _, r := range []struct {
		name     string
		f32, f64 float64
		n32, n64 string
	}{
		{expr.FnRsqrt.String(), 1.5, 1.5, "", ""},
		{expr.FnExp.String(), 1.1, 1.1, least, ""},
		{expr.FnExpNeg.String(), 4.5, 1.1, least + "; for x <= 0", "for x <= 0"},
		{expr.FnExpm1.String(), 1.8, 1.8, "", ""},
		{expr.FnLog.String(), 0.9, 0.85, "", ""},
		{expr.FnLog1p.String(), 1.5, 1.5, "", ""},
		{expr.FnTanh.String(), 5, 2.5, "", ""},
		{expr.FnSigmoid.String(), 6, 2, flush, "results below 2^-1022 are 0"},
		{expr.FnErf.String(), 2.7, 1.75, "", ""},
		{expr.FnSin.String(), 1.6, 2.2, huge, huge},
		{expr.FnCos.String(), 1.6, 2.2, huge, huge},
		{expr.FnTan.String(), 3.2, 3.5, huge, huge},
		{expr.FnAsin.String(), 2.5, 2.2, "", ""},
		{expr.FnAcos.String(), 1.4, 1.4, "", ""},
		{expr.FnAtan.String(), 3.1, 2, "", ""},
		{expr.FnSinh.String(), 1.75, 1.6, "", ""},
		{expr.FnCosh.String(), 1.5, 1.5, "", ""},
		{expr.FnAsinh.String(), 2.1, 1.8, "", ""},
		{expr.FnAcosh.String(), 2.6, 2, "", ""},
		{expr.FnAtanh.String(), 2.6, 2, "", ""},
		{expr.OpPow.String(), 0.51, 1.3, "", ""},
		{expr.OpAtan2.String(), 3.2, 2.3, "", ""},
		{expr.OpMod.String(), 0, 0, "", far},
		{expr.OpFloorMod.String(), 0.5, 0.5, "", far},
	} {
		table = append(table, Entry{r.name, types.F32, r.f32, r.n32}, Entry{r.name, types.F64, r.f64, r.n64})
	}
	return table
}
