// Package eval computes scalar expressions exactly as package expr defines them: every operation is rounded or wrapped to
// its type. Expressions are compiled to closures. It knows no memory: its user says what a load is.
//
// Functions such as exp are those of package math in float64, rounded to the type once: the yardstick for approximations.
package eval

import (
	"fmt"
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// A Code computes an expression from the values of variables by slot. Values are encoded in 64 bits: integers sign- or
// zero-extended by their type, Bool as 0 or 1, F64 and F32 as their bits, 16-bit floats as the bits of their F32 value.
type Code func(slots []uint64) uint64

// A Compiler turns expressions into Code.
type Compiler struct {
	// Load makes the code of a load from the codes of its indices, which are I64. Nil: loads are errors.
	Load func(l *expr.Load, index []Code) (Code, error)
	// Contract rounds a product that is directly an operand of a float sum or difference together with it, as code
	// generation may.
	Contract bool
	slots    map[*expr.Var]int
}

// Slot is v's place among the slots. The first call for a variable makes one.
func (c *Compiler) Slot(v *expr.Var) int {
	n, ok := c.slots[v]
	if !ok {
		if c.slots == nil {
			c.slots = map[*expr.Var]int{}
		}
		n = len(c.slots)
		c.slots[v] = n
	}
	return n
}

// Slots is the number of slots that the code compiled so far needs.
func (c *Compiler) Slots() int { return len(c.slots) }

// Compile checks the types of e and makes its code. Variables that have no slot yet are errors.
func (c *Compiler) Compile(e expr.Expr) (Code, error) {
	if e == nil {
		return nil, fmt.Errorf("no expression")
	}
	if let, ok := e.(*expr.Let); ok {
		return c.let(let)
	}
	if c.Contract {
		if code, err := c.contracted(e); code != nil || err != nil {
			return code, err
		}
	}
	if d, ok := e.(*expr.Dot); ok {
		return c.dot(d)
	}
	args, err := c.all(expr.Children(e))
	if err != nil {
		return nil, err
	}
	if err := expr.Check(e); err != nil {
		return nil, fmt.Errorf("%w in %s", err, expr.String(e))
	}
	switch e := e.(type) {
	case *expr.Var:
		n, ok := c.slots[e]
		if !ok {
			return nil, fmt.Errorf("variable %s has no value", e.Name)
		}
		return func(s []uint64) uint64 { return s[n] }, nil
	case *expr.Int:
		v := uint64(e.V)
		return func([]uint64) uint64 { return v }, nil
	case *expr.Float:
		v := OfFloat(e.Type, e.V)
		return func([]uint64) uint64 { return v }, nil
	case *expr.Binary:
		return binary(e.Op, e.A.DType(), args[0], args[1]), nil
	case *expr.Unary:
		return unary(e.Fn, e.A.DType(), args[0]), nil
	case *expr.Select:
		cond, a, b := args[0], args[1], args[2]
		return func(s []uint64) uint64 {
			if cond(s) != 0 {
				return a(s)
			}
			return b(s)
		}, nil
	case *expr.Cast:
		return cast(e.A.DType(), e.To, args[0]), nil
	case *expr.Bits:
		return reinterpret(e.A.DType(), e.To, args[0]), nil
	case *expr.Load:
		if c.Load == nil {
			return nil, fmt.Errorf("load from %s", e.From.Label())
		}
		return c.Load(e, args)
	}
	return nil, fmt.Errorf("no expression: %T", e)
}

// contracted is the code of a*b+c, a*b-c, c+a*b and c-a*b, or nil for other expressions.
func (c *Compiler) contracted(e expr.Expr) (Code, error) {
	sum, ok := e.(*expr.Binary)
	if !ok || sum.Op != expr.OpAdd && sum.Op != expr.OpSub || !sum.A.DType().IsFloat() {
		return nil, nil
	}
	product := func(e expr.Expr) (*expr.Binary, bool) {
		b, ok := e.(*expr.Binary)
		return b, ok && b.Op == expr.OpMul
	}
	a, b := 1.0, 1.0 // the signs of product and addend
	p, ok := product(sum.A)
	other := sum.B
	if sum.Op == expr.OpSub {
		b = -1
	}
	if !ok {
		if p, ok = product(sum.B); !ok {
			return nil, nil
		}
		other, a, b = sum.A, b, 1
	}
	args, err := c.all([]expr.Expr{p.A, p.B, other})
	if err != nil {
		return nil, err
	}
	x, y, z := args[0], args[1], args[2]
	t := sum.A.DType()
	return func(s []uint64) uint64 {
		return OfFloat(t, math.FMA(a*Float(t, x(s)), Float(t, y(s)), b*Float(t, z(s))))
	}, nil
}

func (c *Compiler) all(es []expr.Expr) ([]Code, error) {
	codes := make([]Code, len(es))
	for i, e := range es {
		var err error
		if codes[i], err = c.Compile(e); err != nil {
			return nil, err
		}
	}
	return codes, nil
}

func (c *Compiler) let(e *expr.Let) (Code, error) {
	value, err := c.Compile(e.Value)
	if err != nil {
		return nil, err
	}
	n := c.Slot(e.Var)
	body, err := c.Compile(e.Body)
	if err != nil {
		return nil, err
	}
	if err := expr.Check(e); err != nil {
		return nil, err
	}
	return func(s []uint64) uint64 {
		s[n] = value(s)
		return body(s)
	}, nil
}

// dot adds the products of the loads, which are of integers.
func (c *Compiler) dot(d *expr.Dot) (Code, error) {
	if err := expr.Check(d); err != nil {
		return nil, err
	}
	var loads []expr.Expr
	for j := range d.Width() {
		a, b := d.Term(j)
		loads = append(loads, a, b)
	}
	codes, err := c.all(loads)
	if err != nil {
		return nil, err
	}
	return func(s []uint64) uint64 {
		sum := int32(0)
		for j := 0; j < len(codes); j += 2 {
			sum += int32(codes[j](s)) * int32(codes[j+1](s))
		}
		return wrap(types.I32, uint64(sum))
	}, nil
}

// Func compiles e as a function of vars. The result takes and returns encoded values and is not safe for concurrent use.
func Func(e expr.Expr, vars ...*expr.Var) (func(args ...uint64) uint64, error) {
	var c Compiler
	for _, v := range vars {
		c.Slot(v)
	}
	code, err := c.Compile(e)
	if err != nil {
		return nil, err
	}
	slots := make([]uint64, c.Slots())
	return func(args ...uint64) uint64 {
		copy(slots, args)
		return code(slots)
	}, nil
}

// OfFloat encodes a value of a float type, rounded to F32 for all but F64.
func OfFloat(t types.DType, v float64) uint64 {
	if t == types.F64 {
		return math.Float64bits(v)
	}
	return of32(float32(v))
}

// Float decodes a value of a float type.
func Float(t types.DType, v uint64) float64 {
	if t == types.F64 {
		return math.Float64frombits(v)
	}
	return float64(to32(v))
}

func of32(v float32) uint64 { return uint64(math.Float32bits(v)) }
func to32(v uint64) float32 { return math.Float32frombits(uint32(v)) }
func of64(v float64) uint64 { return math.Float64bits(v) }
func to64(v uint64) float64 { return math.Float64frombits(v) }
func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// wrap encodes the low bits of v as an integer of type t, or Bool.
func wrap(t types.DType, v uint64) uint64 {
	switch t {
	case types.Bool:
		return v & 1
	case types.I8:
		return uint64(int8(v))
	case types.I16:
		return uint64(int16(v))
	case types.I32:
		return uint64(int32(v))
	case types.U8:
		return uint64(uint8(v))
	case types.U16:
		return uint64(uint16(v))
	case types.U32:
		return uint64(uint32(v))
	}
	return v
}
