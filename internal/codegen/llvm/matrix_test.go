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
	"lathe/internal/testkit/amxtest"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/targettest"
)

// tileProduct is a product of blocks of 2 x 2 tiles of rows x columns, whose sums take so many steps of depth dot products, and of one row
// of tiles of last rows behind them, whose sums go through memory and take all steps twice.
func tileProduct(name, a, b string, rows, columns, depth, steps, last int) string {
	r := strings.NewReplacer("NAME", name, "TYPE_A", a, "TYPE_B", b, "ROWS", fmt.Sprint(rows), "COLS", fmt.Sprint(columns), "DEPTH", fmt.Sprint(depth),
		"STEPS", fmt.Sprint(steps), "LAST", fmt.Sprint(last), "M", fmt.Sprint(4*rows+last), "N", fmt.Sprint(2*columns), "BYTES", fmt.Sprint(4*depth), "K", fmt.Sprint(4*depth*steps))
	return r.Replace(`func NAME(x: TYPE_A[M,K], w: TYPE_B[STEPS,DEPTH,N,4], y: int32[M,N]) {
  parallel o in 0..2 {
    alloc acc: int32[2,2,ROWS,COLS] tiles {
      unroll i in 0..2 { unroll j in 0..2 { matrix m in 0..ROWS { matrix n in 0..COLS { acc[i, j, m, n] = 0:int32 } } } }
      for s in 0..STEPS { unroll i in 0..2 { unroll j in 0..2 { matrix m in 0..ROWS { matrix n in 0..COLS { matrix k in 0..DEPTH {
        acc[i, j, m, n] = (acc[i, j, m, n] + dot4(x[((((o * 2) + i) * ROWS) + m), ((s * BYTES) + (k * 4))], 1, w[s, k, ((j * COLS) + n), 0], 3)) } } } } } }
      unroll i in 0..2 { unroll j in 0..2 { matrix m in 0..ROWS { matrix n in 0..COLS { y[((((o * 2) + i) * ROWS) + m), ((j * COLS) + n)] = acc[i, j, m, n] } } } } }
    if (o == 1) {
      alloc sums: int32[LAST,COLS] tiles
      for j in 0..2 {
        matrix m in 0..LAST { matrix n in 0..COLS { sums[m, n] = 0:int32 } }
        for s in 0..STEPS { matrix m in 0..LAST { matrix n in 0..COLS { matrix k in 0..DEPTH {
          sums[m, n] = (sums[m, n] + dot4(x[(m + (ROWS * 4)), ((s * BYTES) + (k * 4))], 1, w[s, k, ((j * COLS) + n), 0], 3)) } } } }
        matrix m in 0..LAST { matrix n in 0..COLS { y[(m + (ROWS * 4)), ((j * COLS) + n)] = sums[m, n] } }
        matrix m in 0..LAST { matrix n in 0..COLS { sums[m, n] = y[(m + (ROWS * 4)), ((j * COLS) + n)] } }
        for s in 0..STEPS { matrix m in 0..LAST { matrix n in 0..COLS { matrix k in 0..DEPTH {
          sums[m, n] = (sums[m, n] + dot4(x[(m + (ROWS * 4)), ((s * BYTES) + (k * 4))], 1, w[s, k, ((j * COLS) + n), 0], 3)) } } } }
        matrix m in 0..LAST { matrix n in 0..COLS { y[(m + (ROWS * 4)), ((j * COLS) + n)] = sums[m, n] } } } } } }`)
}

const withTiles = "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -mattr=+amx-int8"

// TestMatrix holds operations on tiles to the interpreter, with instructions for them and without.
func TestMatrix(t *testing.T) {
	counts := amxtest.Install(t)
	var funcs []*loop.Func
	products := 0
	for i, c := range [][5]int{{16, 16, 16, 3, 16}, {16, 16, 16, 1, 5}, {13, 16, 9, 2, 1}, {7, 5, 3, 2, 16}, {1, 1, 1, 4, 1}} {
		types := [][2]string{{"uint8", "int8"}, {"int8", "int8"}, {"int8", "uint8"}, {"uint8", "uint8"}}[i%4]
		funcs = append(funcs, parse(t, tileProduct(fmt.Sprintf("f%d", i), types[0], types[1], c[0], c[1], c[2], c[3], c[4])))
		products += (2*4 + 2*2) * c[3]
	}
	for _, name := range []string{withTiles, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"} {
		tgt := targettest.Resolve(t, name)
		before := *counts
		code := loadFor(t, tgt, funcs, llvm.Options{VectorBits: 256, Target: tgt})
		for i, f := range funcs {
			r := rand.New(rand.NewPCG(uint64(i), 12))
			var want, got []*tensor.Tensor
			for _, p := range f.Params {
				x := tensor.New(p.DType, p.Shape...)
				for j := range x.Bytes() {
					x.Bytes()[j] = byte(r.Uint32())
				}
				want, got = append(want, x), append(got, tensor.Over(x.DType, x.Shape, append([]byte(nil), x.Bytes()...)))
			}
			if err := interp.Run(f, want, 2); err != nil {
				t.Fatal(err)
			}
			if err := code.run(i, got, 2); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			for e := range want[2].Len() {
				if want[2].Int(e) != got[2].Int(e) {
					t.Errorf("%s: element %d is %d, interpreted %d", f.Name, e, got[2].Int(e), want[2].Int(e))
					break
				}
			}
		}
		if amxtest.Native() {
			continue // nothing is counted
		}
		if n := int(counts.Products - before.Products); tgt.Tiles() != nil && n != products || tgt.Tiles() == nil && n != 0 {
			t.Errorf("%s: %d products of %d", name, n, products)
		}
	}
}

// TestMatrixText pins the text: one configuration at the beginning, a product for each load.
func TestMatrixText(t *testing.T) {
	f := parse(t, tileProduct("tile_product", "uint8", "int8", 16, 16, 16, 3, 5))
	k, err := llvm.Emit(f, llvm.Options{Symbol: "tile_product", Target: targettest.Resolve(t, withTiles)})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "tile_product", []byte(k.Text))
}

// TestMatrixRefused: tiles that the registers do not hold are an error, not other code.
func TestMatrixRefused(t *testing.T) {
	tgt := targettest.Resolve(t, withTiles)
	for _, c := range []struct{ body, want string }{
		{"alloc t: int32[9,16,16] tiles matrix m in 0..16 { matrix n in 0..16 { t[0, m, n] = 0:int32 } }", "more than 8"},
		{"alloc t: int32[17,16] tiles matrix m in 0..17 { matrix n in 0..16 { t[m, n] = 0:int32 } }", "of 16 rows"},
		{"alloc t: int32[16,16] tiles matrix m in 0..8 { matrix n in 0..16 { t[m, n] = 0:int32 } }", "a part of a tile"},
		{"alloc t: int32[16,2] tiles matrix m in 0..16 { matrix n in 0..2 { matrix k in 0..2 { t[m, n] = (t[m, n] + dot4(x[m, k], 1, x[(n + k), 0], 1)) } } }", "is no matrix"},
		{"alloc t: int32[16,16] tiles matrix m in 0..16 { matrix n in 0..16 { y[n, m] = t[m, n] } }", "is no matrix"},
	} {
		f := parse(t, "func f(x: int8[16,16], y: int32[16,16]) {\n"+c.body+"\n}")
		if _, err := llvm.Emit(f, llvm.Options{Symbol: "f", Target: tgt}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.body, err, c.want)
		}
	}
}
