package compose

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// compute builds a graph of one input and evaluates it.
func compute(t *testing.T, x *tensor.Tensor, f func(b *Builder, x *graph.Value) *graph.Value) *tensor.Tensor {
	t.Helper()
	b := NewBuilder("test")
	in := b.Graph.Input("x", x.Type())
	if err := Try(func() { b.Graph.Outputs = []*graph.Value{f(b, in)} }); err != nil {
		t.Fatal(err)
	}
	out, err := grapheval.Eval(b.Graph, []*tensor.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func wantValues(t *testing.T, got *tensor.Tensor, shape []int, want ...float64) {
	t.Helper()
	if !slices.Equal(got.Shape, shape) {
		t.Fatalf("shape %v instead of %v", got.Shape, shape)
	}
	for i, w := range want {
		if d := got.Float(i) - w; !(math.Abs(d) <= 1e-5) {
			t.Errorf("element %d is %v instead of %v", i, got.Float(i), w)
		}
	}
}

func matrix(v ...float32) *tensor.Tensor { return tensor.Of([]int{2, len(v) / 2}, v) }

func TestKnownResultsAreConstants(t *testing.T) {
	b := NewBuilder("test")
	err := Try(func() {
		v := b.Concat(0, Ints(1, 2), b.Do(ops.Add, Ints(3), Ints(4)))
		if v.Const == nil || !slices.Equal(v.Const.Ints(), []int{1, 2, 7}) {
			t.Errorf("%v", v)
		}
	})
	if err != nil || len(b.Graph.Nodes) != 0 {
		t.Errorf("error %v, %d nodes", err, len(b.Graph.Nodes))
	}
}

func TestTry(t *testing.T) {
	b := NewBuilder("test")
	for want, f := range map[string]func(){
		"because 7":             func() { Fail("because %d", 7) },
		"add: ":                 func() { b.Do(ops.Add, Ints(1), Number(types.F32, 1)) },
		"more than 1 GiB":       func() { b.Arange(1 << 28) },
		"too many elements":     func() { b.Full(types.F64, 0, 1<<40, 1<<40) },
		"a new axis 3":          func() { b.ExpandDims(Ints(1), 3) },
		"no operand has the la": func() { b.Einsum("i->j", Ints(1)) },
	} {
		if err := Try(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v instead of %s", err, want)
		}
	}
	var caught *fault.Error
	if err := Try(func() { panic("broken") }); !errors.As(err, &caught) {
		t.Errorf("a panic became %v", err)
	}
}

func TestNothingToDo(t *testing.T) {
	b := NewBuilder("test")
	x := b.Graph.Input("x", types.Of(types.F32, 2, 3))
	same := []*graph.Value{b.Reshape(x, 2, 3), b.Transpose(x, 0, 1), b.Cast(x, types.F32), b.BroadcastTo(x, 2, 3), b.Slice(x, 1, 0, 3),
		b.Concat(0, x), b.Split(x, 0, 2)[0], b.Scaled(x, 1), b.Resize(x, ResizeSpec{Axes: []int{0, 1}, Sizes: []int{2, 3}})}
	for i, v := range same {
		if v != x {
			t.Errorf("use %d adds a node", i)
		}
	}
}

func TestEinsum(t *testing.T) {
	x := matrix(1, 2, 3, 4)
	for _, c := range []struct {
		equation string
		operands int
		shape    []int
		want     []float64
	}{
		{"ij->ji", 1, []int{2, 2}, []float64{1, 3, 2, 4}},
		{"ij->", 1, []int{}, []float64{10}},
		{"ii->i", 1, []int{2}, []float64{1, 4}},
		{"ij,jk", 2, []int{2, 2}, []float64{7, 10, 15, 22}},
		{"ij,kj->ik", 2, []int{2, 2}, []float64{5, 11, 11, 25}},
		{"ij,ij->i", 2, []int{2}, []float64{5, 25}},
		{"ij,kl->ikjl", 2, []int{2, 2, 2, 2}, []float64{1, 2, 2, 4, 3, 4, 6, 8}},
		{"ij,jk,kl->il", 3, []int{2, 2}, []float64{37, 54, 81, 118}},
	} {
		got := compute(t, x, func(b *Builder, x *graph.Value) *graph.Value {
			return b.Einsum(c.equation, slices.Repeat([]*graph.Value{x}, c.operands)...)
		})
		wantValues(t, got, c.shape, c.want...)
	}
}

func TestLogSumExp(t *testing.T) {
	inf := float32(math.Inf(1))
	got := compute(t, matrix(1000, 1000, -inf, -inf), func(b *Builder, x *graph.Value) *graph.Value { return b.LogSumExp(x, false, 1) })
	if !slices.Equal(got.Shape, []int{2}) || got.Float(0) < 1000.69 || got.Float(0) > 1000.7 || got.Float(1) > -1e38 {
		t.Errorf("%v: %v %v", got.Shape, got.Float(0), got.Float(1))
	}
}

func TestWindows(t *testing.T) {
	w := Window{In: []int{5, 6}, Kernel: []int{3, 2}, Strides: []int{2, 2}, Dilation: []int{1, 2}}
	if got := w.Same(true); !slices.Equal(got, []int{1, 0, 1, 1}) {
		t.Errorf("same upper: %v", got)
	}
	if got := w.Same(false); !slices.Equal(got, []int{1, 1, 1, 0}) {
		t.Errorf("same lower: %v", got)
	}
	pads, extra := w.Transposed([]int{10, 14}, []int{0, 0}, true)
	if !slices.Equal(pads, []int{0, 0, 1, 0}) || !slices.Equal(extra, []int{0, 1}) {
		t.Errorf("transposed: %v %v", pads, extra)
	}
}

// TestRecurrentMasks compares a batch of sequences of two lengths with the shorter one alone.
func TestRecurrentMasks(t *testing.T) {
	tanh := func(b *Builder, x *graph.Value) *graph.Value { return b.Do(ops.Tanh, x) }
	layer := func(reverse bool, lens ...int) func(b *Builder, x *graph.Value) *graph.Value {
		return func(b *Builder, x *graph.Value) *graph.Value {
			r := Recurrent{X: x, W: b.Full(types.F32, 0.5, 1, 1, 1), R: b.Full(types.F32, -0.25, 1, 1, 1),
				Reverse: []bool{reverse}, Activations: [][]Activation{{tanh}}}
			if lens != nil {
				r.Lens = Ints(lens...)
			}
			y, _ := b.RNN(r)
			return b.Reshape(y, y.Type.Shape[0], y.Type.Shape[2])
		}
	}
	both := tensor.Of([]int{3, 2, 1}, []float32{1, 4, 2, 5, 3, 6})
	short := tensor.Of([]int{2, 1, 1}, []float32{1, 2})
	for _, reverse := range []bool{false, true} {
		masked, alone := compute(t, both, layer(reverse, 2, 3)), compute(t, short, layer(reverse))
		wantValues(t, masked, []int{3, 2}, alone.Float(0), masked.Float(1), alone.Float(1), masked.Float(3), 0)
	}
}

// TestHardmax: of equal elements the first is the greatest, and an axis without elements gives none.
func TestHardmax(t *testing.T) {
	along := func(axis int) func(b *Builder, x *graph.Value) *graph.Value {
		return func(b *Builder, x *graph.Value) *graph.Value { return b.Hardmax(x, axis) }
	}
	x := tensor.Of([]int{2, 3}, []float32{1, 5, 5, -1, -2, -3})
	wantValues(t, compute(t, x, along(1)), []int{2, 3}, 0, 1, 0, 1, 0, 0)
	wantValues(t, compute(t, x, along(0)), []int{2, 3}, 1, 1, 1, 0, 0, 0)
	for _, shape := range [][]int{{3, 0}, {0, 3}, {0}} {
		for axis := range shape {
			wantValues(t, compute(t, tensor.Of(shape, []float32{}), along(axis)), shape)
		}
	}
}

// TestProductTypes: a product of two types is refused, whichever they are: only passes make weights narrower than data.
func TestProductTypes(t *testing.T) {
	all := []types.DType{types.F32, types.F16, types.BF16, types.F64, types.I8, types.U8, types.I16, types.U16, types.I32}
	for _, x := range all {
		for _, y := range all {
			for _, dense := range []bool{false, true} {
				b := NewBuilder("test")
				in := []*graph.Value{b.Graph.Input("x", types.Tensor{DType: x, Shape: []int{2, 3}}), b.Graph.Input("y", types.Tensor{DType: y, Shape: []int{3, 3}})}
				err := Try(func() {
					if dense {
						b.Do(ops.Dense, in...)
					} else {
						b.Matmul(in[0], in[1])
					}
				})
				if x != y && (err == nil || !strings.Contains(err.Error(), "must be equal")) {
					t.Errorf("%s by %s (dense %v): %v", x, y, dense, err)
				}
			}
		}
	}
}

func TestAdaptivePool(t *testing.T) {
	x := tensor.Of([]int{1, 5}, []float32{1, 2, 3, 4, 10})
	pooled := func(d *op.Def, out int) func(b *Builder, x *graph.Value) *graph.Value {
		return func(b *Builder, x *graph.Value) *graph.Value { return b.AdaptivePool(d, x, 1, out) }
	}
	wantValues(t, compute(t, x, pooled(ops.Max, 2)), []int{1, 2}, 3, 10) // windows of 3 that share the middle
	wantValues(t, compute(t, x, pooled(ops.Mean, 1)), []int{1, 1}, 4)
	wantValues(t, compute(t, x, pooled(ops.Mean, 5)), []int{1, 5}, 1, 2, 3, 4, 10)
	wantValues(t, compute(t, x, pooled(ops.Max, 10)), []int{1, 10}, 1, 1, 2, 2, 3, 3, 4, 4, 10, 10)
	if err := Try(func() { NewBuilder("").AdaptivePool(ops.Max, Const(x), 1, 0) }); err == nil {
		t.Error("no windows at all")
	}
}

func TestCheckCeil(t *testing.T) {
	w := Window{In: []int{5}, Kernel: []int{2}, Strides: []int{2}, Padding: []int{0, 0}}
	if err := Try(func() { w.CheckCeil("") }); err != nil { // the last of 3 windows begins at 4
		t.Error(err)
	}
	w.Padding = []int{0, 1}
	w.Strides, w.Kernel = []int{3}, []int{1}
	if err := Try(func() { w.CheckCeil("ceil") }); err == nil { // 0, 3, and 6 behind all 5
		t.Error("a window beyond the data")
	}
}
