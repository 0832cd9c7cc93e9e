package pass

import (
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestDigitAccuracy: of rows of all magnitudes, with numbers that are far greater than the others, what is lost is a rounding of each number, and
// half a unit, which is the 2^-32nd part of the greatest in short sums, the 2^-24th in long ones, and the 2^-16th at -O4.
func TestDigitAccuracy(t *testing.T) {
	for _, c := range []struct{ depth, level, digits int }{{96, 3, 4}, {1000, 3, 3}, {96, 4, 2}} {
		digitAccuracy(t, c.depth, c.level, c.digits)
	}
}

// digitAccuracy does that for sums of depth products. Rows with an infinity or NaN are NaN.
func digitAccuracy(t *testing.T, depth, level, digits int) {
	const columns = 40
	unit := 1 / (127 * 257 * math.Exp2(float64(8*(digits-2)))) // of the greatest number of a row
	r := rand.New(rand.NewPCG(3, 4))
	weights := tensor.New(types.I8, depth, columns)
	for i := range weights.Len() {
		weights.SetInt(i, int64(r.IntN(256)-128))
	}
	var rows [][]float64
	row := func(size func(i int) float64) {
		x := make([]float64, depth)
		for i := range x {
			x[i] = float64(float32(r.NormFloat64() * size(i)))
		}
		rows = append(rows, x)
	}
	all := func(size float64) func(int) float64 { return func(int) float64 { return size } }
	for _, size := range []float64{1, 1e-3, 1e10, 1e-20, 1e33, 0} {
		row(all(size))
	}
	row(func(i int) float64 { return math.Exp2(-float64(i % 30)) })
	row(func(i int) float64 { return 1 + 1e4*float64(i/(depth-1)) })
	rows = append(rows, make([]float64, depth), make([]float64, depth))
	for i := range depth {
		rows[len(rows)-2][i] = 1 // the greatest number of units, and the greatest sum of them
		rows[len(rows)-1][i] = -1
	}
	finite := len(rows)
	for _, odd := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		row(all(1))
		rows[len(rows)-1][7] = odd
	}

	dots := *machine
	dots.HasDot = true
	for _, signed := range []bool{false, true} {
		dots.SignedDot = signed
		got := throughDigits(t, &dots, level, rows, weights)
		for i, x := range rows {
			most, total := 0.0, 0.0
			for _, v := range x {
				most, total = max(most, math.Abs(v)), total+math.Abs(v)
			}
			for j := range columns {
				want, sum, size := 0.0, 0.0, 0.0
				for k, v := range x {
					w := weights.Float(k*columns + j)
					want, sum, size = want+v*w, sum+math.Abs(w), size+math.Abs(v*w)
				}
				y := got.Float(i*columns + j)
				if i >= finite {
					if !math.IsNaN(y) {
						t.Errorf("a row with %v gives %g", x[7], y)
					}
					continue
				}
				if bound := 0x1p-24*(size+4*math.Abs(want)) + unit/2*most*sum; !(math.Abs(y-want) <= bound) {
					t.Errorf("%d digits: row %d, column %d: %g instead of %g, more than %g off", digits, i, j, y, want, bound)
				}
			}
		}
	}
}

// throughDigits is the product of rows and weights as the table makes it with digits.
func throughDigits(t *testing.T, machine *target.Target, level int, rows [][]float64, weights *tensor.Tensor) *tensor.Tensor {
	t.Helper()
	depth := weights.Shape[0]
	x := tensor.New(types.F32, len(rows), depth)
	for i := range x.Len() {
		x.SetFloat(i, rows[i/depth][i%depth])
	}
	g := &graph.Graph{Name: "main"}
	w, err := g.Apply(ops.Cast, ops.CastAttrs{DType: types.F32}, graph.NewConst("w", weights))
	if err != nil {
		t.Fatal(err)
	}
	n, err := g.Apply(ops.Matmul, ops.MatmulAttrs{}, g.Input("x", x.Type()), w.Out[0])
	if err != nil {
		t.Fatal(err)
	}
	g.Outputs = []*graph.Value{n.Out[0]}
	c := &Context{Graph: g, Target: machine, Level: level, Chooser: func(string) choice.Chooser { return keptNarrow("digits") }}
	for _, p := range Table {
		if err := p.Run(c); err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
	}
	out, err := grapheval.Eval(g, []*tensor.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}
