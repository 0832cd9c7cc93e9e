package compile

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"lathe/internal/grapheval"
	"lathe/internal/graphtest"
)

// own runs the phases before LLVM on a network, the greatest part of what grows with the number of nodes, and returns the
// size of the code and the manifest and the bytes that were allocated on the way.
func own(t testing.TB, f graphtest.Family, n int, o Options) (code, allocated int) {
	g := f.Make(n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o.Workers = 1
	c := &compiler{Options: o, ctx: context.Background(), graph: g, res: &Result{Code: map[string]string{}}}
	for _, phase := range []func(*compiler) error{(*compiler).graphPasses, (*compiler).makeKernels, (*compiler).planMemory} {
		if err := phase(c); err != nil {
			t.Fatalf("%s, %d: %v", f.Name, n, err)
		}
	}
	seen := map[string]bool{} // equal texts are compiled once
	for _, k := range c.kernels {
		k.symbol = k.name
		if !seen[k.code.Text] {
			seen[k.code.Text] = true
			code += len(k.code.Text)
		}
	}
	for _, text := range c.entry() {
		code += len(text)
	}
	if err := c.pack(); err != nil {
		t.Fatal(err)
	}
	manifest, err := c.res.Contents.Manifest.Marshal()
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
		o := Options{Target: resolve(t, "llvm -mcpu=x86-64-v3"), Level: level, Module: "default"}
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
					if _, err := Compile(context.Background(), g, Options{Target: resolve(b, "llvm"), Level: 3, Workers: runtime.GOMAXPROCS(0)}); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(time.Since(start).Microseconds())/float64(n), "us/node")
				}
			})
		}
	}
}

// TestLarge runs networks that take the ways of large ones: several functions of steps, joins in steps, groups that end
// where their code would grow out of proportion.
func TestLarge(t *testing.T) {
	for _, name := range []string{"relu chain", "reshape chain", "slice and pad chain", "concatenation of many", "concatenation of inputs", "sum of inputs", "one chain, many outputs"} {
		i := slices.IndexFunc(graphtest.Families, func(f graphtest.Family) bool { return f.Name == name })
		for _, level := range []int{0, 3} {
			g := graphtest.Families[i].Make(300)
			r := rand.New(rand.NewPCG(1, 1))
			inputs := graphtest.Inputs(r, g)
			want, err := grapheval.Eval(g, inputs)
			if err != nil {
				t.Fatal(err)
			}
			for _, workers := range []int{1, 3} {
				got, err := run(t, g.Clone(), Options{Target: resolve(t, "llvm"), Level: level, Workers: 2}, workers, inputs)
				if err != nil {
					t.Fatalf("%s -O%d: %v", name, level, err)
				}
				for k, w := range want {
					for i := range w.Len() {
						if a, b := got[k].Float(i), w.Float(i); math.Abs(a-b) > 1e-5*max(1, math.Abs(b)) {
							t.Fatalf("%s -O%d, %d workers: output %d, element %d is %v, want %v", name, level, workers, k, i, a, b)
						}
					}
				}
			}
		}
	}
}
