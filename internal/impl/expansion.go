package impl

import (
	"fmt"
	"hash/fnv"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/types"
)

// An Expansion is the size of what one element of a result is computed from, written out as one expression: what a
// kernel's code becomes when stages are put into each other. It bounds fusion, which would otherwise make exponentially
// large kernels of few nodes: every reshape between two elementwise nodes multiplies the indices of those before it.
type Expansion struct {
	Size  int            // nodes of the expression
	Vars  int            // of them, axes of the element
	Work  int            // about how many instructions compute the element, besides those of indices
	Reads map[any]Places // by what is read: the elements that are
}

// Places are the elements of one operand that an expression reads, by the arithmetic that gives their indices.
type Places map[Pattern]Index

// A Pattern identifies index arithmetic. Identity is the element's own index.
type Pattern uint64

// Identity reads the element that is computed.
const Identity Pattern = 0

// An Index is the size of the index arithmetic of a read: nodes, and axes of the element among them.
type Index struct{ Nodes, Vars int }

// ExpansionOf is the expansion of an operator's first result. key names its operands in Reads.
func ExpansionOf(d *op.Def, attrs any, in, out []types.Tensor, key func(i int) any) *Expansion {
	x := &Expansion{Size: 1, Vars: 1, Reads: map[any]Places{}}
	if d.Compute == nil {
		return x
	}
	stages := make([]*te.Stage, len(in))
	operand := map[expr.Source]int{}
	for i, t := range in {
		stages[i] = te.Input(fmt.Sprint(i), t)
		operand[stages[i]] = i
	}
	s := d.Compute(attrs, stages, out)[0]
	if s.Body == nil {
		if i, ok := operand[s]; ok {
			x.Reads[key(i)] = Places{Identity: {1, 1}}
		}
		return x
	}
	seen := map[*te.Stage]bool{}
	var stage func(s *te.Stage)
	stage = func(s *te.Stage) {
		if seen[s] || s.Body == nil {
			return
		}
		seen[s] = true
		x.Work += operations(s.Body)
		axes := map[expr.Expr]int{}
		for i, a := range s.Axes {
			axes[a] = i
		}
		for i, r := range s.Reduce {
			axes[r.Var] = len(s.Axes) + i
		}
		expr.Walk(s.Body, func(e expr.Expr) bool {
			x.Size++
			if _, ok := axes[e]; ok {
				x.Vars++
			}
			l, ok := e.(*expr.Load)
			if !ok {
				return true
			}
			i, ok := operand[l.From]
			if !ok {
				stage(l.From.(*te.Stage))
				return true
			}
			p, index := patternOf(l, axes, s)
			if k := key(i); x.Reads[k] == nil {
				x.Reads[k] = Places{p: index}
			} else {
				x.Reads[k][p] = index
			}
			return true
		})
	}
	stage(s)
	return x
}

// patternOf identifies the index of a load in a stage with the given axes.
func patternOf(l *expr.Load, axes map[expr.Expr]int, s *te.Stage) (Pattern, Index) {
	most, own := Index{}, len(l.Index) == len(s.Axes)
	h := fnv.New64a()
	for i, x := range l.Index {
		var n Index
		expr.Walk(x, func(e expr.Expr) bool {
			n.Nodes++
			at, axis := axes[e]
			switch e := e.(type) {
			case *expr.Var:
				if axis {
					n.Vars++
				}
				fmt.Fprintf(h, "v%d", at)
			case *expr.Int:
				fmt.Fprintf(h, "c%d", e.V)
			case *expr.Binary:
				fmt.Fprintf(h, "b%d", e.Op)
			case *expr.Load:
				fmt.Fprintf(h, "l%s", e.From.Label())
			default:
				fmt.Fprintf(h, "%T", e)
			}
			return true
		})
		h.Write([]byte{','})
		own = own && x == expr.Expr(s.Axes[i])
		most.Nodes, most.Vars = max(most.Nodes, n.Nodes), max(most.Vars, n.Vars)
	}
	if own {
		return Identity, Index{1, 1}
	}
	return Pattern(h.Sum64()) | 1, most
}

// behind is the pattern of reading at q the element that p computes from.
func (p Pattern) behind(q Pattern) Pattern {
	switch {
	case p == Identity:
		return q
	case q == Identity:
		return p
	}
	h := fnv.New64a()
	fmt.Fprint(h, uint64(p), uint64(q))
	return Pattern(h.Sum64()) | 1
}

// behind is the size of index arithmetic x in which every axis is arithmetic y.
func (x Index) behind(y Index) Index {
	return Index{capped(x.Nodes + x.Vars*(y.Nodes-1)), capped(x.Vars * y.Vars)}
}

// capped keeps sizes that no kernel may have from overflowing.
func capped(n int) int { return min(n, 1<<24) }

// SizeWith is x's size with what a computes written where x reads v.
func (x *Expansion) SizeWith(v any, a *Expansion) int {
	size := x.Size
	for _, at := range x.Reads[v] {
		size = capped(size + a.Size + a.Vars*(at.Nodes-1))
	}
	return size
}

// Take writes what a computes where x reads v. a is used up.
func (x *Expansion) Take(v any, a *Expansion) {
	x.Size = x.SizeWith(v, a)
	places := x.Reads[v]
	x.Work = capped(x.Work + a.Work*len(places))
	delete(x.Reads, v)
	if _, own := places[Identity]; own && len(places) == 1 {
		x.Vars = capped(x.Vars + a.Vars)
		if len(x.Reads) < len(a.Reads) {
			x.Reads, a.Reads = a.Reads, x.Reads
		}
		x.read(a.Reads, Identity, Index{1, 1})
		return
	}
	for p, at := range places {
		x.Vars = capped(x.Vars + a.Vars*at.Vars)
		x.read(a.Reads, p, at)
	}
}

// read adds reads of the element at p.
func (x *Expansion) read(reads map[any]Places, p Pattern, at Index) {
	for u, places := range reads {
		if x.Reads[u] == nil {
			x.Reads[u] = make(Places, len(places))
		}
		for q, index := range places {
			x.Reads[u][q.behind(p)] = index.behind(at)
		}
	}
}
