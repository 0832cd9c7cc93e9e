// Package expr is the language of scalar expressions that tensor expressions and loop IR share.
//
// Every expression is total and has one element type: see the operators in ops.go for their exact meaning. Index
// arithmetic is in I64. The package builds, walks and prints expressions; package arith simplifies them.
package expr

import (
	"fmt"

	"lathe/internal/types"
)

// An Expr is one of Var, Int, Float, Binary, Unary, Select, Cast, Bits, Load, Let and Dot, always as a pointer.
// Expressions are immutable and may share sub-expressions.
type Expr interface{ DType() types.DType }

// A Var is a loop variable, an axis or a let-bound value. Identity is the pointer; Name is for people.
type Var struct {
	Name string
	Type types.DType
}

// An Int is a constant of an integer type or Bool.
type Int struct {
	V    int64
	Type types.DType
}

// A Float is a constant of type F32 or F64 (16-bit floats are storage only).
type Float struct {
	V    float64
	Type types.DType
}

// A Binary applies Op; see the Op table for operand and result types.
type Binary struct {
	Op   Op
	A, B Expr
}

// A Unary applies Fn to A and keeps A's type, except for predicates, which give Bool.
type Unary struct {
	Fn Fn
	A  Expr
}

// A Select is A where Cond holds and B elsewhere. Only the chosen operand is evaluated, so Cond may guard a Load.
type Select struct{ Cond, A, B Expr }

// A Cast converts by value: float to integer saturates (NaN gives 0), integers wrap, Bool is x != 0, floats round to even.
type Cast struct {
	To types.DType
	A  Expr
}

// Bits reinterprets A's bits as type To of the same size.
type Bits struct {
	To types.DType
	A  Expr
}

// A Source is something elements can be loaded from: a te stage or a loop buffer.
type Source interface {
	Label() string
	Elem() types.DType
}

// A Load reads one element. Its type is the Compute type of the source's element type: F16 and BF16 are widened.
type Load struct {
	From  Source
	Index []Expr
}

// A Let binds Var to Value within Body. The value is evaluated once.
type Let struct {
	Var         *Var
	Value, Body Expr
}

func (v *Var) DType() types.DType    { return v.Type }
func (c *Int) DType() types.DType    { return c.Type }
func (c *Float) DType() types.DType  { return c.Type }
func (s *Select) DType() types.DType { return s.A.DType() }
func (c *Cast) DType() types.DType   { return c.To }
func (c *Bits) DType() types.DType   { return c.To }
func (l *Load) DType() types.DType   { return l.From.Elem().Compute() }
func (l *Let) DType() types.DType    { return l.Body.DType() }
func (d *Dot) DType() types.DType    { return types.I32 }
func (b *Binary) DType() types.DType {
	if b.Op.Compares() {
		return types.Bool
	}
	return b.A.DType()
}
func (u *Unary) DType() types.DType {
	if u.Fn.Predicate() {
		return types.Bool
	}
	return u.A.DType()
}

// Index returns an I64 constant.
func Index(v int) *Int { return &Int{int64(v), types.I64} }

// NewVar returns a fresh I64 variable.
func NewVar(name string) *Var { return &Var{name, types.I64} }

// Const returns v as a constant of type t, which must be a compute type. Integers saturate.
func Const(t types.DType, v float64) Expr {
	if t.IsFloat() {
		return &Float{v, t}
	}
	lo, hi := t.IntRange()
	switch {
	case v != v:
		return &Int{0, t}
	case v <= float64(lo):
		return &Int{lo, t}
	case v >= float64(hi):
		return &Int{hi, t}
	}
	return &Int{int64(v), t}
}

// IntOf returns the value of an integer constant.
func IntOf(e Expr) (int64, bool) {
	if c, ok := e.(*Int); ok {
		return c.V, true
	}
	return 0, false
}

// IsInt reports whether e is the integer constant v.
func IsInt(e Expr, v int64) bool {
	c, ok := e.(*Int)
	return ok && c.V == v
}

// Bin builds a Binary and panics when the operand types do not fit: that is a fault of the caller, not of a model.
func Bin(op Op, a, b Expr) *Binary {
	if a.DType() != b.DType() {
		panic(fmt.Sprintf("expr: %s of %s and %s: %s, %s", op, a.DType(), b.DType(), String(a), String(b)))
	}
	return &Binary{op, a, b}
}

func Add(a, b Expr) Expr { return Bin(OpAdd, a, b) }
func Sub(a, b Expr) Expr { return Bin(OpSub, a, b) }
func Mul(a, b Expr) Expr { return Bin(OpMul, a, b) }
func Div(a, b Expr) Expr { return Bin(OpDiv, a, b) }
func Min(a, b Expr) Expr { return Bin(OpMin, a, b) }
func Max(a, b Expr) Expr { return Bin(OpMax, a, b) }
func And(a, b Expr) Expr { return Bin(OpAnd, a, b) }
func Or(a, b Expr) Expr  { return Bin(OpOr, a, b) }
func LT(a, b Expr) Expr  { return Bin(OpLT, a, b) }
func LE(a, b Expr) Expr  { return Bin(OpLE, a, b) }
func GE(a, b Expr) Expr  { return Bin(OpGE, a, b) }
func EQ(a, b Expr) Expr  { return Bin(OpEQ, a, b) }

// Call applies a function of one argument.
func Call(f Fn, a Expr) Expr { return &Unary{f, a} }

// CastTo converts a to t, or returns a when it has that type.
func CastTo(t types.DType, a Expr) Expr {
	if a.DType() == t {
		return a
	}
	return &Cast{t, a}
}

// AllOf is the conjunction of conds; nil means always.
func AllOf(conds ...Expr) Expr {
	var all Expr
	for _, c := range conds {
		switch {
		case c == nil:
		case all == nil:
			all = c
		default:
			all = And(all, c)
		}
	}
	return all
}

// If is Select with a nil condition meaning always.
func If(cond, a, b Expr) Expr {
	if cond == nil {
		return a
	}
	return &Select{cond, a, b}
}
