package c

import (
	"math"
	"strconv"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/types"
)

// A value is a C expression.
type value struct {
	s      string
	prec   int
	narrow bool  // of type int64 in loop IR, and of type int32_t or smaller in C: indices
	known  bool  // an integer constant
	i      int64 // its value
	let    int   // 1 + the number of the declaration that let has written; 0: none
}

// Precedences of C's operators, as far as they are used without parentheses.
const (
	choice = iota
	either
	both
	bitwise
	equality
	relation
	shift
	sum
	product
	prefix
	atom
)

// in returns v's text for a place that needs a precedence of at least min.
func (v value) in(min int) string {
	if v.prec < min {
		return "(" + v.s + ")"
	}
	return v.s
}

// infix joins two values by an operator of the given precedence. Operands of equal precedence keep their order on the
// left only, so that sums of floats are rounded as they stand. Next to comparisons, shifts and operators on bits, what
// compilers warn of is in parentheses.
func infix(a value, op string, b value, prec int) value {
	left, right := prec, prec+1
	switch prec {
	case bitwise, shift:
		left, right = prefix, prefix
	case equality, relation:
		left, right = sum, sum
	}
	return value{s: a.in(left) + " " + op + " " + b.in(right), prec: prec}
}

// function is a call.
func function(name string, args ...value) value {
	var list []string
	for _, a := range args {
		list = append(list, a.s)
	}
	return value{s: name + "(" + strings.Join(list, ", ") + ")", prec: atom}
}

// converted is a conversion to a C type.
func converted(typ string, v value) value {
	return value{s: "(" + typ + ")" + v.in(prefix), prec: prefix}
}

// short are the types that support functions are named by.
var short = map[types.DType]string{
	types.I8: "i8", types.I16: "i16", types.I32: "i32", types.I64: "i64", types.U8: "u8", types.U16: "u16", types.U32: "u32",
	types.U64: "u64", types.F16: "f16", types.BF16: "bf16", types.F32: "f32", types.F64: "f64",
}

// typeNames are the C types that elements of memory have. 16-bit floats are their bits, integers of 4 bits the bytes of two.
var typeNames = map[types.DType]string{
	types.Bool: "uint8_t", types.I8: "int8_t", types.I16: "int16_t", types.I32: "int32_t", types.I64: "int64_t",
	types.U8: "uint8_t", types.U16: "uint16_t", types.U32: "uint32_t", types.U64: "uint64_t",
	types.F16: "uint16_t", types.BF16: "uint16_t", types.F32: "float", types.F64: "double",
	types.I4: "uint8_t", types.U4: "uint8_t",
}

func memType(t types.DType) string { return typeNames[t] }

// valueType is the C type of a variable that holds a value of type t.
func valueType(t types.DType, narrow bool) string {
	switch {
	case t == types.Bool:
		return "_Bool"
	case narrow:
		return "int32_t"
	}
	return typeNames[t]
}

// unsigned is the C type of the same width without a sign.
func unsigned(t types.DType) string { return "u" + strings.TrimPrefix(typeNames[t], "u") }

// fits32 reports whether all values of an interval are of type int32.
func fits32(i arith.Interval) bool { return i.Lo >= math.MinInt32 && i.Hi <= math.MaxInt32 }

// index is a constant of type int64.
func index(v int64) value { return integer(v, types.I64) }

// integer is a constant of an integer type or Bool.
func integer(v int64, t types.DType) value {
	r := value{s: strconv.FormatInt(v, 10), prec: atom, known: true, i: v, narrow: t == types.I64 && v >= math.MinInt32 && v <= math.MaxInt32}
	switch {
	case t == types.U64:
		r.s = strconv.FormatUint(uint64(v), 10) + "u"
		if uint64(v) > math.MaxUint32 {
			r.s += "ll"
		}
	case t == types.U32:
		r.s += "u"
	case v == math.MinInt32:
		r.s, r.prec = "-2147483647 - 1", sum
	case v == math.MinInt64:
		r.s, r.prec = "-9223372036854775807ll - 1", sum
	case !fits32(arith.Point(v)):
		r.s += "ll"
	}
	if v < 0 && r.prec == atom && t != types.U64 {
		r.prec = prefix
	}
	return r
}

// float is a constant of a float type; numbers read back to the same bits.
func (e *emitter) float(v float64, t types.DType) value {
	bits, suffix := 32, "f"
	if t == types.F64 {
		bits, suffix = 64, ""
	}
	switch {
	case v != v:
		return value{s: e.call("nan_"+short[t]) + "()", prec: atom}
	case math.IsInf(v, 1):
		return value{s: e.call("inf_"+short[t]) + "()", prec: atom}
	case math.IsInf(v, -1):
		return value{s: "-" + e.call("inf_"+short[t]) + "()", prec: prefix}
	}
	r := value{s: string(appendFloat(nil, v, bits)) + suffix, prec: atom}
	if v < 0 || v == 0 && math.Signbit(v) {
		r.prec = prefix
	}
	return r
}

// appendFloat writes the shortest decimal number that reads back to the bits of v, of 32 or 64, as C has it.
func appendFloat(b []byte, v float64, bits int) []byte {
	start := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, bits)
	for _, c := range b[start:] {
		if c == '.' || c == 'e' {
			return b
		}
	}
	return append(b, '.', '0')
}
