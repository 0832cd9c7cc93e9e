package compile

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
)

// own runs the phases before LLVM on a network, the greatest part of what grows with the number of nodes, and returns the
// size of the code and the manifest and the bytes that were allocated on the way.
func own(t testing.TB, f graphtest.Family, n int, o Options) (code, allocated int) {
	g := f.Make(n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o.Workers = 1
	j, err := newJob(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	net, p, mem, err := j.plan(g)
	if err != nil {
		t.Fatalf("%s, %d: %v", f.Name, n, err)
	}
	for _, s := range p.steps {
		if s.callee == s.name { // equal texts are compiled once
			code += len(s.code.Text)
		}
	}
	for _, text := range entry(j, p, mem).Texts() {
		code += len(text)
	}
	contents, err := pack(j, net, p, mem, params(j, net, mem))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := contents.Manifest.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	code += len(manifest)
	runtime.ReadMemStats(&after)
	return code, int(after.TotalAlloc - before.TotalAlloc)
}

// perNode is code and manifest of a node that is a kernel of its own, in bytes: a network of which a group took all may be
// followed by one of which it takes a quarter.
const perNode = 2000

// TestGrowth compares networks of every family with others four times as large: code and the memory that is allocated, which
// counts the work of most algorithms, grow in proportion.
func TestGrowth(t *testing.T) {
	for level, small := range map[int]int{0: 64, 3: 260} { // a group is made of 256 nodes at most
		o := Options{Target: targettest.Resolve(t, "llvm -mcpu=x86-64-v3"), Level: level, Module: "default"}
		for _, f := range graphtest.Families {
			t.Run(fmt.Sprintf("O%d/%s", level, f.Name), func(t *testing.T) {
				code, bytes := own(t, f, small, o)
				code4, bytes4 := own(t, f, 4*small, o)
				if code4 > 6*code && code4 > perNode*4*small {
					t.Errorf("code grows from %d bytes to %d", code, code4)
				}
				if bytes4 > 8*bytes {
					t.Errorf("allocated memory grows from %d bytes to %d", bytes, bytes4)
				}
			})
		}
	}
}

// BenchmarkGrowth tells the time per node of a whole compilation, and of one four times as large.
func BenchmarkGrowth(b *testing.B) {
	for _, f := range graphtest.Families {
		for _, n := range []int{2000, 8000} {
			b.Run(fmt.Sprintf("%s/%d", f.Name, n), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					g := f.Make(n)
					b.StartTimer()
					start := time.Now()
					if _, err := Compile(context.Background(), g, Options{Target: targettest.Resolve(b, "llvm"), Level: 3, Workers: runtime.GOMAXPROCS(0)}); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(time.Since(start).Microseconds())/float64(n), "us/node")
				}
			})
		}
	}
}
