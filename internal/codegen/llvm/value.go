package llvm

import (
	"fmt"
	"math"
	"strconv"

	"lathe/internal/types"
)

// A value is an SSA value or constant: a scalar, or a vector when lanes is not 0. Booleans are i1.
type value struct {
	t     types.DType
	lanes int
	s     string
	known bool   // an integer constant
	i     int64  // its value
	digit *digit // the value is an element of 4 bits; nil: not known to be
}

func constInt(v int64, t types.DType) value {
	s := strconv.FormatInt(v, 10)
	if t == types.Bool {
		s = strconv.FormatBool(v != 0)
	}
	return value{t: t, s: s, known: true, i: v}
}

// constFloat writes a float constant exactly: LLVM takes the bits of the double for both widths.
func constFloat(v float64, t types.DType) value {
	if t == types.F32 {
		v = float64(float32(v))
	}
	return value{t: t, s: fmt.Sprintf("0x%016X", math.Float64bits(v))}
}

// llvmTypes are the names of element types. A bfloat16 is its bits: LLVM calls a library to narrow to its bfloat.
var llvmTypes = map[types.DType]string{
	types.Bool: "i1", types.I8: "i8", types.I16: "i16", types.I32: "i32", types.I64: "i64",
	types.U8: "i8", types.U16: "i16", types.U32: "i32", types.U64: "i64",
	types.F16: "half", types.BF16: "i16", types.F32: "float", types.F64: "double",
}

func typeOf(t types.DType, lanes int) string {
	if lanes == 0 {
		return llvmTypes[t]
	}
	return "<" + strconv.Itoa(lanes) + " x " + llvmTypes[t] + ">"
}

func (v value) typ() string { return typeOf(v.t, v.lanes) }

// String is the operand with its type.
func (v value) String() string { return v.typ() + " " + v.s }

// suffix is the type's part of an intrinsic's name: f32, v8i64.
func suffix(t types.DType, lanes int) string {
	s := llvmTypes[t]
	switch s {
	case "float":
		s = "f32"
	case "double":
		s = "f64"
	}
	if lanes > 0 {
		return fmt.Sprintf("v%d%s", lanes, s)
	}
	return s
}

// splat widens a scalar to n lanes; n 0 or a vector leaves it as it is.
func (e *emitter) splat(v value, n int) value {
	if v.lanes == n || n == 0 {
		return v
	}
	if v.lanes != 0 {
		fail("vectors of %d and %d lanes", v.lanes, n)
	}
	w := value{t: v.t, lanes: n}
	if v.known || v.t.IsFloat() && v.s[0] == '0' {
		w.s = fmt.Sprintf("splat (%s)", v)
		return w
	}
	one := e.temp("insertelement %s poison, %s, i64 0", w.typ(), v)
	w.s = e.temp("shufflevector %s %s, %s poison, <%d x i32> zeroinitializer", w.typ(), one, w.typ(), n)
	return w
}

// same widens the narrower of two values.
func (e *emitter) same(a, b value) (value, value) {
	n := max(a.lanes, b.lanes)
	return e.splat(a, n), e.splat(b, n)
}

// lane extracts one element.
func (e *emitter) lane(v value, i int) value {
	if v.lanes == 0 {
		return v
	}
	return value{t: v.t, s: e.temp("extractelement %s, i64 %d", v, i)}
}

// arith emits an integer instruction, folding constants and the identities of index arithmetic.
func (e *emitter) arith(op string, a, b value) value {
	if a.known && b.known {
		switch op {
		case "add":
			return constInt(a.i+b.i, a.t)
		case "sub":
			return constInt(a.i-b.i, a.t)
		case "mul":
			return constInt(a.i*b.i, a.t)
		}
	}
	switch {
	case b.known && b.i == 0 && (op == "add" || op == "sub"), b.known && b.i == 1 && op == "mul":
		return a
	case a.known && a.i == 0 && op == "add", a.known && a.i == 1 && op == "mul":
		return b
	}
	a, b = e.same(a, b)
	return value{t: a.t, lanes: a.lanes, s: e.temp("%s %s, %s", op, a, b.s)}
}

// call emits an intrinsic whose operands and result have one type.
func (e *emitter) call(name string, args ...value) value {
	return e.callTo(args[0].t, "", name+"."+suffix(args[0].t, args[0].lanes), args...)
}

// callTo emits a call with result type t and as many lanes as the first operand.
func (e *emitter) callTo(t types.DType, flags, name string, args ...value) value {
	r := value{t: t, lanes: args[0].lanes}
	decl, list := "", ""
	for i, a := range args {
		if i > 0 {
			decl, list = decl+", ", list+", "
		}
		decl += a.typ()
		list += a.String()
	}
	e.declare(fmt.Sprintf("%s @llvm.%s(%s)", r.typ(), name, decl))
	r.s = e.temp("call %s%s @llvm.%s(%s)", flags, r.typ(), name, list)
	return r
}

// choose emits a select.
func (e *emitter) choose(c, a, b value) value {
	if c.known {
		if c.i != 0 {
			return a
		}
		return b
	}
	n := max(c.lanes, a.lanes, b.lanes)
	a, b = e.splat(a, n), e.splat(b, n)
	if c.lanes == 0 && n > 0 {
		return value{t: a.t, lanes: n, s: e.temp("select %s, %s, %s", c, a, b)}
	}
	return value{t: a.t, lanes: n, s: e.temp("select %s, %s, %s", e.splat(c, n), a, b)}
}
