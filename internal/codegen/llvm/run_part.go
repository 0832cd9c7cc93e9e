package llvm

import (
	"fmt"
	"strings"
)

// Part writes a function beside the run function, which calls the kernel of one step for what is one worker's part of it where
// nobody takes chunks from another:
//
//	i32 SYMBOL(ptr context, i32 worker, i32 workers, i32 step, i32 part)
//
// worker is whose scratch it takes, and of the step's chunks it runs those of the part: [part n / workers, (part + 1) n / workers),
// rounded up. It meets nobody, so that one thread can time what each of several would do. No step may be a loop.
func (r *Run) Part(symbol string) string {
	var b, declared strings.Builder
	fmt.Fprintf(&b, "define i32 @%s(ptr %%ctx, i32 %%worker, i32 %%workers, i32 %%step, i32 %%part) nounwind \"no-builtins\" {\nentry:\n%s", symbol, r.floatEntry())
	r.shared(&b, true)
	b.WriteString("  %behind = add i32 %part, 1\n  %round = sub i32 %workers, 1\n  switch i32 %step, label %out [")
	for i := range r.Steps {
		fmt.Fprintf(&b, " i32 %[1]d, label %%s%[1]d", i)
	}
	b.WriteString(" ]\n")
	for i, s := range r.Steps {
		r.partOf(&b, i, s)
	}
	fmt.Fprintf(&b, "out:\n%s  %%status.p = getelementptr i8, ptr %%ctx, i64 %d\n  %%status = load i32, ptr %%status.p\n  ret i32 %%status\n}\n", r.floatExit(), r.context().Status)
	r.declare(&declared, symbol, r.Steps, units{0, len(r.Steps)})
	return b.String() + declared.String() + r.floatFunction()
}

// partOf writes the chunks of a part of step i; the whole of a serial one is part 0.
func (r *Run) partOf(b *strings.Builder, i int, s Step) {
	fmt.Fprintf(b, "s%d:\n", i)
	if s.Serial {
		fmt.Fprintf(b, "  %%mine%[1]d = icmp eq i32 %%part, 0\n  br i1 %%mine%[1]d, label %%run%[1]d, label %%out\nrun%[1]d:\n", i)
		r.call(b, i, s, "0", "1")
		b.WriteString("  br label %out\n")
		return
	}
	s.count(b, i)
	for _, end := range []struct{ name, part string }{{"from", "%part"}, {"to", "%behind"}} {
		fmt.Fprintf(b, "  %%%[1]s%[2]d.a = mul i32 %[3]s, %%n%[2]d\n  %%%[1]s%[2]d.b = add i32 %%%[1]s%[2]d.a, %%round\n", end.name, i, end.part)
		fmt.Fprintf(b, "  %%%[1]s%[2]d.c = udiv i32 %%%[1]s%[2]d.b, %%workers\n  %%%[1]s%[2]d = zext i32 %%%[1]s%[2]d.c to i64\n", end.name, i)
	}
	fmt.Fprintf(b, "  %%chunks%[1]d = zext i32 %%n%[1]d to i64\n  br label %%head%[1]d\nhead%[1]d:\n  %%chunk%[1]d = phi i64 [ %%from%[1]d, %%s%[1]d ], [ %%next%[1]d, %%run%[1]d ]\n", i)
	fmt.Fprintf(b, "  %%more%[1]d = icmp ult i64 %%chunk%[1]d, %%to%[1]d\n  br i1 %%more%[1]d, label %%run%[1]d, label %%out\nrun%[1]d:\n", i)
	r.call(b, i, s, fmt.Sprintf("%%chunk%d", i), fmt.Sprintf("%%chunks%d", i))
	fmt.Fprintf(b, "  %%next%[1]d = add i64 %%chunk%[1]d, 1\n  br label %%head%[1]d\n", i)
}
