package llvm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/bundle"
)

// A While says what is to be done at the end of a loop that ends when its first input is false: the last values of the carried
// inputs go to their places, what is left of the slices becomes zero, and Count gets the number of iterations.
type While struct {
	Results []Place // of the carried inputs
	Bytes   []int   // of these, then of the slices
	Count   Place
	Strict  bool // where there would be more iterations than Trips, the run has bundle.StatusBound
}

// elseName is the function that runs in place of the loop that is step i of another function.
func elseName(name string, i int) string { return fmt.Sprintf("%s_else%d", name, i) }

// turns reports whether which steps run depends on data.
func (r *Run) turns() bool { return turns(r.Steps) }

func turns(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool {
		return s.Else != nil || s.Loop != nil && (s.Loop.While != nil || turns(s.Loop.Steps))
	})
}

// region runs the loop of step i, or one of two.
func (r *Run) region(b *strings.Builder, i int, s Step, name, workers string) {
	if s.Else == nil {
		r.callLoop(b, loopName(name, i), workers, "0")
		return
	}
	at := s.Condition.pointer(b, fmt.Sprintf("%%condition%d", i), "")
	r.decide(b, fmt.Sprintf("%%holds%d", i), at, workers)
	fmt.Fprintf(b, "  br i1 %%holds%[1]d, label %%then%[1]d, label %%else%[1]d\nthen%[1]d:\n", i)
	r.callLoop(b, loopName(name, i), workers, "0")
	fmt.Fprintf(b, "  br label %%joined%[1]d\nelse%[1]d:\n", i)
	r.callLoop(b, elseName(name, i), workers, "0")
	fmt.Fprintf(b, "  br label %%joined%[1]d\njoined%[1]d:\n", i)
}

// decide makes name whether the byte at an address is not zero, the same for all workers.
func (r *Run) decide(b *strings.Builder, name, at, workers string) {
	if !r.meets() {
		fmt.Fprintf(b, "  %[1]s.byte = load i8, ptr %[2]s\n  %[1]s = icmp ne i8 %[1]s.byte, 0\n", name, at)
		return
	}
	fmt.Fprintf(b, "  %s = call i1 @lathe_decide(ptr %%ctx, i32 %%worker, i32 %s, ptr %s, i64 %s)\n", name, workers, at, r.floatValue())
}

// goesOn leaves a loop where its first input is false, or where it has run as often as it may. Tables are bound.
func (r *Run) goesOn(b *strings.Builder, l *Loop) {
	b.WriteString("  %goes.p = load ptr, ptr %inputs\n")
	r.decide(b, "%goes", "%goes.p", "%workers")
	b.WriteString("  br i1 %goes, label %room, label %end\nroom:\n")
	if l.Trips > 0 {
		fmt.Fprintf(b, "  %%more = icmp ult i64 %%i, %d\n  br i1 %%more, label %%body, label %%end\nbody:\n", l.Trips)
	}
}

// finish ends a loop with While: one worker does.
func (r *Run) finish(b *strings.Builder, l *Loop) {
	if l.While.Strict {
		b.WriteString("  %full = phi i1 [ 0, %head ], [ 1, %room ]\n")
	}
	if r.meets() {
		b.WriteString("  br i1 %alone, label %finish, label %share\nshare:\n  %got = call i64 @lathe_claim(ptr %ctx, i32 %worker, i32 %workers, i32 1)\n")
		b.WriteString("  %none = icmp slt i64 %got, 0\n  br i1 %none, label %done, label %finish\nfinish:\n")
	}
	for k, bytes := range l.While.Bytes {
		if k < len(l.While.Results) {
			fmt.Fprintf(b, "  %%last%[1]d.p = getelementptr ptr, ptr %%inputs, i64 %[1]d\n  %%last%[1]d = load ptr, ptr %%last%[1]d.p\n", k)
			to := l.While.Results[k].pointer(b, fmt.Sprintf("%%result%d", k), "0")
			fmt.Fprintf(b, "  call void @lathe_copy(ptr %s, ptr %%last%d, i64 %d)\n", to, k, bytes)
			continue
		}
		out := l.Outputs[k]
		to := out.Even.pointer(b, fmt.Sprintf("%%result%d", k), "0")
		fmt.Fprintf(b, "  %%written%[1]d = mul i64 %%i, %[2]d\n  %%left%[1]d = sub i64 %[3]d, %%written%[1]d\n", k, bytes, l.Trips*bytes)
		if out.Offset == 0 { // from the first slice on
			fmt.Fprintf(b, "  %%rest%[1]d = getelementptr i8, ptr %[2]s, i64 %%written%[1]d\n", k, to)
			to = fmt.Sprintf("%%rest%d", k)
		}
		fmt.Fprintf(b, "  call void @lathe_zero(ptr %s, i64 %%left%d)\n", to, k)
	}
	fmt.Fprintf(b, "  store i64 %%i, ptr %s\n", l.While.Count.pointer(b, "%count", "0"))
	if l.While.Strict {
		fmt.Fprintf(b, "  br i1 %%full, label %%bound, label %%ok\nbound:\n  %%status.p = getelementptr i8, ptr %%ctx, i64 %d\n  store i32 %d, ptr %%status.p\n  br label %%ok\nok:\n", r.context().Status, bundle.StatusBound)
	}
	if r.meets() {
		b.WriteString("  br i1 %alone, label %done, label %pass\npass:\n  call void @lathe_pass(ptr %ctx, i32 %worker)\n  br label %done\ndone:\n")
	}
}

const turnDeclarations = `declare hidden void @lathe_copy(ptr, ptr, i64)
declare hidden void @lathe_zero(ptr, i64)
declare hidden i1 @lathe_decide(ptr, i32, i32, ptr, i64)
`

// turnFunctions are what runs need whose steps depend on data.
func (r *Run) turnFunctions(linkage string) string {
	text := turnText
	if r.meets() {
		text += decideText
	} else {
		text += "define LINKAGE void @lathe_enter(ptr %ctx, i32 %worker, i32 %workers) nounwind \"no-builtins\" {\n  ret void\n}\n"
	}
	ctx := r.context()
	return strings.NewReplacer(
		"LINKAGE", linkage, "CTX_TEAM", strconv.Itoa(ctx.Team), "CTX_PARTS", strconv.Itoa(ctx.Parts),
		"TEAM_TURNS", strconv.Itoa(bundle.TeamTurns), "LAST_TURN", strconv.Itoa(bundle.Turns-1), "LOST", strconv.Itoa(1<<62),
		"PART_SIZE", strconv.Itoa(bundle.PartSize), "PART_BASE", strconv.Itoa(bundle.PartBase), "PART_SEEN", strconv.Itoa(bundle.PartSeen),
		"PART_MINE", strconv.Itoa(bundle.PartMine), "PART_TURN", strconv.Itoa(bundle.PartTurn),
	).Replace(text)
}

// turnText copies and clears memory that is aligned to nothing.
const turnText = `
define LINKAGE void @lathe_copy(ptr %to, ptr %from, i64 %bytes) noinline nounwind "no-builtins" {
entry:
  %same = icmp eq ptr %to, %from
  br i1 %same, label %out, label %words
words:
  %i = phi i64 [ 0, %entry ], [ %i8, %word ]
  %i8 = add i64 %i, 8
  %fits = icmp ule i64 %i8, %bytes
  br i1 %fits, label %word, label %bytewise
word:
  %a = getelementptr i8, ptr %from, i64 %i
  %b = getelementptr i8, ptr %to, i64 %i
  %x = load i64, ptr %a, align 1
  store i64 %x, ptr %b, align 1
  br label %words
bytewise:
  %j = phi i64 [ %i, %words ], [ %j1, %byte ]
  %more = icmp ult i64 %j, %bytes
  br i1 %more, label %byte, label %out
byte:
  %c = getelementptr i8, ptr %from, i64 %j
  %d = getelementptr i8, ptr %to, i64 %j
  %y = load i8, ptr %c
  store i8 %y, ptr %d
  %j1 = add i64 %j, 1
  br label %bytewise
out:
  ret void
}

define LINKAGE void @lathe_zero(ptr %to, i64 %bytes) noinline nounwind "no-builtins" {
entry:
  br label %words
words:
  %i = phi i64 [ 0, %entry ], [ %i8, %word ]
  %i8 = add i64 %i, 8
  %fits = icmp ule i64 %i8, %bytes
  br i1 %fits, label %word, label %bytewise
word:
  %b = getelementptr i8, ptr %to, i64 %i
  store i64 0, ptr %b, align 1
  br label %words
bytewise:
  %j = phi i64 [ %i, %words ], [ %j1, %byte ]
  %more = icmp ult i64 %j, %bytes
  br i1 %more, label %byte, label %out
byte:
  %d = getelementptr i8, ptr %to, i64 %j
  store i8 0, ptr %d
  %j1 = add i64 %j, 1
  br label %bytewise
out:
  ret void
}
`

// decideText is how workers take the same turn. Worker 0, which always comes, reads the condition when all before is over, and writes
// what it is into team.turns, with the number of chunks that are behind the decision, which counts as one. The others wait until that
// chunk is finished too; before, they tell what they have finished, for worker 0 may sleep until they do. Who comes so late that the turn is overwritten by a later one cannot know where the others are: it is lost, and finds nothing to do in
// this run any more, for part.seen says that all is over.
//
//	enter   begins a run
//	decide  whether the byte at an address is not zero, the same for all
const decideText = `
define LINKAGE void @lathe_enter(ptr %ctx, i32 %worker, i32 %workers) noinline nounwind "no-builtins" {
entry:
  %alone = icmp ule i32 %workers, 1
  br i1 %alone, label %out, label %all
all:
  %partsp = getelementptr i8, ptr %ctx, i64 CTX_PARTS
  %parts = load ptr, ptr %partsp
  %own = mul i32 %worker, PART_SIZE
  %part = getelementptr i8, ptr %parts, i32 %own
  %basep = getelementptr i8, ptr %part, i64 PART_BASE
  %base = load i64, ptr %basep
  %seenp = getelementptr i8, ptr %part, i64 PART_SEEN
  store i64 %base, ptr %seenp
  %turnp = getelementptr i8, ptr %part, i64 PART_TURN
  store i64 0, ptr %turnp
  br label %out
out:
  ret void
}

define LINKAGE i1 @lathe_decide(ptr %ctx, i32 %worker, i32 %workers, ptr %condition, i64 %float) noinline nounwind "no-builtins" {
entry:
  %alone = icmp ule i32 %workers, 1
  br i1 %alone, label %direct, label %all
direct:
  %byte = load i8, ptr %condition
  %is = icmp ne i8 %byte, 0
  ret i1 %is
all:
  %partsp = getelementptr i8, ptr %ctx, i64 CTX_PARTS
  %parts = load ptr, ptr %partsp
  %own = mul i32 %worker, PART_SIZE
  %part = getelementptr i8, ptr %parts, i32 %own
  %basep = getelementptr i8, ptr %part, i64 PART_BASE
  %base = load i64, ptr %basep
  %number = add i64 %base, 1
  %turnp = getelementptr i8, ptr %part, i64 PART_TURN
  %turn = load i64, ptr %turnp
  %turn1 = add i64 %turn, 1
  store i64 %turn1, ptr %turnp
  %teamp = getelementptr i8, ptr %ctx, i64 CTX_TEAM
  %team = load ptr, ptr %teamp
  %turns = getelementptr i8, ptr %team, i64 TEAM_TURNS
  %index = and i64 %turn, LAST_TURN
  %slot = getelementptr i64, ptr %turns, i64 %index
  %caller = icmp eq i32 %worker, 0
  br i1 %caller, label %lead, label %follow
lead:
  call void @lathe_meet(ptr %ctx, i32 %worker, i1 1, i64 %float)
  %read = load i8, ptr %condition
  %holds = icmp ne i8 %read, 0
  %bit = zext i1 %holds to i64
  %high = shl i64 %number, 1
  %word = or i64 %high, %bit
  store atomic i64 %word, ptr %slot release, align 8
  store i64 %number, ptr %basep
  %minep = getelementptr i8, ptr %part, i64 PART_MINE
  %mine = load i64, ptr %minep
  %mine1 = add i64 %mine, 1
  store i64 %mine1, ptr %minep
  call void @lathe_meet(ptr %ctx, i32 %worker, i1 0, i64 %float)
  ret i1 %holds
follow:
  call void @lathe_meet(ptr %ctx, i32 %worker, i1 0, i64 %float)
  store i64 %number, ptr %basep
  call void @lathe_meet(ptr %ctx, i32 %worker, i1 1, i64 %float)
  %said = load atomic i64, ptr %slot acquire, align 8
  %of = lshr i64 %said, 1
  %right = icmp eq i64 %of, %number
  %seenp = getelementptr i8, ptr %part, i64 PART_SEEN
  %seen = load i64, ptr %seenp
  %here = icmp slt i64 %seen, LOST
  %known = and i1 %right, %here
  br i1 %known, label %take, label %lost
take:
  %that = trunc i64 %said to i1
  ret i1 %that
lost:
  store i64 LOST, ptr %seenp
  ret i1 0
}
`
