package llvm

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/target"
)

// A Run is the function that a library exports, which runs kernels in order:
//
//	i32 SYMBOL(ptr context, i32 worker, i32 workers, i32 first, i32 last)
type Run struct {
	Symbol         string
	Target         *target.Target
	FlushDenormals bool // kernels run where denormals are taken as zero and made zero
	Steps          []Step
}

// A Step is a call of a kernel, or a loop of steps.
type Step struct {
	Kernel  string // symbol
	Args    []Place
	Barrier bool // workers meet before it
	Serial  bool // worker 0 does all of it
	Loop    *Loop
}

// A Place is where the run context has an operand: at an offset in bytes of the workspace, or under an index.
type Place struct {
	Kind  PlaceKind
	Index int
}

// PlaceKind is a table of the run context, or its workspace.
type PlaceKind uint8

// Kinds of places.
const (
	Workspace PlaceKind = iota
	Input
	Output
	Param
	Symbol // the extent of an axis
)

// stepsPerFunction bounds the functions that run steps: LLVM's time for one grows with the square of its blocks.
const stepsPerFunction = 128

// Texts writes the function: steps [first, last) in order, with the planned barriers between them. Of
// many steps it calls functions of stepsPerFunction each, in texts of their own, of which the entry's own is the last. So are
// loops.
func (r *Run) Texts() []string {
	var b strings.Builder
	fmt.Fprintf(&b, "define i32 @%s(%s) nounwind \"no-builtins\" {\nentry:\n", r.Symbol, entryParams)
	if len(r.Steps) <= stepsPerFunction && !slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Loop != nil }) {
		r.steps(&b, 0, len(r.Steps), r.floatEntry(), r.floatExit())
		r.declare(&b, r.Symbol, r.Steps)
		b.WriteString(r.floatFunction() + r.barrier("internal", "lathe_barrier"))
		return []string{b.String()}
	}
	var texts []string
	var declared strings.Builder
	b.WriteString(r.floatEntry())
	for from := 0; from < len(r.Steps); from += stepsPerFunction {
		to := min(from+stepsPerFunction, len(r.Steps))
		part := fmt.Sprintf("%s_%d", r.Symbol, from)
		fmt.Fprintf(&b, "  %%r%d = call i32 @%s(ptr %%ctx, i32 %%worker, i32 %%workers, i32 %%first, i32 %%last, i64 %s)\n", from, part, r.floatValue())
		fmt.Fprintf(&declared, "declare hidden i32 @%s(ptr, i32, i32, i32, i32, i64)\n", part)
		var p strings.Builder
		fmt.Fprintf(&p, "define hidden i32 @%s(%s, i64 %%float) nounwind \"no-builtins\" {\nentry:\n", part, entryParams)
		r.steps(&p, from, to, "", "")
		r.declare(&p, r.Symbol, r.Steps)
		texts = append(texts, r.part(p.String()))
	}
	texts = append(texts, r.loops(r.Symbol, r.Steps)...)
	fmt.Fprintf(&b, "%s  ret i32 %%r%d\n}\n", r.floatExit(), (len(r.Steps)-1)/stepsPerFunction*stepsPerFunction)
	b.WriteString(declared.String() + r.floatFunction() + r.barrier("hidden", r.meeting()))
	return append(texts, b.String())
}

// meeting is the name of the barrier where several texts call it.
func (r *Run) meeting() string { return r.Symbol + "_barrier" }

// part is a text that calls the barrier of the entry's.
func (r *Run) part(text string) string {
	if r.meets() {
		text += fmt.Sprintf("declare hidden void @%s(ptr, i32, i64)\n", r.meeting())
	}
	return strings.ReplaceAll(text, "@lathe_barrier(", "@"+r.meeting()+"(")
}

const entryParams = "ptr %ctx, i32 %worker, i32 %workers, i32 %first, i32 %last"

func (r *Run) context() bundle.Context { return bundle.ContextOf(r.Target.PointerBits() / 8) }

// steps writes the body of a function that runs those of the kernels [from, to) that are in [first, last), between two
// other pieces of code.
func (r *Run) steps(b *strings.Builder, from, to int, before, behind string) {
	ctx := r.context()
	r.field(b, "inputs", ctx.Inputs)
	r.field(b, "outputs", ctx.Outputs)
	r.field(b, "workspace", ctx.Workspace)
	r.shared(b)
	fmt.Fprintf(b, "%s  br label %%s%d\n", before, from)
	for i, s := range r.Steps[from:to] {
		r.step(b, from+i, s, r.Symbol, true)
	}
	fmt.Fprintf(b, "s%d:\n%s  %%status.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%status = load i32, ptr %%status.p\n  ret i32 %%status\n}\n", to, behind, ctx.Status)
}

// field loads a pointer from the run context.
func (r *Run) field(b *strings.Builder, name string, off int) {
	fmt.Fprintf(b, "  %%%s.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%%s = load ptr, ptr %%%s.p\n", name, off, name, name)
}

// shared loads what the steps of loops need of the context as well.
func (r *Run) shared(b *strings.Builder) {
	ctx := r.context()
	r.field(b, "params", ctx.Params)
	r.field(b, "scratch0", ctx.Scratch)
	r.field(b, "symbols", ctx.Symbols)
	size := fmt.Sprintf("i%d", r.Target.PointerBits())
	fmt.Fprintf(b, "  %%stride.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%stride = load %s, ptr %%stride.p\n", ctx.ScratchStride, size)
	b.WriteString("  %w = zext i32 %worker to i64\n  %ws = zext i32 %workers to i64\n")
	worker := "%w"
	if size == "i32" {
		worker = "%worker"
	}
	fmt.Fprintf(b, "  %%so = mul %s %s, %%stride\n  %%scratch = getelementptr i8, ptr %%scratch0, %s %%so\n", size, worker, size)
}

// declare names the functions of kernels and loops among steps, which belong to the function name, each once.
func (r *Run) declare(b *strings.Builder, name string, steps []Step) {
	seen := map[string]bool{}
	for i, s := range steps {
		switch {
		case s.Loop != nil:
			fmt.Fprintf(b, "declare hidden void @%s(%s)\n", loopName(name, i), loopTypes)
		case !seen[s.Kernel]:
			seen[s.Kernel] = true
			fmt.Fprintf(b, "declare hidden void @%s(%sptr, i64, i64)\n", s.Kernel, strings.Repeat("ptr, ", len(s.Args)))
		}
	}
}

// step writes step i of the function name: after a barrier where one is planned, by worker 0 alone where the kernel is not
// divided. A ranged one is skipped outside [first, last).
func (r *Run) step(b *strings.Builder, i int, s Step, name string, ranged bool) {
	fmt.Fprintf(b, "s%d:\n", i)
	if ranged {
		fmt.Fprintf(b, "  %%a%d = icmp sle i32 %%first, %d\n  %%b%d = icmp sgt i32 %%last, %d\n  %%c%d = and i1 %%a%d, %%b%d\n", i, i, i, i, i, i, i)
		fmt.Fprintf(b, "  br i1 %%c%d, label %%in%d, label %%s%d\nin%d:\n", i, i, i+1, i)
	}
	switch {
	case !s.Barrier || !r.meets():
	case ranged:
		fmt.Fprintf(b, "  %%later%d = icmp slt i32 %%first, %d\n  br i1 %%later%d, label %%meet%d, label %%go%d\n", i, i, i, i, i)
		fmt.Fprintf(b, "meet%d:\n%s  br label %%go%d\ngo%d:\n", i, callBarrier, i, i)
	default:
		b.WriteString(callBarrier)
	}
	if s.Serial {
		fmt.Fprintf(b, "  %%one%d = icmp eq i32 %%worker, 0\n  br i1 %%one%d, label %%run%d, label %%s%d\nrun%d:\n", i, i, i, i+1, i)
	}
	if s.Loop != nil {
		fmt.Fprintf(b, "  call void @%s(ptr %%ctx, i32 %%worker, i32 %%workers, i64 %s, ptr %%inputs, ptr %%outputs, ptr %%workspace)\n  br label %%s%d\n", loopName(name, i), r.floatValue(), i+1)
		return
	}
	var args []string
	for j, p := range s.Args {
		args = append(args, "ptr "+p.pointer(b, fmt.Sprintf("%%k%d.%d", i, j), ""))
	}
	fmt.Fprintf(b, "  call void @%s(%s, ptr %%scratch, i64 %%w, i64 %%ws)\n  br label %%s%d\n", s.Kernel, strings.Join(args, ", "), i+1)
}

const callBarrier = "  call void @lathe_barrier(ptr %ctx, i32 %workers, i64 %float)\n"

// pointer loads the address of a place under a name. frame is the suffix of the names of the tables of inputs and outputs and
// of the workspace.
func (p Place) pointer(b *strings.Builder, name, frame string) string {
	switch p.Kind {
	case Workspace:
		fmt.Fprintf(b, "  %s = getelementptr i8, ptr %%workspace%s, i64 %d\n", name, frame, p.Index)
	case Symbol:
		fmt.Fprintf(b, "  %s = getelementptr i64, ptr %%symbols, i64 %d\n", name, p.Index)
	default:
		table := map[PlaceKind]string{Input: "inputs" + frame, Output: "outputs" + frame, Param: "params"}[p.Kind]
		fmt.Fprintf(b, "  %s.p = getelementptr ptr, ptr %%%s, i64 %d\n  %s = load ptr, ptr %s.p\n", name, table, p.Index, name, name)
	}
	return name
}
