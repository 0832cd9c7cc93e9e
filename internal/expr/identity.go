package expr

import (
	"math"

	"lathe/internal/types"
)

// Identity is the value that a fold by op starts from and that changes nothing; ok is false for operators that have none.
// Or and And are those of bool.
func Identity(op Op, t types.DType) (e Expr, ok bool) {
	lo, hi := int64(0), int64(0)
	if !t.IsFloat() {
		lo, hi = t.IntRange()
	}
	switch {
	case op == OpAdd || op == OpOr:
		return Const(t, 0), true
	case op == OpMul || op == OpAnd:
		return Const(t, 1), true
	case (op == OpMax || op == OpGreater) && t.IsFloat():
		return Const(t, math.Inf(-1)), true
	case op == OpMin && t.IsFloat():
		return Const(t, math.Inf(1)), true
	case op == OpMax:
		return &Int{V: lo, Type: t}, true
	case op == OpMin && t == types.U64:
		return &Int{V: -1, Type: t}, true // all bits set
	case op == OpMin:
		return &Int{V: hi, Type: t}, true
	}
	return nil, false
}
