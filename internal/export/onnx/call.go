package onnx

import (
	"slices"
	"strings"

	"lathe/internal/graph"
	"lathe/internal/types"
)

// A call is one node being written. Its methods stop with compose.Fail.
type call struct {
	*writer
	n *graph.Node
}

// in is the name of operand i, empty where the node has no such operand.
func (c *call) in(i int) string {
	if i >= len(c.n.In) {
		return ""
	}
	return c.name(c.n.In[i])
}

// all are the names of all operands.
func (c *call) all() []string {
	names := make([]string, len(c.n.In))
	for i := range names {
		names[i] = c.in(i)
	}
	return names
}

// out is the name of result i.
func (c *call) out(i int) string { return c.name(c.n.Out[i]) }

func (c *call) shape(i int) []int       { return c.n.In[i].Type.Shape }
func (c *call) rank(i int) int          { return len(c.n.In[i].Type.Shape) }
func (c *call) dtype(i int) types.DType { return c.n.In[i].Type.DType }
func (c *call) resultShape() []int      { return c.n.Out[0].Type.Shape }
func (c *call) op(op string, a ...Attr) { c.opOf(op, c.all(), a...) }
func (c *call) alias(x string)          { c.opOf("Identity", []string{x}) }

// origin is the name for nodes that this one becomes.
func (c *call) origin() string {
	if len(c.n.Origin) == 0 {
		return ""
	}
	// An importer that found no name called it by operator and first result, which the file says anyhow.
	if op, _, ok := strings.Cut(c.n.Origin[0], ":"); ok && isIdentifier(op) {
		return ""
	}
	return c.n.Origin[0]
}

func isIdentifier(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_')
	})
}

// opOf writes the node whose results are this node's.
func (c *call) opOf(op string, in []string, attrs ...Attr) {
	out := make([]string, len(c.n.Out))
	for i := range out {
		out[i] = c.out(i)
	}
	c.emit(c.origin(), op, in, out, attrs...)
}

// step writes a node with one result that only this operator's composition reads.
func (c *call) step(op string, in []string, attrs ...Attr) string {
	y := c.fresh(strings.ToLower(op))
	c.emit(c.origin(), op, in, []string{y}, attrs...)
	return y
}

// do is step for nodes without attributes.
func (c *call) do(op string, in ...string) string { return c.step(op, in) }

// result writes a node without attributes that gives this node's result.
func (c *call) result(op string, in ...string) { c.opOf(op, in) }

func (c *call) cast(x string, d types.DType) string {
	return c.step("Cast", []string{x}, Attr{"to", ElemType(d)})
}

// index is operand i as int64, unless it is int32 and that is allowed.
func (c *call) index(i int, narrow bool) string {
	if d := c.dtype(i); d == types.I64 || d == types.I32 && narrow {
		return c.in(i)
	}
	return c.cast(c.in(i), types.I64)
}

// reshape gives x a shape, in which 0 means an empty axis.
func (c *call) reshape(x string, shape ...int) string {
	return c.step("Reshape", []string{x, c.intList(shape...)}, zeros(shape))
}

// transpose permutes the axes of x.
func (c *call) transpose(x string, perm []int) string {
	return c.step("Transpose", []string{x}, Attr{"perm", perm})
}

// zeros is the attribute of Reshape without which a 0 would mean the operand's extent.
func zeros(shape []int) Attr {
	if slices.Contains(shape, 0) {
		return Attr{"allowzero", 1}
	}
	return Attr{}
}

// moved is the permutation that brings axis from to place to, and the one that undoes it.
func moved(rank, from, to int) (perm, back []int) {
	for k := range rank {
		if k != from {
			perm = append(perm, k)
		}
	}
	perm = slices.Insert(perm, to, from)
	back = make([]int, rank)
	for k, p := range perm {
		back[p] = k
	}
	return perm, back
}

// at1 applies f to operand 0 with an axis brought to place 1, and gives what f passes to result its axes again.
func (c *call) at1(axis int, f func(x string, result func(op string, in []string, attrs ...Attr))) {
	switch {
	case axis == 1:
		f(c.in(0), c.opOf)
		return
	case c.rank(0) == 1:
		f(c.reshape(c.in(0), 1, c.shape(0)[0]), func(op string, in []string, attrs ...Attr) {
			c.opOf("Reshape", []string{c.step(op, in, attrs...), c.intList(c.resultShape()...)}, zeros(c.resultShape()))
		})
		return
	}
	perm, back := moved(c.rank(0), axis, 1)
	f(c.transpose(c.in(0), perm), func(op string, in []string, attrs ...Attr) {
		c.opOf("Transpose", []string{c.step(op, in, attrs...)}, Attr{"perm", back})
	})
}

// float is a float attribute, left out where it is the default: a default has more digits than a float32.
func float(name string, v, absent float64) Attr {
	if v == absent {
		return Attr{}
	}
	return Attr{name, v}
}

// flag is a boolean attribute, left out where it is the default.
func flag(name string, v, absent bool) Attr {
	switch {
	case v == absent:
		return Attr{}
	case v:
		return Attr{name, 1}
	}
	return Attr{name, 0}
}

// text is a string attribute, left out when empty.
func text(name, v string) Attr {
	if v == "" {
		return Attr{}
	}
	return Attr{name, v}
}
