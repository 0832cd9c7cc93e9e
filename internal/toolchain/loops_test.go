package toolchain

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// sums is a function of two loops, ten times four, of which the inner one adds to so many vectors.
func sums(n int) string {
	var b strings.Builder
	b.WriteString("define void @sums(ptr %p, ptr %y) {\nentry:\n  br label %loop1_x10\nloop1_x10:\n  %i = phi i64 [ 0, %entry ], [ %i.next, %latch2 ]\n  br label %loop3_x4\n")
	b.WriteString("loop3_x4:\n  %j = phi i64 [ 0, %loop1_x10 ], [ %j.next, %loop3_x4 ]\n")
	for k := range n {
		fmt.Fprintf(&b, "  %%s%d = phi <8 x float> [ zeroinitializer, %%loop1_x10 ], [ %%t%d, %%loop3_x4 ]\n", k, k)
	}
	for k := range n {
		fmt.Fprintf(&b, "  %%a%d = getelementptr <8 x float>, ptr %%p, i64 %d\n  %%v%d = load volatile <8 x float>, ptr %%a%d\n  %%t%d = fadd <8 x float> %%s%d, %%v%d\n", k, k, k, k, k, k, k)
	}
	b.WriteString("  %j.next = add i64 %j, 1\n  %jc = icmp slt i64 %j.next, 4\n  br i1 %jc, label %loop3_x4, label %latch2\nlatch2:\n")
	for k := range n {
		fmt.Fprintf(&b, "  %%b%d = getelementptr <8 x float>, ptr %%y, i64 %d\n  store volatile <8 x float> %%t%d, ptr %%b%d\n", k, k, k, k)
	}
	b.WriteString("  %i.next = add i64 %i, 1\n  %ic = icmp slt i64 %i.next, 10\n  br i1 %ic, label %loop1_x10, label %exit\nexit:\n  ret void\n}\n")
	return b.String()
}

// TestScreen: loops are told apart with how often they run, and what 16 registers do not hold is seen on the stack.
func TestScreen(t *testing.T) {
	for _, o := range []Options{
		{Triple: "x86_64-linux-gnu", CPU: "haswell"}, {Triple: "x86_64-linux-gnu", CPU: "x86-64-v4", Features: []string{"-avx512f"}},
		{Triple: "aarch64-linux-gnu", CPU: "cortex-a76"}, {Triple: "armv7-linux-gnueabihf", CPU: "cortex-a7", Features: []string{"+neon"}}, {Triple: "riscv64-linux-gnu", CPU: "sifive-x280"},
	} {
		m, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, many := range []bool{false, true} {
			n := 4
			if many {
				n = 40
			}
			object, loops, err := m.Screen(sums(n), "")
			if err != nil {
				t.Fatal(err)
			}
			if plain, err := m.Compile(sums(n), ""); err != nil || !bytes.Equal(plain, object) {
				t.Errorf("%s: the object is another than Compile's, %v", o.CPU, err)
			}
			if len(loops) != 2 || loops[0].Iterations != 10 || loops[1].Iterations != 40 || loops[0].Innermost || !loops[1].Innermost {
				t.Fatalf("%s: loops %+v", o.CPU, loops)
			}
			inner := loops[1]
			if moved := inner.Spills > 0 && inner.Reloads > 0; moved != many {
				t.Errorf("%s: %d vectors: %+v", o.CPU, n, inner)
			}
			if inner.Instructions < n || inner.Cycles < float64(n)/4 {
				t.Errorf("%s: %d vectors in %+v", o.CPU, n, inner)
			}
		}
	}
}

// TestAsWritten: the scheduler is left out of machines that say so, and of no others.
func TestAsWritten(t *testing.T) {
	m, err := Open(Options{Triple: "aarch64-linux-gnu", CPU: "cortex-a53"})
	if err != nil {
		t.Fatal(err)
	}
	scheduled, err := m.Assembly(sums(12), "")
	if err != nil {
		t.Fatal(err)
	}
	written, err := m.AsWritten().Assembly(sums(12), "")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.Assembly(sums(12), ""); err != nil || again != scheduled {
		t.Errorf("the machine itself has changed: %v", err)
	}
	if written == scheduled {
		t.Error("the code is the same")
	}
}
