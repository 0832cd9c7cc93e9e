package llvm

import (
	"lathe/internal/expr"
	"lathe/internal/types"
)

// roundings are LLVM's names of the functions that round to an integer.
var roundings = map[expr.Fn]string{expr.FnFloor: "floor", expr.FnCeil: "ceil", expr.FnTrunc: "trunc", expr.FnRound: "roundeven"}

// rounds reports whether the target has instructions that round to an integer, or LLVM a short sequence. Elsewhere it
// would call the C library, which a package has not.
func (e *emitter) rounds() bool {
	feature := e.target.ISA().Instructions.Rounds
	return feature == "" || e.target.Has(feature)
}

// round emits a function that rounds x to an integer. Where the target has no instruction for it, the sum of |x| and 2^23 (2^52 for float64) rounds to nearest even, because its last bit counts
// units, and one step corrects the direction. From that number on x is an integer already; infinities and NaN stay.
//
//	floor(x) = t - (t > x ? 1 : 0)  with  t = copysign((|x| + 2^23) - 2^23, x)
func (e *emitter) round(fn expr.Fn, x value) value {
	if e.rounds() {
		return e.call(roundings[fn], x)
	}
	bits := 23
	if x.t == types.F64 {
		bits = 52
	}
	number := func(v float64) value { return e.splat(constFloat(v, x.t), x.lanes) }
	large := number(float64(int64(1) << bits))
	size := e.call("fabs", x)
	t := e.arith("fsub", e.arith("fadd", size, large), large)
	step := func(t, from value, op, when string) value {
		return e.arith(op, t, e.choose(e.floatCompare(when, t, from), number(1), number(0)))
	}
	switch fn {
	case expr.FnTrunc:
		t = step(t, size, "fsub", "ogt")
	case expr.FnFloor:
		t = step(e.call("copysign", t, x), x, "fsub", "ogt")
	case expr.FnCeil:
		t = step(e.call("copysign", t, x), x, "fadd", "olt")
	}
	t = e.call("copysign", t, x)
	return e.choose(e.floatCompare("olt", size, large), t, x)
}
