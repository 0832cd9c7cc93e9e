package expr

import (
	"fmt"

	"lathe/internal/types"
)

// Check reports whether the operands of e itself fit it; operands of operands are not looked at. 16-bit floats may be
// cast and reinterpreted, nothing else.
func Check(e Expr) error {
	switch e := e.(type) {
	case *Var:
		return checkComputed(e.Type)
	case *Int:
		return checkInt(e)
	case *Float:
		if e.Type != types.F32 && e.Type != types.F64 {
			return fmt.Errorf("a float constant of type %s", e.Type)
		}
	case *Binary:
		return checkBinary(e)
	case *Unary:
		if int(e.Fn) >= len(fnNames) {
			return fmt.Errorf("function %d does not exist", e.Fn)
		}
		if t := e.A.DType(); !e.Fn.Takes(t) {
			return fmt.Errorf("%s of %s", e.Fn, t)
		}
	case *Select:
		if t := e.Cond.DType(); t != types.Bool {
			return fmt.Errorf("select by a condition of type %s", t)
		}
		if a, b := e.A.DType(), e.B.DType(); a != b {
			return fmt.Errorf("select of %s and %s", a, b)
		}
	case *Cast:
		if e.To < types.Bool || e.To > types.F64 {
			return fmt.Errorf("cast to an unknown type")
		}
	case *Bits:
		if a := e.A.DType(); a.Size() != e.To.Size() || a == types.Bool || e.To == types.Bool {
			return fmt.Errorf("bits of %s as %s", a, e.To)
		}
	case *Load:
		if e.From == nil {
			return fmt.Errorf("load from nothing")
		}
		for i, x := range e.Index {
			if t := x.DType(); t != types.I64 {
				return fmt.Errorf("index %d of %s has type %s, not int64", i, e.From.Label(), t)
			}
		}
	case *Let:
		if v, t := e.Var.Type, e.Value.DType(); v != t {
			return fmt.Errorf("let %s: %s has a value of type %s", e.Var.Name, v, t)
		}
	case *Dot:
		return e.check()
	default:
		return fmt.Errorf("no expression: %T", e)
	}
	return nil
}

func checkComputed(t types.DType) error {
	if t < types.Bool || t > types.F64 || t != t.Compute() {
		return fmt.Errorf("a variable of type %s", t)
	}
	return nil
}

func checkInt(c *Int) error {
	if !c.Type.IsInt() && c.Type != types.Bool {
		return fmt.Errorf("an integer constant of type %s", c.Type)
	}
	if lo, hi := c.Type.IntRange(); c.Type != types.U64 && (c.V < lo || c.V > hi) {
		return fmt.Errorf("%d does not fit %s", c.V, c.Type)
	}
	return nil
}

func checkBinary(b *Binary) error {
	if int(b.Op) >= len(opNames) {
		return fmt.Errorf("operator %d does not exist", b.Op)
	}
	x, y := b.A.DType(), b.B.DType()
	if x != y {
		return fmt.Errorf("%s of %s and %s", b.Op, x, y)
	}
	if !b.Op.Takes(x) {
		return fmt.Errorf("%s of %s", b.Op, x)
	}
	return nil
}

// Takes reports whether operands of type t are allowed.
func (o Op) Takes(t types.DType) bool {
	float := t == types.F32 || t == types.F64
	switch o {
	case OpAdd, OpSub, OpMul, OpDiv, OpMod, OpFloorMod, OpMin, OpMax, OpLT, OpLE, OpGT, OpGE:
		return t.IsInt() || float
	case OpFloorDiv, OpShl, OpShr:
		return t.IsInt()
	case OpGreater, OpPow, OpAtan2:
		return float
	case OpAnd, OpOr, OpXor:
		return t.IsInt() || t == types.Bool
	case OpEQ, OpNE:
		return t.IsInt() || float || t == types.Bool
	}
	return false
}

// Takes reports whether an operand of type t is allowed.
func (f Fn) Takes(t types.DType) bool {
	float := t == types.F32 || t == types.F64
	switch f {
	case FnNeg, FnAbs:
		return t.IsInt() || float
	case FnNot:
		return t.IsInt() || t == types.Bool
	case FnPopcnt, FnClz:
		return t.IsInt()
	}
	return float
}
