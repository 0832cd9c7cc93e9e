package llvm

import (
	"fmt"
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

// A Step is a call of a kernel.
type Step struct {
	Kernel  string // symbol
	Args    []Place
	Barrier bool // workers meet before it
	Serial  bool // worker 0 does all of it
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
// many steps it calls functions of stepsPerFunction each, in texts of their own, of which the entry's own is the last.
func (r *Run) Texts() []string {
	var b strings.Builder
	fmt.Fprintf(&b, "define i32 @%s(%s) nounwind \"no-builtins\" {\nentry:\n", r.Symbol, entryParams)
	if len(r.Steps) <= stepsPerFunction {
		r.steps(&b, 0, len(r.Steps), r.floatEntry(), r.floatExit())
		r.declare(&b, r.Steps)
		b.WriteString(r.floatFunction() + r.barrier("internal", "lathe_barrier"))
		return []string{b.String()}
	}
	var texts []string
	var declared strings.Builder
	meet := r.Symbol + "_barrier"
	b.WriteString(r.floatEntry())
	for from := 0; from < len(r.Steps); from += stepsPerFunction {
		to := min(from+stepsPerFunction, len(r.Steps))
		part := fmt.Sprintf("%s_%d", r.Symbol, from)
		fmt.Fprintf(&b, "  %%r%d = call i32 @%s(ptr %%ctx, i32 %%worker, i32 %%workers, i32 %%first, i32 %%last, i64 %s)\n", from, part, r.floatValue())
		fmt.Fprintf(&declared, "declare hidden i32 @%s(ptr, i32, i32, i32, i32, i64)\n", part)
		var p strings.Builder
		fmt.Fprintf(&p, "define hidden i32 @%s(%s, i64 %%float) nounwind \"no-builtins\" {\nentry:\n", part, entryParams)
		r.steps(&p, from, to, "", "")
		r.declare(&p, r.Steps[from:to])
		if r.meets() {
			fmt.Fprintf(&p, "declare hidden void @%s(ptr, i32, i64)\n", meet)
		}
		texts = append(texts, strings.ReplaceAll(p.String(), "@lathe_barrier(", "@"+meet+"("))
	}
	fmt.Fprintf(&b, "%s  ret i32 %%r%d\n}\n", r.floatExit(), (len(r.Steps)-1)/stepsPerFunction*stepsPerFunction)
	b.WriteString(declared.String() + r.floatFunction() + r.barrier("hidden", meet))
	return append(texts, b.String())
}

const entryParams = "ptr %ctx, i32 %worker, i32 %workers, i32 %first, i32 %last"

func (r *Run) context() bundle.Context { return bundle.ContextOf(r.Target.PointerBits() / 8) }

// steps writes the body of a function that runs those of the kernels [from, to) that are in [first, last), between two
// other pieces of code.
func (r *Run) steps(b *strings.Builder, from, to int, before, behind string) {
	ctx := r.context()
	field := func(name string, off int) {
		fmt.Fprintf(b, "  %%%s.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%%s = load ptr, ptr %%%s.p\n", name, off, name, name)
	}
	field("inputs", ctx.Inputs)
	field("outputs", ctx.Outputs)
	field("params", ctx.Params)
	field("workspace", ctx.Workspace)
	field("scratch0", ctx.Scratch)
	field("symbols", ctx.Symbols)
	size := fmt.Sprintf("i%d", r.Target.PointerBits())
	fmt.Fprintf(b, "  %%stride.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%stride = load %s, ptr %%stride.p\n", ctx.ScratchStride, size)
	b.WriteString("  %w = zext i32 %worker to i64\n  %ws = zext i32 %workers to i64\n")
	worker := "%w"
	if size == "i32" {
		worker = "%worker"
	}
	fmt.Fprintf(b, "  %%so = mul %s %s, %%stride\n  %%scratch = getelementptr i8, ptr %%scratch0, %s %%so\n", size, worker, size)
	fmt.Fprintf(b, "%s  br label %%s%d\n", before, from)
	for i, s := range r.Steps[from:to] {
		r.step(b, from+i, s)
	}
	fmt.Fprintf(b, "s%d:\n%s  %%status.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%status = load i32, ptr %%status.p\n  ret i32 %%status\n}\n", to, behind, ctx.Status)
}

// declare names the functions of kernels, each once.
func (r *Run) declare(b *strings.Builder, steps []Step) {
	seen := map[string]bool{}
	for _, s := range steps {
		if seen[s.Kernel] {
			continue
		}
		seen[s.Kernel] = true
		fmt.Fprintf(b, "declare hidden void @%s(%sptr, i64, i64)\n", s.Kernel, strings.Repeat("ptr, ", len(s.Args)))
	}
}

// step writes kernel i: skipped outside [first, last), after a barrier where one is planned, by worker 0 alone where
// the kernel is not divided.
func (r *Run) step(b *strings.Builder, i int, s Step) {
	fmt.Fprintf(b, "s%d:\n  %%a%d = icmp sle i32 %%first, %d\n  %%b%d = icmp sgt i32 %%last, %d\n  %%c%d = and i1 %%a%d, %%b%d\n", i, i, i, i, i, i, i, i)
	fmt.Fprintf(b, "  br i1 %%c%d, label %%in%d, label %%s%d\nin%d:\n", i, i, i+1, i)
	if s.Barrier && r.meets() {
		fmt.Fprintf(b, "  %%later%d = icmp slt i32 %%first, %d\n  br i1 %%later%d, label %%meet%d, label %%go%d\n", i, i, i, i, i)
		fmt.Fprintf(b, "meet%d:\n  call void @lathe_barrier(ptr %%ctx, i32 %%workers, i64 %%float)\n  br label %%go%d\ngo%d:\n", i, i, i)
	}
	if s.Serial {
		fmt.Fprintf(b, "  %%one%d = icmp eq i32 %%worker, 0\n  br i1 %%one%d, label %%run%d, label %%s%d\nrun%d:\n", i, i, i, i+1, i)
	}
	var args []string
	for j, p := range s.Args {
		name := fmt.Sprintf("%%k%d.%d", i, j)
		switch p.Kind {
		case Workspace:
			fmt.Fprintf(b, "  %s = getelementptr i8, ptr %%workspace, i64 %d\n", name, p.Index)
		case Symbol:
			fmt.Fprintf(b, "  %s = getelementptr i64, ptr %%symbols, i64 %d\n", name, p.Index)
		default:
			table := map[PlaceKind]string{Input: "inputs", Output: "outputs", Param: "params"}[p.Kind]
			fmt.Fprintf(b, "  %s.p = getelementptr ptr, ptr %%%s, i64 %d\n  %s = load ptr, ptr %s.p\n", name, table, p.Index, name, name)
		}
		args = append(args, "ptr "+name)
	}
	fmt.Fprintf(b, "  call void @%s(%s, ptr %%scratch, i64 %%w, i64 %%ws)\n  br label %%s%d\n", s.Kernel, strings.Join(args, ", "), i+1)
}
