// Package c turns loop IR into portable C11 source: the functions of kernels, and whole files with weights and an entry
// (see File). It is the sibling of package llvm for machines that have a C compiler and nothing else, and serves tests as a
// second opinion on any scheduled kernel.
//
// A kernel is written for one worker: parallel and vector loops are plain loops, for that is their meaning, and unrolled
// loops are written out. Everything is defined behaviour, so that every compiler gives the same result: integers wrap by
// way of unsigned types wherever a range does not prove that they cannot, and functions that loop IR has and C has not are
// functions of the file, written where they are used (support.go, functions.go).
package c

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// A Function is the C function of one kernel:
//
//	static void SYMBOL(const float *x0, ..., float *restrict y, float *restrict scratch, ...)
//
// with a parameter for every parameter of the kernel, and then one for every piece of scratch.
type Function struct {
	Text    string
	Support []string  // names of the support functions that it calls
	Scratch []Scratch // in the order of its parameters
	Stack   int       // bytes of the arrays among its local variables
}

// A Scratch is memory that a function uses while it runs.
type Scratch struct {
	DType  types.DType
	Offset int // from the beginning of the function's scratch, a multiple of Align
	Bytes  int
}

// Align is the alignment, in bytes, of the workspace and of the pieces in it.
const Align = 8

// ScratchBytes is the size of all pieces of scratch.
func (f *Function) ScratchBytes() int {
	n := 0
	for _, s := range f.Scratch {
		n = max(n, s.Offset+s.Bytes)
	}
	return n
}

// Emit writes f, which has no blocks left, as a function of the given name.
func Emit(f *loop.Func, symbol string) (fn Function, err error) {
	defer func() {
		if r := recover(); r != nil {
			bad, ok := r.(emitError)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("%s: %s", f.Name, string(bad))
		}
	}()
	e := newEmitter()
	e.writes = written(f.Body)
	e.depth = 1
	var params []string
	for _, p := range f.Params {
		b := e.declare(p)
		params = append(params, e.pointer(p, b.name))
	}
	e.stmt(f.Body)
	var unused string
	for _, p := range f.Params {
		if b := e.bufs[p]; !b.used {
			unused += fmt.Sprintf("  (void)%s;\n", b.name)
		}
	}
	params = append(params, e.scratchParams()...)
	if len(params) == 0 {
		params = []string{"void"}
	}
	return Function{
		Text:    fmt.Sprintf("static void %s(%s) {\n", symbol, strings.Join(params, ", ")) + unused + withoutUnused(e.out.String(), e.lets, e.uses) + "}\n",
		Support: slices.Sorted(maps.Keys(e.support)), Scratch: e.scratch, Stack: e.stack,
	}, nil
}

// maxColumns is the length of lines, from which on they are broken.
const maxColumns = 100

// broken breaks a line of code where as few parentheses as possible are open: best behind a semicolon, then a comma, then
// before an operator. All lines but the first are indented.
func broken(line string, indent int) string {
	if len(line) <= maxColumns {
		return line
	}
	at, depth, least := -1, 0, 1<<30
	for i := range line[:maxColumns] {
		switch line[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ' ':
			kind := breakable(line, i)
			if rank := 4*depth + kind; i > indent+20 && kind >= 0 && rank <= least {
				at, least = i, rank
			}
		}
	}
	if at < 0 {
		return line
	}
	return line[:at] + "\n" + broken(strings.Repeat(" ", indent)+line[at+1:], indent)
}

// breakable ranks the blank at i as a place to break a line, 0 the best; -1: it is none.
func breakable(line string, i int) int {
	if k := strings.IndexByte(";,", line[max(i-1, 0)]); k >= 0 {
		return k
	}
	if i+2 < len(line) && strings.IndexByte("+-*/%<>&|?:", line[i+1]) >= 0 && strings.IndexByte(" &|<>=", line[i+2]) >= 0 {
		return 2
	}
	if line[max(i-1, 0)] == '=' {
		return 3
	}
	return -1
}

type emitError string

func fail(format string, args ...any) { panic(emitError(fmt.Sprintf(format, args...))) }

type emitter struct {
	out     strings.Builder
	depth   int
	names   *scope
	env     map[*expr.Var]value
	ranges  arith.Ranges
	bufs    map[*loop.Buffer]*buffer
	writes  map[*loop.Buffer]bool
	support map[string]bool

	shared shared         // in an unrolled loop
	lets   []map[int]bool // by declaration of let: the declarations that its value uses
	uses   map[int]bool   // the declarations that are used by what is being written

	scratch      []Scratch
	scratchNames []string
	scratchAt    int
	stack        int
}

func newEmitter() *emitter {
	return &emitter{
		names: newScope(nil), env: map[*expr.Var]value{}, ranges: arith.Ranges{}, bufs: map[*loop.Buffer]*buffer{},
		writes: map[*loop.Buffer]bool{}, support: map[string]bool{}, uses: map[int]bool{},
	}
}

// A buffer is where a loop buffer lives: in an array or behind a pointer, or element by element in variables.
type buffer struct {
	name     string
	used     bool
	elements map[int64]string // of a register buffer whose indices are constants: element → variable
	scope    *scope           // of these variables
	read     map[string]bool  // those whose values are used
}

// written are the buffers that stores in s go to.
func written(s loop.Stmt) map[*loop.Buffer]bool {
	set := map[*loop.Buffer]bool{}
	loop.Walk(s, func(t loop.Stmt) bool {
		if st, ok := t.(*loop.Store); ok {
			set[st.To] = true
		}
		return true
	})
	return set
}

// declare names a buffer.
func (e *emitter) declare(b *loop.Buffer) *buffer {
	n := &buffer{name: e.names.fresh(b.Name)}
	e.bufs[b] = n
	return n
}

// pointer declares a parameter. No two parameters overlap where one of them is written.
func (e *emitter) pointer(b *loop.Buffer, name string) string {
	if e.writes[b] {
		return fmt.Sprintf("%s *restrict %s", memType(b.DType), name)
	}
	return fmt.Sprintf("const %s *%s", memType(b.DType), name)
}

func (e *emitter) line(format string, args ...any) {
	e.out.WriteString(broken(strings.Repeat("  ", e.depth)+fmt.Sprintf(format, args...), 2*e.depth+4) + "\n")
}

// block writes what f writes, indented, with names of its own, and a closing brace. It stands behind a line that opens one.
func (e *emitter) block(f func()) {
	e.indented(f)
	e.line("}")
}

func (e *emitter) indented(f func()) {
	e.names = newScope(e.names)
	e.depth++
	f()
	e.depth--
	e.names = e.names.outer
}

// call notes that a support function is used and returns its name.
func (e *emitter) call(name string) string {
	e.support[name] = true
	return name
}

func (e *emitter) stmt(s loop.Stmt) {
	switch s := s.(type) {
	case *loop.Seq:
		for _, t := range s.List {
			e.stmt(t)
		}
	case *loop.For:
		e.loop(s)
	case *loop.If:
		e.ifStmt(s)
	case *loop.Let:
		e.let(s.Var, s.Value)
		e.stmt(s.Body)
	case *loop.Alloc:
		e.alloc(s)
	case *loop.Store:
		e.store(s)
	case *loop.Prefetch: // a hint
	case nil:
	default:
		fail("statement %T", s)
	}
}

// let binds v to the value of x, in a variable of its own unless the value is a constant.
func (e *emitter) let(v *expr.Var, x expr.Expr) {
	around := e.uses
	e.uses = map[int]bool{}
	val := e.expr(x)
	uses := e.uses
	e.uses = around
	e.ranges[v] = e.span(x)
	if val.known {
		e.env[v] = val
		return
	}
	id := len(e.lets)
	e.lets = append(e.lets, uses)
	fmt.Fprintf(&e.out, "\x01%d\x02", id)
	r := e.variable(v.Name, v.Type, val)
	e.out.WriteString("\x03")
	r.let = id + 1
	e.env[v] = r
}

// withoutUnused is the text without the declarations that let has written of variables that nothing else uses: what read
// them was decided to be constant. used are those that are read by other statements than declarations.
func withoutUnused(text string, lets []map[int]bool, used map[int]bool) string {
	live := make([]bool, len(lets))
	var mark func(uses map[int]bool)
	mark = func(uses map[int]bool) {
		for id := range uses {
			if !live[id] {
				live[id] = true
				mark(lets[id])
			}
		}
	}
	mark(used)
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "\x01")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		id, rest, _ := strings.Cut(rest, "\x02")
		line, rest, _ := strings.Cut(rest, "\x03")
		if n, err := strconv.Atoi(id); err == nil && live[n] {
			b.WriteString(line)
		}
		text = rest
	}
}

// variable declares a constant local variable of the given value.
func (e *emitter) variable(name string, t types.DType, val value) value {
	n := e.names.fresh(name)
	e.line("const %s %s = %s;", valueType(t, val.narrow), n, val.s)
	return value{s: n, prec: atom, narrow: val.narrow}
}

func (e *emitter) loop(f *loop.For) {
	lo, n := e.expr(f.Min), e.expr(f.Extent)
	first, count := e.span(f.Min), e.span(f.Extent)
	e.ranges[f.Var] = arith.Interval{Lo: first.Lo, Hi: max(first.Lo, first.Add(count).Hi-1)}
	switch {
	case n.known && n.i <= 0:
		return
	case n.known && n.i == 1:
		if lo.known || lo.prec == atom {
			e.env[f.Var] = lo
		} else {
			e.env[f.Var] = e.variable(f.Var.Name, types.I64, lo)
		}
		e.stmt(f.Body)
		return
	case f.Kind == loop.Unrolled:
		if !lo.known || !n.known {
			fail("unrolled loop over %s: its bounds are not constant", f.Var.Name)
		}
		if e.shared.values == nil && straight(f) {
			e.share(f)
			defer func() { e.shared = shared{} }()
		}
		for i := lo.i; i < lo.i+n.i; i++ {
			e.env[f.Var] = index(i)
			e.ranges[f.Var] = arith.Point(i)
			e.stmt(f.Body)
		}
		return
	}
	end := e.end(f, lo, n)
	narrow := fits32(e.ranges[f.Var]) && fits32(first.Add(count))
	outer := e.names
	e.names = newScope(outer)
	name := e.names.fresh(f.Var.Name)
	e.env[f.Var] = value{s: name, prec: atom, narrow: narrow}
	e.line("for (%s %s = %s; %s < %s; %s++) {", valueType(types.I64, narrow), name, lo.s, name, end, name)
	e.block(func() { e.stmt(f.Body) })
	e.names = outer
}

// end is the end of a loop: a constant, or a variable that is computed once.
func (e *emitter) end(f *loop.For, lo, n value) string {
	if lo.known && n.known {
		return index(lo.i + n.i).s
	}
	end := e.expr(e.simple(expr.Add(f.Min, f.Extent)))
	if end.prec == atom && !strings.ContainsAny(end.s, "([") {
		return end.s
	}
	return e.variable(f.Var.Name+"_end", types.I64, end).s
}

func (e *emitter) ifStmt(s *loop.If) {
	c := e.expr(s.Cond)
	if c.known {
		if c.i != 0 {
			e.stmt(s.Then)
		} else if s.Else != nil {
			e.stmt(s.Else)
		}
		return
	}
	e.line("if (%s) {", c.s)
	e.indented(func() { e.stmt(s.Then) })
	if s.Else != nil {
		e.line("} else {")
		e.indented(func() { e.stmt(s.Else) })
	}
	e.line("}")
}
