package graph

import (
	"bytes"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

const netText = `graph net(%0 "data:0": float32[1,4,8,8]) {
  @conv.weight = float32[4,4,3,3]#HASH1
  @0 = int64[2,2]{1, -1, 16, 4}
  @1 "conv.weight" = float32[64,1]#HASH2
  %/block/conv: float32[1,4,8,8]:ABCD4b = nn.conv2d(%0, @conv.weight) {strides=[1,1], padding=[1,1,1,1]} impl "direct" {"algorithm": "direct", "panel": "4"} why "it is \"best\"" origin "Conv_0", "odd \"name\""
  %1: float32[1,4,4,4] = group(%/block/conv) origin "Relu_1"
    graph "relu conv"(%0: float32[1,4,8,8]:ABCD4b) {
      %1: float32[1,4,8,8]:ABCD4b = nn.relu(%0) origin "Relu_1"
      %2: float32[1,4,4,4] = nn.conv2d(%1, @conv.weight) {strides=[2,2]}
      return %2
    }
  %2: int64[1,2], %3 "7": int64[1,2] = halves(@0)
  %4: int64[2] = shape_of(@1)
  %out: float32[64,1] = reshape(%1, %4)
  return %out, %3, @conv.weight, %0
}
`

func TestPrint(t *testing.T) {
	c := NewConsts()
	got := Print(testNet(t), c)
	want := strings.NewReplacer("HASH1", c.Add(ramp(4, 4, 3, 3)), "HASH2", c.Add(ramp(64, 1))).Replace(netText)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRoundTrip goes through text and side file, and compares everything but the operators' functions.
func TestRoundTrip(t *testing.T) {
	g, c := testNet(t), NewConsts()
	text := Print(g, c)
	path := filepath.Join(t.TempDir(), "net.consts")
	if err := c.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	read, err := ReadConstsFile(path)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(text, testOps, read)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(back); err != nil {
		t.Error(err)
	}
	if got := Print(back, nil); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	compareGraphs(t, back, g, map[*Value]*Value{})
}

// TestRoundTripNames has names that look like other parts of the text.
func TestRoundTripNames(t *testing.T) {
	for _, name := range []string{"", "a", "//a", "/", "0", "-", "a-b/c.d", "a:b", "a b", ".a", "graph", "return", "\xff\n", "é", "a", "%a", `"`} {
		g := &Graph{Name: name}
		x := g.Input(name, types.Of(types.F32))
		n := apply(t, g, testRelu, op.None{}, x)
		n.Out[0].Name, n.Why, n.Origin = name, name, []string{name}
		n.Impl = Impl{name, choice.Point{name: name, "panel": "4"}, name}
		m := apply(t, g, testAdd, op.None{}, n.Out[0], NewConst(name, tensor.Scalar(float32(1))))
		g.Outputs = []*Value{m.Out[0], x}
		back, err := Parse(g.String(), testOps, nil)
		if err != nil {
			t.Errorf("%q: %v in\n%s", name, err, g)
			continue
		}
		compareGraphs(t, back, g, map[*Value]*Value{})
	}
}

func compareGraphs(t *testing.T, got, want *Graph, same map[*Value]*Value) {
	t.Helper()
	compareValues(t, got.Inputs, want.Inputs, same)
	if got.Name != want.Name || len(got.Nodes) != len(want.Nodes) {
		t.Fatalf("graph %q of %d nodes, want %q of %d", got.Name, len(got.Nodes), want.Name, len(want.Nodes))
	}
	for i, w := range want.Nodes {
		g := got.Nodes[i]
		if g.Op != w.Op || !reflect.DeepEqual(g.Impl, w.Impl) || g.Why != w.Why || !reflect.DeepEqual(g.Attrs, w.Attrs) || !reflect.DeepEqual(g.Origin, w.Origin) || len(g.Sub) != len(w.Sub) {
			t.Errorf("node %+v, want %+v", g, w)
			continue
		}
		compareValues(t, g.In, w.In, same)
		compareValues(t, g.Out, w.Out, same)
		for j, o := range g.Out {
			if o.Def != g || o.Index != j {
				t.Errorf("node %d: result %d has definition %p, place %d", i, j, o.Def, o.Index)
			}
		}
		for j := range w.Sub {
			compareGraphs(t, g.Sub[j], w.Sub[j], same)
		}
	}
	compareValues(t, got.Outputs, want.Outputs, same)
}

// compareValues also checks that what is one value in one graph is one in the other.
func compareValues(t *testing.T, got, want []*Value, same map[*Value]*Value) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if same[w] == nil {
			same[w] = g
		}
		if g != same[w] || g.Name != w.Name || !g.Type.Equal(w.Type) || !sameTensor(g.Const, w.Const) || !sameTensor(g.Known, w.Known) {
			t.Errorf("value %+v, want %+v", g, w)
		}
	}
}

func sameTensor(a, b *tensor.Tensor) bool {
	return a == b || a != nil && b != nil && a.Type().Equal(b.Type()) && bytes.Equal(a.Bytes(), b.Bytes())
}

func TestLiterals(t *testing.T) {
	inline := []struct {
		v    *tensor.Tensor
		want string
	}{
		{tensor.Of([]int{3}, []float32{0.1, float32(math.Inf(-1)), float32(math.Copysign(0, -1))}), "{0.1, -inf, -0}"},
		{tensor.Scalar(math.MaxFloat64), "{1.7976931348623157e+308}"},
		{tensor.Of([]int{1, 2}, []uint64{math.MaxUint64, 0}), "{18446744073709551615, 0}"},
		{tensor.Of([]int{2}, []int64{math.MinInt64, 3}), "{-9223372036854775808, 3}"},
		{tensor.Of([]int{2}, []bool{true, false}), "{true, false}"},
		{tensor.Over(types.F16, []int{1}, []byte{1, 0}), "{5.9604645e-08}"},
		{tensor.New(types.F32, 0), "{}"},
	}
	for _, c := range inline {
		if got, ok := literal(c.v); !ok || got != c.want {
			t.Errorf("%s: %q %v, want %q", c.v.Type(), got, ok, c.want)
		}
	}
	named := []*tensor.Tensor{
		ramp(9),
		tensor.Scalar(math.Float32frombits(0x7fc00001)),
		tensor.Over(types.Bool, []int{1}, []byte{2}),
		tensor.Over(types.F32, []int{2}, make([]byte, 7)),
	}
	for _, v := range named {
		if got, ok := literal(v); ok {
			t.Errorf("%s %v prints as %s", v.Type(), v.Bytes(), got)
		}
	}
}

func TestPrintBroken(t *testing.T) {
	g := &Graph{Inputs: []*Value{nil}, Outputs: []*Value{nil, {Name: "stray"}}, Nodes: []*Node{nil, {}, {Op: testRelu, In: []*Value{{Name: "x"}}}}}
	self := &Node{Op: testRelu}
	self.Out = []*Value{{Def: self, Type: types.Of(types.F32)}}
	self.In = self.Out
	g.Nodes = append(g.Nodes, self)
	const want = `graph ""(%?) {
  ? = ?
  ? = ?
   = nn.relu(%?x)
  %0: float32[] = nn.relu(%?)
  return %?, %?stray
}
`
	if got := g.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := Parse(want, testOps, nil); err == nil {
		t.Error("the text of a broken graph parses")
	}
}

// bigNet is a chain of n nodes with a weight at every other one.
func bigNet(t testing.TB, n int) *Graph {
	g := &Graph{Name: "big"}
	v := g.Input("data", types.Of(types.F32, 1, 4, 8, 8))
	for i := range n {
		var node *Node
		if i%2 == 0 {
			w := ramp(4, 4, 3, 3)
			w.SetInt(0, int64(i))
			node = apply(t, g, testConv, convAttrs{Strides: []int{1, 1}}, v, NewConst("", w))
		} else {
			node = apply(t, g, testRelu, op.None{}, v)
		}
		node.Origin = []string{"node"}
		v = node.Out[0]
	}
	g.Outputs = []*Value{v}
	return g
}

// overGraphs are what costs time in proportion to the size of a graph.
func overGraphs(t testing.TB, n int) map[string]func() {
	g, c := bigNet(t, n), NewConsts()
	text := Print(g, c)
	return map[string]func(){
		"Print":  func() { Print(g, c) },
		"Verify": func() { Verify(g) },
		"Hash":   func() { Hash(g, ByValue) },
		"Parse":  func() { Parse(text, testOps, c) },
	}
}

// TestProportion compares the memory that a graph and one four times as large take: work that goes over all nodes for
// each node takes sixteen times as much.
func TestProportion(t *testing.T) {
	small, large := overGraphs(t, 500), overGraphs(t, 2000)
	for name, f := range small {
		bytes := func(f func()) float64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f()
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		f()
		large[name]()
		if a, b := bytes(f), bytes(large[name]); b > 8*a+1<<20 {
			t.Errorf("%s allocates %.0f bytes for 500 nodes and %.0f for 2000", name, a, b)
		}
	}
}

func BenchmarkGraph(b *testing.B) {
	for name, f := range overGraphs(b, 2000) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
		})
	}
}
