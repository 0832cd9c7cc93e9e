package verify

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/impl/winograd"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// A winogradCase is a convolution of an image of height by width; of height 0 of a line of width. Its kernel is 3x3 unless given, its dilation
// and its strides are 1.
type winogradCase struct {
	fused                                bool
	tile, images, in, out, height, width int
	padding                              []int
	kernel, dilation, strides            []int
}

func (c winogradCase) conv() (*op.Def, ops.ConvAttrs) {
	a := ops.ConvAttrs{Strides: c.ofStrides(), Padding: c.padding, Dilation: c.ofDilation(), Groups: 1}
	if c.height == 0 {
		return ops.Conv1d, ops.ConvAttrs{Strides: a.Strides[1:], Padding: []int{a.Padding[1], a.Padding[3]}, Dilation: a.Dilation[1:], Groups: 1}
	}
	return ops.Conv2d, a
}

// shaped is a shape, without rows for a line.
func (c winogradCase) shaped(n, channels, rows, cols int) []int {
	if c.height == 0 {
		return []int{n, channels, cols}
	}
	return []int{n, channels, rows, cols}
}

func (c winogradCase) ofKernel() []int { return orElse(c.kernel, 3) }

func (c winogradCase) ofDilation() []int { return orElse(c.dilation, 1) }

func (c winogradCase) ofStrides() []int { return orElse(c.strides, 1) }

func orElse(v []int, n int) []int {
	if v == nil {
		return []int{n, n}
	}
	return v
}

// extent is that of the result along an axis for an image of n elements.
func (c winogradCase) extent(axis, n int) int {
	return (n+c.padding[axis]+c.padding[2+axis]-(c.ofKernel()[axis]-1)*c.ofDilation()[axis]-1)/c.ofStrides()[axis] + 1
}

// TestWinograd compares Winograd kernels, with a bias, a residual and ReLU fused behind, with the convolution's own
// evaluation: for whole and partial tiles and groups of tiles, kernels, strides, dilations, paddings, lines, images and vectors. The bits do not depend on
// the number of workers.
func TestWinograd(t *testing.T) {
	t.Parallel()
	for _, c := range []winogradCase{
		{false, 4, 1, 32, 64, 20, 24, []int{1, 1, 1, 1}, nil, nil, nil},
		{false, 4, 2, 16, 32, 13, 9, []int{1, 1, 1, 1}, nil, nil, nil},
		{false, 4, 1, 48, 16, 7, 30, []int{0, 2, 1, 0}, nil, nil, nil},
		{false, 4, 3, 16, 48, 4, 4, []int{1, 1, 1, 1}, nil, nil, nil},
		{false, 4, 1, 64, 96, 56, 56, []int{1, 1, 1, 1}, nil, nil, nil},
		{true, 4, 1, 32, 64, 20, 24, []int{1, 1, 1, 1}, nil, nil, nil},
		{true, 4, 2, 16, 48, 33, 29, []int{1, 2, 0, 1}, nil, nil, nil},
		{true, 4, 1, 64, 64, 56, 56, []int{1, 1, 1, 1}, nil, nil, nil},
		{true, 2, 1, 48, 16, 15, 13, []int{1, 1, 1, 1}, nil, nil, nil},
		{false, 2, 1, 32, 32, 7, 7, []int{1, 1, 1, 1}, nil, nil, nil},
		{false, 2, 2, 16, 64, 11, 6, []int{2, 0, 0, 2}, nil, nil, nil},
		{false, 6, 2, 32, 48, 25, 14, []int{1, 1, 1, 1}, nil, nil, nil},
		{true, 6, 1, 64, 64, 58, 61, []int{2, 1, 0, 2}, nil, nil, nil},
		{false, 4, 1, 32, 48, 27, 21, []int{2, 2, 2, 2}, []int{5, 5}, nil, nil},
		{true, 2, 2, 16, 32, 14, 15, []int{2, 0, 1, 2}, []int{5, 5}, nil, nil},
		{false, 2, 1, 32, 32, 17, 17, []int{0, 3, 0, 3}, []int{1, 7}, nil, nil},
		{false, 2, 1, 16, 32, 17, 16, []int{3, 0, 2, 0}, []int{7, 1}, nil, nil},
		{true, 4, 1, 32, 32, 30, 33, []int{1, 2, 1, 2}, []int{3, 5}, nil, nil},
		{true, 6, 1, 32, 64, 1, 800, []int{0, 1, 0, 1}, []int{1, 3}, nil, nil},
		{false, 2, 1, 16, 16, 12, 13, []int{3, 3, 3, 3}, []int{7, 7}, nil, nil},
		{false, 4, 1, 32, 48, 28, 23, []int{2, 2, 2, 2}, nil, []int{2, 2}, nil},
		{true, 4, 2, 32, 32, 33, 20, []int{4, 1, 3, 1}, nil, []int{4, 1}, nil},
		{false, 2, 1, 16, 32, 13, 11, []int{12, 12, 12, 12}, nil, []int{12, 12}, nil},
		{false, 4, 1, 16, 32, 19, 17, []int{4, 6, 4, 6}, []int{5, 5}, []int{2, 3}, nil},
		{false, 3, 1, 32, 48, 21, 26, []int{0, 1, 0, 1}, []int{2, 2}, nil, nil},
		{true, 5, 2, 16, 32, 37, 24, []int{1, 1, 2, 1}, []int{4, 2}, nil, nil},
		{false, 3, 1, 32, 48, 21, 26, []int{1, 1, 1, 1}, nil, nil, []int{2, 2}},
		{true, 5, 2, 16, 32, 56, 57, []int{1, 1, 1, 1}, nil, nil, []int{2, 2}},
		{false, 4, 1, 32, 32, 30, 27, []int{2, 2, 1, 2}, []int{5, 6}, nil, []int{2, 2}},
		{true, 3, 1, 16, 48, 33, 20, []int{2, 0, 2, 1}, []int{4, 2}, nil, []int{2, 1}},
		{false, 3, 1, 32, 32, 9, 40, []int{0, 3, 0, 2}, []int{1, 6}, nil, []int{2, 3}},
		{true, 7, 2, 32, 64, 0, 300, []int{0, 1, 0, 1}, []int{1, 3}, nil, []int{1, 2}},
		{false, 5, 1, 32, 48, 0, 64, []int{0, 0, 0, 0}, []int{1, 4}, nil, []int{1, 1}},
		{false, 4, 3, 16, 32, 0, 50, []int{0, 2, 0, 2}, []int{1, 3}, []int{1, 2}, nil},
		{false, 6, 1, 64, 32, 0, 41, []int{0, 1, 0, 0}, []int{1, 3}, nil, nil},
	} {
		for _, tgt := range targettest.Executed(t) {
			t.Run(fmt.Sprintf("%+v/%s%d", c, tgt.CPU, tgt.VectorBits), func(t *testing.T) { testWinograd(t, c, tgt) })
		}
	}
}

// TestWinogradClasses is TestWinograd of random convolutions: of all kernels, strides, dilations and tiles for which there are matrices.
func TestWinogradClasses(t *testing.T) {
	t.Parallel()
	cases := uint64(16)
	if testing.Short() {
		cases = 5
	}
	for seed := range cases {
		r := rand.New(rand.NewPCG(seed, 8))
		c := randomWinograd(r)
		all := targettest.Executed(t)
		tgt := all[r.IntN(len(all))]
		t.Run(fmt.Sprintf("%+v/%s%d", c, tgt.CPU, tgt.VectorBits), func(t *testing.T) { testWinograd(t, c, tgt) })
	}
}

// randomWinograd is a random case.
func randomWinograd(r *rand.Rand) winogradCase {
	line := r.IntN(3) == 0
	for {
		c := winogradCase{
			fused: r.IntN(2) == 0, tile: 1 + r.IntN(7), images: 1 + r.IntN(2), in: 16 * (1 + r.IntN(3)), out: 16 * (1 + r.IntN(3)),
			padding: make([]int, 4), kernel: make([]int, 2), dilation: make([]int, 2), strides: make([]int, 2),
		}
		size := make([]int, 2)
		for k := range 2 {
			c.kernel[k], c.strides[k], c.dilation[k] = 1+r.IntN(7), 1+r.IntN(3), 1+r.IntN(3)
			c.padding[k], c.padding[2+k] = r.IntN(3), r.IntN(3)
			if line && k == 0 {
				c.kernel[k], c.strides[k], c.dilation[k], c.padding[k], c.padding[2+k] = 1, 1, 1, 0, 0
			}
			size[k] = (c.kernel[k]-1)*c.dilation[k] + 1 + r.IntN(25)
		}
		if c.height, c.width = size[0], size[1]; line {
			c.height = 0
		}
		if _, err := ops.WinogradOf(c.tile, c.kernel, c.strides, c.dilation); err == nil {
			return c
		}
	}
}

func testWinograd(t *testing.T, c winogradCase, tgt *target.Target) {
	r := rand.New(rand.NewPCG(1, 2))
	x := random(r, types.Of(types.F32, c.shaped(c.images, c.in, c.height, c.width)...))
	w, bias := random(r, types.Of(types.F32, c.out, c.in, c.ofKernel()[0], c.ofKernel()[1])), random(r, types.Of(types.F32, c.shaped(1, c.out, 1, 1)[1:]...))
	height, width := c.extent(0, c.height), c.extent(1, c.width)
	other := random(r, types.Of(types.F32, c.shaped(c.images, c.out, height, width)...))

	want := tensor.NewOf(other.Type())
	conv, attrs := c.conv()
	ofConv := w
	if c.height == 0 {
		height, ofConv = 0, w.Reshape(c.out, c.in, c.ofKernel()[1])
	}
	if err := conv.Eval(attrs, []*tensor.Tensor{x, ofConv, bias.Reshape(c.out)}, []*tensor.Tensor{want}); err != nil {
		t.Fatal(err)
	}
	for i := range want.Len() {
		want.SetFloat(i, max(want.Float(i)+other.Float(i), 0))
	}
	g := &graph.Graph{Name: "main"}
	data, residual := g.Input("x", x.Type()), g.Input("other", other.Type())
	apply := func(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
		n, err := g.Apply(d, attrs, in...)
		if err != nil {
			t.Fatal(err)
		}
		return n.Out[0]
	}
	of, err := ops.WinogradOf(c.tile, c.ofKernel(), c.ofStrides(), c.ofDilation())
	if err != nil {
		t.Fatal(err)
	}
	u := apply(ops.WinogradWeight, ops.WinogradWeightAttrs{TileSize: c.tile}, graph.NewConst("w", of.PhaseWeight(w)))
	input := ops.WinogradInputAttrs{TileSize: c.tile, KernelSize: c.ofKernel(), Strides: c.ofStrides(), Dilation: c.ofDilation(), Padding: c.padding}
	var y *graph.Value
	if c.fused {
		y = apply(ops.WinogradConv, input, data, u)
	} else {
		y = apply(ops.WinogradProduct, ops.WinogradProductAttrs{TileSize: c.tile, KernelSize: c.ofKernel(), Strides: c.ofStrides(), Dilation: c.ofDilation(), Height: height, Width: width}, apply(ops.WinogradInput, input, data), u)
	}
	tile := "6 x 1"
	if c.out/tgt.Lanes(32)%2 == 0 {
		tile = "5 x 2"
	}
	y.Def.Impl = graph.Impl{Name: winograd.Name, Of: "conv", Point: choice.Point{"winograd_tile": tile}}
	y = apply(ops.Add, op.None{}, apply(ops.Add, op.None{}, y, graph.NewConst("b", bias)), residual)
	y = apply(ops.Relu, op.None{}, y)
	y.Name = "y"
	g.Outputs = []*graph.Value{y}

	res, err := compile.Compile(t.Context(), g, compile.Options{Target: tgt, Level: 3, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(res.Contents.Manifest.Steps, func(s bundle.Step) bool { return s.Rule == "winograd" }) {
		t.Errorf("no kernel by the Winograd loops: %+v", res.Contents.Manifest.Steps)
	}
	var first []byte
	for workers := 1; workers <= 3; workers++ {
		got, err := Execute(res, []*tensor.Tensor{x, other}, workers)
		if err != nil {
			t.Fatal(err)
		}
		if diff, err := difference(want, got[0]); err != nil || !(diff <= 5e-5) {
			t.Errorf("%d workers: differs by %g (%v)", workers, diff, err)
		}
		if workers == 1 {
			first = got[0].Bytes()
		} else if !bytes.Equal(first, got[0].Bytes()) {
			t.Errorf("%d workers give other bits than one", workers)
		}
	}
}

// TestWinogradResults: what follows in the kernel may end in any type, as a quantize or a cast does. By tensor expressions every
// element would transform its tiles again.
func TestWinogradResults(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 35))
	x, w := types.Of(types.F32, 1, 32, 21, 19), random(r, types.Of(types.F32, 32, 32, 3, 3))
	a := ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}, Groups: 1}
	for _, to := range []types.DType{types.U8, types.I8, types.F16, types.BF16, types.F64, types.I32} {
		for _, tgt := range targettest.Executed(t) {
			n := &imageNetwork{t, &graph.Graph{Name: "main"}, r, false, false}
			y := n.apply(ops.Relu, op.None{}, n.apply(ops.Conv2d, a, n.g.Input("x", x), graph.NewConst("w", w)))
			if to == types.U8 || to == types.I8 {
				scale, zero := graph.NewConst("", tensor.Scalar(float32(0.5))), graph.NewConst("", tensor.New(to))
				y = n.apply(ops.Quantize, ops.QuantizeAttrs{OutDType: to, Rounding: ops.HalfEven}, y, scale, zero)
			} else {
				y = n.apply(ops.Cast, ops.CastAttrs{DType: to}, y)
			}
			y.Name = "y"
			n.g.Outputs = []*graph.Value{y}
			in := []*tensor.Tensor{random(r, x)}
			want, err := grapheval.Eval(n.g, in)
			if err != nil {
				t.Fatal(err)
			}
			res, err := compile.Compile(t.Context(), n.g, compile.Options{Target: tgt, Level: 3, Workers: 2})
			if err != nil {
				t.Fatalf("%s: %v", to, err)
			}
			if !slices.ContainsFunc(res.Contents.Manifest.Steps, func(s bundle.Step) bool { return s.Rule == "winograd" }) {
				t.Errorf("%s on %s: no kernel by the Winograd loops: %+v", to, tgt, res.Contents.Manifest.Steps)
			}
			got, err := Execute(res, in, 2)
			if err != nil {
				t.Fatal(err)
			}
			if diff, err := difference(want[0], got[0]); err != nil || !(diff <= 2e-2) { // sums beside a step may round to the next
				t.Errorf("%s on %s: differs by %g (%v)", to, tgt, diff, err)
			}
		}
	}
}

// TestReadersOfWinogradConvDivideAlike: a worker pools the lines that it made itself.
func TestReadersOfWinogradConvDivideAlike(t *testing.T) {
	t.Parallel()
	g := &graph.Graph{Name: "main"}
	w := random(rand.New(rand.NewPCG(1, 34)), types.Of(types.F32, 64, 64, 3, 3))
	a := ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}, Groups: 1}
	y, err := g.Apply(ops.Conv2d, a, g.Input("x", types.Of(types.F32, 1, 64, 56, 56)), graph.NewConst("w", w))
	if err != nil {
		t.Fatal(err)
	}
	p := ops.PoolAttrs{PoolSize: []int{2, 2}, Strides: []int{2, 2}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}}
	if y, err = g.Apply(ops.MaxPool2d, p, y.Out[0]); err != nil {
		t.Fatal(err)
	}
	g.Outputs = slices.Clone(y.Out)
	res, err := compile.Compile(context.Background(), g, compile.Options{Target: targettest.Resolve(t, "llvm -mcpu=znver5"), Level: 3, Workers: 2, Code: []string{"tir"}})
	if err != nil {
		t.Fatal(err)
	}
	conv, pool := false, false
	for line := range strings.SplitSeq(res.Code["tir"], "\n") {
		conv = conv || strings.Contains(line, "without_weight_transform")
		pool = pool || strings.Contains(line, "parallel max_pool_i2 in 0..28")
	}
	if !conv || !pool {
		t.Errorf("convolution by blocks: %v; pool divided by lines: %v", conv, pool)
		for line := range strings.SplitSeq(res.Code["tir"], "\n") {
			if strings.Contains(line, "parallel ") || strings.HasPrefix(line, "// ") {
				t.Log(line)
			}
		}
	}
}
