package machine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"lathe/internal/target"
)

// tileProducts is how many products an iteration of the loop over registers of matrices has: each of two matrices by each of two others.
const tileProducts = 4

// tileIterations take about a millisecond.
const tileIterations = 1 << 15

// tileData is what each of so many threads multiplies in a step, of registers of so many bytes: all values, as networks have. A core multiplies zeros at a
// higher clock, by a fifth on Granite Rapids.
func tileData(register, threads int) []byte {
	data := make([]byte, threads*tileProducts*register)
	r := rand.New(rand.NewPCG(1, 64))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// matrices is the loop over registers of matrices, which loads as many from L1 as it multiplies: what products of bytes reach at best. A step is a product
// of width pairs of bytes.
func matrices(t *target.Target) kernel {
	const sum = 4 // bytes of an element of what is summed
	set := t.Tiles()
	k := kernel{name: "matrices", tiles: true, width: set.Rows * set.RowBytes * set.RowBytes / sum}
	var config strings.Builder
	for _, b := range set.Configuration(slices.Repeat([][2]int{{set.Rows, set.RowBytes}}, 2*tileProducts)) {
		fmt.Fprintf(&config, "\\%02X", b)
	}
	product := set.Products[0].Name
	size := set.Rows * set.RowBytes
	var b strings.Builder
	for _, d := range []string{set.Configure + "(ptr)", set.Release + "()", set.Zero + "(i8)", set.Load + "(i8, ptr, i64)", product + "(i8, i8, i8)"} {
		fmt.Fprintf(&b, "declare void @llvm.%s\n", d)
	}
	fmt.Fprintf(&b, "@shapes = private constant [%d x i8] c\"%s\", align 64\n", config.Len()/3, config.String())
	fmt.Fprintf(&b, "define void @%s(i64 %%n, ptr %%sums, ptr %%data, i64 %%mask) {\nentry:\n", k.name)
	fmt.Fprintf(&b, "  call void @llvm.%s(ptr @shapes)\n", set.Configure)
	for t := range tileProducts {
		fmt.Fprintf(&b, "  call void @llvm.%s(i8 %d)\n", set.Zero, t)
		fmt.Fprintf(&b, "  %%at%d = getelementptr i8, ptr %%data, i64 %d\n", t, t*size)
	}
	b.WriteString("  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n")
	for t := range tileProducts {
		fmt.Fprintf(&b, "  call void @llvm.%s(i8 %d, ptr %%at%d, i64 %d)\n", set.Load, tileProducts+t, t, set.RowBytes)
	}
	for t := range tileProducts {
		fmt.Fprintf(&b, "  call void @llvm.%s(i8 %d, i8 %d, i8 %d)\n", product, t, tileProducts+t/2, tileProducts+2+t%2)
	}
	fmt.Fprintf(&b, "  %%next = add i64 %%i, 1\n  %%more = icmp ult i64 %%next, %%n\n  br i1 %%more, label %%loop, label %%done\ndone:\n  call void @llvm.%s()\n  ret void\n}\n", set.Release)
	k.step = b.String()
	return k
}
