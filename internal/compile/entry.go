package compile

import (
	"fmt"
	"strconv"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/target"
)

// stepsPerFunction bounds the functions that run steps: LLVM's time for one grows with the square of its blocks.
const stepsPerFunction = 128

// entry writes the library's exported function: steps [first, last) in order, with the planned barriers between them. Of
// many steps it calls functions of stepsPerFunction each, in texts of their own, of which the entry's own is the last.
func (c *compiler) entry() []string {
	var b strings.Builder
	run := c.kernelSymbol("run")
	fmt.Fprintf(&b, "define i32 @%s(%s) nounwind \"no-builtins\" {\nentry:\n", run, entryParams)
	if len(c.kernels) <= stepsPerFunction {
		c.steps(&b, 0, len(c.kernels), c.floatEntry(), c.floatExit())
		c.declare(&b, c.kernels)
		b.WriteString(c.floatFunction() + c.barrier("internal", "lathe_barrier"))
		return []string{b.String()}
	}
	var texts []string
	var declared strings.Builder
	meet := c.kernelSymbol("run_barrier")
	b.WriteString(c.floatEntry())
	for from := 0; from < len(c.kernels); from += stepsPerFunction {
		to := min(from+stepsPerFunction, len(c.kernels))
		part := fmt.Sprintf("%s_%d", run, from)
		fmt.Fprintf(&b, "  %%r%d = call i32 @%s(ptr %%ctx, i32 %%worker, i32 %%workers, i32 %%first, i32 %%last, i64 %s)\n", from, part, c.floatValue())
		fmt.Fprintf(&declared, "declare hidden i32 @%s(ptr, i32, i32, i32, i32, i64)\n", part)
		var p strings.Builder
		fmt.Fprintf(&p, "define hidden i32 @%s(%s, i64 %%float) nounwind \"no-builtins\" {\nentry:\n", part, entryParams)
		c.steps(&p, from, to, "", "")
		c.declare(&p, c.kernels[from:to])
		if c.meets() {
			fmt.Fprintf(&p, "declare hidden void @%s(ptr, i32, i64)\n", meet)
		}
		texts = append(texts, strings.ReplaceAll(p.String(), "@lathe_barrier(", "@"+meet+"("))
	}
	fmt.Fprintf(&b, "%s  ret i32 %%r%d\n}\n", c.floatExit(), (len(c.kernels)-1)/stepsPerFunction*stepsPerFunction)
	b.WriteString(declared.String() + c.floatFunction() + c.barrier("hidden", meet))
	return append(texts, b.String())
}

const entryParams = "ptr %ctx, i32 %worker, i32 %workers, i32 %first, i32 %last"

func (c *compiler) context() bundle.Context { return bundle.ContextOf(c.Target.PointerBits() / 8) }

// steps writes the body of a function that runs those of the kernels [from, to) that are in [first, last), between two
// other pieces of code.
func (c *compiler) steps(b *strings.Builder, from, to int, before, behind string) {
	ctx := c.context()
	field := func(name string, off int) {
		fmt.Fprintf(b, "  %%%s.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%%s = load ptr, ptr %%%s.p\n", name, off, name, name)
	}
	field("inputs", ctx.Inputs)
	field("outputs", ctx.Outputs)
	field("params", ctx.Params)
	field("workspace", ctx.Workspace)
	field("scratch0", ctx.Scratch)
	field("symbols", ctx.Symbols)
	size := fmt.Sprintf("i%d", c.Target.PointerBits())
	fmt.Fprintf(b, "  %%stride.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%stride = load %s, ptr %%stride.p\n", ctx.ScratchStride, size)
	b.WriteString("  %w = zext i32 %worker to i64\n  %ws = zext i32 %workers to i64\n")
	worker := "%w"
	if size == "i32" {
		worker = "%worker"
	}
	fmt.Fprintf(b, "  %%so = mul %s %s, %%stride\n  %%scratch = getelementptr i8, ptr %%scratch0, %s %%so\n", size, worker, size)
	fmt.Fprintf(b, "%s  br label %%s%d\n", before, from)
	for i, k := range c.kernels[from:to] {
		c.step(b, from+i, k)
	}
	fmt.Fprintf(b, "s%d:\n%s  %%status.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%status = load i32, ptr %%status.p\n  ret i32 %%status\n}\n", to, behind, ctx.Status)
}

// declare names the functions of kernels, each once.
func (c *compiler) declare(b *strings.Builder, kernels []*kernel) {
	seen := map[string]bool{}
	for _, k := range kernels {
		if seen[k.symbol] {
			continue
		}
		seen[k.symbol] = true
		fmt.Fprintf(b, "declare hidden void @%s(%sptr, i64, i64)\n", k.symbol, strings.Repeat("ptr, ", len(k.params())))
	}
}

// meets reports whether workers can be several: a WebAssembly module is run by one alone.
func (c *compiler) meets() bool { return c.Target.Arch != target.WASM32 }

// step writes kernel i: skipped outside [first, last), after a barrier where one is planned, by worker 0 alone where
// the kernel is not divided.
func (c *compiler) step(b *strings.Builder, i int, k *kernel) {
	fmt.Fprintf(b, "s%d:\n  %%a%d = icmp sle i32 %%first, %d\n  %%b%d = icmp sgt i32 %%last, %d\n  %%c%d = and i1 %%a%d, %%b%d\n", i, i, i, i, i, i, i, i)
	fmt.Fprintf(b, "  br i1 %%c%d, label %%in%d, label %%s%d\nin%d:\n", i, i, i+1, i)
	if c.plan.barrier[i] && c.meets() {
		fmt.Fprintf(b, "  %%later%d = icmp slt i32 %%first, %d\n  br i1 %%later%d, label %%meet%d, label %%go%d\n", i, i, i, i, i)
		fmt.Fprintf(b, "meet%d:\n  call void @lathe_barrier(ptr %%ctx, i32 %%workers, i64 %%float)\n  br label %%go%d\ngo%d:\n", i, i, i)
	}
	if k.serial {
		fmt.Fprintf(b, "  %%one%d = icmp eq i32 %%worker, 0\n  br i1 %%one%d, label %%run%d, label %%s%d\nrun%d:\n", i, i, i, i+1, i)
	}
	var args []string
	for j, v := range k.params() {
		name := fmt.Sprintf("%%k%d.%d", i, j)
		p := c.plan.at[v]
		switch p.kind {
		case inWorkspace:
			fmt.Fprintf(b, "  %s = getelementptr i8, ptr %%workspace, i64 %d\n", name, p.offset)
		case isSymbol:
			fmt.Fprintf(b, "  %s = getelementptr i64, ptr %%symbols, i64 %d\n", name, p.index)
		default:
			table := map[placeKind]string{isInput: "inputs", isOutput: "outputs", isConst: "params"}[p.kind]
			fmt.Fprintf(b, "  %s.p = getelementptr ptr, ptr %%%s, i64 %d\n  %s = load ptr, ptr %s.p\n", name, table, p.index, name, name)
		}
		args = append(args, "ptr "+name)
	}
	fmt.Fprintf(b, "  call void @%s(%s, ptr %%scratch, i64 %%w, i64 %%ws)\n  br label %%s%d\n", k.symbol, strings.Join(args, ", "), i+1)
}

// barrier is barrierText for the target and the mode in which kernels compute with floats; nothing where nobody meets.
func (c *compiler) barrier(linkage, name string) string {
	if !c.meets() {
		return ""
	}
	ctx := c.context()
	return strings.NewReplacer(
		"LINKAGE", linkage, "@lathe_barrier", "@"+name, "FLOAT_MODE", strconv.FormatUint(c.floatMode(), 10),
		"CTX_BARRIER", strconv.Itoa(ctx.Barrier), "CTX_SPIN", strconv.Itoa(ctx.Spin), "CTX_WAIT", strconv.Itoa(ctx.Wait),
		"CTX_WAKE", strconv.Itoa(ctx.Wake), "CTX_USER", strconv.Itoa(ctx.User),
	).Replace(barrierText)
}

// barrierText is the meeting of all workers: the last to arrive resets the counter and advances the generation; the
// others spin on the generation, and after ctx.spin pauses call ctx.wait where the caller gave one. Sleepers are counted
// before the generation is checked again, so that a wake-up is never lost. Callbacks run in the caller's mode of computing
// with floats, %float.
const barrierText = `
define LINKAGE void @lathe_barrier(ptr %ctx, i32 %workers, i64 %float) noinline nounwind "no-builtins" {
entry:
  %alone = icmp ule i32 %workers, 1
  br i1 %alone, label %out, label %arrive
arrive:
  %bp = getelementptr i8, ptr %ctx, i64 CTX_BARRIER
  %bar = load ptr, ptr %bp
  %gen = getelementptr i8, ptr %bar, i64 64
  %sleepers = getelementptr i8, ptr %bar, i64 128
  %g0 = load atomic i32, ptr %gen acquire, align 4
  %old = atomicrmw add ptr %bar, i32 1 acq_rel
  %mine = add i32 %old, 1
  %lastone = icmp eq i32 %mine, %workers
  br i1 %lastone, label %release, label %prepare
release:
  store atomic i32 0, ptr %bar monotonic, align 4
  %prev = atomicrmw add ptr %gen, i32 1 seq_cst
  %n = load atomic i32, ptr %sleepers seq_cst, align 4
  %any = icmp ne i32 %n, 0
  br i1 %any, label %wake, label %out
wake:
  %wakep = getelementptr i8, ptr %ctx, i64 CTX_WAKE
  %wakef = load ptr, ptr %wakep
  %u1p = getelementptr i8, ptr %ctx, i64 CTX_USER
  %u1 = load ptr, ptr %u1p
  call i64 @lathe_float_control(i64 %float)
  call void %wakef(ptr %u1, ptr %gen)
  call i64 @lathe_float_control(i64 FLOAT_MODE)
  br label %out
prepare:
  %spinp = getelementptr i8, ptr %ctx, i64 CTX_SPIN
  %limit = load atomic i32, ptr %spinp monotonic, align 4
  %waitp = getelementptr i8, ptr %ctx, i64 CTX_WAIT
  %waitf = load ptr, ptr %waitp
  %canwait = icmp ne ptr %waitf, null
  br label %check
check:
  %k = phi i32 [ 0, %prepare ], [ %k1, %pause ], [ 0, %slept ]
  %g = load atomic i32, ptr %gen acquire, align 4
  %moved = icmp ne i32 %g, %g0
  br i1 %moved, label %out, label %still
still:
  %spent = icmp uge i32 %k, %limit
  %sleepnow = and i1 %spent, %canwait
  br i1 %sleepnow, label %sleep, label %pause
pause:
  PAUSE
  %k1 = add i32 %k, 1
  br label %check
sleep:
  %x1 = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %u2p = getelementptr i8, ptr %ctx, i64 CTX_USER
  %u2 = load ptr, ptr %u2p
  call i64 @lathe_float_control(i64 %float)
  call void %waitf(ptr %u2, ptr %gen, i32 %g0)
  call i64 @lathe_float_control(i64 FLOAT_MODE)
  %x2 = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %slept
slept:
  br label %check
out:
  ret void
}
`
