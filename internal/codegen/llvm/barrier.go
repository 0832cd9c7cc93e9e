package llvm

import (
	"strconv"
	"strings"
)

// meets reports whether workers can be several.
func (r *Run) meets() bool { return !r.Target.ISA().OneWorker }

// barrier is barrierText for the target and the mode in which kernels compute with floats; nothing where nobody meets.
func (r *Run) barrier(linkage, name string) string {
	if !r.meets() {
		return ""
	}
	ctx := r.context()
	return strings.NewReplacer(
		"LINKAGE", linkage, "@lathe_barrier", "@"+name, "FLOAT_MODE", strconv.FormatUint(r.floatMode(), 10),
		"CTX_BARRIER", strconv.Itoa(ctx.Barrier), "CTX_SPIN", strconv.Itoa(ctx.Spin), "CTX_WAIT", strconv.Itoa(ctx.Wait),
		"CTX_WAKE", strconv.Itoa(ctx.Wake), "CTX_USER", strconv.Itoa(ctx.User),
		"PAUSE", r.Target.ISA().Instructions.Pause,
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
