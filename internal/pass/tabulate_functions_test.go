package pass

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// functionsOfBytes draws a graph whose values are bytes, floats computed from them, and bytes again, in chains that part and meet. Some
// nodes have other operands: tensors, and numbers for each channel.
func functionsOfBytes(r *rand.Rand) *graph.Graph {
	g := &graph.Graph{Name: "main"}
	shape := []int{1, 4, 9, 8 + r.IntN(8)}
	number := func(d types.DType, v float64, shape ...int) *graph.Value {
		t := tensor.New(d, shape...)
		for i := range t.Len() {
			t.SetFloat(i, v)
		}
		return graph.NewConst("", t)
	}
	scalar := func(d types.DType, v float64) *graph.Value {
		return number(d, v, [][]int{nil, {1}, {1, 1, 1, 1}}[r.IntN(3)]...)
	}
	apply := func(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
		n, err := g.Apply(d, attrs, in...)
		if err != nil {
			panic(err)
		}
		return n.Out[0]
	}
	dtypes := []types.DType{types.U8, types.I8}
	floats := []*graph.Value{}
	quantised := []*graph.Value{g.Input("x", types.Of(dtypes[r.IntN(2)], shape...))}
	if r.IntN(2) == 0 {
		quantised = append(quantised, g.Input("y", types.Of(dtypes[r.IntN(2)], shape...)))
	}
	any := func(list []*graph.Value) *graph.Value { return list[r.IntN(len(list))] }
	axis := func() int { return []int{0, 1}[r.IntN(2)] }
	for range 4 + r.IntN(14) {
		last := func(list []*graph.Value) *graph.Value { return list[len(list)-1-r.IntN(min(2, len(list)))] }
		switch k := r.IntN(10); {
		case k < 3 || len(floats) == 0:
			x := last(quantised)
			floats = append(floats, apply(ops.Dequantize, ops.DequantizeAttrs{Axis: axis()}, x, number(types.F32, 0.02), number(x.Type.DType, float64(r.IntN(9)))))
		case k < 5:
			d := dtypes[r.IntN(2)]
			quantised = append(quantised, apply(ops.Quantize, ops.QuantizeAttrs{Axis: axis(), OutDType: d, Rounding: ops.HalfEven}, last(floats), number(types.F32, 0.03), number(d, float64(r.IntN(9)))))
		case k < 7:
			floats = append(floats, apply([]*op.Def{ops.Sigmoid, ops.Tanh, ops.Exp, ops.Negative}[r.IntN(4)], op.None{}, last(floats)))
		case k < 8:
			floats = append(floats, apply([]*op.Def{ops.Multiply, ops.Add}[r.IntN(2)], op.None{}, last(floats), any(floats)))
		case k < 9:
			floats = append(floats, apply(ops.Multiply, op.None{}, last(floats), scalar(types.F32, 0.7)))
		default:
			floats = append(floats, apply(ops.Add, op.None{}, last(floats), number(types.F32, 0.3, 4, 1, 1)))
		}
	}
	g.Outputs = append(g.Outputs, quantised[len(quantised)-1])
	if r.IntN(3) == 0 && len(floats) > 0 {
		g.Outputs = append(g.Outputs, any(floats))
	}
	if g.Outputs[0].Def == nil {
		return functionsOfBytes(r)
	}
	return g
}

// TestTabulateFunctions: whatever functions are looked up, values stay to the bit, since tables are what operators' references give.
func TestTabulateFunctions(t *testing.T) {
	taken := map[string]int{}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 17))
		g := functionsOfBytes(r)
		var in []*tensor.Tensor
		for _, v := range g.Inputs {
			x := tensor.NewOf(v.Type)
			least, _ := x.DType.IntRange()
			for i := range x.Len() {
				x.SetInt(i, least+r.Int64N(ops.LookupEntries))
			}
			in = append(in, x)
		}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		c := &Context{Graph: g, Target: machine, Level: 3, Chooser: func(string) choice.Chooser { return anyOf{r} }}
		runIn(t, "TabulateFunctions", c)
		got, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !bytes.Equal(got[i].Bytes(), want[i].Bytes()) {
				t.Fatalf("seed %d: result %d differs\n%s\n%s", seed, i, before, g)
			}
		}
		for _, n := range g.Nodes {
			if n.Op == ops.QnnLookup {
				taken["looked up"]++
			} else if n.Op == ops.Quantize {
				taken["computed"]++
			}
		}
	}
	if taken["looked up"] < 30 || taken["computed"] < 30 {
		t.Errorf("taken: %v", taken)
	}
}

// TestWhatIsTabulated: a function with an exponential is looked up, one table for all of it; a short one, one of another tensor, one by
// numbers for channels, one of few elements and one whose floats are read besides are not.
func TestWhatIsTabulated(t *testing.T) {
	const begin = `graph main(%x: uint8[1,4,WIDTH,64], %y: uint8[1,4,WIDTH,64]) { @s = float32[]{0.05} @z = uint8[]{7} @c = float32[4,1,1]{1, 2, 3, 4}
		%d = qnn.dequantize(%x, @s, @z) {axis=0, block_size=0} `
	const quantize = ` {axis=0, block_size=0, out_dtype=uint8, rounding="half_even"} `
	for _, c := range []struct {
		name, width, text string
		tables            int
	}{
		{"SiLU", "8", `%e = sigmoid(%d) %q = qnn.quantize(%e, @s, @z)` + quantize + `%f = qnn.dequantize(%q, @s, @z) {axis=0, block_size=0} %m = multiply(%d, %f) %r = qnn.quantize(%m, @s, @z)` + quantize + `return %r }`, 1},
		{"short", "8", `%e = nn.relu(%d) %r = qnn.quantize(%e, @s, @z)` + quantize + `return %r }`, 0},
		{"of two", "8", `%e = sigmoid(%d) %f = qnn.dequantize(%y, @s, @z) {axis=0, block_size=0} %m = multiply(%e, %f) %r = qnn.quantize(%m, @s, @z)` + quantize + `return %r }`, 0},
		{"of channels", "8", `%e = multiply(%d, @c) %f = sigmoid(%e) %r = qnn.quantize(%f, @s, @z)` + quantize + `return %r }`, 0},
		{"few", "0", `%e = sigmoid(%d) %r = qnn.quantize(%e, @s, @z)` + quantize + `return %r }`, 0},
		{"read besides", "8", `%e = sigmoid(%d) %r = qnn.quantize(%e, @s, @z)` + quantize + `return %r, %e }`, 0},
	} {
		g, err := graph.Parse(strings.ReplaceAll(begin+c.text, "WIDTH", c.width), ops.Lookup, nil)
		if err != nil {
			t.Fatal(err)
		}
		run(t, "TabulateFunctions", g)
		if n := strings.Count(g.String(), "qnn.lookup"); n != c.tables || n > 0 && len(g.Nodes) != n {
			t.Errorf("%s: %d tables, want %d\n%s", c.name, n, c.tables, g)
		}
	}
}
