// Package dim is the language of sizes that a model leaves open: names, and expressions over names as exporters write
// them into a declared shape, such as "past_sequence_length + 1", "2*batch" and "floor(seq/2)". Solve finds the sizes of
// names from the sizes of expressions.
//
// Arithmetic is exact: seq/2 is a fraction until something rounds it, and a size that is none is an error.
package dim

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// An Expr is a size over names. It does not change.
type Expr struct {
	op   op
	num  *big.Rat // of a number
	name string   // of a symbol
	args []*Expr
}

type op uint8

const (
	number op = iota
	symbol
	add
	sub
	mul
	div
	floorDiv
	modulo
	power
	negate
	floor
	ceil
	least
	greatest
	absolute
)

// Name is the expression that is one symbol, whatever the name holds.
func Name(name string) *Expr { return &Expr{op: symbol, name: name} }

// Size is the expression that is one number.
func Size(n int) *Expr { return &Expr{op: number, num: new(big.Rat).SetInt64(int64(n))} }

// IsName reports whether e is one symbol, and which.
func (e *Expr) IsName() (string, bool) { return e.name, e.op == symbol }

// Symbols lists the names in e, each once, in the order they first stand there.
func (e *Expr) Symbols() []string {
	var names []string
	e.walk(func(x *Expr) {
		if x.op == symbol && !slices.Contains(names, x.name) {
			names = append(names, x.name)
		}
	})
	return names
}

func (e *Expr) walk(visit func(*Expr)) {
	visit(e)
	for _, a := range e.args {
		a.walk(visit)
	}
}

// MaxSize bounds sizes; it is that of a tensor's elements.
const MaxSize = 1 << 40

var errRange = errors.New("the number is out of range")

// Eval is the size of e where sizes gives every symbol one.
func (e *Expr) Eval(sizes map[string]int) (int, error) {
	v, err := e.value(sizes)
	switch {
	case err != nil:
		return 0, err
	case !v.IsInt():
		return 0, fmt.Errorf("%s is %s, not a whole number", e, v.RatString())
	case v.Sign() < 0:
		return 0, fmt.Errorf("%s is %s, below 0", e, v.RatString())
	case v.Cmp(new(big.Rat).SetInt64(MaxSize)) > 0:
		return 0, fmt.Errorf("%s is more than %d", e, MaxSize)
	}
	return int(v.Num().Int64()), nil
}

func (e *Expr) value(sizes map[string]int) (*big.Rat, error) {
	switch e.op {
	case number:
		return e.num, nil
	case symbol:
		n, ok := sizes[e.name]
		if !ok {
			return nil, fmt.Errorf("%s has no size", e.name)
		}
		return new(big.Rat).SetInt64(int64(n)), nil
	}
	args := make([]*big.Rat, len(e.args))
	for i, a := range e.args {
		v, err := a.value(sizes)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return apply(e.op, args)
}

// apply computes one operation, whose numbers stay below some hundred bits.
func apply(o op, x []*big.Rat) (*big.Rat, error) {
	z := new(big.Rat)
	switch o {
	case add:
		z.Add(x[0], x[1])
	case sub:
		z.Sub(x[0], x[1])
	case mul:
		z.Mul(x[0], x[1])
	case div, floorDiv, modulo:
		if x[1].Sign() == 0 {
			return nil, errors.New("division by 0")
		}
		z.Quo(x[0], x[1])
		if o != div {
			z = rounded(z, false)
		}
		if o == modulo {
			z.Sub(x[0], z.Mul(z, x[1]))
		}
	case power:
		if !x[1].IsInt() || x[1].Sign() < 0 || x[1].Cmp(big.NewRat(16, 1)) > 0 {
			return nil, errors.New("the exponent must be a whole number from 0 to 16")
		}
		z.SetInt64(1)
		for range x[1].Num().Int64() {
			z.Mul(z, x[0])
		}
	case negate:
		z.Neg(x[0])
	case floor:
		z = rounded(x[0], false)
	case ceil:
		z = rounded(x[0], true)
	case absolute:
		z.Abs(x[0])
	case least, greatest:
		z.Set(x[0])
		for _, v := range x[1:] {
			if (v.Cmp(z) < 0) == (o == least) {
				z.Set(v)
			}
		}
	}
	if z.Num().BitLen() > 128 || z.Denom().BitLen() > 128 {
		return nil, errRange
	}
	return z, nil
}

func rounded(x *big.Rat, up bool) *big.Rat {
	q := new(big.Int)
	if up {
		q.Neg(q.Div(new(big.Int).Neg(x.Num()), x.Denom()))
	} else {
		q.Div(x.Num(), x.Denom()) // rounds down, since the denominator is positive
	}
	return new(big.Rat).SetInt(q)
}

// signs are the operators that stand between their operands, with how tightly they bind.
var signs = map[op]struct {
	text  string
	level int
}{add: {"+", 1}, sub: {"-", 1}, mul: {"*", 2}, div: {"/", 2}, floorDiv: {"//", 2}, modulo: {"%", 2}, power: {"**", 4}}

// String prints e as Parse reads it.
func (e *Expr) String() string { return e.text(0) }

func (e *Expr) text(level int) string {
	switch e.op {
	case number:
		if e.num.IsInt() {
			return e.num.RatString()
		}
		return "(" + e.num.RatString() + ")"
	case symbol:
		return e.name
	case negate:
		return paren(level > 1, "-"+e.args[0].text(3))
	}
	if s, ok := signs[e.op]; ok {
		left, right := s.level, s.level+1
		if e.op == power {
			left, right = s.level+1, s.level
		}
		return paren(level > s.level, e.args[0].text(left)+s.text+e.args[1].text(right))
	}
	args := make([]string, len(e.args))
	for i, a := range e.args {
		args[i] = a.text(0)
	}
	return functionNames[e.op] + "(" + strings.Join(args, ", ") + ")"
}

func paren(need bool, text string) string {
	if need {
		return "(" + text + ")"
	}
	return text
}

// A ratio reads "12" and "0.5".
func ratio(text string) (*big.Rat, bool) {
	if _, err := strconv.ParseFloat(text, 64); err != nil || len(text) > 20 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}
