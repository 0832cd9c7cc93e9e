package tetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

type family struct {
	name string
	make func(*draw) *te.Stage
}

var families = []family{
	{"matmul", (*draw).matmul},
	{"blocks", (*draw).blocks},
	{"conv", (*draw).conv},
	{"depthwise", (*draw).depthwise},
	{"pool", (*draw).pool},
	{"reduce", (*draw).reduce},
	{"rows", (*draw).rows},
	{"attention", (*draw).attention},
	{"softmax", (*draw).softmax},
	{"gather", (*draw).gather},
	{"move", (*draw).move},
	{"places", (*draw).places},
	{"pointwise", (*draw).pointwise},
}

// A draw builds a case from random choices.
type draw struct {
	*rand.Rand
	*Case
}

func (d *draw) coin(n int) bool        { return d.IntN(n) == 0 }
func (d *draw) between(lo, hi int) int { return lo + d.IntN(hi-lo+1) }
func pick[T any](d *draw, list ...T) T { return list[d.IntN(len(list))] }
func (d *draw) numeric() types.DType {
	return pick(d, types.F32, types.F32, types.F32, types.I32, types.F64)
}
func num(t types.DType, v int) expr.Expr { return expr.Const(t, float64(v)) }
func at(e expr.Expr, k, c int) expr.Expr { return expr.Add(expr.Mul(e, expr.Index(k)), expr.Index(c)) }
func inside(x expr.Expr, n int) expr.Expr {
	return expr.And(expr.GE(x, expr.Index(0)), expr.LT(x, expr.Index(n)))
}

// layout is plain, channels-last or blocked by axis 1; blocks may be partial.
func (d *draw) layout(shape []int) types.Layout {
	switch n := len(shape); {
	case n < 2 || d.coin(3):
		return ""
	case d.coin(4) && n > 2:
		l := "A"
		for i := 2; i < n; i++ {
			l += string(rune('A' + i))
		}
		return types.Layout(l + "B")
	default:
		l := ""
		for i := range n {
			l += string(rune('A' + i))
		}
		return types.Layout(fmt.Sprintf("%s%db", l, pick(d, 2, 4, 8)))
	}
}

func (d *draw) values(t types.Tensor) *tensor.Tensor {
	v := tensor.NewOf(t)
	for i := range v.Len() {
		n := int64(d.IntN(9) - 4)
		if t.DType == types.I4 {
			n = int64(d.IntN(16) - 8)
		}
		if !t.DType.IsFloat() && !t.DType.IsSigned() {
			n = int64(d.IntN(5))
		}
		if t.DType == types.U4 {
			n = int64(d.IntN(16))
		}
		v.SetInt(i, n)
	}
	return v
}

func (d *draw) input(t types.DType, shape ...int) *te.Stage {
	s := te.Input(fmt.Sprintf("x%d", len(d.Inputs)), types.Of(t, shape...))
	s.Type.Layout = d.layout(shape)
	d.Inputs = append(d.Inputs, s)
	d.Values[s.Name] = d.values(s.Type)
	return s
}

// matmul is a[m, k] * b[k, n], b transposed or batched at random.
func (d *draw) matmul() *te.Stage {
	t := d.numeric()
	m, n, k := d.between(1, 11), d.between(1, 19), d.between(1, 9)
	a := d.input(t, m, k)
	if d.coin(2) {
		b := d.input(t, n, k)
		return te.Fold("mm", types.Of(t, m, n), te.Sum, []int{k}, func(i, r []expr.Expr) expr.Expr {
			return expr.Mul(a.At(i[0], r[0]), b.At(i[1], r[0]))
		})
	}
	b := d.input(t, k, n)
	return te.Fold("mm", types.Of(t, m, n), te.Sum, []int{k}, func(i, r []expr.Expr) expr.Expr {
		return expr.Mul(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
}

// A span is a spatial axis: output i, tap k reads input stride*i + dilation*k - before.
type span struct{ in, out, kernel, stride, dilation, before int }

func (d *draw) span() span {
	s := span{in: d.between(1, 9), kernel: d.between(1, 3), stride: d.between(1, 2), dilation: d.between(1, 2)}
	reach := (s.kernel - 1) * s.dilation
	s.before = d.between(0, min(2, reach))
	after := max(d.between(0, min(2, reach)), reach+1-s.in-s.before)
	s.out = (s.in+s.before+after-reach-1)/s.stride + 1
	return s
}

func (s span) from(i, k expr.Expr) expr.Expr {
	return expr.Sub(expr.Add(expr.Mul(i, expr.Index(s.stride)), expr.Mul(k, expr.Index(s.dilation))), expr.Index(s.before))
}

// guard is the value of a load at a padded place.
func guard(x *te.Stage, outside expr.Expr, n, c expr.Expr, y, xx expr.Expr, f func(expr.Expr) expr.Expr) expr.Expr {
	in := expr.And(inside(y, x.Type.Shape[2]), inside(xx, x.Type.Shape[3]))
	return expr.If(in, f(x.At(n, c, y, xx)), outside)
}

func (d *draw) conv() *te.Stage {
	t := d.numeric()
	n, in, out, h, w := d.between(1, 2), d.between(1, 9), d.between(1, 17), d.span(), d.span()
	x, k := d.input(t, n, in, h.in, w.in), d.input(t, out, in, h.kernel, w.kernel)
	y := te.Fold("conv", types.Of(t, n, out, h.out, w.out), te.Sum, []int{in, h.kernel, w.kernel}, func(i, r []expr.Expr) expr.Expr {
		return guard(x, num(t, 0), i[0], r[0], h.from(i[2], r[1]), w.from(i[3], r[2]), func(e expr.Expr) expr.Expr {
			return expr.Mul(e, k.At(i[1], r[0], r[1], r[2]))
		})
	})
	y.Tag = te.Convolution
	return y
}

// blocks is a[m, k] times the transpose of (w[n, k] - z) * s, where blocks of w along k share z and s.
func (d *draw) blocks() *te.Stage {
	m, n, k, size := d.between(1, 4), d.between(1, 20), d.between(1, 40), pick(d, 2, 8, 16, 16, 32)
	w := d.input(pick(d, types.I4, types.U4, types.U4, types.I8), n, k)
	w.Type.Layout = pick(d, "", "AB8a8b", "AB16a8b", "BA16a8b", types.Layout("AB8a"))
	count := (k + size - 1) / size
	a, s, z := d.input(types.F32, m, k), d.input(types.F32, n, count), d.input(pick(d, types.U8, types.U4), n, count)
	zeros := d.coin(2)
	return te.Fold("blocks", types.Of(types.F32, m, n), te.Sum, []int{k}, func(i, r []expr.Expr) expr.Expr {
		block := []expr.Expr{i[1], expr.Bin(expr.OpFloorDiv, r[0], expr.Index(size))}
		number := expr.CastTo(types.I32, w.At(i[1], r[0]))
		if zeros {
			number = expr.Sub(number, expr.CastTo(types.I32, z.At(block...)))
		}
		return expr.Mul(expr.Mul(a.At(i[0], r[0]), expr.CastTo(types.F32, number)), s.At(block...))
	})
}

func (d *draw) depthwise() *te.Stage {
	t := d.numeric()
	c, h, w := d.between(1, 17), d.span(), d.span()
	x, k := d.input(t, 1, c, h.in, w.in), d.input(t, c, 1, h.kernel, w.kernel)
	return te.Fold("dw", types.Of(t, 1, c, h.out, w.out), te.Sum, []int{h.kernel, w.kernel}, func(i, r []expr.Expr) expr.Expr {
		return guard(x, num(t, 0), i[0], i[1], h.from(i[2], r[0]), w.from(i[3], r[1]), func(e expr.Expr) expr.Expr {
			return expr.Mul(e, k.At(i[1], expr.Index(0), r[0], r[1]))
		})
	})
}

func (d *draw) pool() *te.Stage {
	t := pick(d, types.F32, types.F32, types.I8, types.U8, types.I32)
	c, h, w := d.between(1, 17), d.span(), d.span()
	x := d.input(t, d.between(1, 2), c, h.in, w.in)
	combine := pick(d, te.Max, te.Min, te.Sum)
	return te.Fold("pool", types.Of(t, x.Type.Shape[0], c, h.out, w.out), combine, []int{h.kernel, w.kernel}, func(i, r []expr.Expr) expr.Expr {
		return guard(x, combine.Identity(t), i[0], i[1], h.from(i[2], r[0]), w.from(i[3], r[1]), func(e expr.Expr) expr.Expr { return e })
	})
}

// reduce folds one or two axes of three.
func (d *draw) reduce() *te.Stage {
	t := pick(d, types.F32, types.F32, types.I32, types.U8, types.I64, types.Bool)
	shape := []int{d.between(1, 6), d.between(1, 19), d.between(1, 21)}
	x := d.input(t, shape...)
	combine := pick(d, te.Max, te.Min, te.Sum)
	if t == types.Bool {
		combine = pick(d, te.Any, te.All)
	}
	over := []int{d.IntN(3)}
	if d.coin(3) {
		over = pick(d, []int{0, 1}, []int{1, 2}, []int{0, 2})
	}
	var kept, folded []int
	for i, n := range shape {
		if slices.Contains(over, i) {
			folded = append(folded, n)
		} else {
			kept = append(kept, n)
		}
	}
	return te.Fold("red", types.Of(t, kept...), combine, folded, func(i, r []expr.Expr) expr.Expr {
		var index []expr.Expr
		for k := range shape {
			if slices.Contains(over, k) {
				index, r = append(index, r[0]), r[1:]
			} else {
				index, i = append(index, i[0]), i[1:]
			}
		}
		return x.At(index...)
	})
}

// rows has softmax's shape: y = (x - max of the row) * sum over the row of (x - max).
func (d *draw) rows() *te.Stage {
	t := pick(d, types.F32, types.I32)
	m, n := d.between(1, 7), d.between(1, 37)
	x := d.input(t, m, n)
	most := te.Fold("most", types.Of(t, m, 1), te.Max, []int{n}, func(i, r []expr.Expr) expr.Expr { return x.At(i[0], r[0]) })
	total := te.Fold("total", types.Of(t, m, 1), te.Sum, []int{n}, func(i, r []expr.Expr) expr.Expr {
		return expr.Sub(x.At(i[0], r[0]), most.At(i[0], expr.Index(0)))
	})
	return te.Compute("rows", types.Of(t, m, n), func(i []expr.Expr) expr.Expr {
		return expr.Mul(expr.Sub(x.At(i...), most.At(i[0], expr.Index(0))), total.At(i[0], expr.Index(0)))
	})
}

// softmax has a stage as large as the result, e = (x - max) / 2, which is summed and then multiplied by its sum. Its axis may be any.
func (d *draw) softmax() *te.Stage {
	t := types.F32
	shape := []int{d.between(1, 7), d.between(1, 150)}
	axis := 1
	if d.coin(3) {
		shape, axis = []int{d.between(1, 3), d.between(1, 20), d.between(1, 20)}, d.between(0, 2)
	}
	lines := slices.Clone(shape)
	lines[axis] = 1
	x := d.input(t, shape...)
	at := func(i []expr.Expr, k expr.Expr) []expr.Expr {
		return slices.Concat(i[:axis], []expr.Expr{k}, i[axis+1:])
	}
	most := te.Fold("most", types.Of(t, lines...), te.Max, shape[axis:axis+1], func(i, r []expr.Expr) expr.Expr { return x.At(at(i, r[0])...) })
	e := te.Compute("e", types.Of(t, shape...), func(i []expr.Expr) expr.Expr {
		return expr.Div(expr.Sub(x.At(i...), most.At(at(i, expr.Index(0))...)), num(t, 2))
	})
	total := te.Fold("total", types.Of(t, lines...), te.Sum, shape[axis:axis+1], func(i, r []expr.Expr) expr.Expr { return e.At(at(i, r[0])...) })
	return te.Compute("softmax", types.Of(t, shape...), func(i []expr.Expr) expr.Expr {
		return expr.Mul(e.At(i...), total.At(at(i, expr.Index(0))...))
	})
}

// attention has two products, the second of rows computed from the first: w v with w = max(s - max of the row of s, -3) + 3
// and s = q k or q k + mask. Heads of k and v may be shared, k transposed, and the result have its heads behind its rows.
func (d *draw) attention() *te.Stage {
	t := types.F32
	heads, m, n, depth, width := d.between(1, 3), d.between(1, 13), d.between(1, 23), d.between(1, 5), d.between(1, 35)
	if d.coin(4) {
		width = 8 * d.between(1, 4) // whole vectors
	}
	q, v := d.input(t, heads, m, depth), d.input(t, heads, n, width)
	kShape, transposed := []int{heads, depth, n}, d.coin(2)
	if transposed {
		kShape = []int{heads, n, depth}
	}
	if d.coin(3) {
		kShape[0] = 1
	}
	k := d.input(t, kShape...)
	s := te.Fold("s", types.Of(t, heads, m, n), te.Sum, []int{depth}, func(i, r []expr.Expr) expr.Expr {
		h, row, col := i[0], r[0], i[2]
		if kShape[0] == 1 {
			h = expr.Index(0)
		}
		if transposed {
			row, col = col, row
		}
		return expr.Mul(q.At(i[0], i[1], r[0]), k.At(h, row, col))
	})
	if d.coin(2) {
		mask, product := d.input(t, m, n), s
		s = te.Compute("masked", product.Type, func(i []expr.Expr) expr.Expr { return expr.Add(product.At(i...), mask.At(i[1], i[2])) })
	}
	most := te.Fold("most", types.Of(t, heads, m, 1), te.Max, []int{n}, func(i, r []expr.Expr) expr.Expr { return s.At(i[0], i[1], r[0]) })
	w := te.Compute("w", s.Type, func(i []expr.Expr) expr.Expr {
		return expr.Add(expr.Max(expr.Sub(s.At(i...), most.At(i[0], i[1], expr.Index(0))), num(t, -3)), num(t, 3))
	})
	total := te.Fold("total", types.Of(t, heads, m, 1), te.Sum, []int{n}, func(i, r []expr.Expr) expr.Expr { return w.At(i[0], i[1], r[0]) })
	y := te.Fold("y", types.Of(t, heads, m, width), te.Sum, []int{n}, func(i, r []expr.Expr) expr.Expr {
		return expr.Mul(w.At(i[0], i[1], r[0]), v.At(i[0], r[0], i[2]))
	})
	if d.coin(2) {
		return te.Compute("added", y.Type, func(i []expr.Expr) expr.Expr { return expr.Add(y.At(i...), total.At(i[0], i[1], expr.Index(0))) })
	}
	return te.Compute("behind", types.Of(t, m, heads, width), func(i []expr.Expr) expr.Expr {
		return expr.Sub(y.At(i[1], i[0], i[2]), total.At(i[1], i[0], expr.Index(0)))
	})
}

// gather reads rows named by an operand, clamped.
func (d *draw) gather() *te.Stage {
	t := pick(d, types.F32, types.I8)
	rows, cols, n := d.between(1, 9), d.between(1, 9), d.between(1, 19)
	x, at := d.input(t, rows, cols), d.input(pick(d, types.I32, types.I64), n)
	return te.Compute("gather", types.Of(t, n, cols), func(i []expr.Expr) expr.Expr {
		k := expr.CastTo(types.I64, at.At(i[0]))
		return x.At(expr.Max(expr.Min(k, expr.Index(rows-1)), expr.Index(0)), i[1])
	})
}

// move joins a transposed, reversed or shifted operand with another along axis 0.
func (d *draw) move() *te.Stage {
	t := pick(d, types.F32, types.I32, types.U8, types.Bool, types.I64)
	m, n := d.between(1, 13), d.between(1, 13)
	a, b := d.input(t, n, m), d.input(t, d.between(1, 9), n)
	total := m + b.Type.Shape[0]
	return te.Compute("move", types.Of(t, total, n), func(i []expr.Expr) expr.Expr {
		first := expr.LT(i[0], expr.Index(m))
		return expr.If(first, a.At(at(i[1], -1, n-1), i[0]), b.At(expr.Sub(i[0], expr.Index(m)), i[1]))
	})
}

func (d *draw) pointwise() *te.Stage {
	t := d.numeric()
	x := d.input(t, d.between(1, 3), d.between(1, 17), d.between(1, 9))
	return te.Compute("pw", x.Type.With(""), func(i []expr.Expr) expr.Expr { return expr.Max(x.At(i...), num(t, -2)) })
}

// epilogue adds a per-axis operand, a whole one, or a lower bound.
func (d *draw) epilogue(s *te.Stage) *te.Stage {
	t := s.Type.DType
	if t == types.Bool {
		return te.Compute("not", types.Of(t, s.Type.Shape...), func(i []expr.Expr) expr.Expr { return expr.Call(expr.FnNot, s.At(i...)) })
	}
	axis := min(1, len(s.Type.Shape)-1)
	bias := d.input(t, s.Type.Shape[axis])
	y := te.Compute("biased", types.Of(t, s.Type.Shape...), func(i []expr.Expr) expr.Expr { return expr.Add(s.At(i...), bias.At(i[axis])) })
	if d.coin(2) {
		other := d.input(t, s.Type.Shape...)
		y = d.residual(y, other)
	}
	return te.Compute("relu", types.Of(t, s.Type.Shape...), func(i []expr.Expr) expr.Expr { return expr.Max(y.At(i...), num(t, 0)) })
}

func (d *draw) residual(y, other *te.Stage) *te.Stage {
	return te.Compute("added", types.Of(y.Type.DType, y.Type.Shape...), func(i []expr.Expr) expr.Expr { return expr.Add(y.At(i...), other.At(i...)) })
}
