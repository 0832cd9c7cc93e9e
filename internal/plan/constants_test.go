package plan

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestEqualConstants: random steps read constants that are equal, or differ in a single element anywhere, in the order of axes, or in the layout.
// They have a place together where they are equal, and only there; so do those that are made of such in one way, and are not made for it.
func TestEqualConstants(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	for round := range 40 {
		l := &list{t: t}
		rows, columns := 1+r.IntN(40), 1+r.IntN(40)
		first := make([]float32, rows*columns)
		for i := range first {
			first[i] = float32(r.NormFloat64())
		}
		var consts []*graph.Value
		for range 8 {
			data := append([]float32{}, first...)
			if r.IntN(2) == 0 {
				data[r.IntN(len(data))]++
			}
			shape := []int{rows, columns}
			if r.IntN(4) == 0 {
				shape = []int{columns, rows}
			}
			c := graph.NewConst("", tensor.Of(shape, data))
			if round%2 == 1 {
				c = graph.NewConst("", ops.Transposed(c.Const, 1, 0))
			}
			consts = append(consts, c)
			if r.IntN(3) == 0 { // the same tensor once more
				consts = append(consts, graph.NewConst("", c.Const))
			}
			if r.IntN(3) == 0 {
				packed := graph.NewConst("", c.Const)
				packed.Type.Layout = "AB8b"
				consts = append(consts, packed)
			}
		}
		for _, c := range consts {
			l.steps = append(l.steps, Step{Node: l.node(c.Const.Shape), In: []*graph.Value{c}, Out: []*graph.Value{floats(1)}})
		}
		p := New(Boundary{}, l.steps, &Aliases{}, Pieces{Align: 64}, nil)
		for _, c := range consts {
			if _, steps, ok := c.Const.InMemory(); !ok || round%2 == 1 && steps[0] != 1 {
				t.Fatalf("%s was made to be compared", c.Type)
			}
		}
		for _, a := range consts {
			at := p.Places[a]
			if kept := p.Constants[at.Index]; at.Kind != Constant || !same(a, kept) {
				t.Fatalf("%s lies where %s does", a.Type, kept.Type)
			}
			for _, b := range consts {
				if together := at.Index == p.Places[b].Index; together != same(a, b) {
					t.Fatalf("%s and %s: in one place %v", a.Type, b.Type, together)
				}
			}
		}
	}
}

// same reports by the definition whether constants are equal.
func same(a, b *graph.Value) bool {
	return a.Type.String() == b.Type.String() && string(a.Const.Bytes()) == string(b.Const.Bytes())
}

// node is a group of one operator over a plain tensor.
func (l *list) node(shape []int) *graph.Node {
	x := &graph.Value{Type: types.Of(types.F32, shape...)}
	n := len(l.steps)
	l.add(ops.Relu, op.None{}, x)
	node := l.steps[n].Node
	l.steps = l.steps[:n]
	return node
}
