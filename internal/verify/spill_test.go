package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestInnerLoopsDoNotSpill: the tiles chosen for layers of common networks fit the registers of CPUs with 32 and 16 of
// them, on all architectures. LLVM keeps a load too many alive here and there, with 16 registers in borders above all; a tile that does not fit
// spills for every other multiply-add.
func TestInnerLoopsDoNotSpill(t *testing.T) {
	t.Parallel()
	type layer struct{ in, out, kernel, stride, size int }
	for cpu, most := range map[string]int{ // percent of the multiply-adds
		"znver5": 5, "core-avx2": 25, "cortex-a76 -mtriple=aarch64-linux-gnu": 5, "cortex-a53 -mtriple=aarch64-linux-gnu": 5,
		"neoverse-v1 -mtriple=aarch64-linux-gnu": 5, "cortex-a7 -mtriple=armv7-linux-gnueabihf": 5,
		"spacemit-x60 -mtriple=riscv64-linux-gnu": 8, "sifive-p470 -mtriple=riscv64-linux-gnu": 8,
	} {
		tgt := targettest.Resolve(t, "llvm -mcpu="+cpu)
		for _, l := range []layer{
			{64, 64, 3, 1, 56}, {64, 64, 3, 2, 56}, {64, 64, 3, 1, 14}, {64, 64, 3, 1, 7}, {64, 64, 5, 1, 14},
			{64, 128, 1, 1, 56}, {128, 64, 1, 1, 14}, {128, 64, 1, 1, 7}, {64, 128, 1, 2, 28}, {96, 24, 1, 1, 28}, {3, 32, 3, 2, 64},
		} {
			t.Run(fmt.Sprintf("%s/%d_to_%d_by_%dx%d_stride_%d_on_%d", tgt.CPU, l.in, l.out, l.kernel, l.kernel, l.stride, l.size), func(t *testing.T) {
				p := l.kernel / 2
				a := ops.ConvAttrs{Strides: []int{l.stride, l.stride}, Padding: []int{p, p, p, p}, Dilation: []int{1, 1}, Groups: 1}
				w := random(rand.New(rand.NewPCG(1, 12)), types.Of(types.F32, l.out, l.in, l.kernel, l.kernel))
				asm := assembly(t, tgt, func(g *graph.Graph) (*graph.Node, error) {
					return g.Apply(ops.Conv2d, a, g.Input("x", types.Of(types.F32, 1, l.in, l.size, l.size)), graph.NewConst("w", w))
				}, "Winograd")
				most := most
				if tgt.Arch == target.AArch64 && l.kernel == 3 && l.size <= 14 {
					most = 85 // tiles of whole short lines load a register for each accumulator, and LLVM does so early
				}
				spillsAtMost(t, asm, most)
			})
		}
	}
}

// TestSpareLanesDoNotSpill: the last vectors of a product's columns have lanes that no column is in, which cost nothing: no register, and no instruction that keeps them as they were.
func TestSpareLanesDoNotSpill(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(27, 8))
	for _, cpu := range []string{"znver5", "core-avx2", "cortex-a76 -mtriple=aarch64-linux-gnu"} {
		tgt := targettest.Resolve(t, "llvm -mcpu="+cpu)
		for range 6 {
			rows, depth, columns := 12+r.IntN(50), 64+r.IntN(128), 9+2*r.IntN(100)
			t.Run(fmt.Sprintf("%s/%dx%dx%d", tgt.CPU, rows, depth, columns), func(t *testing.T) {
				asm := assembly(t, tgt, func(g *graph.Graph) (*graph.Node, error) {
					return g.Apply(ops.Dense, op.None{}, g.Input("x", types.Of(types.F32, rows, depth)), graph.NewConst("w", random(r, types.Of(types.F32, columns, depth))))
				})
				spillsAtMost(t, asm, 5)
				if blends := strings.Count(asm, "\tvblendps"); blends > 0 {
					t.Errorf("%d vblendps", blends)
				}
			})
		}
	}
}

// The rows of a long product's data are further apart than one address reaches.
func TestProductsDoNotSpill(t *testing.T) {
	t.Parallel()
	for _, cpu := range []string{"znver5", "core-avx2", "cortex-a76 -mtriple=aarch64-linux-gnu", "cortex-a53 -mtriple=aarch64-linux-gnu"} {
		tgt := targettest.Resolve(t, "llvm -mcpu="+cpu)
		for _, depth := range []int{256, 768, 3072} {
			t.Run(fmt.Sprintf("%s/%d", tgt.CPU, depth), func(t *testing.T) {
				w := random(rand.New(rand.NewPCG(1, 12)), types.Of(types.F32, 256, depth))
				asm := assembly(t, tgt, func(g *graph.Graph) (*graph.Node, error) {
					return g.Apply(ops.Dense, op.None{}, g.Input("x", types.Of(types.F32, 128, depth)), graph.NewConst("w", w))
				})
				spillsAtMost(t, asm, 5)
			})
		}
	}
}

// TestWindowsDoNotSpill: of windows over borders, taps are code of their own, which read what those before have read. Depthwise
// convolutions of all window sizes load that again, and keep their accumulators in registers.
func TestWindowsDoNotSpill(t *testing.T) {
	t.Parallel()
	samples := uint64(10)
	if testing.Short() {
		samples = 3
	}
	for cpu, most := range map[string]int{ // percent of the multiply-adds
		"znver4": 5, "core-avx2": 25, "cortex-a76 -mtriple=aarch64-linux-gnu": 10, "spacemit-x60 -mtriple=riscv64-linux-gnu": 10,
	} {
		tgt := targettest.Resolve(t, "llvm -mcpu="+cpu)
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 23))
			kernel, size, channels := 5+2*r.IntN(4), 14+r.IntN(60), 32*(1+r.IntN(3))
			t.Run(fmt.Sprintf("%s/%d_channels_by_%dx%d_on_%d", tgt.CPU, channels, kernel, kernel, size), func(t *testing.T) {
				p := kernel / 2
				a := ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{p, p, p, p}, Dilation: []int{1, 1}, Groups: channels}
				w := random(r, types.Of(types.F32, channels, 1, kernel, kernel))
				asm := assembly(t, tgt, func(g *graph.Graph) (*graph.Node, error) {
					return g.Apply(ops.Conv2d, a, g.Input("x", types.Of(types.F32, 1, channels, size, size)), graph.NewConst("w", w))
				})
				spillsAtMost(t, asm, most)
			})
		}
	}
}

// TestOddProductsDoNotSpill: the last vector of a product's columns may be a part of one, which takes no more registers than a
// whole one.
func TestOddProductsDoNotSpill(t *testing.T) {
	t.Parallel()
	for cpu, most := range map[string]int{"znver5": 20, "core-avx2": 25, "cortex-a76 -mtriple=aarch64-linux-gnu": 30} { // percent
		tgt := targettest.Resolve(t, "llvm -mcpu="+cpu)
		lanes := tgt.VectorBits / 32
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, 67))
			rows, depth, columns := 20+r.IntN(150), 20+r.IntN(150), lanes+1+r.IntN(3*lanes)
			a := ops.MatmulAttrs{TransposeA: r.IntN(2) == 0, TransposeB: r.IntN(2) == 0}
			x, y := []int{1, rows, depth}, []int{1, depth, columns}
			if a.TransposeA {
				x = []int{1, depth, rows}
			}
			if a.TransposeB {
				y = []int{1, columns, depth}
			}
			t.Run(fmt.Sprintf("%s/%v by %v", tgt.CPU, x, y), func(t *testing.T) {
				asm := assembly(t, tgt, func(g *graph.Graph) (*graph.Node, error) {
					return g.Apply(ops.Matmul, a, g.Input("x", types.Of(types.F32, x...)), g.Input("y", types.Of(types.F32, y...)))
				})
				spillsAtMost(t, asm, most)
			})
		}
	}
}

// TestCastProductsDoNotSpill: sums of doubles have as many lanes as doubles have, whatever their results are made.
func TestCastProductsDoNotSpill(t *testing.T) {
	t.Parallel()
	for _, cpu := range []string{"znver5", "core-avx2", "cortex-a76 -mtriple=aarch64-linux-gnu"} {
		tgt := targettest.Resolve(t, "llvm -mcpu="+cpu)
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 83))
			rows, depth, columns := 20+r.IntN(150), 20+r.IntN(150), 64+8*r.IntN(30)
			to := []types.DType{types.F32, types.I32}[r.IntN(2)]
			t.Run(fmt.Sprintf("%s/%dx%dx%d_to_%s", tgt.CPU, rows, depth, columns, to), func(t *testing.T) {
				asm := assembly(t, tgt, func(g *graph.Graph) (*graph.Node, error) {
					n, err := g.Apply(ops.Matmul, ops.MatmulAttrs{}, g.Input("x", types.Of(types.F64, rows, depth)), g.Input("y", types.Of(types.F64, depth, columns)))
					if err != nil {
						return nil, err
					}
					return g.Apply(ops.Cast, ops.CastAttrs{DType: to}, n.Out[0])
				})
				spillsAtMost(t, asm, 25)
			})
		}
	}
}

// assembly is what a graph of the node that make adds to it compiles to, with some passes left out.
func assembly(t *testing.T, tgt *target.Target, make func(g *graph.Graph) (*graph.Node, error), disabled ...string) string {
	t.Helper()
	g := &graph.Graph{Name: "main"}
	n, err := make(g)
	if err != nil {
		t.Fatal(err)
	}
	g.Outputs = append(g.Outputs, n.Out...)
	res, err := compile.Compile(context.Background(), g, compile.Options{Target: tgt, Level: 3, Workers: 2, Code: []string{"asm"}, Disabled: disabled})
	if err != nil {
		t.Fatal(err)
	}
	return res.Code["asm"]
}

// spillsAtMost holds the vectors that inner loops spill and reload to so many percent of their multiply-adds.
func spillsAtMost(t *testing.T, asm string, percent int) {
	t.Helper()
	if adds, spills := innerLoops(asm); adds == 0 || spills*100 > adds*percent {
		t.Errorf("%d spills and reloads for %d multiply-adds", spills, adds)
	}
}

var (
	spill = regexp.MustCompile(`((16|32|64)-byte|Unknown-size|vscale x \d+-byte) (Folded )?(Spill|Reload)`)
	// A vector that is spilt on RISC-V has no size in the comment.
	multiplyAdd = regexp.MustCompile(`\t(vfmadd|fmla|vfma|vfmacc)[a-z0-9.]*\t`)
	function    = regexp.MustCompile(`(#|//|@) @`)
	inLoop      = regexp.MustCompile(`in Loop: Header=(\w+)`)
)

// innerLoops counts the multiply-adds in innermost loops of assembly, and the vectors spilt and reloaded there. LLVM's
// comments at the beginning of a block say which loop it belongs to; a loop with a condition has several blocks, and its
// header need not be the first.
func innerLoops(asm string) (adds, spills int) {
	type block struct {
		header       string // of the loop around it
		adds, spills int
	}
	var blocks []*block
	innermost := map[string]bool{} // headers
	count := func() {
		for _, b := range blocks {
			if innermost[b.header] {
				adds, spills = adds+b.adds, spills+b.spills
			}
		}
		blocks = nil
		clear(innermost)
	}
	for line := range strings.SplitSeq(asm, "\n") {
		label, _, isLabel := strings.Cut(line, ":")
		if isLabel && (strings.HasPrefix(label, ".LBB") || strings.Contains(label, " %bb.")) {
			blocks = append(blocks, &block{header: strings.TrimPrefix(label, ".L")})
		}
		if isLabel && function.MatchString(line) { // a function; labels begin anew
			count()
		}
		if len(blocks) == 0 {
			continue
		}
		b := blocks[len(blocks)-1]
		switch {
		case strings.Contains(line, "Inner Loop Header"):
			innermost[b.header] = true
		case inLoop.MatchString(line):
			b.header = inLoop.FindStringSubmatch(line)[1]
		case spill.MatchString(line):
			b.spills++
		case multiplyAdd.MatchString(line):
			b.adds++
		}
	}
	count()
	return adds, spills
}
