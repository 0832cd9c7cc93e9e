package c

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// flat is the index of an access in elements from the buffer's beginning.
func (e *emitter) flat(b *loop.Buffer, at []expr.Expr) expr.Expr {
	var flat expr.Expr = expr.Index(0)
	for i, s := range b.Strides() {
		flat = expr.Add(flat, expr.Mul(at[i], expr.Index(s)))
	}
	return e.simple(flat)
}

// place is the C expression that names an element of a buffer.
func (e *emitter) place(b *loop.Buffer, flat expr.Expr) value {
	buf := e.bufs[b]
	if buf == nil {
		fail("buffer %s is not in scope", b.Name)
	}
	buf.used = true
	if buf.elements == nil {
		return value{s: buf.name + "[" + e.offset(b, flat).s + "]", prec: atom}
	}
	i, ok := expr.IntOf(flat)
	if !ok {
		fail("register buffer %s: index %s is not constant", b.Name, expr.String(flat))
	}
	name, ok := buf.elements[i]
	if !ok {
		if name = buf.name; types.Count(b.Shape) > 1 {
			name = e.names.freshIn(buf.scope, fmt.Sprintf("%s%d", buf.name, i))
		}
		buf.elements[i] = name
	}
	return value{s: name, prec: atom}
}

func (e *emitter) load(x *expr.Load) value {
	b := x.From.(*loop.Buffer)
	flat := e.flat(b, x.Index)
	if len(e.shared.values) > 0 && e.bufs[b] != nil && e.closed(flat) {
		if name, ok := e.shared.values[e.text(b, flat)]; ok {
			return value{s: name, prec: atom}
		}
	}
	return e.element(b, flat)
}

// element is the value of an element of a buffer.
func (e *emitter) element(b *loop.Buffer, flat expr.Expr) value {
	if b.DType.IsNibble() {
		return e.nibble(b, flat)
	}
	v := e.place(b, flat)
	if buf := e.bufs[b]; buf.elements != nil {
		buf.read[v.s] = true
	}
	switch b.DType {
	case types.Bool:
		return infix(v, "!=", integer(0, types.I32), equality)
	case types.F16, types.BF16:
		return function(e.call("f32_of_"+short[b.DType]), v)
	}
	return v
}

// nibble is an element of 4 bits: the first of two is in the low bits of their byte.
func (e *emitter) nibble(b *loop.Buffer, flat expr.Expr) value {
	at := e.place(b, e.simple(expr.Bin(expr.OpFloorDiv, flat, expr.Index(2))))
	digit := e.offset(b, e.simple(expr.Mul(expr.Bin(expr.OpFloorMod, flat, expr.Index(2)), expr.Index(4))))
	v := infix(infix(at, ">>", digit, shift), "&", integer(15, types.I32), bitwise)
	if b.DType == types.I4 {
		v = infix(infix(v, "^", integer(8, types.I32), bitwise), "-", integer(8, types.I32), sum)
	}
	return v
}

func (e *emitter) store(s *loop.Store) {
	if v, op, ok := e.step(s); ok {
		e.line("%s %s %s;", e.place(s.To, e.flat(s.To, s.Index)).s, op, v.s)
		return
	}
	v := e.expr(s.Value)
	if t := s.To.DType; isFloat16(t) {
		v = e.convert(t, types.F32, v)
	}
	e.line("%s = %s;", e.place(s.To, e.flat(s.To, s.Index)).s, v.s)
}

// step writes a store that adds to what it replaces, where C's operator does just that.
func (e *emitter) step(s *loop.Store) (v value, op string, ok bool) {
	b, isBinary := s.Value.(*expr.Binary)
	if !isBinary || s.To.DType == types.Bool || s.To.DType != s.To.DType.Compute() {
		return v, "", false
	}
	old, isLoad := b.A.(*expr.Load)
	ops := map[expr.Op]string{expr.OpAdd: "+=", expr.OpSub: "-=", expr.OpMul: "*="}
	if !isLoad || old.From != expr.Source(s.To) || ops[b.Op] == "" || needsGuard(b.B) {
		return v, "", false
	}
	for i, x := range old.Index {
		if !arith.Equal(x, s.Index[i]) {
			return v, "", false
		}
	}
	t := s.To.DType
	if !t.IsFloat() && t != types.U32 && t != types.U64 && !(t == types.I32 || t == types.I64) {
		return v, "", false
	}
	if t.IsSigned() && !e.exact(b) {
		return v, "", false
	}
	return e.expr(b.B), ops[b.Op], true
}

// alloc gives the body its buffer: scratch is a parameter of the function, registers are variables, or an array where a
// vector loop counts their elements.
func (e *emitter) alloc(s *loop.Alloc) {
	b := s.Buffer
	switch b.Scope {
	case loop.Worker, loop.Tiles:
		if b.Scope == loop.Worker && types.Count(b.Shape) <= maxVariables && !e.indexed(b, s.Body) {
			e.registers(b, s.Body)
			return
		}
		at := e.scratchAt
		e.scratchAt += (b.Bytes() + Align - 1) / Align * Align
		if e.bufs[b] == nil { // the body of an unrolled loop comes several times
			e.bufs[b] = &buffer{name: e.names.freshIn(e.names.outermost(), b.Name), used: true}
			e.scratch = append(e.scratch, Scratch{b.DType, at, b.Bytes()})
			e.scratchNames = append(e.scratchNames, e.bufs[b].name)
		}
		e.stmt(s.Body)
		e.scratchAt = at
	case loop.Reg:
		e.registers(b, s.Body)
	default:
		fail("allocation of %s in scope %s", b.Name, b.Scope)
	}
}

// scratchParams declares the function's scratch. Pieces that are not used at the same time may share memory: these are not restrict.
func (e *emitter) scratchParams() []string {
	params := make([]string, len(e.scratch))
	for i, s := range e.scratch {
		qualifier := "restrict "
		for j, other := range e.scratch {
			if j != i && s.Offset < other.Offset+other.Bytes && other.Offset < s.Offset+s.Bytes {
				qualifier = ""
			}
		}
		params[i] = fmt.Sprintf("%s *%s%s", memType(s.DType), qualifier, e.scratchNames[i])
	}
	return params
}

// registers writes the body of an allocation in registers behind its declarations, which name the elements that it uses.
func (e *emitter) registers(b *loop.Buffer, body loop.Stmt) {
	before := e.out.String()
	e.out.Reset()
	buf := e.declare(b)
	buf.scope = e.names
	array := e.indexed(b, body)
	if !array {
		buf.elements, buf.read = map[int64]string{}, map[string]bool{}
	}
	e.stmt(body)
	text := e.out.String()
	e.out.Reset()
	e.out.WriteString(before)
	if array {
		e.stack += b.Bytes()
		e.line("%s %s[%d];", memType(b.DType), buf.name, max(types.Count(b.Shape), 1))
	} else if len(buf.elements) > 0 {
		var list []string
		start := ""
		if b.Scope == loop.Worker || types.Count(b.Shape) == 1 {
			start = " = 0" // a condition may stand around the first store
		}
		for _, i := range slices.Sorted(maps.Keys(buf.elements)) {
			list = append(list, buf.elements[i]+start)
		}
		e.line("%s %s;", memType(b.DType), strings.Join(list, ", "))
		for _, i := range slices.Sorted(maps.Keys(buf.elements)) {
			if n := buf.elements[i]; !buf.read[n] { // what read it is never reached
				e.line("(void)%s;", n)
			}
		}
	}
	e.out.WriteString(text)
}

// maxVariables is the number of elements up to which scratch whose indices are constants is kept in variables.
const maxVariables = 16

// indexed reports whether an index of an access to b within body is not constant where unrolled loops are written out.
func (e *emitter) indexed(b *loop.Buffer, body loop.Stmt) bool {
	constant, found := map[*expr.Var]bool{}, false
	for v, x := range e.env {
		constant[v] = x.known
	}
	check := func(at []expr.Expr) {
		for _, x := range at {
			expr.Walk(x, func(y expr.Expr) bool {
				switch y := y.(type) {
				case *expr.Var:
					found = found || !constant[y]
				case *expr.Load:
					found = true
				}
				return true
			})
		}
	}
	loop.Walk(body, func(s loop.Stmt) bool {
		switch s := s.(type) {
		case *loop.For:
			_, fixed := expr.IntOf(s.Min)
			constant[s.Var] = fixed && (s.Kind == loop.Unrolled || expr.IsInt(s.Extent, 1))
		case *loop.Store:
			if s.To == b {
				check(s.Index)
			}
		}
		return true
	})
	loop.MapExprs(body, func(x expr.Expr) expr.Expr {
		expr.Loads(x, func(l *expr.Load) {
			if l.From == expr.Source(b) {
				check(l.Index)
			}
		})
		return x
	})
	return found
}
