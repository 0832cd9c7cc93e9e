package compose

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestDiagonals takes random terms whose labels stand several times: sums over labels read the diagonal, and nothing else, not
// even to multiply it by zero.
func TestDiagonals(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 61))
		extents := map[byte]int{'i': r.IntN(4), 'j': 1 + r.IntN(3), 'k': 1 + r.IntN(3)}
		var term, result []byte
		var shape []int
		for range 2 + r.IntN(4) {
			l := "ijk"[r.IntN(3)]
			term, shape = append(term, l), append(shape, extents[l])
		}
		for _, i := range r.Perm(3) {
			if l := "ijk"[i]; slices.Contains(term, l) && r.IntN(3) > 0 {
				result = append(result, l)
			}
		}
		var outShape []int
		for _, l := range result {
			outShape = append(outShape, extents[l])
		}
		x := tensor.New(types.F32, shape...)
		want := make([]float64, types.Count(outShape))
		for e := range x.Len() {
			at, diagonal, rest := map[byte]int{}, true, e
			for k := len(shape) - 1; k >= 0; k-- {
				i := rest % shape[k]
				rest /= shape[k]
				if old, ok := at[term[k]]; ok && old != i {
					diagonal = false
				}
				at[term[k]] = i
			}
			if !diagonal {
				x.SetFloat(e, math.NaN())
				continue
			}
			x.SetFloat(e, float64(r.IntN(100)))
			to := 0
			for _, l := range result {
				to = to*extents[l] + at[l]
			}
			want[to] += x.Float(e)
		}
		equation := string(term) + "->" + string(result)
		got := compute(t, x, func(b *Builder, x *graph.Value) *graph.Value { return b.Einsum(equation, x) })
		wantValues(t, got, outShape, want...)
	}
}

// TestContractions takes random products of two or three operands against sums over all labels. One operand may be a constant, which
// then is the second operand of its product.
func TestContractions(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 67))
		extents := map[byte]int{}
		for _, l := range []byte("abcd") {
			extents[l] = 1 + r.IntN(3)
		}
		some := func() (labels []byte, shape []int) {
			for _, i := range r.Perm(4)[:1+r.IntN(4)] {
				labels, shape = append(labels, "abcd"[i]), append(shape, extents["abcd"[i]])
			}
			return labels, shape
		}
		var terms [][]byte
		var operands []*tensor.Tensor
		for range 2 + r.IntN(2) {
			labels, shape := some()
			x := tensor.New(types.F32, shape...)
			for e := range x.Len() {
				x.SetFloat(e, float64(r.IntN(7)-3))
			}
			terms, operands = append(terms, labels), append(operands, x)
		}
		var result []byte
		var shape []int
		labels, _ := some()
		for _, l := range labels {
			if bytes.IndexByte(bytes.Join(terms, nil), l) >= 0 {
				result, shape = append(result, l), append(shape, extents[l])
			}
		}
		want := make([]float64, types.Count(shape))
		place := func(labels []byte, at map[byte]int) (i int) {
			for _, l := range labels {
				i = i*extents[l] + at[l]
			}
			return i
		}
		var used []byte // labels of operands, each once
		for _, l := range []byte("abcd") {
			if bytes.IndexByte(bytes.Join(terms, nil), l) >= 0 {
				used = append(used, l)
			}
		}
		all := 1
		for _, l := range used {
			all *= extents[l]
		}
		for e := range all {
			at, rest := map[byte]int{}, e
			for _, l := range used {
				at[l] = rest % extents[l]
				rest /= extents[l]
			}
			v := 1.0
			for i, x := range operands {
				v *= x.Float(place(terms[i], at))
			}
			want[place(result, at)] += v
		}
		variable := r.IntN(len(operands))
		equation := string(bytes.Join(terms, []byte(","))) + "->" + string(result)
		got := compute(t, operands[variable], func(b *Builder, x *graph.Value) *graph.Value {
			var in []*graph.Value
			for i, o := range operands {
				if i == variable {
					in = append(in, x)
				} else {
					in = append(in, graph.NewConst("", o))
				}
			}
			return b.Einsum(equation, in...)
		})
		t.Log(equation)
		wantValues(t, got, shape, want...)
	}
}

// TestEinsumForms counts the nodes besides transpositions of products that layers are written as.
func TestEinsumForms(t *testing.T) {
	for _, c := range []struct {
		equation string
		x, y     []int
		nodes    string
	}{
		{"btd,df->btf", []int{2, 3, 4}, []int{4, 5}, "nn.matmul"},
		{"df,btd->btf", []int{4, 5}, []int{2, 3, 4}, "nn.matmul"},
		{"btd,dhk->bthk", []int{2, 3, 4}, []int{4, 5, 6}, "nn.matmul reshape"},
		{"bthk,hkd->btd", []int{2, 3, 5, 6}, []int{5, 6, 4}, "reshape nn.matmul"},
		{"bthk,bshk->bhts", []int{2, 3, 5, 6}, []int{2, 7, 5, 6}, "nn.matmul"},
		{"bhts,bshk->bthk", []int{2, 5, 3, 7}, []int{2, 7, 5, 6}, "nn.matmul"},
		{"bi,bj->bij", []int{2, 3}, []int{2, 4}, "reshape reshape multiply"},
	} {
		g := &graph.Graph{Name: "main"}
		b := &Builder{Graph: g}
		operand := func(shape []int, weight bool) *graph.Value {
			if weight {
				return graph.NewConst("", tensor.New(types.F32, shape...))
			}
			v := &graph.Value{Type: types.Of(types.F32, shape...)}
			g.Inputs = append(g.Inputs, v)
			return v
		}
		first, second, _ := strings.Cut(strings.Split(c.equation, "->")[0], ",")
		b.Einsum(c.equation, operand(c.x, first[0] == 'd'), operand(c.y, second[0] == 'd' || second == "hkd"))
		var names []string
		for _, n := range g.Nodes {
			if n.Op != ops.Transpose {
				names = append(names, n.Op.Name)
			}
		}
		if got := strings.Join(names, " "); got != c.nodes {
			t.Errorf("%s is %q, not %q", c.equation, got, c.nodes)
		}
	}
}
