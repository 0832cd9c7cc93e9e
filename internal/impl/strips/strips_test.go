package strips_test

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/passtest"
	"lathe/internal/types"
)

// TestFuseStrips: the groups of a convolution and of what alone reads it through windows become one, where its result does
// not stay in L2 and few rows are computed twice.
func TestFuseStrips(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	for _, c := range []struct {
		name           string
		in, size       int
		plain          bool // no activation and no bias
		shared, output bool // the result between has a second reader, or is one of the graph's
		pool           bool
		window, stride int
		want           int // groups
	}{
		{name: "depthwise", in: 3, size: 128, window: 3, stride: 1, want: 1},
		{name: "pool", in: 3, size: 128, pool: true, window: 2, stride: 2, want: 1},
		{name: "small", in: 3, size: 32, window: 3, stride: 1, want: 2},
		{name: "costly", in: 64, size: 128, window: 7, stride: 1, want: 2},
		{name: "plain", in: 3, size: 128, plain: true, window: 3, stride: 1, want: 2},
		{name: "shared", in: 3, size: 128, shared: true, window: 3, stride: 1, want: 3},
		{name: "output", in: 3, size: 128, output: true, window: 3, stride: 1, want: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			const channels = 32
			g := &graph.Graph{Name: "main"}
			apply := func(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
				n, err := g.Apply(d, attrs, in...)
				if err != nil {
					t.Fatal(err)
				}
				return n.Out[0]
			}
			blocked := types.ChannelBlocks(4, passtest.Machine.Lanes(32))
			weight := func(l types.Layout, shape ...int) *graph.Value {
				x := tensor.New(types.F32, shape...)
				for i := range x.Len() {
					x.SetFloat(i, r.NormFloat64())
				}
				w := graph.NewConst("", x)
				w.Type.Layout = l
				return w
			}
			conv := func(groups, kernel, stride, pad int) ops.ConvAttrs {
				return ops.ConvAttrs{Strides: []int{stride, stride}, Padding: []int{pad, pad, pad, pad}, Dilation: []int{1, 1}, Groups: groups}
			}
			x := g.Input("x", types.Of(types.F32, 1, c.in, c.size, c.size))
			y := apply(ops.Conv2d, conv(1, 1, 1, 0), x, weight("ABCD16a", channels, c.in, 1, 1))
			y.Def.Impl = graph.Impl{Name: impl.Direct, Of: "conv", Point: choice.Point{"panel": "2"}}
			y.Type.Layout = blocked
			if !c.plain {
				y = apply(ops.Relu, op.None{}, y)
				y.Type.Layout = blocked
			}
			between := y
			if c.pool {
				y = apply(ops.MaxPool2d, ops.PoolAttrs{PoolSize: []int{c.window, c.window}, Strides: []int{c.stride, c.stride}, Padding: make([]int, 4), Dilation: []int{1, 1}}, y)
			} else {
				y = apply(ops.Conv2d, conv(channels, c.window, c.stride, c.window/2), y, weight("ABCD8a", channels, 1, c.window, c.window))
			}
			y.Type.Layout = blocked
			g.Outputs = []*graph.Value{y}
			if c.shared {
				z := apply(ops.Sigmoid, op.None{}, between)
				z.Type.Layout = blocked
				g.Outputs = append(g.Outputs, z)
			}
			if c.output {
				g.Outputs = append(g.Outputs, between)
			}
			in := graphtest.Inputs(r, g)
			want, err := grapheval.Eval(g, in)
			if err != nil {
				t.Fatal(err)
			}
			passtest.Run(t, g, "FuseOps")
			before := g.String()
			passtest.Run(t, g, "FuseStrips")
			golden.Check(t, "fuse_"+c.name, []byte("// before\n"+before+"\n// after\n"+g.String()))
			if len(g.Nodes) != c.want {
				t.Errorf("%d groups, want %d:\n%s", len(g.Nodes), c.want, g)
			}
			if err := evaltest.SameValues(g, in, want); err != nil {
				t.Error(err)
			}
		})
	}
}
