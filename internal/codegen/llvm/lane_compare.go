package llvm

import (
	"fmt"
	"math"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/types"
)

// lanesCompare emits a comparison of indices that lanes decide, each by its distance from the first one, in 32 bits: a vector of floats has
// as many of them, and two of 64 bits. It reports false, having emitted nothing, where an index is no straight line or may be larger.
//
//	x[i + lane] where i + lane <= n   →   (i - n) <= -lane
func (e *emitter) lanesCompare(x *expr.Binary) (value, bool) {
	if e.vec == nil || !x.Op.Compares() || x.A.DType() != types.I64 {
		return value{}, false
	}
	d := arith.LinearOf(x.A).Sub(arith.LinearOf(x.B))
	coef, mixed := d.Coef(e.vec)
	span := d.Range(e.ranges)
	if mixed || coef == 0 || abs(coef)*int64(e.lanes) > math.MaxInt32 || span.Lo < math.MinInt32 || span.Hi > math.MaxInt32 {
		return value{}, false
	}
	for _, t := range d.Terms {
		if t.Atom != expr.Expr(e.vec) && (e.isVector(t.Atom) || hasLoad(t.Atom)) {
			return value{}, false
		}
	}
	p := e.place(d)
	first := constInt(p.off, types.I64)
	for _, t := range p.terms {
		first = e.arith("add", first, e.arith("mul", t.v, constInt(t.coef, types.I64)))
	}
	limits := make([]string, e.lanes)
	for i := range limits {
		limits[i] = fmt.Sprintf("i32 %d", -coef*int64(i))
	}
	lanes := value{t: types.I32, lanes: e.lanes, s: "<" + strings.Join(limits, ", ") + ">"}
	return e.compare(x.Op, e.splat(e.cast(types.I32, first), e.lanes), lanes), true
}
