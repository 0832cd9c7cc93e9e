package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// A stripCase is a convolution with an activation, and what reads it through windows.
type stripCase struct {
	images, in, channels, height, width int
	kernel, stride                      int
	activation                          *op.Def
	residual                            bool // added before the activation
	pool                                bool // a maximum pooling, else a depthwise convolution
	window, step                        int
	padding                             []int
}

// TestStrips compares kernels that compute a convolution strip by strip for a depthwise convolution or a pooling with the
// operators' own evaluation, for whole and partial blocks of channels, strides, paddings and images, on machines with caches
// so small that there are many strips, where this machine or the schedules of another choose strips. The bits do not depend
// on the number of workers.
func TestStrips(t *testing.T) {
	t.Parallel()
	for _, c := range stripCases() {
		for _, tgt := range targettest.Executed(t) {
			small := *tgt
			small.L2 = smallL2
			t.Run(fmt.Sprintf("%d_to_%d_on_%dx%d_pool_%v_%d_by_%d/%s%d", c.in, c.channels, c.height, c.width, c.pool, c.window, c.step, tgt.CPU, tgt.VectorBits), func(t *testing.T) {
				testStrips(t, c, &small)
			})
		}
	}
}

// TestStripsOfParts does so for lines of any width whose last pixels no window reads, so that a strip has a part of each line.
func TestStripsOfParts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 1))
	strips := 0
	for _, tgt := range targettest.Executed(t) {
		small := *tgt
		small.L2 = smallL2
		for range 12 {
			step := 2 + r.IntN(3)
			width := step*(8+r.IntN(24)) + 1 + r.IntN(step-1)
			c := stripCase{1, 1 + r.IntN(4), 16 + 8*r.IntN(4), 64 + r.IntN(40), width, 1 + 2*r.IntN(2), 1, ops.Sigmoid, false, true, step, step, make([]int, 4)}
			t.Run(fmt.Sprintf("%d_to_%d_on_%dx%d_pool_%d/%s%d", c.in, c.channels, c.height, c.width, step, tgt.CPU, tgt.VectorBits), func(t *testing.T) { testStrips(t, c, &small) })
			if byStrips(c.compile(t, r, &small, nil)) {
				strips++
			}
		}
	}
	if strips == 0 {
		t.Error("no kernel by strips")
	}
}

// TestStripsAreChosen: processors with 512-bit vectors compute all of the cases by strips, those with narrower ones, which
// take longer for what is computed twice, where nothing is.
func TestStripsAreChosen(t *testing.T) {
	t.Parallel()
	for name, always := range map[string]bool{"znver5": true, "sapphirerapids": true, "haswell": false, "x86-64": false} {
		tgt := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu="+name)
		tgt.L2 = smallL2
		for _, c := range stripCases() {
			if res := c.compile(t, rand.New(rand.NewPCG(5, 6)), tgt, nil); (always || c.window == c.step) && !byStrips(res) {
				t.Errorf("%s, %+v: no kernel by strips: %+v", name, c, res.Contents.Manifest.Steps)
			}
		}
	}
}

const smallL2 = 128 << 10

func stripCases() []stripCase {
	same := []int{1, 1, 1, 1}
	return []stripCase{
		{1, 1, 32, 112, 56, 3, 2, ops.Relu, false, false, 3, 1, same},
		{1, 2, 48, 56, 28, 1, 1, ops.Sigmoid, false, false, 3, 2, same},
		{2, 1, 24, 47, 40, 3, 1, ops.Relu, false, false, 3, 2, same},
		{1, 2, 20, 60, 31, 1, 1, ops.Sigmoid, true, false, 5, 2, []int{2, 2, 2, 2}},
		{1, 3, 32, 96, 72, 3, 2, ops.Relu, false, true, 2, 2, []int{0, 0, 0, 0}},
		{1, 2, 40, 61, 39, 1, 1, ops.Relu, true, true, 3, 2, []int{0, 0, 1, 1}},
		{3, 1, 16, 48, 64, 3, 1, ops.Relu, false, true, 3, 2, same},
	}
}

// TestStripsDoNotSpill: the first layers of common networks keep their accumulators in registers.
func TestStripsDoNotSpill(t *testing.T) {
	t.Parallel()
	tgt := targettest.Resolve(t, "llvm -mcpu=znver5")
	for _, c := range []stripCase{
		{1, 3, 32, 224, 224, 3, 2, ops.Relu, false, false, 3, 1, []int{1, 1, 1, 1}},
		{1, 16, 96, 112, 112, 1, 1, ops.Sigmoid, false, false, 3, 2, []int{1, 1, 1, 1}},
		{1, 3, 64, 224, 224, 3, 2, ops.Relu, false, true, 3, 2, []int{0, 0, 0, 0}},
	} {
		res := c.compile(t, rand.New(rand.NewPCG(5, 6)), tgt, nil)
		if !byStrips(res) {
			t.Errorf("%+v: no kernel by strips: %+v", c, res.Contents.Manifest.Steps)
		}
		if adds, spills := innerLoops(res.Code["asm"]); adds == 0 || spills*100 > adds*5 {
			t.Errorf("%+v: %d spills and reloads for %d multiply-adds", c, spills, adds)
		}
	}
}

func testStrips(t *testing.T, c stripCase, tgt *target.Target) {
	r := rand.New(rand.NewPCG(5, 6))
	var in, want []*tensor.Tensor
	res := c.compile(t, r, tgt, func(g *graph.Graph) {
		in = []*tensor.Tensor{random(r, g.Inputs[0].Type)}
		var err error
		if want, err = grapheval.Eval(g, in); err != nil {
			t.Fatal(err)
		}
	})
	if err := sameOutputs(res, in, want, 1, 2, 3); err != nil {
		t.Error(err)
	}
}

func byStrips(res *compile.Result) bool {
	return slices.ContainsFunc(res.Contents.Manifest.Steps, func(s bundle.Step) bool { return s.Rule == "strips" })
}

// compile makes the graph of the case and compiles it after look, which may be nil, has seen it.
func (c stripCase) compile(t *testing.T, r *rand.Rand, tgt *target.Target, look func(*graph.Graph)) *compile.Result {
	constant := func(shape ...int) *graph.Value { return graph.NewConst("", random(r, types.Of(types.F32, shape...))) }
	g := &graph.Graph{Name: "main"}
	apply := func(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
		n, err := g.Apply(d, attrs, in...)
		if err != nil {
			t.Fatal(err)
		}
		return n.Out[0]
	}
	p := c.kernel / 2
	a := ops.ConvAttrs{Strides: []int{c.stride, c.stride}, Padding: []int{p, p, p, p}, Dilation: []int{1, 1}, Groups: 1}
	y := apply(ops.Conv2d, a, g.Input("x", types.Of(types.F32, c.images, c.in, c.height, c.width)), constant(c.channels, c.in, c.kernel, c.kernel), constant(c.channels))
	if c.residual {
		y = apply(ops.Add, op.None{}, y, apply(ops.Conv2d, a, g.Inputs[0], constant(c.channels, c.in, c.kernel, c.kernel)))
	}
	y = apply(c.activation, op.None{}, y)
	if steps := []int{c.step, c.step}; c.pool {
		y = apply(ops.MaxPool2d, ops.PoolAttrs{PoolSize: []int{c.window, c.window}, Strides: steps, Padding: c.padding, Dilation: []int{1, 1}}, y)
	} else {
		y = apply(ops.Conv2d, ops.ConvAttrs{Strides: steps, Padding: c.padding, Dilation: []int{1, 1}, Groups: c.channels}, y, constant(c.channels, 1, c.window, c.window), constant(c.channels))
		y = apply(ops.Relu, op.None{}, y)
	}
	y.Name = "y"
	g.Outputs = []*graph.Value{y}
	if look != nil {
		look(g)
	}
	res, err := compile.Compile(t.Context(), g, compile.Options{Target: tgt, Level: 3, Workers: 2, Code: []string{"asm"}, Disabled: []string{"Winograd"}})
	if err != nil {
		t.Fatal(err)
	}
	return res
}
