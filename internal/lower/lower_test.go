package lower_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/te"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/tetest"
	"lathe/internal/types"
)

// TestRandom compares lowered kernels with the tensor expressions they come from, through layouts, inlining and merged
// axes, to the bit.
func TestRandom(t *testing.T) {
	samples := uint64(60)
	if testing.Short() {
		samples = 10
	}
	for _, kind := range tetest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			for seed := range samples {
				c := tetest.New(rand.New(rand.NewPCG(seed, 1)), kind)
				k := c.Lower()
				if err := loop.Verify(k.Func); err != nil {
					t.Fatalf("seed %d: %v\n%s\n%s", seed, err, te.String(c.Out), k.Func)
				}
				if err := c.Check(k, k.Func, 1); err != nil {
					t.Fatalf("seed %d: %v\n%s\n%s", seed, err, te.String(c.Out), k.Func)
				}
			}
		})
	}
}

// conv is a padded 3x3 convolution with bias and ReLU; ReLU and bias are inlined, the accumulator is a block of its own.
func conv(x, w, y types.Layout) *te.Stage {
	in := te.Input("x", types.Of(types.F32, 1, 8, 6, 6).With(x))
	k := te.Input("w", types.Of(types.F32, 12, 8, 3, 3).With(w))
	b := te.Input("b", types.Of(types.F32, 12))
	c := te.Fold("conv", types.Of(types.F32, 1, 12, 6, 6), te.Sum, []int{8, 3, 3}, func(i, r []expr.Expr) expr.Expr {
		h, w := expr.Sub(expr.Add(i[2], r[1]), expr.Index(1)), expr.Sub(expr.Add(i[3], r[2]), expr.Index(1))
		in6 := func(e expr.Expr) expr.Expr { return expr.And(expr.GE(e, expr.Index(0)), expr.LT(e, expr.Index(6))) }
		return expr.If(expr.And(in6(h), in6(w)), expr.Mul(in.At(i[0], r[0], h, w), k.At(i[1], r[0], r[1], r[2])), expr.Const(types.F32, 0))
	})
	biased := te.Compute("biased", c.Type, func(i []expr.Expr) expr.Expr { return expr.Add(c.At(i...), b.At(i[1])) })
	return te.Compute("relu", c.Type.With(y), func(i []expr.Expr) expr.Expr { return expr.Max(biased.At(i...), expr.Const(types.F32, 0)) })
}

// groups is a 1x1 convolution with ReLU of n groups of as many channels each, of one layout.
func groups(n, each int, data, weight types.Layout) *te.Stage {
	x := te.Input("x", types.Of(types.F32, 1, n*each, 4, 4).With(data))
	w := te.Input("w", types.Of(types.F32, n*each, each, 1, 1).With(weight))
	b := te.Input("b", types.Of(types.F32, n*each))
	zero := expr.Index(0)
	c := te.Fold("conv", types.Of(types.F32, 1, n*each, 4, 4), te.Sum, []int{each}, func(i, r []expr.Expr) expr.Expr {
		from := expr.Add(expr.Mul(expr.Bin(expr.OpFloorDiv, i[1], expr.Index(each)), expr.Index(each)), r[0])
		return expr.Mul(x.At(i[0], from, i[2], i[3]), w.At(i[1], r[0], zero, zero))
	})
	c.Tag = te.Convolution
	return te.Compute("relu", c.Type.With(data), func(i []expr.Expr) expr.Expr {
		return expr.Max(expr.Add(c.At(i...), b.At(i[1])), expr.Const(types.F32, 0))
	})
}

// attention is exp(s - max(s)) v with s = q k / 2 + mask, for five words and their transposed keys.
func attention() *te.Stage {
	q, k, v := te.Input("q", types.Of(types.F32, 5, 3)), te.Input("k", types.Of(types.F32, 5, 3)), te.Input("v", types.Of(types.F32, 5, 8))
	mask := te.Input("mask", types.Of(types.F32, 5))
	all, zero := types.Of(types.F32, 5, 5), expr.Index(0)
	s := te.Fold("s", all, te.Sum, []int{3}, func(i, r []expr.Expr) expr.Expr { return expr.Mul(q.At(i[0], r[0]), k.At(i[1], r[0])) })
	masked := te.Compute("masked", all, func(i []expr.Expr) expr.Expr {
		return expr.Add(expr.Div(s.At(i...), expr.Const(types.F32, 2)), mask.At(i[1]))
	})
	most := te.Fold("most", types.Of(types.F32, 5, 1), te.Max, []int{5}, func(i, r []expr.Expr) expr.Expr { return masked.At(i[0], r[0]) })
	shifted := te.Compute("shifted", all, func(i []expr.Expr) expr.Expr { return expr.Sub(masked.At(i...), most.At(i[0], zero)) })
	w := te.Compute("w", all, func(i []expr.Expr) expr.Expr { return expr.Call(expr.FnExp, shifted.At(i...)) })
	return te.Fold("y", types.Of(types.F32, 5, 8), te.Sum, []int{5}, func(i, r []expr.Expr) expr.Expr {
		return expr.Mul(w.At(i[0], r[0]), v.At(r[0], i[1]))
	})
}

// TestGolden shows what lowering makes: te before, loop IR after.
func TestGolden(t *testing.T) {
	x := te.Input("x", types.Of(types.F32, 4, 6, 5, 5))
	bias := te.Input("b", types.Of(types.F32, 6))
	index := te.Input("at", types.Of(types.I32, 3))
	half := te.Input("h", types.Of(types.F16, 4, 8))
	for name, out := range map[string]*te.Stage{
		"conv":         conv("", "", ""),
		"conv_blocked": conv("ABCD8b", "ABCD8a", "ABCD8b"),
		// The rows and columns of pixels are walked as one.
		"merged_axes": te.Compute("y", x.Type, func(i []expr.Expr) expr.Expr { return expr.Add(x.At(i...), bias.At(i[1])) }),
		// Groups of whole blocks are an axis, and so are parts of groups that share a block; without blocks they are as they lie.
		"groups_whole":  groups(2, 16, "ABCD8b", "ABCD16a"),
		"groups_narrow": groups(3, 12, "ABCD8b", "ABCD4a"),
		"groups_plain":  groups(3, 5, "", ""),
		// Operands get stages of their own, and rows of scores whole vectors; what is in memory as rows is read there.
		"attention": attention(),
		// A transposed reader walks them apart.
		"apart": te.Compute("y", x.Type, func(i []expr.Expr) expr.Expr { return expr.Add(x.At(i...), x.At(i[0], i[1], i[3], i[2])) }),
		"gather_clamped": te.Compute("y", types.Of(types.F32, 3, 6, 5, 5), func(i []expr.Expr) expr.Expr {
			return x.At(append([]expr.Expr{expr.CastTo(types.I64, index.At(i[0]))}, i[1:]...)...)
		}),
		// A reduction that is the result itself gets a pointwise stage to store it; sums of float16 are float32.
		"half_sum": te.Fold("s", types.Of(types.F16, 4), te.Sum, []int{8}, func(i, r []expr.Expr) expr.Expr { return half.At(i[0], r[0]) }),
	} {
		t.Run(name, func(t *testing.T) {
			k := lower.Lower(name, out, lower.Options{})
			if err := loop.Verify(k.Func); err != nil {
				t.Error(err)
			}
			golden.Check(t, name, []byte("// "+strings.ReplaceAll(strings.TrimSpace(te.String(out)), "\n", "\n// ")+"\n"+k.Func.String()))
		})
	}
}

// TestShared: an element that several stages read is bound once, so that a chain of diamonds stays as long as it is; what
// a selection guards is computed in its arm.
func TestShared(t *testing.T) {
	x := te.Input("x", types.Of(types.F32, 8))
	s := x
	for i := range 20 {
		e := te.Compute(fmt.Sprintf("e%d", i), x.Type, func(i []expr.Expr) expr.Expr { return expr.Call(expr.FnExp, s.At(i...)) })
		from := s
		s = te.Compute(fmt.Sprintf("s%d", i), x.Type, func(i []expr.Expr) expr.Expr { return expr.Mul(from.At(i...), e.At(i...)) })
	}
	if text := lower.Lower("f", s, lower.Options{}).Func.String(); strings.Count(text, "exp(") != 20 {
		t.Errorf("%d exponentials instead of 20", strings.Count(text, "exp("))
	}
	e := te.Compute("e", x.Type, func(i []expr.Expr) expr.Expr { return expr.Call(expr.FnExp, x.At(i...)) })
	guarded := te.Compute("y", x.Type, func(i []expr.Expr) expr.Expr {
		at := expr.Sub(i[0], expr.Index(1))
		return expr.If(expr.GE(at, expr.Index(0)), expr.Mul(e.At(at), e.At(at)), expr.Const(types.F32, 0))
	})
	golden.Check(t, "shared_under_guard", []byte(lower.Lower("f", guarded, lower.Options{}).Func.String()))
}

// TestOptions: constants of one value become numbers, and stages to keep get a block.
func TestOptions(t *testing.T) {
	x, s := te.Input("x", types.Of(types.F32, 4)), te.Input("s", types.Of(types.F32, 1))
	double := te.Compute("double", types.Of(types.F32, 4), func(i []expr.Expr) expr.Expr { return expr.Mul(x.At(i...), s.At(expr.Index(0))) })
	out := te.Compute("y", types.Of(types.F32, 4), func(i []expr.Expr) expr.Expr {
		return expr.Add(double.At(i...), double.At(expr.Sub(expr.Index(3), i[0])))
	})
	k := lower.Lower("f", out, lower.Options{
		Value: func(st *te.Stage) (expr.Expr, bool) { return expr.Const(types.F32, 2), st == s },
		Keep:  func(st *te.Stage) bool { return st.Name == "double" },
	})
	if got := strings.Join(k.Blocks, " "); got != "double y" {
		t.Errorf("blocks %q, want double and y", got)
	}
	if len(k.Params) != 2 || strings.Contains(k.Func.String(), "s[") {
		t.Errorf("the constant is still a parameter:\n%s", k.Func)
	}
	if flops := k.Flops(); flops != 8 {
		t.Errorf("%g operations, want 4 products and 4 sums", flops)
	}
	if bytes := k.Bytes(); bytes != 32 {
		t.Errorf("%d bytes, want those of x and y", bytes)
	}
}
