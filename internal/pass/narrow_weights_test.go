package pass

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
)

// TestNarrowWeights takes products of quantised and of 16-bit weights of all kinds through the table, with weights that stay narrow
// whatever that costs. Those whose scales are factors of rows or of columns are left in a type that is no wider than 16 bits.
func TestNarrowWeights(t *testing.T) { narrowed(t, "narrow", 100) }

// TestDigitProducts does the same with data that become digits where weights are int8.
func TestDigitProducts(t *testing.T) { narrowed(t, "digits", 100) }

// narrowed takes such products through the table with a value of the decision, and fails unless the weights of so many stay narrow.
func narrowed(t *testing.T, way string, least int) {
	dots := *machine
	dots.HasDot = true
	kept, integers := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 91))
		depth, columns := 1+r.IntN(20), 1+r.IntN(40)
		g := &graph.Graph{Name: "main"}
		a := ops.MatmulAttrs{TransposeA: r.IntN(3) == 0, TransposeB: r.IntN(2) == 0}
		data := types.Of(types.F32, 1+r.IntN(3), depth)
		if a.TransposeA {
			data.Shape[0], data.Shape[1] = depth, data.Shape[0]
		}
		w, narrow := narrowMatrix(r, g, depth, columns, a.TransposeB)
		d, attrs := ops.Matmul, any(a)
		if a.TransposeB && !a.TransposeA && r.IntN(2) == 0 {
			d, attrs = ops.Dense, op.None{}
		}
		n, err := g.Apply(d, attrs, g.Input("x", data), w)
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name = "y"
		g.Outputs = []*graph.Value{n.Out[0]}
		in := []*tensor.Tensor{graphtest.Random(r, data, graphtest.Moderate)}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		c := &Context{Graph: g, Target: &dots, Level: 3, Chooser: func(string) choice.Chooser { return keptNarrow(way) }}
		for _, p := range Table {
			if err := p.Run(c); err != nil {
				t.Fatalf("seed %d: %s: %v\n%s", seed, p.Name, err, before)
			}
		}
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
		widest := 0
		for _, v := range g.Constants() {
			if n := v.Type.Elements(); n > max(depth, columns) && n == depth*columns {
				widest = max(widest, v.Type.DType.Size())
			}
		}
		switch {
		case narrow && widest > 2:
			t.Fatalf("seed %d: weights are widened\n%s\n%s", seed, before, g)
		case narrow && widest > 0:
			kept++
			if strings.Contains(g.String(), "qnn.matmul") {
				integers++
			}
		}
	}
	if kept < least {
		t.Errorf("weights stay narrow in %d cases", kept)
	}
	if digits := way == "digits"; digits != (integers > 20) {
		t.Errorf("%d products of digits", integers)
	}
}

// keptNarrow keeps weights narrow in a way, where that is one.
type keptNarrow string

func (w keptNarrow) Choose(d choice.Decision) (int, error) {
	for _, way := range []string{string(w), "narrow"} {
		if i := slices.IndexFunc(d.Values, func(v choice.Value) bool { return v.Text == way }); i >= 0 {
			return i, nil
		}
	}
	return d.Default, nil
}

// whereAsked decides what it names where that is asked.
type whereAsked map[string]string

func (w whereAsked) Choose(d choice.Decision) (int, error) {
	for i, v := range d.Values {
		if v.Text == w[d.Name] {
			return i, nil
		}
	}
	return d.Default, nil
}

// narrowMatrix is a matrix of float32 that is made of narrower numbers; narrow reports whether a product can read these.
func narrowMatrix(r *rand.Rand, g *graph.Graph, depth, columns int, transposed bool) (w *graph.Value, narrow bool) {
	must := func(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
		n, err := g.Apply(d, attrs, in...)
		if err != nil {
			panic(err)
		}
		return n.Out[0]
	}
	shape, along := []int{depth, columns}, 0
	turned := r.IntN(3) == 0
	if turned != transposed {
		shape[0], shape[1], along = shape[1], shape[0], 1
	}
	constant := func(d types.DType, shape ...int) *graph.Value {
		return graph.NewConst("", graphtest.Random(r, types.Of(d, shape...), graphtest.Moderate))
	}
	narrow = true
	if r.IntN(3) == 0 {
		d := []types.DType{types.I4, types.U4, types.I8, types.U8, types.F16, types.BF16, types.I16}[r.IntN(7)]
		w = must(ops.Cast, ops.CastAttrs{DType: types.F32}, constant(d, shape...))
	} else {
		d := []types.DType{types.I4, types.U4, types.I8, types.U8, types.I16}[r.IntN(5)]
		a, p := ops.DequantizeAttrs{Axis: r.IntN(2)}, []int{}
		switch r.IntN(4) {
		case 0:
			a.BlockSize = 2
			p = []int{shape[0], shape[1]}
			p[a.Axis] = (p[a.Axis] + 1) / 2
			narrow = d != types.I16 && a.Axis == along
		case 1, 2:
			p = []int{shape[a.Axis]}
		}
		in := []*graph.Value{constant(d, shape...), constant(types.F32, p...)}
		if r.IntN(2) == 0 && d.Size() == 1 {
			in = append(in, constant(d, p...))
		}
		w = must(ops.Dequantize, a, in...)
	}
	if turned {
		w = must(ops.Transpose, ops.TransposeAttrs{Axes: []int{1, 0}}, w)
	}
	return w, narrow
}

// TestNarrowWeightsDefault: large weights stay narrow where they are read for a few rows.
func TestNarrowWeightsDefault(t *testing.T) {
	for _, c := range []struct {
		rows, depth int
		want        types.DType
	}{{1, 2048, types.I8}, {8, 2048, types.I8}, {512, 2048, types.F32}, {1, 64, types.F32}} {
		g := &graph.Graph{Name: "main"}
		in := []*graph.Value{
			graph.NewConst("w", tensor.New(types.I8, c.depth, c.depth)), graph.NewConst("s", tensor.New(types.F32, c.depth)),
		}
		w, err := g.Apply(ops.Dequantize, ops.DequantizeAttrs{Axis: 1}, in...)
		if err != nil {
			t.Fatal(err)
		}
		y, err := g.Apply(ops.Matmul, ops.MatmulAttrs{}, g.Input("x", types.Of(types.F32, c.rows, c.depth)), w.Out[0])
		if err != nil {
			t.Fatal(err)
		}
		g.Outputs = []*graph.Value{y.Out[0]}
		run(t, "NarrowWeights", g)
		run(t, "FoldConstant", g)
		for _, v := range g.Constants() {
			if v.Type.Rank() == 2 && v.Type.DType != c.want {
				t.Errorf("%d rows by %d columns: weights are %s", c.rows, c.depth, v.Type)
			}
		}
	}
}
