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
	Apart          bool // steps are in texts of their own, so that the last text depends on nothing but how many these are
	Steps          []Step
}

// A Step is a call of a kernel, or a loop of steps.
type Step struct {
	Kernel  string // symbol
	Args    []Place
	Barrier bool // what it touches is finished before it: workers meet
	Serial  bool // one worker does all of it
	Joined  bool // the one that did the serial step before it
	Chunks  int  // of a step that is divided: for each worker so many, but no more than iterations
	Extent  int  // iterations
	Swings  bool // of a step in a loop that is divided: each worker takes its chunks, a power of two, from the last to the first in every other iteration
	// Counts is a symbol that holds Chunks and Extent, where the text is to be the same for all kernels: Step.Data defines it.
	Counts    string
	Loop      *Loop
	Else      *Loop // nil, or what runs in place of Loop where the byte at Condition is zero
	Condition Place
}

// A Place is where the run context has an operand: at an offset in bytes of the workspace, or so many bytes behind what is under an index.
type Place struct {
	Kind   PlaceKind
	Index  int
	Offset int // of what lies under an index
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
	fmt.Fprintf(&b, "define i32 @%s(%s) nounwind \"no-builtins\" {\nentry:\n%s", r.Symbol, entryParams, r.floatEntry())
	if r.turns() {
		b.WriteString("  call void @lathe_enter(ptr %ctx, i32 %worker, i32 %workers)\n")
	}
	linkage, prefix := "internal", "lathe"
	var texts []string
	var declared strings.Builder
	parts := cut(r.Steps)
	if len(parts) <= 1 && !r.Apart && !slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Loop != nil }) {
		r.shared(&b, true)
		all := units{0, len(r.Steps)}
		r.steps(&b, all, r.Symbol, r.Steps, true)
		r.declare(&declared, r.Symbol, r.Steps, all)
	} else {
		linkage, prefix = "hidden", r.Symbol
		for _, p := range parts {
			part := fmt.Sprintf("%s_%d", r.Symbol, p.from)
			fmt.Fprintf(&b, "  call void @%s(ptr %%ctx, i32 %%worker, i32 %%workers, i32 %%first, i32 %%last, i64 %s)\n", part, r.floatValue())
			fmt.Fprintf(&declared, "declare hidden void @%s(ptr, i32, i32, i32, i32, i64)\n", part)
			var t strings.Builder
			fmt.Fprintf(&t, "define hidden void @%s(%s, i64 %%float) nounwind \"no-builtins\" {\nentry:\n", part, entryParams)
			r.shared(&t, true)
			r.steps(&t, p, r.Symbol, r.Steps, true)
			t.WriteString("  ret void\n}\n")
			r.declare(&t, r.Symbol, r.Steps, p)
			texts = append(texts, r.part(t.String()))
		}
		b.WriteString("  %alone = icmp ule i32 %workers, 1\n")
		texts = append(texts, r.loops(r.Symbol, r.Steps)...)
	}
	r.end(&b)
	b.WriteString(declared.String() + r.floatFunction() + r.team(linkage))
	if r.turns() {
		b.WriteString(r.turnFunctions(linkage))
	}
	return append(texts, named(b.String(), prefix))
}

// end writes how the entry returns: worker 0 when all is finished, the others when nothing is left to begin.
func (r *Run) end(b *strings.Builder) {
	if r.meets() {
		fmt.Fprintf(b, "  br i1 %%alone, label %%out, label %%tell\ntell:\n  %%caller = icmp eq i32 %%worker, 0\n%s  br label %%out\nout:\n", meet("%caller"))
	}
	fmt.Fprintf(b, "%s  %%status.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%status = load i32, ptr %%status.p\n  ret i32 %%status\n}\n", r.floatExit(), r.context().Status)
}

// part is a text that calls the entry's functions for teams.
func (r *Run) part(text string) string {
	if r.meets() {
		text += "declare hidden i64 @lathe_claim(ptr, i32, i32, i32)\ndeclare hidden void @lathe_pass(ptr, i32)\ndeclare hidden void @lathe_meet(ptr, i32, i1, i64)\n"
	}
	if r.turns() {
		text += turnDeclarations
	}
	return named(text, r.Symbol)
}

const entryParams = "ptr %ctx, i32 %worker, i32 %workers, i32 %first, i32 %last"

func (r *Run) context() bundle.Context { return bundle.ContextOf(r.Target.PointerBits() / 8) }

// field loads a pointer from the run context.
func (r *Run) field(b *strings.Builder, name string, off int) {
	fmt.Fprintf(b, "  %%%s.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%%s = load ptr, ptr %%%s.p\n", name, off, name, name)
}

// shared loads what steps need of the context; own: with the tables of inputs and outputs and the workspace, which loops are given.
func (r *Run) shared(b *strings.Builder, own bool) {
	ctx := r.context()
	if own {
		r.field(b, "inputs", ctx.Inputs)
		r.field(b, "outputs", ctx.Outputs)
		r.field(b, "workspace", ctx.Workspace)
	}
	r.field(b, "params", ctx.Params)
	r.field(b, "scratch0", ctx.Scratch)
	r.field(b, "symbols", ctx.Symbols)
	size := fmt.Sprintf("i%d", r.Target.PointerBits())
	fmt.Fprintf(b, "  %%stride.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%stride = load %s, ptr %%stride.p\n", ctx.ScratchStride, size)
	worker := "%worker"
	if size == "i64" {
		worker = "%w"
		b.WriteString("  %w = zext i32 %worker to i64\n")
	}
	fmt.Fprintf(b, "  %%so = mul %s %s, %%stride\n  %%scratch = getelementptr i8, ptr %%scratch0, %s %%so\n", size, worker, size)
	if r.meets() {
		b.WriteString("  %alone = icmp ule i32 %workers, 1\n")
	}
}

// declare names the functions of kernels and loops among some of the steps, which belong to the function name, each once.
func (r *Run) declare(b *strings.Builder, name string, steps []Step, of units) {
	seen := map[string]bool{}
	for i, s := range steps[of.from:of.to] {
		switch {
		case s.Loop != nil:
			fmt.Fprintf(b, "declare hidden void @%s(%s)\n", loopName(name, of.from+i), loopTypes)
			if s.Else != nil {
				fmt.Fprintf(b, "declare hidden void @%s(%s)\n", elseName(name, of.from+i), loopTypes)
			}
		case !seen[s.Kernel]:
			seen[s.Kernel] = true
			if s.Counts != "" {
				fmt.Fprintf(b, "@%s = external hidden constant [2 x i32]\n", s.Counts)
			}
			fmt.Fprintf(b, "declare hidden void @%s(%sptr, i64, i64)\n", s.Kernel, strings.Repeat("ptr, ", len(s.Args)))
		}
	}
}

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
		to := name
		if p.Offset != 0 {
			to += ".base"
		}
		fmt.Fprintf(b, "  %s.p = getelementptr ptr, ptr %%%s, i64 %d\n  %s = load ptr, ptr %s.p\n", name, table, p.Index, to, name)
		if p.Offset != 0 {
			fmt.Fprintf(b, "  %s = getelementptr i8, ptr %s, i64 %d\n", name, to, p.Offset)
		}
	}
	return name
}
