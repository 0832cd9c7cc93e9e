package dpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/byoc/dpu/positions"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
	"lathe/internal/verify"
)

// A regionMaker draws random regions of what an engine supports, as importers and passes leave them.
type regionMaker struct {
	*rand.Rand
	t    testing.TB
	arch *Arch
	g    *graph.Graph
	maps []*graph.Value
}

func (m *regionMaker) apply(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	n := &graph.Node{Op: d, Attrs: attrs, In: in, Origin: []string{fmt.Sprintf("n%d", len(m.g.Nodes))}}
	if err := n.Infer(); err != nil {
		m.t.Fatal(err)
	}
	if err := Supports(m.arch, n); err != nil {
		m.t.Fatalf("%s %s: %v", d.Name, graph.AttrsText(attrs), err)
	}
	n.Out[0].Name = fmt.Sprintf("v%d", len(m.g.Nodes))
	m.g.Nodes = append(m.g.Nodes, n)
	return n.Out[0]
}

func (m *regionMaker) constant(size float64, shape ...int) *graph.Value {
	t := tensor.New(types.F32, shape...)
	for i := range t.Len() {
		t.SetFloat(i, size*m.NormFloat64())
	}
	return graph.NewConst("", t)
}

func (m *regionMaker) pads(kernel [2]int) []int {
	return []int{m.IntN(kernel[0]), m.IntN(kernel[1]), m.IntN(kernel[0]), m.IntN(kernel[1])}
}

// fits reports whether a map holds a window.
func fits(x *graph.Value, kernel [2]int) bool {
	return x.Type.Shape[2] >= kernel[0] && x.Type.Shape[3] >= kernel[1]
}

// steps are the kinds of layers; each adds one to a map, or gives nil where it does not fit.
var steps = []func(m *regionMaker, x *graph.Value) *graph.Value{
	func(m *regionMaker, x *graph.Value) *graph.Value { // a convolution, with what follows one
		c, o, kernel := x.Type.Shape[1], 1+m.IntN(20), [2]int{1 + m.IntN(4), 1 + m.IntN(4)}
		if !fits(x, kernel) {
			return nil
		}
		a := ops.ConvAttrs{Strides: []int{1 + m.IntN(2), 1 + m.IntN(3)}, Padding: m.pads(kernel), Dilation: []int{1, 1}, Groups: 1}
		shape := []int{o, c, kernel[0], kernel[1]}
		if m.IntN(3) == 0 {
			o, a.Groups, shape = c, c, []int{c, 1, kernel[0], kernel[1]}
		} else if m.IntN(4) == 0 && x.Type.Shape[2] >= 2*kernel[0] && x.Type.Shape[3] >= 2*kernel[1] {
			a.Strides, a.Dilation = []int{1, 1}, []int{2, 2}
		}
		in := []*graph.Value{x, m.constant(0.5, shape...)}
		if m.IntN(2) == 0 {
			in = append(in, m.constant([]float64{0, 1e-4, 1, 50}[m.IntN(4)], o))
		}
		y := m.apply(ops.Conv2d, a, in...)
		if m.IntN(2) == 0 {
			y = m.apply(ops.Multiply, op.None{}, y, m.constant(1, o, 1, 1))
			y = m.apply(ops.Add, op.None{}, y, m.constant(1, 1, o, 1, 1))
		}
		return m.activated(y)
	},
	func(m *regionMaker, x *graph.Value) *graph.Value { // a normalisation, which follows a convolution or none
		c := x.Type.Shape[1]
		variance := tensor.New(types.F32, c)
		for i := range c {
			variance.SetFloat(i, 0.5+m.Float64())
		}
		return m.apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: 1e-5}, x, m.constant(1, c), m.constant(1, c), m.constant(1, c), graph.NewConst("", variance))
	},
	func(m *regionMaker, x *graph.Value) *graph.Value {
		kernel := [2]int{1 + m.IntN(4), 1 + m.IntN(4)}
		if !fits(x, kernel) {
			return nil
		}
		strides, one := []int{1 + m.IntN(2), 1 + m.IntN(3)}, []int{1, 1}
		if m.IntN(2) == 0 {
			return m.apply(ops.MaxPool2d, ops.PoolAttrs{PoolSize: kernel[:], Strides: strides, Padding: m.pads(kernel), Dilation: one, CeilMode: m.IntN(2) == 0}, x)
		}
		return m.apply(ops.AvgPool2d, ops.AvgPoolAttrs{PoolSize: kernel[:], Strides: strides, Padding: m.pads(kernel), Dilation: one, CountIncludePad: true}, x)
	},
	func(m *regionMaker, x *graph.Value) *graph.Value {
		for _, i := range m.Perm(len(m.maps)) {
			if y := m.maps[i]; y.Type.Equal(x.Type) {
				if m.IntN(2) == 0 {
					return m.apply(ops.Multiply, op.None{}, x, y)
				}
				return m.activated(m.apply(ops.Add, op.None{}, x, y))
			}
		}
		return nil
	},
	func(m *regionMaker, x *graph.Value) *graph.Value {
		for _, i := range m.Perm(len(m.maps)) {
			if s := m.maps[i].Type.Shape; s[2] == x.Type.Shape[2] && s[3] == x.Type.Shape[3] && s[1] < 60 {
				return m.apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, x, m.maps[i])
			}
		}
		return nil
	},
	func(m *regionMaker, x *graph.Value) *graph.Value {
		s := x.Type.Shape
		if s[2]*s[3] > 60 {
			return nil
		}
		a := ops.ResizeAttrs{Sizes: []int{s[0], s[1], 2 * s[2], 3 * s[3]}, Method: "nearest", CoordinateTransformationMode: "asymmetric", NearestMode: "floor"}
		if m.IntN(2) == 0 {
			a.CoordinateTransformationMode, a.NearestMode = "half_pixel", "round_prefer_floor"
		}
		return m.apply(ops.Resize, a, x)
	},
	func(m *regionMaker, x *graph.Value) *graph.Value { return m.activated(x) },
	func(m *regionMaker, x *graph.Value) *graph.Value {
		return m.apply(ops.HardSigmoid, ops.HardSigmoidAttrs{Alpha: 1. / 6, Beta: 0.5}, x)
	},
}

func (m *regionMaker) activated(x *graph.Value) *graph.Value {
	switch m.IntN(5) {
	case 0:
		return m.apply(ops.Relu, op.None{}, x)
	case 1:
		return m.apply(ops.Clip, ops.ClipAttrs{HasMin: true, HasMax: true, Max: 6}, x)
	case 2:
		return m.apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: leakySlope}, x)
	}
	return x
}

// region draws one.
func region(t testing.TB, r *rand.Rand, arch *Arch) *graph.Graph {
	m := &regionMaker{Rand: r, t: t, arch: arch, g: &graph.Graph{Name: "region"}}
	for i := range 1 + r.IntN(2) {
		m.maps = append(m.maps, m.g.Input(fmt.Sprintf("in%d", i), types.Of(types.F32, 1+r.IntN(2), 1+r.IntN(9), 4+r.IntN(6), 4+r.IntN(6))))
	}
	for len(m.g.Nodes) < 3+r.IntN(14) {
		x := m.maps[max(r.IntN(len(m.maps)), r.IntN(len(m.maps)))]
		if y := steps[r.IntN(len(steps))](m, x); y != nil && y != x {
			m.maps = append(m.maps, y)
		}
	}
	last := m.maps[len(m.maps)-1]
	m.g.Outputs = []*graph.Value{last}
	if r.IntN(2) == 0 {
		m.g.Outputs = append(m.g.Outputs, m.apply(ops.Mean, ops.ReduceAttrs{Axis: []int{2, 3}, KeepDims: r.IntN(2) == 0}, last))
	}
	m.g.DeadCode()
	for i := len(m.g.Inputs) - 1; i > 0; i-- {
		if used := m.g.Users(); len(used[m.g.Inputs[i]]) == 0 {
			m.g.Inputs = m.g.Inputs[:i]
		}
	}
	return m.g
}

// observed observes a region in the model's floats, and moves some positions so that shifts leave their ranges.
func observed(t testing.TB, r *rand.Rand, n *Network, g *graph.Graph, inputs []*tensor.Tensor) []int {
	seen := map[string]*tensor.Tensor{}
	for i, x := range g.Inputs {
		seen[x.Name] = inputs[i]
	}
	if _, err := grapheval.Watch(g, inputs, func(n *graph.Node, _, out []*tensor.Tensor) error {
		seen[n.Out[0].Name] = out[0]
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	p := make([]int, len(n.Tensors))
	for i, m := range n.Tensors {
		if seen[m.Name] == nil {
			t.Fatalf("no value %q in the model", m.Name)
		}
		p[i] = positions.Of(floats(seen[m.Name]))
		if r.IntN(8) == 0 {
			p[i] += r.IntN(13) - 6
		}
	}
	return p
}

// TestEmulatorIsTheArithmetic compares the compiled form of random regions, bit for bit, with the interpreter, and its graph with both.
func TestEmulatorIsTheArithmetic(t *testing.T) {
	t.Parallel()
	arch, err := Lookup("DPUCZDX8G-zcu104")
	if err != nil {
		t.Fatal(err)
	}
	target := targettest.Resolve(t, "llvm")
	kinds := map[string]int{}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		g := region(t, r, arch)
		n, err := Read(arch, g)
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		var inputs []*tensor.Tensor
		var flat [][]float32
		for _, v := range g.Inputs {
			x := tensor.NewOf(v.Type)
			for i := range x.Len() {
				x.SetFloat(i, 2*r.NormFloat64())
			}
			inputs, flat = append(inputs, x), append(flat, floats(x))
		}
		f, err := n.Fix(observed(t, r, n, g, inputs))
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		want, err := f.Run(flat)
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		for i := range f.Layers {
			kinds[string(f.Layers[i].Kind)+" "+string(f.Layers[i].Act)]++
			if _, bias := f.shifts(i); f.Layers[i].hasWeights() && bias < 0 {
				kinds["finer bias"]++
			}
		}
		e, err := f.Emulate("region")
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		oracle, err := grapheval.Eval(e, inputs)
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		res, err := compile.Compile(t.Context(), e.Clone(), compile.Options{Target: target, Level: []int{0, 3}[seed%2]})
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		got, err := verify.Execute(res, inputs, 2)
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		for i := range want {
			for j, w := range want[i] {
				if a, b := float32(oracle[i].Float(j)), float32(got[i].Float(j)); a != w || b != w {
					t.Fatalf("%d: output %d, element %d: interpreter %v, graph %v, compiled %v", seed, i, j, w, a, b)
				}
			}
			if !got[i].Type().Equal(g.Outputs[i].Type.With("")) {
				t.Fatalf("%d: output %d is %s instead of %s", seed, i, got[i].Type(), g.Outputs[i].Type)
			}
		}
	}
	for _, kind := range []string{"conv2d ", "conv2d relu", "conv2d relu6", "conv2d leakyrelu", "depthwise-conv2d ", "depthwise-conv2d relu", "maxpool2d ", "avgpool2d ",
		"eltwise-add ", "eltwise-add relu", "eltwise-mul ", "concat ", "upsample ", "activation relu", "activation relu6", "activation leakyrelu", "hard-sigmoid ", "finer bias"} {
		if kinds[kind] == 0 {
			t.Errorf("no layer %q among those tested: %v", kind, kinds)
		}
	}
}
