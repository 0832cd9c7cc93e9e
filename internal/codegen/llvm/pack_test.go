package llvm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/codegen/llvm"
	"lathe/internal/loop"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
)

// A tile is what ends a quantised kernel: pixels by blocks of so many channels, whose bytes are neighbours along pixels where channels are blocked, and along
// blocks where they are last.
type tile struct {
	lanes, rows, blocks, first int // first: pixel of the buffers
	zero                       int
	typ                        string
	channelsLast, rowsInside   bool
	value                      string // of x and scale
}

func (k tile) kernel(t *testing.T) *loop.Func {
	outer, inner := fmt.Sprintf("unroll i in %d..%d", k.first, k.first+k.rows), fmt.Sprintf("unroll b in 0..%d", k.blocks)
	if k.rowsInside {
		outer, inner = inner, outer
	}
	shape, index := fmt.Sprintf("%d,5,%d,%d", k.blocks, k.first+k.rows, k.lanes), "[b, n, i, l]"
	if k.channelsLast {
		shape, index = fmt.Sprintf("5,%d,%d,%d", k.first+k.rows, k.blocks, k.lanes), "[n, i, b, l]"
	}
	return parse(t, fmt.Sprintf(`func kernel(x: float32[%[1]s], scale: float32[%[8]d,%[2]d], y: %[3]s[%[1]s]) {
  for n in 0..5 {
    %[4]s {
      %[5]s {
        vector l in 0..%[2]d {
          y%[6]s = %[3]s((round(%[9]s) + %[7]d.0))
        }
      }
    }
  }
}
`, shape, k.lanes, k.typ, outer, inner, index, k.zero, k.blocks, strings.ReplaceAll(k.value, "X", "x"+index)))
}

// TestPackedBytes: bytes that are narrowed and stored several vectors at once are those of the definition, in all tiles and orders of the loops, also where
// what is rounded has no integer.
func TestPackedBytes(t *testing.T) {
	here := native(t)
	r := rand.New(rand.NewPCG(4, 32))
	var funcs []*loop.Func
	for i := range 180 {
		typ := []string{"uint8", "int8"}[i%2]
		zero := []int{0, r.IntN(128), map[string]int{"uint8": 255, "int8": -128}[typ], r.IntN(1<<17+1) - 1<<16, -32512, -32513, 32640, 32768, 32769}[r.IntN(9)]
		value := []string{"(X * scale[b, l])", "(X / 0.3)", "((X * scale[b, l]) + 1.5)"}[r.IntN(3)]
		k := tile{4 << (i % 3), 1 + r.IntN(9), 1 + r.IntN(5), r.IntN(3), zero, typ, r.IntN(2) > 0, r.IntN(2) > 0, value}
		funcs = append(funcs, k.kernel(t))
	}
	for _, loops := range [][2]string{{"unroll i in 0..4", "unroll j in 0..2"}, {"unroll j in 0..3", "unroll i in 0..4"}} { // of those that store a byte, the last one does
		funcs = append(funcs, parse(t, fmt.Sprintf(`func kernel(x: float32[4,3,8], scale: float32[8], y: uint8[6,8]) {
  %s {
    %s {
      vector l in 0..8 {
        y[(i + j), l] = uint8((round((x[i, j, l] * scale[l])) + 3.0))
      }
    }
  }
}
`, loops[0], loops[1])))
	}
	code := loadFor(t, here, funcs, llvm.Options{VectorBits: 256, Target: here})
	for i, f := range funcs {
		args := make([]*tensor.Tensor, 3)
		for k, p := range f.Params {
			args[k] = tensor.New(p.DType, p.Shape...)
			for j := range args[k].Len() {
				switch rare := r.IntN(20) == 0; {
				case k == 2: // pixels before the tile stay zero
				case k > 0:
					args[k].SetFloat(j, []float64{1, 0.5, 1.37}[r.IntN(3)])
				case rare:
					args[k].SetFloat(j, rareNumbers[r.IntN(len(rareNumbers))])
				default:
					args[k].SetFloat(j, math.Round(60*r.NormFloat64())+[]float64{0, 0.5, 0.3}[r.IntN(3)])
				}
			}
		}
		code.asInterpreted(t, i, f, args)
	}
}

// TestWhatIsPacked: vectors that are neighbours are narrowed together where the target has instructions for it, and others by themselves.
func TestWhatIsPacked(t *testing.T) {
	const avx2, avx512 = "x86_64-linux-gnu -mcpu=haswell", "x86_64-linux-gnu -mcpu=x86-64-v4"
	for _, c := range []struct {
		target       string
		tile         tile
		words, bytes int // instructions
	}{
		{avx2, tile{lanes: 8, rows: 6, blocks: 2}, 6, 4},
		{avx2, tile{lanes: 8, rows: 5, blocks: 2}, 4, 2},
		{avx2, tile{lanes: 8, rows: 3, blocks: 4, channelsLast: true}, 6, 3},
		{avx2, tile{lanes: 8, rows: 6, blocks: 1, channelsLast: true}, 3, 2}, // rows of one block are neighbours
		{avx2, tile{lanes: 8, rows: 4, blocks: 1, zero: 32768}, 2, 1},
		{avx2, tile{lanes: 8, rows: 4, blocks: 1, zero: 32769}, 0, 0}, // words do not hold what it is added to
		{avx2, tile{lanes: 16, rows: 4, blocks: 1}, 0, 0},
		{"x86_64-linux-gnu -mcpu=x86-64", tile{lanes: 4, rows: 4, blocks: 1}, 2, 1},
		{avx512, tile{lanes: 16, rows: 4, blocks: 1}, 2, 1},
		{avx512, tile{lanes: 16, rows: 4, blocks: 1, typ: "int8"}, 2, 1},
		{"aarch64-linux-gnu", tile{lanes: 4, rows: 4, blocks: 1}, 0, 0},
	} {
		c.tile.value = "(X * scale[b, l])"
		unsigned := c.tile.typ == ""
		if unsigned {
			c.tile.typ = "uint8"
		}
		words, bytes := packs(t, c.target, c.tile.kernel(t), unsigned)
		if words != c.words || bytes != c.bytes {
			t.Errorf("%s, %+v: %d instructions to words and %d to bytes, want %d and %d", c.target, c.tile, words, bytes, c.words, c.bytes)
		}
	}
}

// packs counts the instructions that narrow to words and to bytes.
func packs(t *testing.T, triple string, f *loop.Func, unsigned bool) (words, bytes int) {
	t.Helper()
	k, err := llvm.Emit(f, llvm.Options{Symbol: "kernel", Target: targettest.Resolve(t, "llvm -mtriple="+triple)})
	if err != nil {
		t.Fatal(err)
	}
	name := "packsswb"
	if unsigned {
		name = "packuswb"
	}
	for l := range strings.Lines(k.Text) {
		if _, call, ok := strings.Cut(l, " = call "); ok {
			words += strings.Count(call, "packssdw")
			bytes += strings.Count(call, name)
		}
	}
	return words, bytes
}
