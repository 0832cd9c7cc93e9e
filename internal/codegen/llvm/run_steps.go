package llvm

import (
	"fmt"
	"strings"
)

// units are steps [from, to), of which none that are joined are apart.
type units struct{ from, to int }

// cut divides steps into runs of no more than about stepsPerFunction.
func cut(steps []Step) (list []units) {
	for at := 0; at < len(steps); {
		next := at + unit(steps[at:])
		if k := len(list) - 1; k >= 0 && next-list[k].from <= stepsPerFunction {
			list[k].to = next
		} else {
			list = append(list, units{at, next})
		}
		at = next
	}
	return list
}

// unit is the number of steps that are claimed with the first.
func unit(steps []Step) int {
	n := 1
	for n < len(steps) && steps[n].Joined {
		n++
	}
	return n
}

// steps writes code that runs some of the steps of the function name, from the end of a block to the beginning of another.
// Ranged ones are skipped outside [first, last).
func (r *Run) steps(b *strings.Builder, of units, name string, steps []Step, ranged bool) {
	fmt.Fprintf(b, "  br label %%s%d\n", of.from)
	for i := of.from; i < of.to; {
		next := i + unit(steps[i:of.to])
		fmt.Fprintf(b, "s%d:\n", i)
		if ranged {
			within(b, fmt.Sprintf("in%d", i), fmt.Sprintf("s%d", next), i, next)
		}
		if s := steps[i]; s.Serial {
			r.serial(b, i, steps[i:next], name, ranged)
		} else {
			r.divided(b, i, s, name)
		}
		i = next
	}
	fmt.Fprintf(b, "s%d:\n", of.to)
}

// within branches to a new block where one of the steps [from, to) is in [first, last), else elsewhere.
func within(b *strings.Builder, block, elsewhere string, from, to int) {
	fmt.Fprintf(b, "  %%a.%[1]s = icmp slt i32 %%first, %[2]d\n  %%b.%[1]s = icmp sgt i32 %%last, %[3]d\n  %%c.%[1]s = and i1 %%a.%[1]s, %%b.%[1]s\n", block, to, from)
	fmt.Fprintf(b, "  br i1 %%c.%[1]s, label %%%[1]s, label %%%[2]s\n%[1]s:\n", block, elsewhere)
}

// serial writes steps from i on that one worker runs: the one that claims them as the only chunk.
func (r *Run) serial(b *strings.Builder, i int, list []Step, name string, ranged bool) {
	next := i + len(list)
	if r.meets() {
		fmt.Fprintf(b, "  br i1 %%alone, label %%run%[1]d, label %%all%[1]d\nall%[1]d:\n", i)
		if list[0].Barrier {
			b.WriteString(meet("1"))
		}
		fmt.Fprintf(b, "  %%got%[1]d = call i64 @lathe_claim(ptr %%ctx, i32 %%worker, i32 %%workers, i32 1)\n  %%none%[1]d = icmp slt i64 %%got%[1]d, 0\n", i)
		fmt.Fprintf(b, "  br i1 %%none%[1]d, label %%s%[2]d, label %%run%[1]d\nrun%[1]d:\n", i, next)
	}
	for k, s := range list {
		if ranged && len(list) > 1 {
			within(b, fmt.Sprintf("one%d", i+k), fmt.Sprintf("behind%d", i+k), i+k, i+k+1)
		}
		if s.Loop != nil {
			r.region(b, i+k, s, name, "1")
		} else {
			r.call(b, i+k, s, "0", "1")
		}
		if ranged && len(list) > 1 {
			fmt.Fprintf(b, "  br label %%behind%[1]d\nbehind%[1]d:\n", i+k)
		}
	}
	if r.meets() {
		fmt.Fprintf(b, "  br i1 %%alone, label %%s%[2]d, label %%pass%[1]d\npass%[1]d:\n  call void @lathe_pass(ptr %%ctx, i32 %%worker)\n", i, next)
	}
	fmt.Fprintf(b, "  br label %%s%d\n", next)
}

// divided writes step i, whose chunks workers claim until none is left.
func (r *Run) divided(b *strings.Builder, i int, s Step, name string) {
	next := i + 1
	switch {
	case s.Loop != nil && s.Loop.Parts > 1:
		r.inParts(b, i, s, name)
	case s.Loop != nil:
		if s.Barrier && r.meets() {
			fmt.Fprintf(b, "  br i1 %%alone, label %%run%[1]d, label %%all%[1]d\nall%[1]d:\n%[2]s  br label %%run%[1]d\nrun%[1]d:\n", i, meet("1"))
		}
		r.region(b, i, s, name, "%workers")
		fmt.Fprintf(b, "  br label %%s%d\n", next)
	case s.Swings:
		r.swinging(b, i, s)
	case !r.meets():
		r.call(b, i, s, "0", "1")
		fmt.Fprintf(b, "  br label %%s%d\n", next)
	default:
		fmt.Fprintf(b, "  br label %%begin%[1]d\nbegin%[1]d:\n", i)
		s.count(b, i)
		fmt.Fprintf(b, "  %%chunks%[1]d = zext i32 %%n%[1]d to i64\n", i)
		s.claim(b, i)
		fmt.Fprintf(b, "run%[1]d:\n  %%chunk%[1]d = phi i64 [ 0, %%begin%[1]d ], [ %%got%[1]d, %%next%[1]d ]\n  %%of%[1]d = phi i64 [ 1, %%begin%[1]d ], [ %%chunks%[1]d, %%next%[1]d ]\n", i)
		r.call(b, i, s, fmt.Sprintf("%%chunk%d", i), fmt.Sprintf("%%of%d", i))
		fmt.Fprintf(b, "  br i1 %%alone, label %%s%[2]d, label %%next%[1]d\n", i, next)
	}
}

// claim goes to label run, for a worker that is alone at once, for others with each chunk of step i that they claim, %got, from label next; and behind
// the step where none is left.
func (s Step) claim(b *strings.Builder, i int) {
	fmt.Fprintf(b, "  br i1 %%alone, label %%run%[1]d, label %%all%[1]d\nall%[1]d:\n", i)
	if s.Barrier {
		b.WriteString(meet("1"))
	}
	fmt.Fprintf(b, "  br label %%next%d\n", i)
	fmt.Fprintf(b, "next%[1]d:\n  %%got%[1]d = call i64 @lathe_claim(ptr %%ctx, i32 %%worker, i32 %%workers, i32 %%n%[1]d)\n  %%none%[1]d = icmp slt i64 %%got%[1]d, 0\n", i)
	fmt.Fprintf(b, "  br i1 %%none%[1]d, label %%s%[2]d, label %%run%[1]d\n", i, i+1)
}

// inParts writes step i, a loop whose parts workers claim until none is left.
func (r *Run) inParts(b *strings.Builder, i int, s Step, name string) {
	fmt.Fprintf(b, "  br label %%begin%[1]d\nbegin%[1]d:\n", i)
	claimed := ""
	if r.meets() {
		fmt.Fprintf(b, "  %%n%d = add i32 0, %d\n", i, s.Loop.Parts)
		s.claim(b, i)
		claimed = fmt.Sprintf(", [ %%got%[1]d, %%next%[1]d ]", i)
	} else {
		fmt.Fprintf(b, "  br label %%run%d\n", i)
	}
	fmt.Fprintf(b, "run%[1]d:\n  %%part%[1]d = phi i64 [ 0, %%begin%[1]d ], [ %%after%[1]d, %%again%[1]d ]%[2]s\n", i, claimed)
	r.callLoop(b, loopName(name, i), "1", fmt.Sprintf("%%part%d", i))
	if r.meets() {
		fmt.Fprintf(b, "  br i1 %%alone, label %%again%[1]d, label %%next%[1]d\n", i)
	} else {
		fmt.Fprintf(b, "  br label %%again%d\n", i)
	}
	fmt.Fprintf(b, "again%[1]d:\n  %%after%[1]d = add i64 %%part%[1]d, 1\n  %%more%[1]d = icmp ult i64 %%after%[1]d, %[2]d\n", i, s.Loop.Parts)
	fmt.Fprintf(b, "  br i1 %%more%[1]d, label %%run%[1]d, label %%s%[2]d\n", i, i+1)
}

// count writes into how many chunks step i is cut: so many for each worker, but no more than iterations.
func (s Step) count(b *strings.Builder, i int) {
	chunks, most := fmt.Sprint(max(s.Chunks, 1)), fmt.Sprint(min(max(s.Extent, 1), mostChunks))
	if s.Counts != "" {
		chunks, most = fmt.Sprintf("%%each%d", i), fmt.Sprintf("%%most%d", i)
		fmt.Fprintf(b, "  %[1]s = load i32, ptr @%[3]s\n  %[2]s.p = getelementptr i32, ptr @%[3]s, i64 1\n  %[2]s = load i32, ptr %[2]s.p\n", chunks, most, s.Counts)
	}
	fmt.Fprintf(b, "  %%m%[1]d = mul i32 %%workers, %[2]s\n  %%few%[1]d = icmp ult i32 %%m%[1]d, %[3]s\n  %%n%[1]d = select i1 %%few%[1]d, i32 %%m%[1]d, i32 %[3]s\n", i, chunks, most)
}

// Data defines what Counts names.
func (s Step) Data() string {
	return fmt.Sprintf("@%s = hidden constant [2 x i32] [i32 %d, i32 %d]\n", s.Counts, max(s.Chunks, 1), min(max(s.Extent, 1), mostChunks))
}

// call calls the kernel of step i for one of so many chunks.
func (r *Run) call(b *strings.Builder, i int, s Step, chunk, chunks string) {
	var args strings.Builder
	for j, p := range s.Args {
		args.WriteString("ptr " + p.pointer(b, fmt.Sprintf("%%k%d.%d", i, j), "") + ", ")
	}
	fmt.Fprintf(b, "  call void @%s(%sptr %%scratch, i64 %s, i64 %s)\n", s.Kernel, args.String(), chunk, chunks)
}

func (r *Run) callLoop(b *strings.Builder, name, workers, part string) {
	fmt.Fprintf(b, "  call void @%s(ptr %%ctx, i32 %%worker, i32 %s, i64 %s, ptr %%inputs, ptr %%outputs, ptr %%workspace, i64 %s)\n", name, workers, r.floatValue(), part)
}
