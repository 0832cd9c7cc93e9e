// Package llvm turns loop IR into LLVM IR text with explicit vectors. It calls no LLVM: the text is parsed by package
// toolchain, and golden-tested without it.
//
// A vector loop is emitted once: its variable is a vector of lanes, an access whose index grows by one per lane is a
// vector access, anything else is taken apart lane by lane. An unrolled loop is emitted once per iteration with its
// variable a constant. Elements of register buffers are stack slots that mem2reg turns into SSA values.
package llvm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/target"
	"lathe/internal/types"
)

// Options is what emission needs to know of the target.
type Options struct {
	Symbol     string // name of the emitted function
	VectorBits int    // preferred vector width, for the function attribute; 0: none
	// FlushDenormals says that the function runs where denormals are taken as zero and made zero, so that LLVM computes no others.
	FlushDenormals bool
	// Target tells which instructions may be named; nil: none, everything is written in plain LLVM IR.
	Target *target.Target
}

// A Kernel is the text of one module with one function:
//
//	void SYMBOL(ptr param0, ..., ptr scratch, i64 worker, i64 workers)
type Kernel struct {
	Text    string
	Scratch int // bytes of worker scratch it uses
}

// Emit writes f, which has no blocks left, as a module of its own.
func Emit(f *loop.Func, o Options) (k Kernel, err error) {
	e := &emitter{env: map[*expr.Var]value{}, ranges: arith.Ranges{}, bufs: map[*loop.Buffer]*buffer{}, decls: map[string]bool{}, masks: map[hidden]string{}, merged: map[string]int{}, target: o.Target, lanesIn: laneCounts(f.Body)}
	defer func() {
		if r := recover(); r != nil {
			bad, ok := r.(emitError)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("%s: %s", f.Name, string(bad))
		}
	}()
	params := make([]string, 0, len(f.Params)+3)
	for i, p := range f.Params {
		name := fmt.Sprintf("%%p%d", i)
		e.bufs[p] = &buffer{ptr: name}
		params = append(params, "ptr "+name)
	}
	params = append(params, "ptr %scratch", "i64 %worker", "i64 %workers")
	e.label("body")
	e.beginTiles(f.Body)
	e.workers(f.Body)
	e.endTiles()
	e.line("ret void")

	e.cut()
	var b strings.Builder
	attrs := `nounwind "no-builtins"`
	if o.VectorBits > 0 {
		attrs += fmt.Sprintf(` "prefer-vector-width"="%d"`, o.VectorBits)
	}
	if o.FlushDenormals {
		attrs += ` "denormal-fp-math"="preserve-sign,preserve-sign"`
	}
	fmt.Fprintf(&b, "define hidden void @%s(%s) %s {\nentry:\n%s  br label %%body\n%s}\n", o.Symbol, strings.Join(params, ", "), attrs, e.slots.String(), strings.TrimPrefix(strings.Join(e.written, ""), "  br label %body\n"))
	for _, d := range e.declared {
		b.WriteString(d + "\n")
	}
	if e.loops {
		b.WriteString("!0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.unroll.disable\"}\n")
	}
	return Kernel{b.String(), e.scratchMax}, nil
}

// workers emits what stands outside of parallel loops: those are divided, serial loops around them are every worker's,
// everything else is worker 0's.
func (e *emitter) workers(s loop.Stmt) {
	switch s := s.(type) {
	case *loop.Seq:
		for _, t := range s.List {
			e.workers(t)
		}
	case *loop.For:
		switch {
		case s.Kind == loop.Parallel:
			e.stmt(s)
		case loop.Divided(s.Body):
			e.counted(s, e.expr(s.Min), e.expr(s.Extent), e.workers)
		default:
			e.firstWorker(s)
		}
	case *loop.Let:
		e.bind(s.Var, e.expr(s.Value))
		e.workers(s.Body)
	case *loop.Alloc:
		e.alloc(s, func() { e.workers(s.Body) })
	default:
		e.firstWorker(s)
	}
}

func (e *emitter) firstWorker(s loop.Stmt) {
	c := e.temp("icmp eq i64 %%worker, 0")
	then, end := e.newLabel("w0"), e.newLabel("end")
	e.line("br i1 %s, label %%%s, label %%%s", c, then, end)
	e.label(then)
	e.stmt(s)
	e.line("br label %%%s", end)
	e.label(end)
}

type emitError string

func fail(format string, args ...any) { panic(emitError(fmt.Sprintf(format, args...))) }

type emitter struct {
	target     *target.Target
	written    []string // what comes before out
	out, slots strings.Builder
	lanesIn    map[*loop.Buffer]int // of slots of register buffers, as laneCounts tells
	n          int                  // last temporary
	labels     int                  // last label
	block      string               // current basic block
	env        map[*expr.Var]value
	ranges     arith.Ranges
	bufs       map[*loop.Buffer]*buffer
	vec        *expr.Var // variable of the enclosing vector loop
	vecBase    value     // its value in lane 0
	lanes      int
	lanesOf    int               // lanes of the vector loop that eachLane takes apart
	laneAt     int               // and the lane it is at
	mask       string            // <lanes x i1> under which the current code runs; empty: all lanes
	active     []bool            // the lanes of mask where they are known; nil elsewhere
	masks      map[hidden]string // their names
	merged     map[string]int    // how often a slot was written under one of them
	idle       bool              // nobody sees what lanes beyond mask compute
	choosing   bool              // lanes of what is computed are chosen, and what these share is loaded apart from what others do
	decls      map[string]bool
	declared   []string
	loops      bool // some loop has metadata
	divided    bool // inside a parallel loop
	jamming    bool // inside a jammed loop
	contract   bool // products need not be rounded before they are added
	tiles      tiles
	loaded     loaded
	numbers    numbering

	scratch, scratchMax int
}

// A buffer is where a loop buffer lives: at ptr, or in the slots of a register buffer.
type buffer struct {
	ptr   string
	lanes int            // register buffers: lanes of a slot; 0: scalars
	slots map[int]string // register buffers: first element → slot
	dtype types.DType    // register buffers: of an element
}

func (e *emitter) line(format string, args ...any) {
	e.out.WriteString("  ")
	fmt.Fprintf(&e.out, format, args...)
	e.out.WriteByte('\n')
}

// cut puts what is in out behind what was written, and returns where the next goes: all of a text may be long, and is not to be copied
// for each place into which something is written later.
func (e *emitter) cut() int {
	e.written = append(e.written, e.out.String())
	e.out.Reset()
	return len(e.written)
}

// effect emits an instruction that may write to memory.
func (e *emitter) effect(format string, args ...any) {
	e.line(format, args...)
	e.numbers.stored()
}

// temp emits an instruction with a result, unless the block has it already, and returns the result's name.
func (e *emitter) temp(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	table := e.numbers.of(text)
	if t, ok := table[text]; ok {
		return t
	}
	e.n++
	t := "%t" + strconv.Itoa(e.n)
	e.out.WriteString("  " + t + " = " + text + "\n")
	if table != nil {
		table[text] = t
	}
	return t
}

func (e *emitter) newLabel(name string) string {
	e.labels++
	return fmt.Sprintf("%s%d", name, e.labels)
}

func (e *emitter) label(l string) {
	fmt.Fprintf(&e.out, "%s:\n", l)
	e.block = l
	e.numbers.begin()
	e.tiles.forget()
	e.loaded.forget()
}

func (e *emitter) declare(d string) {
	if !e.decls[d] {
		e.decls[d] = true
		e.declared = append(e.declared, "declare "+d)
	}
}

func (e *emitter) bind(v *expr.Var, x value) { e.env[v] = x }

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
		v := e.expr(s.Value)
		e.bind(s.Var, v)
		e.ranges[s.Var] = e.ranges.Of(s.Value)
		e.stmt(s.Body)
	case *loop.Alloc:
		e.alloc(s, func() { e.stmt(s.Body) })
	case *loop.Store:
		e.store(s)
	case *loop.Prefetch:
		e.prefetch(s)
	case nil:
	default:
		fail("statement %T", s)
	}
}

const (
	scratchAlign = 64
	scratchSlack = 64 // bytes behind a buffer in scratch that may be written
)

func (e *emitter) alloc(s *loop.Alloc, body func()) {
	b := s.Buffer
	switch b.Scope {
	case loop.Reg:
		buf := &buffer{lanes: e.lanesIn[b], slots: map[int]string{}, dtype: b.DType}
		e.bufs[b] = buf
		e.loaded.kept = append(e.loaded.kept, buf)
		at := e.cut()
		body()
		e.cut()
		e.beginSlots(buf)
		last := e.cut() - 1
		begin := e.written[last]
		e.written = slices.Insert(e.written[:last], at, begin)
		e.loaded.kept = e.loaded.kept[:len(e.loaded.kept)-1]
	case loop.Tiles:
		if e.tiles.set != nil {
			e.tileRegion(s, body)
			return
		}
		fallthrough
	case loop.Worker:
		at := e.scratch
		e.scratch += (b.Bytes() + scratchSlack + scratchAlign - 1) / scratchAlign * scratchAlign
		e.scratchMax = max(e.scratchMax, e.scratch)
		e.bufs[b] = &buffer{ptr: e.temp("getelementptr i8, ptr %%scratch, i64 %d", at)}
		body()
		e.scratch = at
	default:
		fail("allocation of %s in scope %s", b.Name, b.Scope)
	}
}

func (e *emitter) loop(f *loop.For) {
	lo, n := e.expr(f.Min), e.expr(f.Extent)
	span := e.ranges.Of(f.Min).Add(e.ranges.Of(f.Extent))
	e.ranges[f.Var] = arith.Interval{Lo: e.ranges.Of(f.Min).Lo, Hi: span.Hi - 1}
	switch f.Kind {
	case loop.Matrix:
		if e.tiles.set == nil {
			e.counted(f, lo, n, e.stmt)
			return
		}
		e.matrixOp(f)
	case loop.Unrolled:
		if !lo.known || !n.known {
			fail("unrolled loop over %s: its bounds are not constant", f.Var.Name)
		}
		if e.foldedVectors(f, lo, n) || e.transposed(f, lo, n) || e.packed(f) {
			e.tiles.forget()
			return
		}
		for i := lo.i; i < lo.i+n.i; i++ {
			e.bind(f.Var, constInt(i, types.I64))
			e.ranges[f.Var] = arith.Point(i)
			e.stmt(f.Body)
		}
	case loop.Jammed:
		if !lo.known || !n.known {
			fail("jammed loop over %s: its bounds are not constant", f.Var.Name)
		}
		e.jammed(int(n.i), func(i int) {
			at := lo.i + int64(i)
			e.bind(f.Var, constInt(at, types.I64))
			e.ranges[f.Var] = arith.Point(at)
			e.stmt(f.Body)
		})
	case loop.Vector:
		if !n.known || n.i < 1 || e.vec != nil {
			fail("vector loop over %s: extent not constant, or inside another", f.Var.Name)
		}
		if n.i == 1 {
			e.bind(f.Var, lo)
			e.stmt(f.Body)
			return
		}
		e.vector(f.Var, lo, int(n.i), func() { e.stmt(f.Body) })
	default:
		e.counted(f, lo, n, e.stmt)
	}
}

// often ends the name of a loop's first block with the number of iterations: package toolchain reads it when it says which loops of
// the machine code are hot.
func (e *emitter) often(f *loop.For, n value) string {
	most := e.ranges.Of(f.Extent).Hi
	if n.known {
		most = n.i
	}
	if most < 0 || most > 1<<40 {
		return ""
	}
	return fmt.Sprintf("_x%d", most)
}

// counted emits a loop with a counter, its body by means of emit. A parallel loop runs the worker's share of the iterations, whose ends are
// rounded up: nobody has more than the first worker, whose time is therefore the step's.
func (e *emitter) counted(f *loop.For, lo, n value, emit func(loop.Stmt)) {
	first, end := lo, e.arith("add", lo, n)
	divided := f.Kind == loop.Parallel && !e.divided // a parallel loop inside another is the worker's own
	if divided {
		e.divided = true
		defer func() { e.divided = false }()
		round := e.temp("add i64 %%workers, -1")
		share := func(w string) value {
			p := e.temp("mul i64 %s, %s", w, n.s)
			q := value{t: types.I64, s: e.temp("udiv i64 %s, %%workers", e.temp("add i64 %s, %s", p, round))}
			return e.arith("add", lo, q)
		}
		next := e.temp("add i64 %%worker, 1")
		first, end = share("%worker"), share(next)
	}
	head, latch, exit := e.newLabel("loop")+e.often(f, n), e.newLabel("latch"), e.newLabel("end")
	counter := types.I64
	if e.target != nil && e.target.PointerBits() == 32 {
		// An address holds 32 bits, and so does everything that counts elements: half the registers.
		counter = types.I32
		first, end = e.cast(counter, first), e.cast(counter, end)
	}
	from := e.block
	if n.known && n.i > 0 && !divided {
		e.line("br label %%%s", head)
	} else {
		c := e.temp("icmp slt %s, %s", first, end.s)
		e.line("br i1 %s, label %%%s, label %%%s", c, head, exit)
	}
	e.n++
	i := value{t: counter, s: fmt.Sprintf("%%i%d", e.n)}
	e.label(head)
	e.line("%s = phi %s [ %s, %%%s ], [ %s.next, %%%s ]", i.s, i.typ(), first.s, from, i.s, latch)
	e.bind(f.Var, e.cast(types.I64, i))
	emit(f.Body)
	e.line("br label %%%s", latch)
	e.label(latch)
	e.line("%s.next = add nsw %s, 1", i.s, i)
	c := e.temp("icmp slt %s.next, %s", i, end.s)
	e.loops = true
	e.line("br i1 %s, label %%%s, label %%%s, !llvm.loop !0", c, head, exit)
	e.label(exit)
}
