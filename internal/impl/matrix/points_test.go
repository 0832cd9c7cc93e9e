package matrix_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/impl/matrix"
	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/lower"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// anyOf decides at random, and counts by decision what it took that is no default.
type anyOf struct {
	*rand.Rand
	names map[string]int
}

func (r anyOf) Choose(d choice.Decision) (int, error) {
	i := r.IntN(len(d.Values))
	if i != d.Default {
		r.names[d.Name]++
	}
	return i, nil
}

var machine = &target.Target{Arch: target.X86, Features: []string{"amx-int8"}, VectorBits: 512, VectorRegs: 32, HasDot: true, L1: 32 << 10, L2: 256 << 10, Core: target.ClassOf(target.X86, 512)}

// A layer is an operator on operands that lie as it wants them.
type layer struct {
	*op.Def
	attrs any
	in    []types.Tensor
	point choice.Point
}

// plan is the kernel of a group that adds 3 to the operator's result.
func (l layer) plan(t *testing.T, out types.Tensor, by choice.Chooser) *impl.Plan {
	t.Helper()
	return l.planWith(t, out, by, func(x expr.Expr) expr.Expr { return expr.Add(x, expr.Const(types.I32, 3)) })
}

// planWith is plan with another rest of the group.
func (l layer) planWith(t *testing.T, out types.Tensor, by choice.Chooser, then func(x expr.Expr) expr.Expr) *impl.Plan {
	t.Helper()
	anchor := te.Input("anchor", out)
	rest := lower.Lower("kernel", te.Compute("y", out, func(i []expr.Expr) expr.Expr { return then(anchor.At(i...)) }), lower.Options{Apart: true})
	p, err := algorithms.Table.Anchored(l.Def, impl.Anchor{Call: impl.Call{Attrs: l.attrs, In: l.in, Out: []types.Tensor{out}, Target: machine}, Rest: rest, From: "anchor", Point: l.point}, by)
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		t.Fatalf("%s of %v: no kernel", l.Name, l.in)
	}
	if _, err := p.Divide(machine, nil, by); err != nil {
		t.Fatal(err)
	}
	return p
}

// test holds kernels, as they are decided by default and at random, to the operator's definition in the interpreter.
func (l layer) test(t *testing.T, r anyOf, result types.Layout) {
	t.Helper()
	args, values := make([]op.Arg, len(l.in)), make([]*tensor.Tensor, len(l.in))
	for i, x := range l.in {
		args[i], values[i] = op.Arg{Tensor: x.With("")}, tensor.New(x.DType, x.Shape...)
		if i%2 == 0 { // the others are zero points
			for k := range values[i].Bytes() {
				values[i].Bytes()[k] = byte(r.Uint32())
			}
		}
	}
	out, err := l.Infer(l.attrs, args)
	if err != nil {
		t.Fatal(err)
	}
	want := tensor.NewOf(out[0])
	if err := l.Eval(l.attrs, values, []*tensor.Tensor{want}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p := l.plan(t, out[0].With(result), r)
		f := p.Schedule.Func
		if err := loop.Verify(f); err != nil {
			t.Fatalf("%v: %v\n%s", p.Taken, err, f)
		}
		all := make([]*tensor.Tensor, len(f.Params))
		for i, b := range f.Params {
			all[i] = tensor.New(b.DType, b.Shape...)
			if i < len(values) {
				physical(values[i], l.in[i].Layout, func(at, to int) { all[i].SetInt(to, values[i].Int(at)) })
			}
		}
		workers := 1
		if loop.Divided(f.Body) {
			workers = 3
		}
		if err := interp.Run(f, all, workers); err != nil {
			t.Fatalf("%v: %v\n%s", p.Taken, err, f)
		}
		got, bad := all[len(all)-1], 0
		physical(want, result, func(at, to int) {
			if got.Int(to) != want.Int(at)+3 {
				bad++
			}
		})
		if bad > 0 {
			t.Errorf("%s of %v, %+v, %v: %d elements differ", l.Name, l.in, l.attrs, p.Taken, bad)
		}
	}
}

// physical gives for each element of a tensor, by its number, the number of its place in a layout.
func physical(x *tensor.Tensor, layout types.Layout, f func(at, to int)) {
	parts, strides, logical := layout.Parts(len(x.Shape)), types.RowMajor(layout.Dims(x.Shape)), types.RowMajor(x.Shape)
	for at := range x.Len() {
		to := 0
		for i, p := range parts {
			v := at / logical[p.Axis] % x.Shape[p.Axis]
			switch {
			case p.Inner:
				v %= p.Block
			case p.Block > 0:
				v /= p.Block
			}
			to += v * strides[i]
		}
		f(at, to)
	}
}

// TestPoints: whatever is decided, products are those of the definition, for any number of rows, columns and elements of a sum.
func TestPoints(t *testing.T) {
	samples := uint64(16)
	if testing.Short() {
		samples = 8
	}
	asked := map[string]int{}
	for seed := range samples {
		r := anyOf{rand.New(rand.NewPCG(seed, 3)), asked}
		m, k, n := 1+r.IntN(100), 1+r.IntN(80), 1+r.IntN(70)
		if r.IntN(2) == 0 {
			k = impl.DotDepth(k, impl.DotWidth)
		}
		if seed%8 == 7 {
			m, k, n = 90, 2048, 10 // more than L2 holds of many rows
		}
		data := types.Of(types.U8, [][]int{{m, k}, {1, m, k}, {3, 1 + m/3, k}}[r.IntN(3)]...)
		panel := 1
		if n > 16 {
			panel += r.IntN(2)
		}
		layer{ops.QnnMatmul, op.None{}, []types.Tensor{
			data.With(impl.DotRows(data.Shape, impl.DotWidth)), types.Of(types.U8),
			types.Of(types.I8, k, n).With(impl.DotPanels(16*panel, impl.DotWidth)), types.Of(types.I8),
		}, choice.Point{"algorithm": impl.Matrix, "panel": fmt.Sprint(panel)}}.test(t, r, "")
	}
	for seed := range samples {
		r := anyOf{rand.New(rand.NewPCG(seed, 4)), asked}
		c, o, kernel := 1+r.IntN(10), 1+r.IntN(40), []int{1 + r.IntN(3), 1 + r.IntN(4)}
		if r.IntN(2) == 0 {
			c = 4 * (1 + r.IntN(12))
		}
		a := ops.ConvAttrs{Strides: []int{1 + r.IntN(3), 1 + r.IntN(3)}, Padding: []int{r.IntN(2), r.IntN(3), r.IntN(2), r.IntN(3)}, Dilation: []int{1 + r.IntN(2), 1 + r.IntN(2)}, Groups: 1}
		switch r.IntN(3) {
		case 0:
			a.Padding = make([]int, 4)
		case 1:
			a.Strides, a.Padding = []int{1, 1}, make([]int, 4)
		}
		data := types.Layout("ACDB")
		if c%4 != 0 {
			data = types.ChannelBlocks(4, (c+3)/4*4)
		}
		panel := 1
		if o > 16 {
			panel += r.IntN(2)
		}
		layer{ops.QnnConv2d, a, []types.Tensor{
			types.Of(types.U8, 1+r.IntN(2), c, 5+r.IntN(5), 7+r.IntN(9)).With(data), types.Of(types.U8),
			types.Of(types.I8, o, c, kernel[0], kernel[1]).With(impl.DotFilters(4, 16*panel, impl.DotWidth)), types.Of(types.I8),
		}, choice.Point{"algorithm": impl.Matrix, "panel": fmt.Sprint(panel)}}.test(t, r, "ACDB")
	}
	for _, d := range matrix.Algorithm.Decisions {
		if asked[d.Name] == 0 {
			t.Errorf("no kernel was decided otherwise by %s", d.Name)
		}
	}
}
