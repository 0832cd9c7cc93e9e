package lower

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/types"
)

// Roles of the stages of chained products, as tags.
const (
	Queries = "queries" // rows of the first product's left operand
	Keys    = "keys"    // its right operand, one column per key
	Product = "product" // the first product
	Scores  = "scores"  // what it becomes, element by element
	Weights = "weights" // rows of the second product's left operand
	Values  = "values"  // its right operand
	Context = "context" // the second product
	Strips  = "strips"  // what windows of rows are read from, to be made strip by strip; its layout is that of its type
)

// keyPadding is what the columns of chained products are padded to: a multiple of all vectors' lanes of float32.
const keyPadding = 16

// aliasing is the length of rows, in elements, whose columns fall into so few sets of a cache that a tile evicts itself.
const aliasing = 256

// chain prepares a product whose left operand is computed from the rows of another product, as in attention:
//
//	context[q, d] = sum(k) weights[q, k] * values[k, d], with weights from scores[q, k] = f(sum(r) queries[q, r] * keys[r, k])
//
// The operands that are not in memory as such get stages of their own, to be computed once rather than at every use;
// rows of scores and weights, which reductions read again, stay, and are padded so that no vector is partial. The padding
// holds the identity of the reductions that read it. Any other out is returned as it is.
func chain(out *te.Stage) *te.Stage {
	c := &chained{readers: map[*te.Stage][]*te.Stage{}, done: map[*te.Stage]*te.Stage{}}
	order := te.Order(out)
	for _, s := range order {
		if s.Body == nil {
			continue
		}
		expr.Loads(s.Body, func(l *expr.Load) {
			from := l.From.(*te.Stage)
			if !slices.Contains(c.readers[from], s) {
				c.readers[from] = append(c.readers[from], s)
			}
		})
	}
	if !c.find(order) {
		return out
	}
	for _, s := range order {
		c.done[s] = c.rebuilt(s)
	}
	return c.done[out]
}

type chained struct {
	readers       map[*te.Stage][]*te.Stage
	first, second *product
	wide          map[*te.Stage]bool // stages with a row of keys between the products, the first product included
	folds         map[*te.Stage]bool // reductions of such rows
	keys, padded  int
	copied        *te.Stage // the first product, if its readers need a copy
	done          map[*te.Stage]*te.Stage
}

// A product sums left[..., row, r] * right[..., r, column] over r.
type product struct {
	*te.Stage
	left, right *expr.Load
}

// productOf recognises a product of float32 by which of its operands depend on the rows and columns of the result.
func productOf(s *te.Stage) (*product, bool) {
	n := len(s.Axes)
	if s.Combine != te.Sum || len(s.Reduce) != 1 || n < 2 || s.Type.DType != types.F32 || s.Type.Layout != "" {
		return nil, false
	}
	m, ok := s.Body.(*expr.Binary)
	if !ok || m.Op != expr.OpMul {
		return nil, false
	}
	a, ok1 := m.A.(*expr.Load)
	b, ok2 := m.B.(*expr.Load)
	if !ok1 || !ok2 {
		return nil, false
	}
	row, column, r := s.Axes[n-2], s.Axes[n-1], s.Reduce[0].Var
	if !expr.Uses(a, row) {
		a, b = b, a
	}
	p := &product{s, a, b}
	return p, expr.Uses(a, row) && !expr.Uses(a, column) && expr.Uses(a, r) && expr.Uses(b, column) && !expr.Uses(b, row) && expr.Uses(b, r)
}

// find looks for two products of which the second reads rows that depend on the first, and what lies between them.
func (c *chained) find(order []*te.Stage) bool {
	var products []*product
	for _, s := range order {
		if p, ok := productOf(s); ok {
			products = append(products, p)
		}
	}
	if len(products) != 2 {
		return false
	}
	c.first, c.second = products[0], products[1]
	c.keys = c.second.Reduce[0].Extent
	c.padded = (c.keys + keyPadding - 1) / keyPadding * keyPadding
	if c.padded%aliasing == 0 {
		c.padded += keyPadding
	}
	n := len(c.first.Axes)
	left := c.second.left
	if len(left.Index) != n || c.first.Type.Shape[n-1] != c.keys || left.Index[n-1] != expr.Expr(c.second.Reduce[0].Var) || !slices.Equal(c.first.Type.Shape[:n-1], c.second.Type.Shape[:n-1]) {
		return false
	}
	for i, x := range left.Index[:n-1] {
		if x != expr.Expr(c.second.Axes[i]) && c.first.Type.Shape[i] != 1 {
			return false
		}
	}
	weights := left.From.(*te.Stage)
	if weights == c.first.Stage {
		return false
	}
	below := map[*te.Stage]bool{}
	for _, s := range te.Order(weights) {
		below[s] = true
	}
	c.wide, c.folds = map[*te.Stage]bool{c.first.Stage: true}, map[*te.Stage]bool{}
	for _, s := range order {
		reads := func(of map[*te.Stage]bool) bool {
			return slices.ContainsFunc(order, func(p *te.Stage) bool { return of[p] && slices.Contains(c.readers[p], s) })
		}
		switch {
		case s == c.first.Stage || s == c.second.Stage || !reads(c.wide) && !(below[s] && reads(c.folds)):
		case len(s.Reduce) == 0 && slices.Equal(s.Type.Shape, c.first.Type.Shape) && below[s]:
			c.wide[s] = true
		case len(s.Reduce) == 1 && s.Reduce[0].Extent == c.keys:
			c.folds[s] = true
		case !below[s] || reads(c.wide):
			return false
		}
	}
	if !c.wide[weights] {
		return false
	}
	if !c.single() {
		c.copied = c.first.Stage
	}
	for s := range c.wide {
		if s != c.first.Stage && c.kept(s) && !c.paddable(s) {
			c.padded = c.keys
		}
	}
	if c.copied != nil && !c.paddable(c.copied) {
		c.padded = c.keys
	}
	return true
}

// kept reports whether a row between the products is read by reductions.
func (c *chained) kept(s *te.Stage) bool {
	return slices.ContainsFunc(c.readers[s], func(r *te.Stage) bool { return len(r.Reduce) > 0 })
}

// single reports whether the elements of the first product are read once, by one row that stays.
func (c *chained) single() bool {
	for s := c.first.Stage; ; {
		if s != c.first.Stage && c.kept(s) {
			return true
		}
		if len(c.readers[s]) != 1 || c.kept(s) {
			return false
		}
		s = c.readers[s][0]
	}
}

// paddable reports whether the reductions that read a row have one identity.
func (c *chained) paddable(s *te.Stage) bool {
	how := te.None
	for _, r := range c.readers[s] {
		if len(r.Reduce) == 0 {
			continue
		}
		if how != te.None && how != r.Combine {
			return false
		}
		how = r.Combine
	}
	return how != te.None
}

// padding is the identity of the reductions that read a row.
func (c *chained) padding(s *te.Stage) expr.Expr {
	i := slices.IndexFunc(c.readers[s], func(r *te.Stage) bool { return len(r.Reduce) > 0 })
	return c.readers[s][i].Combine.Identity(s.Type.DType)
}
