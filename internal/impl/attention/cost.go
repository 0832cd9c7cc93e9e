package attention

import (
	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/types"
)

// A size is what the cost of an attention depends on: queries and keys are rows of width elements, values of columns elements, of each head.
type size struct{ heads, queries, keys, width, columns int }

// sizeOf is the size of an attention by its two products.
func sizeOf(scores, product *graph.Node) size {
	s, y := scores.Out[0].Type.Shape, product.Out[0].Type.Shape
	n := len(s)
	return size{types.Count(s[:n-2]), s[n-2], s[n-1], reduced(scores), y[len(y)-1]}
}

// reduced is the extent over which a product sums.
func reduced(n *graph.Node) int {
	s := n.In[0].Type.Shape
	if n.Attrs.(ops.MatmulAttrs).TransposeA {
		return s[len(s)-2]
	}
	return s[len(s)-1]
}

// decision is whether the attention is one kernel, with the cycles of either way. Kernels of their own arrange keys, move values, and
// take the scores to memory and back. One kernel keeps the scores, but every piece of a head
// that workers divide arranges keys and values again.
func (s size) decision(t *target.Target) choice.Decision {
	if s.queries < minQueries {
		return choice.Whether("attention", false)
	}
	c := impl.Core{Target: t}
	products := c.Flops(2 * float64(s.heads*s.queries*s.keys*(s.width+s.columns)))
	keys, values, scores := float64(s.keys*s.width), float64(s.keys*s.columns), 4*float64(s.heads*s.queries*s.keys)
	apart := products + float64(s.heads)*(c.Arranged(keys)+c.Written(4*values)+c.Shared(4*values)) + c.Written(scores) + c.Shared(scores) + c.Starts(kernelsApart)
	_, together := s.pieces(c, c.TileRows(s.queries, tileVectors), c.Arranged(keys+values), products)
	return choice.Least("attention", choice.Value{Text: "off", Cost: apart}, choice.Value{Text: "on", Cost: together})
}

// pieces is into how many pieces workers best divide the queries of a head, which are taken so many at a time, and the cycles of that, where
// all products take some and a piece begins by arranging its operands.
func (s size) pieces(c impl.Core, rows int, arrange, products float64) (count int, cycles float64) {
	blocks := (s.queries + rows - 1) / rows
	if impl.EnoughParts(s.heads) {
		return 1, products + float64(s.heads)*arrange
	}
	return c.Pieces(blocks, s.heads, arrange, products/float64(s.heads*blocks))
}
