package llvm

import (
	"fmt"
	"strings"
)

// A Loop runs steps again and again, all workers in step, or each worker parts of it by itself. The operands of its steps that are inputs and outputs are those of its body,
// and their workspace begins at an offset of the one around them.
type Loop struct {
	Trips           int // at least 1; with While at most, and 0 is any number
	Inputs, Outputs []Bound
	Workspace       int // bytes
	Steps           []Step
	While           *While
	Parts           int // 2 or more: it runs so many times, each part by one worker, in a workspace that begins so many bytes behind that of the part before
	Apart           int
}

// A Bound is where an input or output of a body lies, outside of the loop: iteration i from 0 on of part j finds it Offset + i*Step + j*Part
// bytes from one of three places.
type Bound struct {
	First              Place // in iteration 0
	Even, Odd          Place // in later ones
	Offset, Step, Part int
}

const (
	loopParams = "ptr %ctx, i32 %worker, i32 %workers, i64 %float, ptr %inputsFRAME, ptr %outputsFRAME, ptr %workspaceFRAME, i64 %part"
	loopTypes  = "ptr, i32, i32, i64, ptr, ptr, ptr, i64"
)

// loopName is the function of the loop that is step i of another function.
func loopName(name string, i int) string { return fmt.Sprintf("%s_loop%d", name, i) }

// loops writes the functions of the loops among steps, which belong to the function name.
func (r *Run) loops(name string, steps []Step) (texts []string) {
	for i, s := range steps {
		if s.Loop != nil {
			texts = append(texts, r.loop(loopName(name, i), s.Loop)...)
		}
		if s.Else != nil {
			texts = append(texts, r.loop(elseName(name, i), s.Else)...)
		}
	}
	return texts
}

// loop writes the functions of a loop: the iterations, which bind what the body reads and writes, and the steps of many by
// functions of stepsPerFunction each.
func (r *Run) loop(name string, l *Loop) (texts []string) {
	var b strings.Builder
	r.defineLoop(&b, name, "0")
	fmt.Fprintf(&b, "  %%inputs = alloca [%d x ptr]\n  %%outputs = alloca [%d x ptr]\n", max(1, len(l.Inputs)), max(1, len(l.Outputs)))
	fmt.Fprintf(&b, "  %%own.by = mul i64 %%part, %d\n  %%own = add i64 %%own.by, %d\n  %%workspace = getelementptr i8, ptr %%workspace0, i64 %%own\n  br label %%head\n", l.Apart, l.Workspace)
	b.WriteString("head:\n  %i = phi i64 [ 0, %entry ], [ %next, %latch ]\n  %start = icmp eq i64 %i, 0\n  %odd = trunc i64 %i to i1\n")
	bind(&b, "inputs", l.Inputs)
	bind(&b, "outputs", l.Outputs)
	if l.While != nil {
		r.goesOn(&b, l)
	}
	parts, all := cut(l.Steps), units{0, len(l.Steps)}
	if len(parts) <= 1 {
		r.steps(&b, all, name, l.Steps, false)
	} else {
		for _, p := range parts {
			part := fmt.Sprintf("%s_%d", name, p.from)
			r.callLoop(&b, part, "%workers", "%part")
			texts = append(texts, r.loopPart(part, name, l.Steps, p))
		}
	}
	b.WriteString("  %next = add i64 %i, 1\n")
	if l.While == nil {
		fmt.Fprintf(&b, "  %%more = icmp ult i64 %%next, %d\n", l.Trips)
	}
	switch {
	case l.While != nil:
		b.WriteString("  br label %latch\n")
	case r.meets():
		fmt.Fprintf(&b, "  br i1 %%more, label %%back, label %%end\nback:\n  br i1 %%alone, label %%latch, label %%all\nall:\n%s  br label %%latch\n", meet("1"))
	default:
		b.WriteString("  br i1 %more, label %latch, label %end\n")
	}
	b.WriteString("latch:\n  br label %head\nend:\n")
	if l.While != nil {
		r.finish(&b, l)
	}
	b.WriteString("  ret void\n}\n")
	if len(parts) > 1 {
		for _, p := range parts {
			fmt.Fprintf(&b, "declare hidden void @%s_%d(%s)\n", name, p.from, loopTypes)
		}
	} else {
		r.declare(&b, name, l.Steps, all)
	}
	return append(append(texts, r.part(b.String())), r.loops(name, l.Steps)...)
}

// loopPart writes a function of some steps of an iteration of the loop name.
func (r *Run) loopPart(part, name string, steps []Step, of units) string {
	var b strings.Builder
	r.defineLoop(&b, part, "")
	r.steps(&b, of, name, steady(steps), false)
	b.WriteString("  ret void\n}\n")
	r.declare(&b, name, steps, of)
	return r.part(b.String())
}

// defineLoop begins a function of a loop. frame is the suffix of what lies outside of it.
func (r *Run) defineLoop(b *strings.Builder, name, frame string) {
	fmt.Fprintf(b, "define hidden void @%s(%s) nounwind \"no-builtins\" {\nentry:\n", name, strings.ReplaceAll(loopParams, "FRAME", frame))
	r.shared(b, false)
}

// bind writes the addresses of an iteration into a table.
func bind(b *strings.Builder, table string, bounds []Bound) {
	for k, p := range bounds {
		name := fmt.Sprintf("%%%s.%d", table, k)
		at := p.Even.pointer(b, name+".even", "0")
		choose := func(on string, other Place, as string) {
			if other != p.Even {
				fmt.Fprintf(b, "  %s.%s = select i1 %%%s, ptr %s, ptr %s\n", name, as, on, other.pointer(b, name+"."+on, "0"), at)
				at = name + "." + as
			}
		}
		choose("odd", p.Odd, "turn")
		choose("start", p.First, "first")
		if p.Offset != 0 || p.Step != 0 {
			fmt.Fprintf(b, "  %s.by = mul i64 %%i, %d\n  %s.off = add i64 %s.by, %d\n  %s.at = getelementptr i8, ptr %s, i64 %s.off\n", name, p.Step, name, name, p.Offset, name, at, name)
			at = name + ".at"
		}
		if p.Part != 0 {
			fmt.Fprintf(b, "  %[1]s.rows = mul i64 %%part, %[2]d\n  %[1]s.mine = getelementptr i8, ptr %[3]s, i64 %[1]s.rows\n", name, p.Part, at)
			at = name + ".mine"
		}
		fmt.Fprintf(b, "  %s.p = getelementptr ptr, ptr %%%s, i64 %d\n  store ptr %s, ptr %s.p\n", name, table, k, at, name)
	}
}
