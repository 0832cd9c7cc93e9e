package onnx

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	frontend "lathe/internal/frontend/onnx"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/pass"
	"lathe/internal/pipeline"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
)

// refused are the operators that ONNX cannot say, with a part of the error.
var refused = map[string]string{
	"nn.contrib_conv2d_winograd_weight_transform":         "cannot be written as ONNX",
	"nn.contrib_conv2d_winograd_input_transform":          "cannot be written as ONNX",
	"nn.contrib_conv2d_winograd_product":                  "cannot be written as ONNX",
	"nn.contrib_conv2d_winograd_without_weight_transform": "cannot be written as ONNX",
	"dynamic.pack": "cannot be written as ONNX",
}

// encode writes g.
func encode(t testing.TB, g *graph.Graph) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, g, Options{}); err != nil {
		t.Fatalf("%v\n%s", err, g)
	}
	return b.Bytes()
}

// decode imports a file.
func decode(t testing.TB, b []byte) *graph.Graph {
	t.Helper()
	m, err := frontend.Read(b, "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestOperators writes random uses of every operator. What is imported computes the same bits, and what is imported once
// comes back as it is.
func TestOperators(t *testing.T) {
	for _, d := range ops.All {
		t.Run(d.Name, func(t *testing.T) {
			for seed := range uint64(40) {
				r := rand.New(rand.NewPCG(seed, 3))
				attrs, in := d.Sample(r)
				attrs = graphtest.Narrow(attrs)
				testOperator(t, r, d, attrs, in, fmt.Sprintf("seed %d", seed))
			}
		})
	}
}

func testOperator(t *testing.T, r *rand.Rand, d *op.Def, attrs any, in []types.Tensor, use string) {
	t.Helper()
	g := &graph.Graph{Name: "main"}
	var vals []*tensor.Tensor
	var args []*graph.Value
	for i, ty := range in {
		x := random(r, ty)
		if r.IntN(4) == 0 && i > 0 && len(ops.DynamicResults(d, attrs)) == 0 {
			args = append(args, graph.NewConst(fmt.Sprintf("c%d", i), x))
			continue
		}
		vals = append(vals, x)
		args = append(args, g.Input(fmt.Sprintf("x%d", i), ty))
	}
	n, err := g.Apply(d, attrs, args...)
	if err != nil {
		t.Fatalf("%s: sample: %v", use, err)
	}
	n.Origin = []string{"node"}
	for i, y := range n.Out {
		if i > 0 && len(ops.DynamicResults(d, attrs)) > 0 {
			continue // the number of elements
		}
		y.Name = fmt.Sprintf("y%d", i)
		g.Outputs = append(g.Outputs, y)
	}
	use = fmt.Sprintf("%s: %s%v %+v", use, d.Name, in, attrs)
	if message, ok := refused[d.Name]; ok {
		if err := Write(&bytes.Buffer{}, g, Options{}); err == nil || !strings.Contains(err.Error(), message) || !strings.Contains(err.Error(), d.Name) {
			t.Errorf("%s: error %v; it should name the operator and say %q", use, err, message)
		}
		return
	}
	if d == ops.ArgWhere && in[0].Rank() == 0 {
		return // which ONNX does not define
	}
	if same(t, g, vals, use); t.Failed() {
		t.FailNow()
	}
}

// same writes and imports g, and compares what both compute; then it writes what was imported, which must come back equal.
func same(t *testing.T, g *graph.Graph, in []*tensor.Tensor, use string) {
	t.Helper()
	file := encode(t, g)
	if !bytes.Equal(file, encode(t, g)) {
		t.Errorf("%s: two files of one graph differ", use)
	}
	back := decode(t, file)
	sameNames(t, g, back, use)
	want, err := grapheval.Eval(g, in)
	if err != nil {
		t.Fatalf("%s: %v", use, err)
	}
	got, err := grapheval.Eval(back, in)
	if err != nil {
		t.Fatalf("%s: %v", use, err)
	}
	for i := range want {
		if err := differ(got[i], want[i]); err != nil {
			t.Errorf("%s: output %d: %v\n%s\n%s", use, i, err, g, back)
		}
	}
	again := decode(t, encode(t, back))
	if graph.Hash(again, graph.ByValue) != graph.Hash(back, graph.ByValue) {
		t.Errorf("%s: an imported graph does not come back:\n%s\n%s", use, back, again)
	}
}

// sameNames compares names and types of inputs and outputs. An output that is an input or a constant gets a name of its own.
func sameNames(t *testing.T, a, b *graph.Graph, use string) {
	t.Helper()
	if len(a.Inputs) != len(b.Inputs) || len(a.Outputs) != len(b.Outputs) {
		t.Fatalf("%s: %d inputs and %d outputs instead of %d and %d", use, len(b.Inputs), len(b.Outputs), len(a.Inputs), len(a.Outputs))
	}
	after := slices.Concat(b.Inputs, b.Outputs)
	for i, v := range slices.Concat(a.Inputs, a.Outputs) {
		w := after[i]
		if own := i >= len(a.Inputs) && v.Def == nil; v.Name != w.Name && !own || !v.Type.With("").Equal(w.Type.With("")) {
			t.Errorf("%s: %s: %s became %s: %s", use, v.Name, v.Type, w.Name, w.Type)
		}
	}
}

func random(r *rand.Rand, t types.Tensor) *tensor.Tensor {
	x := tensor.NewOf(t)
	for i := range x.Len() {
		switch {
		case t.DType.IsFloat():
			x.SetFloat(i, r.NormFloat64())
		case t.DType == types.Bool:
			x.SetInt(i, int64(r.IntN(2)))
		case t.DType.IsUnsigned():
			x.SetInt(i, int64(r.IntN(8)))
		default:
			x.SetInt(i, int64(r.IntN(11)-5))
		}
	}
	return x
}

// differ compares bits of integers, and floats within a few roundings.
func differ(got, want *tensor.Tensor) error {
	if !want.DType.IsFloat() {
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			return fmt.Errorf("elements differ")
		}
		return nil
	}
	bound := map[types.DType]float64{types.F64: 1e-12, types.F32: 2e-6, types.F16: 4e-3, types.BF16: 3e-2}[want.DType]
	for i := range want.Len() {
		g, w := got.Float(i), want.Float(i)
		if g != w && !(g != g && w != w) && !(math.Abs(g-w) <= bound*max(1, math.Abs(w))) {
			return fmt.Errorf("element %d is %v instead of %v", i, g, w)
		}
	}
	return nil
}

// TestNetworks writes random networks.
func TestNetworks(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 4))
		g := graphtest.New(r)
		if same(t, g, graphtest.Inputs(r, g), fmt.Sprintf("seed %d", seed)); t.Failed() {
			return
		}
	}
}

// TestPasses writes what graph passes make of random networks: groups, layouts and operators that no model has.
func TestPasses(t *testing.T) {
	machine := &target.Target{Kind: "llvm", Arch: target.X86, VectorBits: 256, VectorRegs: 16, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 256)}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		g := graphtest.New(r)
		in := graphtest.Inputs(r, g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		level := int(seed % 4)
		err = pipeline.Run(pass.Table, &pass.Context{Graph: g, Target: machine, Level: level},
			pipeline.Options[*pass.Context]{Level: level, Disabled: []string{"Winograd"}}) // whose operators ONNX does not have
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := grapheval.Eval(decode(t, encode(t, g)), in)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range want {
			if d := relative(got[i], want[i]); !(d < 1e-5) {
				t.Fatalf("seed %d, -O%d: output %d differs by %g\n%s", seed, level, i, d, g)
			}
		}
	}
}

// relative is the relative L2 distance.
func relative(got, want *tensor.Tensor) float64 {
	var num, den float64
	for i := range want.Len() {
		if g, w := got.Float(i), want.Float(i); g != w && !(g != g && w != w) {
			num, den = num+(g-w)*(g-w), den+w*w
		}
	}
	return math.Sqrt(num / max(den, 1e-30))
}

// TestExternalData writes weights beside the model and reads them back.
func TestExternalData(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	g := &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, 2, 3, 8, 8))
	for i := range 3 {
		w := graph.NewConst(fmt.Sprintf("w%d", i), random(r, types.Of(types.F32, 3+100*(i%2), x.Type.Shape[1], 3, 3)))
		n, err := g.Apply(ops.Conv2d, ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}, Groups: 1}, x, w)
		if err != nil {
			t.Fatal(err)
		}
		x = n.Out[0]
	}
	x.Name = "y"
	g.Outputs = []*graph.Value{x}
	dir := t.TempDir()
	var data, file bytes.Buffer
	if err := Write(&file, g, Options{External: &External{Name: "net.data", W: &data}}); err != nil {
		t.Fatal(err)
	}
	if file.Len() > 3000 || data.Len() < 4*(2*300*9) {
		t.Errorf("%d bytes in the file, %d outside", file.Len(), data.Len())
	}
	if err := os.WriteFile(filepath.Join(dir, "net.data"), data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Read(file.Bytes(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	back, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if graph.Hash(back, graph.ByValue) != graph.Hash(g, graph.ByValue) {
		t.Errorf("the graph comes back as\n%s", back)
	}
}

// TestTooLarge counts the bytes of a model that no file can hold, without having them.
func TestTooLarge(t *testing.T) {
	zeros := make([]byte, 1<<28)
	m := &Model{Opsets: map[string]int{"": 18}, Graph: &Graph{Name: "g"}}
	for i := range 8 {
		m.Graph.Initializers = append(m.Graph.Initializers, Initializer{fmt.Sprint(i), tensor.Over(types.U8, []int{len(zeros)}, zeros)})
	}
	if err := m.Write(io.Discard, nil); err == nil || !strings.Contains(err.Error(), "at most 2047") {
		t.Errorf("error %v", err)
	}
}

// TestMatmulNBits writes constant weights in blocks in both forms; each computes the same when it is imported, and stays the operator that it is.
func TestMatmulNBits(t *testing.T) {
	packed := 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 8))
		attrs, in := ops.MatmulNBits.Sample(r)
		g := &graph.Graph{Name: "main"}
		args := []*graph.Value{g.Input("x", in[0])}
		for i, ty := range in[1:] {
			args = append(args, graph.NewConst(fmt.Sprintf("c%d", i), random(r, ty)))
		}
		n, err := g.Apply(ops.MatmulNBits, attrs, args...)
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name = "y"
		g.Outputs = []*graph.Value{n.Out[0]}
		x := []*tensor.Tensor{random(r, in[0])}
		want, err := grapheval.Eval(g, x)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {QDQ: true}, {QDQ: true, Standard: true}} {
			var file bytes.Buffer
			if err := Write(&file, g, o); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			microsoft := bytes.Contains(file.Bytes(), []byte("com.microsoft"))
			if microsoft && o != (Options{}) {
				t.Errorf("seed %d, %+v: an operator of com.microsoft\n%s", seed, o, g)
			}
			if microsoft {
				packed++
			}
			back := decode(t, file.Bytes())
			got, err := grapheval.Eval(back, x)
			if err != nil {
				t.Fatal(err)
			}
			if err := differ(got[0], want[0]); err != nil {
				t.Errorf("seed %d, %+v: %v\n%s\n%s", seed, o, err, g, back)
			}
			if graph.Hash(decode(t, encode(t, back)), graph.ByValue) != graph.Hash(back, graph.ByValue) {
				t.Errorf("seed %d, %+v: an imported graph does not come back:\n%s", seed, o, back)
			}
		}
	}
	if packed < 20 {
		t.Errorf("%d files have a MatMulNBits", packed)
	}
}

// TestNodeNames: names of nodes are all different, also where a number makes one that another node has.
func TestNodeNames(t *testing.T) {
	for _, origins := range [][]string{{"t", "t", "t_1", "t"}, {"t_1", "t", "t", "t_1"}, {"t", "t_1", "t_2", "t", "t", "t_1"}, {"", "", "t"}} {
		w := &writer{nodeNames: map[string]int{}}
		seen := map[string]bool{}
		for _, o := range origins {
			n := w.nodeName(o)
			if n != "" && seen[n] || !strings.HasPrefix(n, o) {
				t.Errorf("%v: %q is named %q", origins, o, n)
			}
			seen[n] = true
		}
	}
}

// TestDequantisedWeights: weights of integers of a dense over more than one axis of rows are written transposed, so that nothing stands
// between what dequantises them and the product; they come back as what they were.
func TestDequantisedWeights(t *testing.T) {
	for _, scales := range []int{1, 5} {
		g := &graph.Graph{Name: "main"}
		x := g.Input("x", types.Of(types.F32, 2, 3, 4))
		integers, scale := tensor.New(types.I8, 5, 4), tensor.New(types.F32, scales)
		for i := range integers.Len() {
			integers.SetInt(i, int64(i*7%31-15))
		}
		for i := range scale.Len() {
			scale.SetFloat(i, 0.25*float64(i+1))
		}
		w, err := g.Apply(ops.Dequantize, ops.DequantizeAttrs{Axis: 0}, graph.NewConst("w", integers), graph.NewConst("s", scale))
		if err != nil {
			t.Fatal(err)
		}
		n, err := g.Apply(ops.Dense, op.None{}, x, w.Out[0])
		if err != nil {
			t.Fatal(err)
		}
		g.Outputs = append(g.Outputs, n.Out...)
		m, err := Convert(g, Options{Standard: true})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, n := range m.Graph.Nodes {
			names = append(names, n.Op)
		}
		if want := []string{"DequantizeLinear", "MatMul"}; !slices.Equal(names, want) {
			t.Errorf("%d scales: nodes %v, want %v", scales, names, want)
		}
		for _, c := range m.Graph.Initializers {
			if c.Tensor.DType == types.I8 && c.Tensor.Len() == 20 && !slices.Equal(c.Tensor.Shape, []int{4, 5}) {
				t.Errorf("%d scales: weights are %v", scales, c.Tensor.Shape)
			}
		}
	}
}
