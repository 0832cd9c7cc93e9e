package pass

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestRowsOfOperators: where RowAxes says that an operator computes rows apart, any use of it that can be written for one row gives the rows of the whole, one by one.
func TestRowsOfOperators(t *testing.T) {
	samples := 24
	if testing.Short() {
		samples = 6
	}
	accepted := map[string]int{}
	for _, d := range ops.All {
		if d.Sample == nil || d.Compute == nil {
			continue
		}
		r := rand.New(rand.NewPCG(uint64(len(d.Name)), 95))
		for range samples {
			attrs, in := d.Sample(r)
			g := &graph.Graph{Name: d.Name}
			values := make([]*graph.Value, len(in))
			for i, t := range in {
				values[i] = g.Input("", t)
			}
			n, err := g.Apply(d, attrs, values...)
			if err != nil || len(in) == 0 || len(in) > 3 || slices.ContainsFunc(in, func(t types.Tensor) bool { return t.DType.IsNibble() }) {
				continue
			}
			g.Outputs = n.Out
			for _, rows := range rowsOfOperands(in) {
				axes, _, ok := impl.RowAxes(d, attrs, in, typesOf(n.Out), rows.axes, rows.extent)
				if ok && !slices.Contains(axes, impl.NoRows) && sameByRows(t, r, g, rows, axes) {
					accepted[d.Name]++
				}
			}
		}
	}
	if len(accepted) < 40 {
		t.Errorf("%d operators compute rows apart: %v", len(accepted), accepted)
	}
}

// operandRows are axes of rows of an operator's operands, or NoRows, and how many rows there are.
type operandRows struct {
	axes   []int
	extent int
}

// rowsOfOperands are all of them.
func rowsOfOperands(in []types.Tensor) (list []operandRows) {
	for _, first := range in {
		for _, extent := range first.Shape {
			if extent < 2 || slices.ContainsFunc(list, func(o operandRows) bool { return o.extent == extent }) {
				continue
			}
			all := []operandRows{{nil, extent}}
			for _, t := range in {
				var next []operandRows
				for _, o := range all {
					next = append(next, operandRows{append(slices.Clone(o.axes), impl.NoRows), extent})
					for axis, n := range t.Shape {
						if n == extent {
							next = append(next, operandRows{append(slices.Clone(o.axes), axis), extent})
						}
					}
				}
				all = next
			}
			list = append(list, all[1:]...) // the first has no rows
		}
	}
	return list
}

// sameByRows compares a graph of one node with what it computes of each row by itself, and reports whether it can.
func sameByRows(t *testing.T, r *rand.Rand, g *graph.Graph, rows operandRows, axes []int) bool {
	t.Helper()
	n := g.Nodes[0]
	axis := map[*graph.Value]int{}
	for i, v := range g.Inputs {
		axis[v] = rows.axes[i]
	}
	for i, v := range n.Out {
		axis[v] = axes[i]
	}
	one := func(v *graph.Value) []int {
		shape := slices.Clone(v.Type.Shape)
		if a := axis[v]; a != impl.NoRows {
			shape[a] = 1
		}
		return shape
	}
	alone := rewrite.Reshaped(g, one, func(n *graph.Node) any { return withRows(n.Attrs, axes[0], one(n.Out[0])) })
	if alone == nil {
		return false
	}
	in := make([]*tensor.Tensor, len(g.Inputs))
	for i, v := range g.Inputs {
		in[i] = tensor.NewOf(v.Type)
		for k := range in[i].Len() {
			if v.Type.DType.IsFloat() {
				in[i].SetFloat(k, r.NormFloat64())
			} else {
				in[i].SetInt(k, int64(r.IntN(2)))
			}
		}
	}
	want, err := grapheval.Eval(g, in)
	if err != nil {
		return false // operands that the sample does not describe
	}
	for row := range rows.extent {
		part := make([]*tensor.Tensor, len(in))
		for i, x := range in {
			part[i] = rowOf(x, rows.axes[i], row)
		}
		got, err := grapheval.Eval(alone, part)
		if err != nil {
			t.Errorf("%s: %v", n.Op.Name, err)
			return false
		}
		for i := range got {
			whole := rowOf(want[i], axes[i], row)
			for k := range whole.Len() {
				if a, b := whole.Float(k), got[i].Float(k); math.Abs(a-b) > 1e-5*max(1, math.Abs(a)) || math.IsNaN(a) != math.IsNaN(b) {
					t.Errorf("%s of %v, %+v, rows %v: row %d has %g instead of %g", n.Op.Name, typesOf(g.Inputs), n.Attrs, rows, row, b, a)
					return false
				}
			}
		}
	}
	return true
}

// rowOf is one row of x, or all of it.
func rowOf(x *tensor.Tensor, axis, row int) *tensor.Tensor {
	if axis == impl.NoRows {
		return x
	}
	shape := slices.Clone(x.Shape)
	shape[axis] = 1
	y := tensor.New(x.DType, shape...)
	inner := types.Count(x.Shape[axis+1:])
	for k := range y.Len() {
		y.SetFloat(k, x.Float((k/inner*x.Shape[axis]+row)*inner+k%inner))
	}
	return y
}
