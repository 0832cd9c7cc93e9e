package ops

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestWindowCounts pins the number of windows, which Eval and Compute share. The ceil cases are those of ONNX's pooling.
func TestWindowCounts(t *testing.T) {
	for _, c := range []struct {
		in, size, stride, dilation, before, after int
		ceil                                      bool
		want                                      int
	}{
		{7, 3, 1, 1, 0, 0, false, 5},
		{7, 3, 1, 1, 1, 1, false, 7},
		{7, 3, 2, 1, 1, 1, false, 4},
		{224, 7, 2, 1, 3, 3, false, 112},
		{7, 3, 1, 2, 0, 0, false, 3},
		{4, 3, 2, 1, 0, 0, false, 1},
		{4, 3, 2, 1, 0, 0, true, 2},
		{5, 3, 2, 1, 0, 0, true, 2},
		{2, 3, 3, 1, 1, 1, true, 1}, // a second window would start behind the input
		{1, 1, 4, 1, 0, 0, true, 1},
		{6, 2, 4, 1, 0, 1, true, 2},
	} {
		ws, err := windows([]int{c.in}, []int{c.size}, []int{c.stride}, []int{c.before, c.after}, []int{c.dilation}, c.ceil)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
		} else if ws[0].out != c.want {
			t.Errorf("%+v: %d windows", c, ws[0].out)
		}
	}
}

// apply infers and evaluates a definition.
func apply(t *testing.T, d *op.Def, attrs any, in ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	args := make([]op.Arg, len(in))
	for i, x := range in {
		args[i].Tensor = x.Type()
	}
	inferred, err := d.Infer(attrs, args)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]*tensor.Tensor, len(inferred))
	for i, ty := range inferred {
		out[i] = tensor.NewOf(ty)
	}
	if err := d.Eval(attrs, in, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func count(n int, shape ...int) *tensor.Tensor {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i)
	}
	return tensor.Of(shape, v)
}

// TestWorkedExamples are small cases computed by hand.
func TestWorkedExamples(t *testing.T) {
	ones := func(shape ...int) *tensor.Tensor {
		return tensor.Of(shape, slices.Repeat([]float32{1}, types.Count(shape)))
	}
	one, pads := []int{1}, []int{1, 1}
	for _, c := range []struct {
		name  string
		def   *op.Def
		attrs any
		in    []*tensor.Tensor
		want  []float32
	}{
		{"convolution with padding", Conv1d, ConvAttrs{one, pads, one, 1},
			[]*tensor.Tensor{count(4, 1, 1, 4), tensor.Of([]int{1, 1, 3}, []float32{1, 10, 100}), tensor.Of([]int{1}, []float32{1000})},
			[]float32{1100, 1210, 1321, 1032}},
		{"stride and dilation", Conv1d, ConvAttrs{[]int{2}, []int{0, 0}, []int{2}, 1},
			[]*tensor.Tensor{count(6, 1, 1, 6), tensor.Of([]int{1, 1, 2}, []float32{1, 10})}, []float32{20, 42}},
		{"two groups", Conv1d, ConvAttrs{one, []int{0, 0}, one, 2},
			[]*tensor.Tensor{count(4, 1, 4, 1), tensor.Of([]int{2, 2, 1}, []float32{1, 10, 100, 1000})}, []float32{10, 3200}},
		{"transposed convolution", Conv1dTranspose, ConvTransposeAttrs{[]int{2}, []int{0, 0}, []int{1}, one, 1},
			[]*tensor.Tensor{tensor.Of([]int{1, 1, 2}, []float32{1, 2}), tensor.Of([]int{1, 1, 3}, []float32{1, 10, 100})},
			[]float32{1, 10, 102, 20, 200, 0}},
		{"average without padding", AvgPool1d, AvgPoolAttrs{[]int{3}, one, pads, one, false, false},
			[]*tensor.Tensor{count(3, 1, 1, 3)}, []float32{0.5, 1, 1.5}},
		{"average with padding", AvgPool1d, AvgPoolAttrs{[]int{2}, one, pads, one, false, true},
			[]*tensor.Tensor{ones(1, 1, 2)}, []float32{0.5, 1, 0.5}},
		{"average with padding and ceil: what lies behind the padding does not count", AvgPool1d,
			AvgPoolAttrs{[]int{3}, []int{2}, []int{0, 0}, one, true, true}, []*tensor.Tensor{ones(1, 1, 4)}, []float32{1, 1}},
		{"exclusive reverse sum", CumSum, CumulativeAttrs{0, true, true}, []*tensor.Tensor{count(4, 4)}, []float32{6, 5, 3, 0}},
		{"softmax", Softmax, SoftmaxAttrs{1}, []*tensor.Tensor{tensor.Of([]int{1, 2}, []float32{1000, 1000})}, []float32{0.5, 0.5}},
		{"lrn of even size reaches behind", LRN, LRNAttrs{2, 0, 2, 1, 0},
			[]*tensor.Tensor{tensor.Of([]int{3}, []float32{1, 2, 4})}, []float32{1.0 / 5, 2.0 / 20, 4.0 / 16}},
		{"transposed product", Matmul, MatmulAttrs{true, true},
			[]*tensor.Tensor{count(2, 2, 1), tensor.Of([]int{2, 2}, []float32{1, 2, 3, 4})}, []float32{2, 4}},
		{"batch norm", BatchNorm, BatchNormAttrs{0, 0}, []*tensor.Tensor{
			tensor.Of([]int{1}, []float32{5}), tensor.Of([]int{1}, []float32{10}), tensor.Of([]int{1}, []float32{1}),
			tensor.Of([]int{1}, []float32{3}), tensor.Of([]int{1}, []float32{4})}, []float32{11}},
	} {
		if got := tensor.As[float32](apply(t, c.def, c.attrs, c.in...)[0]); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMaxPoolIndices(t *testing.T) {
	x := tensor.Of([]int{1, 2, 2, 3}, []float32{1, 5, 5, 0, 5, 2, 0, 0, 0, 0, 0, 9})
	a := MaxPoolIndicesAttrs{PoolSize: []int{2, 2}, Strides: []int{1, 1}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}}
	if got := apply(t, MaxPoolIndices, a, x)[1].Ints(); !slices.Equal(got, []int{1, 1, 6, 11}) {
		t.Errorf("row-major: %v", got)
	}
	a.ColumnMajor = true
	if got := apply(t, MaxPoolIndices, a, x)[1].Ints(); !slices.Equal(got, []int{2, 2, 6, 11}) {
		t.Errorf("column-major: %v", got)
	}
}

func TestIntegerPower(t *testing.T) {
	a := tensor.Of([]int{8}, []int8{2, 3, -2, -1, -1, 2, 0, 7})
	b := tensor.Of([]int{8}, []int8{6, 5, 7, -3, -4, -1, -1, 0})
	if got := apply(t, Power, op.None{}, a, b)[0].Ints(); !slices.Equal(got, []int{64, -13, -128, -1, 1, 0, 0, 1}) {
		t.Errorf("got %v", got)
	}
}

// TestConvolutionShapes checks what schedules rely on: the tag, the reduction axes, and no more index arithmetic or
// conditions than the case needs.
func TestConvolutionShapes(t *testing.T) {
	stage := func(a ConvAttrs, data, weight types.Tensor) (*te.Stage, string) {
		in := []*te.Stage{te.Input("x", data), te.Input("w", weight)}
		out, err := Conv2d.Infer(a, []op.Arg{{Tensor: data}, {Tensor: weight}})
		if err != nil {
			t.Fatal(err)
		}
		s := Conv2d.Compute(a, in, out)[0]
		if s.Tag != te.Convolution {
			t.Errorf("tag %q", s.Tag)
		}
		return s, expr.String(s.Body)
	}
	one, none, padded := []int{1, 1}, []int{0, 0, 0, 0}, []int{1, 1, 1, 1}
	for _, c := range []struct {
		attrs  ConvAttrs
		data   []int
		weight []int
		axes   int
		body   string
	}{
		{ConvAttrs{one, none, one, 1}, []int{1, 8, 5, 5}, []int{4, 8, 1, 1}, 3, "(x[i0, r0, i2, i3] * w[i1, r0, r1, r2])"},
		{ConvAttrs{[]int{2, 2}, none, one, 1}, []int{1, 8, 5, 5}, []int{4, 8, 3, 3}, 3,
			"(x[i0, r0, ((i2 * 2) + r1), ((i3 * 2) + r2)] * w[i1, r0, r1, r2])"},
		{ConvAttrs{one, none, one, 8}, []int{1, 8, 5, 5}, []int{8, 1, 3, 3}, 2,
			"(x[i0, i1, (i2 + r0), (i3 + r1)] * w[i1, 0, r0, r1])"},
		{ConvAttrs{one, none, one, 8}, []int{1, 8, 5, 5}, []int{16, 1, 3, 3}, 2,
			"(x[i0, floordiv(i1, 2), (i2 + r0), (i3 + r1)] * w[i1, 0, r0, r1])"},
		{ConvAttrs{one, none, one, 2}, []int{1, 8, 5, 5}, []int{4, 4, 3, 3}, 3,
			"(x[i0, ((floordiv(i1, 2) * 4) + r0), (i2 + r1), (i3 + r2)] * w[i1, r0, r1, r2])"},
	} {
		s, body := stage(c.attrs, types.Of(types.F32, c.data...), types.Of(types.F32, c.weight...))
		if len(s.Reduce) != c.axes || body != c.body {
			t.Errorf("%+v of %v and %v: %d reduction axes, %s; want %d, %s", c.attrs, c.data, c.weight, len(s.Reduce), body, c.axes, c.body)
		}
	}
	_, body := stage(ConvAttrs{one, padded, one, 1}, types.Of(types.F32, 1, 8, 5, 5), types.Of(types.F32, 4, 8, 3, 3))
	if !strings.HasPrefix(body, "select(") || strings.Count(body, ">= 0") != 2 || strings.Count(body, "< 5") != 2 {
		t.Errorf("padding: %s", body)
	}
}

// TestMessages pins the errors users meet most.
func TestMessages(t *testing.T) {
	f := func(shape ...int) op.Arg { return op.Arg{Tensor: types.Of(types.F32, shape...)} }
	conv := ConvAttrs{[]int{1, 1}, []int{0, 0, 0, 0}, []int{1, 1}, 1}
	for _, c := range []struct {
		def   *op.Def
		attrs any
		in    []op.Arg
		want  string
	}{
		{Add, op.None{}, []op.Arg{f(2, 3), f(2)}, "add: shapes [[2 3] [2]] do not broadcast: axis 1 from the end is 3 and 2"},
		{Add, op.None{}, []op.Arg{f(2), {Tensor: types.Of(types.I64, 2)}}, "add: a is float32 but b is int64; the types must be equal"},
		{Add, op.None{}, []op.Arg{f(2)}, "add: 1 operand instead of 2"},
		{LogicalNot, op.None{}, []op.Arg{f(2)}, "logical_not: x is float32; it must be bool"},
		{Conv2d, conv, []op.Arg{f(1, 3, 8, 8), f(4, 2, 3, 3)},
			"nn.conv2d: weight float32[4,2,3,3] takes 2 channels a group; data float32[1,3,8,8] has 3 in 1 group"},
		{Conv2d, conv, []op.Arg{f(1, 3, 2, 8), f(4, 3, 3, 3)}, "nn.conv2d: kernel spans 3 elements of spatial axis 0, which has 2 with padding"},
		{Conv2d, conv, []op.Arg{f(3, 8, 8), f(4, 3, 3, 3)},
			"nn.conv2d: data float32[3,8,8] has rank 3; it must be 4: batch, channels and 2 spatial axes"},
		{Conv2d, ConvAttrs{Strides: []int{1}, Groups: 1}, []op.Arg{f(1, 3, 8, 8), f(4, 3, 3, 3)}, "strides has 1 element instead of 2"},
		{Matmul, MatmulAttrs{}, []op.Arg{f(2, 3), f(4, 5)}, "nn.matmul: a float32[2,3] and b float32[4,5]: inner extents 3 and 4 differ"},
		{Softmax, SoftmaxAttrs{-1}, []op.Arg{f(2, 3)}, "nn.softmax: axis -1 of a tensor of rank 2"},
		{ArgMax, ArgAttrs{Axis: 1}, []op.Arg{f(2, 0)}, "argmax: axis 1 of float32[2,0] has no elements"},
	} {
		_, err := c.def.Infer(c.attrs, c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}
