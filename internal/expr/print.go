package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"lathe/internal/types"
)

// String prints e. Infix operators are always in parentheses, constants other than I64 and F32 carry their type, and
// floats print the shortest text that reads back to the same bits.
func String(e Expr) string {
	var b strings.Builder
	Print(&b, e, func(v *Var) string { return v.Name })
	return b.String()
}

// Print writes e with variable names given by name.
func Print(b *strings.Builder, e Expr, name func(*Var) string) {
	list := func(xs ...Expr) {
		for i, x := range xs {
			if i > 0 {
				b.WriteString(", ")
			}
			Print(b, x, name)
		}
	}
	switch e := e.(type) {
	case *Var:
		b.WriteString(name(e))
	case *Int:
		b.WriteString(strconv.FormatInt(e.V, 10))
		if e.Type != types.I64 {
			b.WriteString(":" + e.Type.String())
		}
	case *Float:
		b.WriteString(floatText(e))
	case *Binary:
		if e.Op.Named() {
			b.WriteString(e.Op.String() + "(")
			list(e.A, e.B)
		} else {
			b.WriteByte('(')
			Print(b, e.A, name)
			b.WriteString(" " + e.Op.String() + " ")
			Print(b, e.B, name)
		}
		b.WriteByte(')')
	case *Unary:
		b.WriteString(e.Fn.String() + "(")
		list(e.A)
		b.WriteByte(')')
	case *Select:
		b.WriteString("select(")
		list(e.Cond, e.A, e.B)
		b.WriteByte(')')
	case *Cast:
		b.WriteString(e.To.String() + "(")
		list(e.A)
		b.WriteByte(')')
	case *Bits:
		b.WriteString("bits." + e.To.String() + "(")
		list(e.A)
		b.WriteByte(')')
	case *Load:
		b.WriteString(e.From.Label() + "[")
		list(e.Index...)
		b.WriteByte(']')
	case *Let:
		b.WriteString("let(" + name(e.Var) + ":" + e.Var.Type.String() + " = ")
		Print(b, e.Value, name)
		b.WriteString("; ")
		Print(b, e.Body, name)
		b.WriteByte(')')
	case *Dot:
		fmt.Fprintf(b, "dot%d(", e.Width())
		list(e.A, Index(e.AxisA), e.B, Index(e.AxisB))
		b.WriteByte(')')
	}
}

func floatText(f *Float) string {
	bits := 32
	if f.Type == types.F64 {
		bits = 64
	}
	var s string
	switch {
	case math.IsNaN(f.V):
		s = "nan"
	case math.IsInf(f.V, 0):
		s = strconv.FormatFloat(f.V, 'g', -1, 64)
		s = strings.ToLower(strings.TrimPrefix(s, "+"))
	default:
		s = strconv.FormatFloat(f.V, 'g', -1, bits)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
	}
	if f.Type != types.F32 {
		s += ":" + f.Type.String()
	}
	return s
}
