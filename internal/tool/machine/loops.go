package machine

import (
	"fmt"
	"strconv"
	"strings"
)

// accumulators is the number of independent sums of a loop: more than latency times units of any CPU we know, and few
// enough for 16 registers.
const accumulators = 12

// together is the number of vectors that an iteration reads.
const together = 16

// A kernel is a function of LLVM IR, void name(i64 n, ptr sums, ptr data, i64 mask), whose loop runs n times over accumulators
// of vectors. Nothing else in it takes time.
type kernel struct {
	name  string
	width int // bytes of a vector; 0: an accumulator is a number of 64 bits
	bits  int // of an element
	// declare is what the loop calls, step one instruction on accumulator a with operands x and p.
	declare, step string
	float         bool
	streams       int  // a step loads the vector of data whose number has the bits of mask only, in so many places of it in turns; 0: it loads nothing
	chain         bool // each step takes what the one before made
	tiles         bool // step is the whole function, of products of matrices
}

// steps is the number of steps of an iteration.
func (k kernel) steps() int {
	switch {
	case k.streams > 0:
		return together
	case k.tiles:
		return tileProducts
	}
	return accumulators
}

// vector is the type of an accumulator.
func (k kernel) vector() string {
	if k.width == 0 {
		return "i64"
	}
	if k.float {
		return fmt.Sprintf("<%d x float>", k.width*8/k.bits)
	}
	return fmt.Sprintf("<%d x i%d>", k.width*8/k.bits, k.bits)
}

// fma is one multiply-add of float32.
func fma(width int) kernel {
	k := kernel{name: fmt.Sprint("fma", 8*width), width: width, bits: 32, float: true}
	v, f := k.vector(), fmt.Sprintf("@llvm.fmuladd.v%df32", width/4)
	k.declare = fmt.Sprintf("declare %s %s(%s, %s, %s)", v, f, v, v, v)
	k.step = fmt.Sprintf("call %s %s(%s %%x, %s %%x, %s %%a)", v, f, v, v, v)
	return k
}

// dot4 adds four products of unsigned and signed bytes to each 32-bit element: VNNI.
func dot4(width int) kernel {
	k := kernel{name: fmt.Sprint("dot", 8*width), width: width, bits: 32}
	v, bytes := k.vector(), fmt.Sprintf("<%d x i8>", width)
	f := fmt.Sprintf("@llvm.x86.avx512.vpdpbusd.%d", 8*width)
	k.declare = fmt.Sprintf("declare %s %s(%s, %s, %s)", v, f, v, bytes, bytes)
	k.step = fmt.Sprintf("call %s %s(%s %%a, %s %%bytes, %s %%bytes)", v, f, v, bytes, bytes)
	return k
}

// read loads vectors, from so many places of the data side by side, a power of two.
func read(width, streams int) kernel {
	return kernel{name: fmt.Sprint("read", streams), width: width, bits: 32, streams: streams}
}

// chained is fma where each takes the sum of the one before.
func chained(width int) kernel {
	k := fma(width)
	k.name, k.chain = "chain", true
	return k
}

// count changes a number in one step of a cycle, and in ways that no compiler joins.
func count() kernel {
	return kernel{name: "count", chain: true, step: "xor i64 %a, %x"}
}

// text is the function. Names of values in step get the accumulator's number.
func (k kernel) text() string {
	if k.tiles {
		return k.step
	}
	var b strings.Builder
	v := k.vector()
	fmt.Fprintf(&b, "define void @%s(i64 %%n, ptr %%sums, ptr %%data, i64 %%mask) {\nentry:\n", k.name)
	switch {
	case k.width == 0:
		b.WriteString("  %x = load i64, ptr %sums, align 4\n")
	case k.streams == 0:
		fmt.Fprintf(&b, "  %%x = load %s, ptr %%sums, align 4\n  %%bytes = bitcast %s %%x to <%d x i8>\n", v, v, k.width)
	}
	b.WriteString("  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n")
	n := k.steps()
	var results []string
	switch {
	case k.streams > 0:
		run := n / k.streams // vectors of a stream
		fmt.Fprintf(&b, "  %%all = add i64 %%mask, 1\n  %%part = udiv i64 %%all, %d\n  %%within = sub i64 %%part, 1\n", k.streams)
		fmt.Fprintf(&b, "  %%first = mul i64 %%i, %d\n  %%base0 = and i64 %%first, %%within\n", run)
		for s := 1; s < k.streams; s++ {
			fmt.Fprintf(&b, "  %%base%d = add i64 %%base%d, %%part\n", s, s-1)
		}
		for j := range n {
			fmt.Fprintf(&b, "  %%k%d = add i64 %%base%d, %d\n  %%d%d = getelementptr %s, ptr %%data, i64 %%k%d\n  %%x%d = load volatile %s, ptr %%d%d, align 4\n", j, j/run, j%run, j, v, j, j, v, j)
		}
	case k.chain:
		fmt.Fprintf(&b, "  %%a0 = phi %s [ zeroinitializer, %%entry ], [ %%a%d, %%loop ]\n", v, n)
		for j := range n {
			fmt.Fprintf(&b, "  %%a%d = %s\n", j+1, k.of(j))
		}
		results = []string{fmt.Sprint("a", n)}
	default:
		for j := range n {
			fmt.Fprintf(&b, "  %%a%d = phi %s [ zeroinitializer, %%entry ], [ %%b%d, %%loop ]\n", j, v, j)
		}
		for j := range n {
			fmt.Fprintf(&b, "  %%b%d = %s\n", j, k.of(j))
			results = append(results, fmt.Sprint("b", j))
		}
	}
	b.WriteString("  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %n\n  br i1 %more, label %loop, label %done\ndone:\n")
	for j, r := range results {
		fmt.Fprintf(&b, "  %%p%d = getelementptr %s, ptr %%sums, i64 %d\n  store %s %%%s, ptr %%p%d, align 4\n", j, v, j, v, r, j)
	}
	b.WriteString("  ret void\n}\n")
	return b.String()
}

// of is step j, of accumulator j.
func (k kernel) of(j int) string {
	step := strings.ReplaceAll(k.step, "%a", "%a"+strconv.Itoa(j))
	if k.width == 0 && j%2 == 1 {
		step = strings.Replace(step, "xor", "add", 1)
	}
	return step
}
