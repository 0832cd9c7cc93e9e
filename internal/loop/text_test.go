package loop

import (
	"math"
	"strings"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// sample has every construct of the text form, as the printer writes it.
const sample = `func fused_conv(x: float32[1,8,56] align 64, idx: int64[4], mask: bool[8], y: float16[1,8,56] align 64) {
  parallel ko in 0..8 {
    let base: float32 = (x[0, ko, 0] * 2.5)
    for oh in 2..54 {
      alloc acc: float32[6,8] align 32 reg
      unroll t in 0..6 {
        vector l in 0..8 {
          acc[t, l] = 0.0
        }
      }
      prefetch x at ((ko * 56) + 448) lines 4
      prefetch y at (ko * 64) lines 1 write
      for k in (oh - 1)..+max(ko, 3) {
        unroll t in 0..6 {
          vector l in 0..8 {
            acc[t, l] = (acc[t, l] + select(mask[l], x[0, ko, ((t * 8) + l)], -inf))
          }
        }
      }
      if ((ko < 5) & not(mask[ko])) {
        y[0, ko, oh] = let(s:float32 = (acc[0, 0] * base); (s * s))
      } else {
        y[0, ko, oh] = float32(bits.int32(1.5))
      }
    }
  }
  alloc scratch: int32[] worker {
    scratch[] = 7:int32
  }
  for i in 0..idx[0] {
    block "conv 2d"(n: 1 = 0, c: 8 = i, r: reduce 3 = floordiv(i, 2)) where (c < 7) {
      init y[n, c, 0] = 0.0
      y[n, c, 0] = (y[n, c, 0] + x[n, c, r])
    }
  }
}
`

func TestTextRoundTrip(t *testing.T) {
	f, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.String(); got != sample {
		t.Errorf("printed\n%s", got)
	}
	if y := f.Params[3]; y.DType != types.F16 || y.Strides()[1] != 56 || y.Align != 64 || len(y.Shape) != 3 {
		t.Errorf("y is %+v", y)
	}
}

func TestPrintNames(t *testing.T) {
	a := &Buffer{Name: "for", DType: types.F32, Shape: []int{2}}
	b := &Buffer{Name: "x", DType: types.F32, Shape: []int{2}}
	c := &Buffer{Name: "x", DType: types.F32, Shape: []int{2}}
	i, j, k := expr.NewVar("i/0"), expr.NewVar("i/0"), expr.NewVar("i/0")
	copyTo := func(v *expr.Var, to, from *Buffer) Stmt {
		value := expr.Expr(&expr.Load{From: from, Index: []expr.Expr{v}})
		s := &expr.Var{Name: "x", Type: types.F32}
		value = &expr.Let{Var: s, Value: value, Body: expr.Mul(s, s)}
		return &Store{To: to, Index: []expr.Expr{v}, Value: value}
	}
	two := expr.Index(2)
	f := &Func{Name: "two words", Params: []*Buffer{a, b, c}, Body: &Seq{[]Stmt{
		&For{i, expr.Index(0), two, Serial, &For{j, expr.Index(1), expr.Index(1), Serial, copyTo(j, a, b)}},
		&Seq{[]Stmt{&For{k, expr.Index(0), two, Serial, copyTo(k, b, c)}}},
	}}}
	want := `func "two words"(v_for: float32[2], x: float32[2], x_2: float32[2]) {
  for i_0 in 0..2 {
    for i_0_2 in 1..2 {
      v_for[i_0_2] = let(x_3:float32 = x[i_0_2]; (x_3 * x_3))
    }
  }
  for i_0 in 0..2 {
    x[i_0] = let(x_3:float32 = x_2[i_0]; (x_3 * x_3))
  }
}
`
	if got := f.String(); got != want {
		t.Errorf("got\n%s", got)
	}
	g, err := Parse(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := g.String(); got != want {
		t.Errorf("second time\n%s", got)
	}
}

// TestPrintMatrix: matrix loops and tiles are read as they are printed.
func TestPrintMatrix(t *testing.T) {
	const want = `func f(x: uint8[16,64] align 64, w: int8[16,16,4] align 64, y: int32[16,16]) {
  alloc acc: int32[1,16,16] tiles
  matrix m in 0..16 {
    matrix n in 0..16 {
      matrix k in 0..16 {
        acc[0, m, n] = (acc[0, m, n] + dot4(x[m, (k * 4)], 1, w[k, n, 0], 2))
      }
    }
  }
  matrix m in 0..16 {
    matrix n in 0..16 {
      y[m, n] = acc[0, m, n]
    }
  }
}
`
	f, err := Parse(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(f); err != nil {
		t.Error(err)
	}
	if got := f.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestPrintUnbound(t *testing.T) {
	b := &Buffer{Name: "y", DType: types.I64, Shape: []int{2}}
	f := &Func{Name: "f", Body: &Store{b, []expr.Expr{expr.Index(0)}, expr.NewVar("n")}}
	if got := f.String(); !strings.Contains(got, "y?[0] = n?") {
		t.Errorf("got\n%s", got)
	}
	if got := StmtString(f.Body); got != "y[0] = n" {
		t.Errorf("got %q", got)
	}
}

func TestPrintBounds(t *testing.T) {
	for _, c := range []struct {
		lo, n int64
		want  string
	}{
		{0, 3, "0..3"}, {0, -3, "0..-3"}, {-2, 3, "-2..1"}, {5, 0, "5..5"}, {5, -1, "5..4"},
		{math.MaxInt64, 2, "9223372036854775807..+2"}, {math.MinInt64, -1, "-9223372036854775808..+-1"},
	} {
		s := &For{expr.NewVar("i"), &expr.Int{V: c.lo, Type: types.I64}, &expr.Int{V: c.n, Type: types.I64}, Serial, &Seq{}}
		f := &Func{Name: "f", Body: s}
		if got := f.String(); !strings.Contains(got, "in "+c.want+" {") {
			t.Errorf("%d, %d: got %s", c.lo, c.n, got)
		}
		g, err := Parse(f.String())
		if err != nil {
			t.Fatal(err)
		}
		s = g.Body.(*For)
		lo, _ := expr.IntOf(s.Min)
		n, _ := expr.IntOf(s.Extent)
		if lo != c.lo || n != c.n {
			t.Errorf("%d, %d came back as %d, %d", c.lo, c.n, lo, n)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "0 functions"},
		{"func f() {} func g() {}", "2 functions"},
		{"func f(", "end of text"},
		{"func f(x: float33[1]) {}", `1:11: unknown element type "float33"`},
		{"func f(x: float32[99999999999999999999]) {}", "no integer"},
		{"func f(x: float32[1], x: float32[1]) {}", `1:23: "x" is defined already`},
		{"func f(in: float32[1]) {}", "keyword"},
		{"func f(x: float32[1]) {\n  y[0] = 1.0\n}", `2:3: no statement, and no buffer "y"`},
		{"func f(x: float32[1]) {\n  x[0] = 1\n}", "2:10: 1 has type int64 where float32 is expected"},
		{"func f(x: float32[1]) { x[0] = (1.0 + 1) }", "+ of float32 and int64"},
		{"func f(x: float32[1]) { x[0] = (1.0 << 1.0) }", "<< of float32"},
		{"func f(x: float32[1]) { x[0] = x[1.0] }", "index 0 of x has type float32"},
		{"func f(x: float32[1]) { x[0] = sqrt(1.0, 2.0) }", "sqrt of 2 operands, not 1"},
		{"func f(x: float32[1]) { x[0] = cosine(1.0) }", `no function "cosine"`},
		{"func f(x: float32[1]) { x[0] = i }", `no variable "i"`},
		{"func f(x: float32[1]) { x[0] = 1e99 }", "is no float32"},
		{"func f(x: int8[1]) { x[0] = 128:int8 }", "128 does not fit int8"},
		{"func f(x: float32[1]) { for i in i..2 {} }", `no variable "i"`},
		{"func f(n: int64[1]) { for i in n[0]..2 {} }", "..+n, is expected"},
		{"func f(x: float32[1]) { for i in 0..2 { for i in 0..2 {} } }", "defined already"},
		{"func f(x: float32[1]) { x[0] = 1.0 ", `end of text where "}"`},
		{"func f(x: float32[1]) { x[0] = \x00 }", "unexpected character"},
		{"func \"a {}", "does not end"},
		{"func f(y: int64[1]) { block b(i: 1 = 0, i: 2 = 0) { y[i] = i } }", "two iteration variables"},
		{"func f(x: float32[1]) { x[0] = " + strings.Repeat("(", 5000), "deeper"},
		{"func f(x: float32[1]) { " + strings.Repeat("if true {", 5000), `no variable "true"`},
		{"func f(x: float32[1]) { " + strings.Repeat("if 1:bool {", 5000), "deeper"},
	} {
		_, err := Parse(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: error %v, want %q", c.text, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("func f(x: float32[1]) { x[0] = let(a:float64 = -0.0:float64; float32((a + nan:float64))) }")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseAll(text)
		if err != nil {
			return
		}
		for _, fn := range all {
			once := fn.String()
			again, err := Parse(once)
			if err != nil {
				t.Fatalf("%v in\n%s", err, once)
			}
			if twice := again.String(); twice != once {
				t.Fatalf("first\n%s\nthen\n%s", once, twice)
			}
			_ = Verify(fn)
		}
	})
}
