package llvm

import (
	"fmt"
	"strconv"
	"strings"

	"lathe/internal/bundle"
)

// meets reports whether workers can be several.
func (r *Run) meets() bool { return !r.Target.ISA().OneWorker }

// team is teamText for the target and the mode in which kernels compute with floats; nothing where nobody meets.
func (r *Run) team(linkage string) string {
	if !r.meets() {
		return ""
	}
	ctx := r.context()
	return strings.NewReplacer(
		"LINKAGE", linkage, "FLOAT_MODE", strconv.FormatUint(r.floatMode(), 10),
		"CTX_TEAM", strconv.Itoa(ctx.Team), "CTX_PARTS", strconv.Itoa(ctx.Parts), "CTX_SPIN", strconv.Itoa(ctx.Spin),
		"CTX_WAIT", strconv.Itoa(ctx.Wait), "CTX_WAKE", strconv.Itoa(ctx.Wake), "CTX_USER", strconv.Itoa(ctx.User),
		"TEAM_DONE", strconv.Itoa(bundle.TeamDone), "TEAM_ASLEEP", strconv.Itoa(bundle.TeamAsleep),
		"PART_SIZE", strconv.Itoa(bundle.PartSize), "PART_CLAIM", strconv.Itoa(bundle.PartClaim), "PART_BASE", strconv.Itoa(bundle.PartBase),
		"PART_SEEN", strconv.Itoa(bundle.PartSeen), "PART_MINE", strconv.Itoa(bundle.PartMine),
		"PAUSE", r.Target.ISA().Instructions.Pause,
	).Replace(teamText)
}

// named is a text in which the functions of a team have names with a prefix of their own in place of "lathe".
func named(text, prefix string) string {
	var pairs []string
	for _, f := range []string{"claim", "pass", "meet", "enter", "decide", "copy", "zero"} {
		pairs = append(pairs, "@lathe_"+f+"(", "@"+prefix+"_"+f+"(")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// meet is a call that waits where the condition stay holds.
func meet(stay string) string {
	return fmt.Sprintf("  call void @lathe_meet(ptr %%ctx, i32 %%worker, i1 %s, i64 %%float)\n", stay)
}

// mostChunks are what a claim has bits for.
const mostChunks = 1<<12 - 1

// teamText is how workers share the chunks of a step. A worker counts the chunks of the steps behind it, part.base, and the team
// those that are finished, team.done: all steps before a worker's next one are over when done has come up to its base. Nothing is
// set up for a step and nothing is waited for that nobody has begun.
//
// The word claim of a worker's part is 40 bits of base + 1 of the step that it is about, the first chunk of the part
// that nobody has claimed, and the one behind the last. A word about an earlier step says that the part is whole: who claims first
// writes it anew. About a later step it says that all chunks of this one are claimed, for nobody leaves a step before that. A worker
// that comes late finds either, and cannot claim: the word that it read has changed, because the step could not end without
// that, and never changes back.
//
//	claim  the next chunk of a step of so many: of the worker's own part from the front, of others' from the back; -1: all are
//	       claimed, and the step is behind the worker
//	pass   puts a step of one chunk behind the worker that claimed it
//	meet   tells the team of the chunks that the worker has finished, and waits until all steps before are over, if it is to
//
// Who waits spins ctx.spin pauses and then sleeps, where the caller gave it ctx.wait: it makes team.asleep odd, looks at done once more,
// and sleeps while asleep is what it was then. Who finishes the last chunk looks at asleep after done, and makes it even and wakes
// where it is odd: another number than before, so that nobody sleeps because of one who came later and went on. Callbacks run in the caller's mode of computing with floats, %float.
const teamText = `
define LINKAGE i64 @lathe_claim(ptr %ctx, i32 %worker, i32 %workers, i32 %chunks) noinline nounwind "no-builtins" {
entry:
  %partsp = getelementptr i8, ptr %ctx, i64 CTX_PARTS
  %parts = load ptr, ptr %partsp
  %own = mul i32 %worker, PART_SIZE
  %part = getelementptr i8, ptr %parts, i32 %own
  %basep = getelementptr i8, ptr %part, i64 PART_BASE
  %base = load i64, ptr %basep
  %seenp = getelementptr i8, ptr %part, i64 PART_SEEN
  %seen = load i64, ptr %seenp
  %n = zext i32 %chunks to i64
  %end = add i64 %base, %n
  %ahead = sub i64 %seen, %end
  %past = icmp sge i64 %ahead, 0
  br i1 %past, label %over, label %begin
begin:
  %number = add i64 %base, 1
  %tag = shl i64 %number, 24
  %round = sub i32 %workers, 1
  br label %victim
victim:
  %k = phi i32 [ 0, %begin ], [ %k1, %exhausted ]
  %sum = add i32 %worker, %k
  %wrapped = sub i32 %sum, %workers
  %wraps = icmp uge i32 %sum, %workers
  %v = select i1 %wraps, i32 %wrapped, i32 %sum
  %at = mul i32 %v, PART_SIZE
  %word = getelementptr i8, ptr %parts, i32 %at
  %w0 = load atomic i64, ptr %word acquire, align 8
  br label %look
look:
  %w = phi i64 [ %w0, %victim ], [ %now, %take ]
  %of = and i64 %w, -16777216
  %d = sub i64 %of, %tag
  %later = icmp sgt i64 %d, 0
  br i1 %later, label %over, label %mine
mine:
  %whole = icmp slt i64 %d, 0
  br i1 %whole, label %untouched, label %touched
untouched:
  %a = mul i32 %v, %chunks
  %a1 = add i32 %a, %round
  %lo = udiv i32 %a1, %workers
  %b1 = add i32 %a1, %chunks
  %hi = udiv i32 %b1, %workers
  br label %left
touched:
  %w32 = trunc i64 %w to i32
  %f = lshr i32 %w32, 12
  %from0 = and i32 %f, 4095
  %to0 = and i32 %w32, 4095
  br label %left
left:
  %from = phi i32 [ %lo, %untouched ], [ %from0, %touched ]
  %to = phi i32 [ %hi, %untouched ], [ %to0, %touched ]
  %none = icmp uge i32 %from, %to
  br i1 %none, label %exhausted, label %take
take:
  %front = icmp eq i32 %k, 0
  %behind = add i32 %from, 1
  %last = sub i32 %to, 1
  %chunk = select i1 %front, i32 %from, i32 %last
  %from1 = select i1 %front, i32 %behind, i32 %from
  %to1 = select i1 %front, i32 %to, i32 %last
  %f1 = shl i32 %from1, 12
  %range = or i32 %f1, %to1
  %r64 = zext i32 %range to i64
  %new = or i64 %tag, %r64
  %pair = cmpxchg ptr %word, i64 %w, i64 %new acq_rel acquire, align 8
  %now = extractvalue { i64, i1 } %pair, 0
  %ok = extractvalue { i64, i1 } %pair, 1
  br i1 %ok, label %claimed, label %look
claimed:
  %minep = getelementptr i8, ptr %part, i64 PART_MINE
  %m = load i64, ptr %minep
  %m1 = add i64 %m, 1
  store i64 %m1, ptr %minep
  %result = zext i32 %chunk to i64
  ret i64 %result
exhausted:
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, %workers
  br i1 %more, label %victim, label %over
over:
  store i64 %end, ptr %basep
  ret i64 -1
}

define LINKAGE void @lathe_pass(ptr %ctx, i32 %worker) noinline nounwind "no-builtins" {
  %partsp = getelementptr i8, ptr %ctx, i64 CTX_PARTS
  %parts = load ptr, ptr %partsp
  %own = mul i32 %worker, PART_SIZE
  %part = getelementptr i8, ptr %parts, i32 %own
  %basep = getelementptr i8, ptr %part, i64 PART_BASE
  %base = load i64, ptr %basep
  %next = add i64 %base, 1
  store i64 %next, ptr %basep
  ret void
}

define LINKAGE void @lathe_meet(ptr %ctx, i32 %worker, i1 %stay, i64 %float) noinline nounwind "no-builtins" {
entry:
  %partsp = getelementptr i8, ptr %ctx, i64 CTX_PARTS
  %parts = load ptr, ptr %partsp
  %own = mul i32 %worker, PART_SIZE
  %part = getelementptr i8, ptr %parts, i32 %own
  %basep = getelementptr i8, ptr %part, i64 PART_BASE
  %base = load i64, ptr %basep
  %seenp = getelementptr i8, ptr %part, i64 PART_SEEN
  %minep = getelementptr i8, ptr %part, i64 PART_MINE
  %mine = load i64, ptr %minep
  %teamp = getelementptr i8, ptr %ctx, i64 CTX_TEAM
  %team = load ptr, ptr %teamp
  %done = getelementptr i8, ptr %team, i64 TEAM_DONE
  %asleep = getelementptr i8, ptr %team, i64 TEAM_ASLEEP
  %userp = getelementptr i8, ptr %ctx, i64 CTX_USER
  %news = icmp ne i64 %mine, 0
  br i1 %news, label %tell, label %arrive
tell:
  store i64 0, ptr %minep
  %before = atomicrmw add ptr %done, i64 %mine seq_cst
  %sum = add i64 %before, %mine
  store i64 %sum, ptr %seenp
  %open = sub i64 %sum, %base
  %early = icmp slt i64 %open, 0
  br i1 %early, label %wait, label %last
last:
  %sleeps = load atomic i32, ptr %asleep seq_cst, align 4
  %any = trunc i32 %sleeps to i1
  br i1 %any, label %rouse, label %out
rouse:
  %roused = add i32 %sleeps, 1
  %turn = cmpxchg ptr %asleep, i32 %sleeps, i32 %roused seq_cst monotonic
  %first = extractvalue { i32, i1 } %turn, 1
  br i1 %first, label %wake, label %out
wake:
  %wakep = getelementptr i8, ptr %ctx, i64 CTX_WAKE
  %wakef = load ptr, ptr %wakep
  %u1 = load ptr, ptr %userp
  call i64 @lathe_float_control(i64 %float)
  call void %wakef(ptr %u1, ptr %asleep)
  call i64 @lathe_float_control(i64 FLOAT_MODE)
  br label %out
arrive:
  %seen = load i64, ptr %seenp
  %known = sub i64 %seen, %base
  %passed = icmp sge i64 %known, 0
  br i1 %passed, label %out, label %wait
wait:
  br i1 %stay, label %prepare, label %out
prepare:
  %spinp = getelementptr i8, ptr %ctx, i64 CTX_SPIN
  %limit = load atomic i32, ptr %spinp monotonic, align 4
  %waitp = getelementptr i8, ptr %ctx, i64 CTX_WAIT
  %waitf = load ptr, ptr %waitp
  %canwait = icmp ne ptr %waitf, null
  br label %check
check:
  %k = phi i32 [ 0, %prepare ], [ %k1, %pause ], [ 0, %slept ]
  %g = load atomic i64, ptr %done acquire, align 8
  %g0 = sub i64 %g, %base
  %over = icmp sge i64 %g0, 0
  br i1 %over, label %go, label %still
still:
  %spent = icmp uge i32 %k, %limit
  %sleepnow = and i1 %spent, %canwait
  br i1 %sleepnow, label %sleep, label %pause
pause:
  PAUSE
  %k1 = add i32 %k, 1
  br label %check
sleep:
  %slept0 = atomicrmw or ptr %asleep, i32 1 seq_cst
  %nap = or i32 %slept0, 1
  %h = load atomic i64, ptr %done seq_cst, align 8
  %h0 = sub i64 %h, %base
  %late = icmp sge i64 %h0, 0
  br i1 %late, label %go, label %lie
lie:
  %u2 = load ptr, ptr %userp
  call i64 @lathe_float_control(i64 %float)
  call void %waitf(ptr %u2, ptr %asleep, i32 %nap)
  call i64 @lathe_float_control(i64 FLOAT_MODE)
  br label %slept
slept:
  br label %check
go:
  %at = phi i64 [ %g, %check ], [ %h, %sleep ]
  store i64 %at, ptr %seenp
  br label %out
out:
  ret void
}
`
