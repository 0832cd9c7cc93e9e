package llvm_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/codegen/llvm"
	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/toolchain"
)

// packable is a kernel that stores pixels of blocks of so many channels as quantised bytes: a tile of rows by blocks, of which rows are neighbours in memory
// where channels are blocked, and blocks where channels are last.
func packable(t *testing.T, lanes, rows, blocks, zero int, typ string, channelsLast, rowsInside bool) *loop.Func {
	outer, inner := fmt.Sprintf("unroll i in 0..%d", rows), fmt.Sprintf("unroll b in 0..%d", blocks)
	if rowsInside {
		outer, inner = inner, outer
	}
	shape, index := fmt.Sprintf("%d,5,%d,%d", blocks, rows, lanes), "[b, n, i, l]"
	if channelsLast {
		shape, index = fmt.Sprintf("5,%d,%d,%d", rows, blocks, lanes), "[n, i, b, l]"
	}
	return parse(t, fmt.Sprintf(`func kernel(x: float32[%[1]s], scale: float32[%[8]d,%[2]d], y: %[3]s[%[1]s]) {
  for n in 0..5 {
    %[4]s {
      %[5]s {
        vector l in 0..%[2]d {
          y%[6]s = %[3]s((round((x%[6]s * scale[b, l])) + %[7]d.0))
        }
      }
    }
  }
}
`, shape, lanes, typ, outer, inner, index, zero, blocks))
}

// TestPackedBytes: bytes that are narrowed and stored several vectors at once are those of the definition, in all tiles and orders of the loops, also where
// what is rounded has no integer.
func TestPackedBytes(t *testing.T) {
	here, err := toolchain.Native()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 32))
	var funcs []*loop.Func
	for i := range 60 {
		typ := []string{"uint8", "int8"}[i%2]
		zero := []int{0, r.IntN(128), map[string]int{"uint8": 255, "int8": -128}[typ]}[r.IntN(3)]
		funcs = append(funcs, packable(t, 4<<(i%3), 1+r.IntN(9), 1+r.IntN(5), zero, typ, r.IntN(2) > 0, r.IntN(2) > 0))
	}
	code := loadFor(t, here, funcs, llvm.Options{VectorBits: 256, Target: here})
	for i, f := range funcs {
		args := make([]*tensor.Tensor, 3)
		for k, p := range f.Params {
			args[k] = tensor.New(p.DType, p.Shape...)
			for j := range args[k].Len() {
				args[k].SetFloat(j, 60*r.NormFloat64())
				if r.IntN(20) == 0 && k == 0 {
					args[k].SetFloat(j, rareNumbers[r.IntN(len(rareNumbers))])
				}
			}
		}
		want, got := args, []*tensor.Tensor{args[0], args[1], tensor.New(args[2].DType, args[2].Shape...)}
		if err := interp.Run(f, want, 1); err != nil {
			t.Fatal(err)
		}
		if err := code.run(i, got, 1); err != nil {
			t.Errorf("%v: %v", f, err)
		}
		for e := range want[2].Len() {
			if want[2].Float(e) != got[2].Float(e) {
				t.Errorf("element %d of %v: %v instead of %v\n%v", e, args[0].Float(e), got[2].Float(e), want[2].Float(e), f)
				break
			}
		}
	}
}

// TestWhatIsPacked: vectors that are neighbours are narrowed together where the target has instructions for it, and others by themselves.
func TestWhatIsPacked(t *testing.T) {
	for _, c := range []struct {
		target              string
		lanes, rows, blocks int
		channelsLast        bool
		words, bytes        int // instructions
	}{
		{"x86_64-linux-gnu -mcpu=haswell", 8, 6, 2, false, 6, 4},
		{"x86_64-linux-gnu -mcpu=haswell", 8, 5, 2, false, 4, 2},
		{"x86_64-linux-gnu -mcpu=haswell", 8, 3, 4, true, 6, 3},
		{"x86_64-linux-gnu -mcpu=haswell", 8, 6, 1, true, 3, 2}, // rows of one block are neighbours
		{"x86_64-linux-gnu -mcpu=haswell", 16, 4, 1, false, 0, 0},
		{"x86_64-linux-gnu -mcpu=x86-64", 4, 4, 1, false, 2, 1},
		{"x86_64-linux-gnu -mcpu=x86-64-v4", 16, 4, 1, false, 2, 1},
		{"aarch64-linux-gnu", 4, 4, 1, false, 0, 0},
	} {
		tgt := targettest.Resolve(t, "llvm -mtriple="+c.target)
		k, err := llvm.Emit(packable(t, c.lanes, c.rows, c.blocks, 3, "uint8", c.channelsLast, false), llvm.Options{Symbol: "kernel", Target: tgt})
		if err != nil {
			t.Fatal(err)
		}
		words, bytes := 0, 0
		for l := range strings.Lines(k.Text) {
			if strings.Contains(l, "call") && strings.Contains(l, "packssdw") {
				words++
			}
			if strings.Contains(l, "call") && strings.Contains(l, "packuswb") {
				bytes++
			}
		}
		if words != c.words || bytes != c.bytes {
			t.Errorf("%s, %d rows by %d blocks of %d: %d instructions to words and %d to bytes, want %d and %d", c.target, c.rows, c.blocks, c.lanes, words, bytes, c.words, c.bytes)
		}
	}
}
