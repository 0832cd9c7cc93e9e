package llvm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/codegen/llvm"
	"lathe/internal/loop"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/toolchain"
)

// A border is a sum of products of pixels and weights in registers, to which the first and the last lanes of some vectors add nothing.
type border struct {
	lanes, vecs, rows int
	before, behind    int // lanes without a part in the first tap, which there is if there are any, and in the last
	steps             int // of the sum that are written out, of six
}

func (b border) kernel(t *testing.T) *loop.Func {
	n, first := b.lanes*b.vecs, ""
	if b.before > 0 {
		first = fmt.Sprintf(`      unroll i in 0..%[1]d {
        unroll o in 0..%[2]d {
          vector l in 0..%[3]d {
            if ((((o * %[3]d) + l) - %[4]d) >= 0) {
              sum[i, ((o * %[3]d) + l)] = (sum[i, ((o * %[3]d) + l)] + (x[((q * %[5]d) + r), (((o * %[3]d) + l) - %[4]d)] * w[((q * %[5]d) + r), 0, i]))
            }
          }
        }
      }
`, b.rows, b.vecs, b.lanes, b.before, b.steps)
	}
	return parse(t, fmt.Sprintf(`func kernel(x: float32[6,%[1]d], w: float32[6,3,%[2]d], y: float32[%[2]d,%[1]d]) {
  alloc sum: float32[%[2]d,%[1]d] align 64 reg
  unroll i in 0..%[2]d {
    unroll o in 0..%[3]d {
      vector l in 0..%[4]d {
        sum[i, ((o * %[4]d) + l)] = 0.0
      }
    }
  }
  for q in 0..%[8]d {
    unroll r in 0..%[7]d {
%[9]s      unroll i in 0..%[2]d {
        unroll o in 0..%[3]d {
          vector l in 0..%[4]d {
            if ((((o * %[4]d) + l) + %[6]d) < %[1]d) {
              sum[i, ((o * %[4]d) + l)] = (sum[i, ((o * %[4]d) + l)] + (x[((q * %[7]d) + r), (((o * %[4]d) + l) + %[6]d)] * w[((q * %[7]d) + r), 2, i]))
            }
          }
        }
      }
    }
  }
  unroll i in 0..%[2]d {
    unroll o in 0..%[3]d {
      vector l in 0..%[4]d {
        y[i, ((o * %[4]d) + l)] = sum[i, ((o * %[4]d) + l)]
      }
    }
  }
}
`, n, b.rows, b.vecs, b.lanes, b.before, b.behind, b.steps, 6/b.steps, first))
}

// TestBorders: lanes that have no part in a product keep their sums, also where the other factor is infinite.
func TestBorders(t *testing.T) {
	here := native(t)
	r := rand.New(rand.NewPCG(7, 26))
	var funcs []*loop.Func
	for range 60 {
		b := border{lanes: []int{4, 6, 8, 14, 16}[r.IntN(5)], vecs: 1 + r.IntN(3), rows: 1 + r.IntN(4), steps: []int{1, 2, 3}[r.IntN(3)]}
		b.before, b.behind = r.IntN(b.lanes), r.IntN(b.lanes+1)
		funcs = append(funcs, b.kernel(t))
	}
	for _, tgt := range []*target.Target{here, nil} {
		code := loadFor(t, here, funcs, llvm.Options{VectorBits: 256, Target: tgt})
		for i, f := range funcs {
			args := make([]*tensor.Tensor, len(f.Params))
			for k, p := range f.Params {
				args[k] = tensor.New(p.DType, p.Shape...)
				for j := range args[k].Len() { // integers, so that the order of sums does not matter
					args[k].SetFloat(j, math.Round(8*r.NormFloat64()))
				}
			}
			for j := range 2 {
				args[1].SetFloat(r.IntN(args[1].Len()), math.Inf(1-2*j))
			}
			code.asInterpreted(t, i, f, args)
		}
	}
}

// TestMergedSums: where instructions leave lanes of sums as they are, nothing else does.
func TestMergedSums(t *testing.T) {
	for _, b := range []border{{16, 3, 6, 2, 1, 1}, {16, 1, 8, 1, 3, 1}, {8, 2, 4, 3, 3, 1}, {14, 2, 4, 1, 1, 1}, {16, 2, 6, 0, 5, 2}, {16, 2, 4, 0, 15, 3}} {
		tgt := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4")
		k, err := llvm.Emit(b.kernel(t), llvm.Options{Symbol: "kernel", Target: tgt})
		if err != nil {
			t.Fatal(err)
		}
		m, err := toolchain.Open(toolchain.For(tgt))
		if err != nil {
			t.Fatal(err)
		}
		code, err := m.Assembly(k.Text, "")
		if err != nil {
			t.Fatal(err)
		}
		merged, others := 0, 0
		for l := range strings.Lines(code) {
			op, operands, _ := strings.Cut(strings.TrimSpace(l), "\t")
			switch masked := strings.Contains(operands, "{%k") && !strings.Contains(operands, "{z}"); {
			case strings.HasPrefix(op, "vfmadd") && masked:
				merged++
			case masked && !strings.Contains(operands, "("), strings.HasPrefix(op, "vblend"):
				others++
			}
		}
		want := b.rows * b.steps
		if b.before > 0 { // both taps have lanes without a part
			want *= 2
		}
		if merged < want || others > 0 {
			t.Errorf("%+v: %d multiply-adds of some lanes and %d other instructions, want %d or more and none\n%s", b, merged, others, want, code)
		}
	}
}

// TestMaskRegisters: masks of all widths are ones that LLVM can name, or are not named.
func TestMaskRegisters(t *testing.T) {
	for _, attrs := range []string{"", " -mattr=-avx512bw", " -mattr=-avx512vl"} {
		tgt := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4"+attrs)
		m, err := toolchain.Open(toolchain.For(tgt))
		if err != nil {
			t.Fatal(err)
		}
		for _, lanes := range []int{2, 3, 8, 16, 24, 32, 64} {
			k, err := llvm.Emit(border{lanes, 1, 2, 1, 1, 1}.kernel(t), llvm.Options{Symbol: "kernel", Target: tgt})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Compile(k.Text, ""); err != nil {
				t.Errorf("%d lanes%s: %v", lanes, attrs, err)
			}
		}
	}
}

// TestReadable: what lies inside its buffer for all lanes is loaded whole, and chosen; what may lie outside is not.
func TestReadable(t *testing.T) {
	const haswell = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell"
	for _, c := range []struct {
		value  string
		masked bool
	}{
		{"(a[l] & b[l])", false},
		{"(a[l] | b[l])", false},
		{"(a[l] & b[(l + 24)])", false},
		{"(a[l] & b[(l + 25)])", true}, // the last lane is outside
		{"select(a[l], b[l], a[(l + 8)])", false},
		{"select((l < 5), b[(l + 25)], a[l])", true},
	} {
		f := parse(t, fmt.Sprintf("func kernel(a: bool[32], b: bool[32], y: bool[8]) {\n  vector l in 0..8 {\n    y[l] = %s\n  }\n}\n", c.value))
		k, err := llvm.Emit(f, llvm.Options{Symbol: "kernel", Target: targettest.Resolve(t, haswell)})
		if err != nil {
			t.Fatal(err)
		}
		if masked := strings.Contains(k.Text, "masked.load"); masked != c.masked {
			t.Errorf("%s: loads under a mask %t, want %t\n%s", c.value, masked, c.masked, k.Text)
		}
	}
}
