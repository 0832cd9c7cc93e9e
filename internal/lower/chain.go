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
	Scores  = "scores"  // what the first product becomes, element by element
	Weights = "weights" // rows of the second product's left operand
	Values  = "values"  // its right operand
	Context = "context" // the second product
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

// rebuilt is s with operands in stages of their own and padded rows; the stages it reads are rebuilt.
func (c *chained) rebuilt(s *te.Stage) *te.Stage {
	switch {
	case s.Body == nil:
		return s
	case s == c.first.Stage:
		return c.firstProduct()
	case s == c.second.Stage:
		return c.secondProduct()
	}
	r := *s
	r.Body = expr.Rewrite(s.Body, func(e expr.Expr) expr.Expr {
		if l, ok := e.(*expr.Load); ok {
			return &expr.Load{From: c.done[l.From.(*te.Stage)], Index: l.Index}
		}
		return e
	})
	switch {
	case c.folds[s]:
		r.Reduce = []te.Axis{{Var: s.Reduce[0].Var, Extent: c.padded}}
	case c.wide[s]:
		r.Type = c.paddedRow(s)
		if c.kept(s) {
			c.keep(&r, s)
		}
	}
	return &r
}

func (c *chained) paddedRow(s *te.Stage) types.Tensor {
	shape := slices.Clone(s.Type.Shape)
	shape[len(shape)-1] = c.padded
	return types.Of(s.Type.DType, shape...)
}

// keep makes r, rebuilt from s, a row that stays.
func (c *chained) keep(r, s *te.Stage) {
	if r.Tag = Scores; s == c.second.left.From {
		r.Tag = Weights
	}
	if c.padded > c.keys && !c.vanishes(s) {
		r.Body = expr.If(expr.LT(r.Axes[len(r.Axes)-1], expr.Index(c.keys)), r.Body, c.padding(s))
	}
}

// vanishes reports whether s is exp(t - most) where t, its padding -Inf, is a row that stays and most its maximum: then the
// padding of s is 0 by itself. Where most is not finite and less than +Inf, all of the row is NaN.
func (c *chained) vanishes(s *te.Stage) bool {
	e, ok := s.Body.(*expr.Unary)
	if !ok || e.Fn != expr.FnExp {
		return false
	}
	load, ok := e.A.(*expr.Load)
	if !ok || len(c.readers[load.From.(*te.Stage)]) != 1 {
		return false
	}
	shifted, ok := load.From.(*te.Stage).Body.(*expr.Binary)
	if !ok || shifted.Op != expr.OpSub {
		return false
	}
	row, ok1 := shifted.A.(*expr.Load)
	most, ok2 := shifted.B.(*expr.Load)
	if !ok1 || !ok2 {
		return false
	}
	t, m := row.From.(*te.Stage), most.From.(*te.Stage)
	if m.Combine != te.Max || !c.wide[t] || !slices.Contains(c.readers[t], m) || c.copied == nil && !c.kept(t) {
		return false
	}
	read, ok := m.Body.(*expr.Load)
	return ok && read.From == expr.Source(t)
}

// inPlace reports whether an operand lies in memory as rows of y along x, to be read where it is.
func inPlace(l *expr.Load, x, y *expr.Var) bool {
	n := len(l.Index)
	from := l.From.(*te.Stage)
	return from.Body == nil && from.Type.Layout == "" && n >= 2 && l.Index[n-2] == expr.Expr(x) && l.Index[n-1] == expr.Expr(y)
}

// operand is an operand l of product p as a stage over the product's outer axes and x and y, of the given extents.
func (c *chained) operand(p *product, l *expr.Load, role string, x, y *expr.Var, extents ...int) *te.Stage {
	outer := len(p.Axes) - 2
	shape := append(slices.Clone(p.Type.Shape[:outer]), extents...)
	s := te.Compute(role, types.Of(types.F32, shape...), func(i []expr.Expr) expr.Expr {
		bind := map[*expr.Var]expr.Expr{x: i[outer], y: i[outer+1]}
		for j, a := range p.Axes[:outer] {
			bind[a] = i[j]
		}
		return expr.Subst(&expr.Load{From: c.done[l.From.(*te.Stage)], Index: l.Index}, bind)
	})
	s.Tag = role
	return s
}

// firstProduct reads queries and keys; the columns beyond the keys are zero.
func (c *chained) firstProduct() *te.Stage {
	p, n := c.first, len(c.first.Axes)
	depth := p.Reduce[0].Extent
	row, column, r := p.Axes[n-2], p.Axes[n-1], p.Reduce[0].Var
	rows := c.operand(p, p.left, Queries, row, r, p.Type.Shape[n-2], depth)
	if inPlace(p.left, row, r) {
		rows.Tag = "" // inlined
	}
	columns := c.operand(p, p.right, Keys, r, column, depth, c.padded)
	if c.padded > c.keys {
		columns.Body = expr.If(expr.LT(columns.Axes[n-1], expr.Index(c.keys)), columns.Body, expr.Const(types.F32, 0))
	}
	s := te.Fold(p.Name, c.paddedRow(p.Stage), te.Sum, []int{depth}, func(i, r []expr.Expr) expr.Expr {
		batch := i[: n-2 : n-2]
		return expr.Mul(rows.At(append(batch, i[n-2], r[0])...), columns.At(append(batch, r[0], i[n-1])...))
	})
	if c.copied == nil {
		return s
	}
	copied := te.Compute(Scores, s.Type, func(i []expr.Expr) expr.Expr { return s.At(i...) })
	c.keep(copied, c.copied)
	return copied
}

// secondProduct reads weights and values.
func (c *chained) secondProduct() *te.Stage {
	p, n := c.second, len(c.second.Axes)
	values := c.operand(p, p.right, Values, p.Reduce[0].Var, p.Axes[n-1], c.keys, p.Type.Shape[n-1])
	if inPlace(p.right, p.Reduce[0].Var, p.Axes[n-1]) {
		values.Tag = "" // inlined
	}
	weights := c.done[p.left.From.(*te.Stage)]
	s := te.Fold(p.Name, p.Type, te.Sum, []int{c.keys}, func(i, r []expr.Expr) expr.Expr {
		return expr.Mul(weights.At(append(i[:n-1:n-1], r[0])...), values.At(append(i[:n-2:n-2], r[0], i[n-1])...))
	})
	s.Tag = Context
	return s
}

// stays reports whether a pointwise stage has a role for which it is computed once.
func stays(s *te.Stage) bool {
	return slices.Contains([]string{Queries, Keys, Scores, Weights, Values}, s.Tag)
}
