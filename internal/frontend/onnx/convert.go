package onnx

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// values are what a row returns: the node's outputs, in order. A trailing output may be missing, any may be nil, when
// the row does not support it; that is an error only if the model uses it.
type values = []*graph.Value

var noAttrs = op.None{}

// A call is one node being converted. Its methods stop the conversion with compose.Fail.
type call struct {
	*importer
	env  *env
	node *Node
	in   []*graph.Value // nil where an optional operand is absent
	read map[string]bool
}

// present reports whether operand i is given.
func (c *call) present(i int) bool { return i < len(c.in) && c.in[i] != nil }

// x is operand i, a tensor that has to be there.
func (c *call) x(i int) *graph.Value {
	if !c.present(i) {
		compose.Fail("operand %d is missing", i)
	}
	if c.isList(c.in[i]) {
		compose.Fail("operand %q is a sequence or an empty optional, which is not supported here", c.node.Inputs[i])
	}
	return c.in[i]
}

// opt is operand i, or nil.
func (c *call) opt(i int) *graph.Value {
	if !c.present(i) {
		return nil
	}
	return c.x(i)
}

// all returns the operands, all of which have to be there.
func (c *call) all() values {
	if len(c.in) == 0 {
		compose.Fail("no operands")
	}
	for i := range c.in {
		c.x(i)
	}
	return c.in
}

// shape is operand i's shape.
func (c *call) shape(i int) []int { return c.x(i).Type.Shape }

// rank is operand i's rank.
func (c *call) rank(i int) int { return c.x(i).Type.Rank() }

// wantRank stops when operand i has fewer axes than least.
func (c *call) wantRank(i, least int) {
	if r := c.rank(i); r < least {
		compose.Fail("operand %q has rank %d, it must be %d or more", c.node.Inputs[i], r, least)
	}
}

// known is the value of operand i, which decides a shape or the like.
func (c *call) known(i int, what string) *tensor.Tensor {
	v := c.x(i)
	if v.Value() == nil {
		compose.Fail("%s (%q) depends on input data, which is not supported%s", what, c.node.Inputs[i], c.fixHint(v))
	}
	return v.Value()
}

// fixHint names the inputs that have to be constants for v to be known.
func (c *call) fixHint(v *graph.Value) string {
	var names []string
	seen := map[*graph.Value]bool{}
	for todo := []*graph.Value{v}; len(todo) > 0; {
		v, todo = todo[len(todo)-1], todo[:len(todo)-1]
		switch {
		case seen[v] || v.Value() != nil:
		case v.Def != nil:
			todo = append(todo, v.Def.In...)
		case v.Name != "" && slices.Contains(c.Graph.Inputs, v): // those of a body have no names
			names = append(names, v.Name)
		}
		seen[v] = true
	}
	if len(names) == 0 || len(names) > 3 {
		return ""
	}
	slices.Sort(names)
	it := "makes the input a constant"
	if len(names) > 1 {
		it = "makes the inputs constants"
	}
	return fmt.Sprintf(" (--fix %s=VALUE %s)", strings.Join(names, "=VALUE --fix "), it)
}

// knownInts is operand i as a list of numbers.
func (c *call) knownInts(i int, what string) []int {
	t := c.known(i, what)
	if !t.DType.IsInt() {
		compose.Fail("%s is %s; it must be integers", what, t.DType)
	}
	return t.Ints()
}

// knownInt is operand i as one number.
func (c *call) knownInt(i int, what string) int {
	v := c.knownInts(i, what)
	if len(v) != 1 {
		compose.Fail("%s has %s instead of one", what, spelling.Count(len(v), "element"))
	}
	return v[0]
}

// knownFloat is operand i as one number.
func (c *call) knownFloat(i int, what string) float64 {
	t := c.known(i, what)
	if t.Len() != 1 {
		compose.Fail("%s has %s instead of one", what, spelling.Count(t.Len(), "element"))
	}
	return t.Float(0)
}

// axis resolves an axis of a tensor of the given rank; negative ones count from the end.
func axis(a, rank int) int {
	if a < -rank || a >= rank {
		compose.Fail("axis %d of a tensor of rank %d", a, rank)
	}
	if a < 0 {
		a += rank
	}
	return a
}

// axes resolves several axes and sorts them.
func axes(list []int, rank int) []int {
	out := make([]int, len(list))
	for i, a := range list {
		out[i] = axis(a, rank)
	}
	slices.Sort(out)
	if len(slices.Compact(slices.Clone(out))) != len(out) {
		compose.Fail("an axis stands twice in %v", list)
	}
	return out
}

// attr returns the node's attribute, or nil, and notes that it was read.
func (c *call) attr(name string) *Attr {
	c.read[name] = true
	return c.node.Attr(name)
}

func (c *call) has(name string) bool { return c.node.Attr(name) != nil }

// ignore names attributes that do not matter here.
func (c *call) ignore(names ...string) {
	for _, n := range names {
		c.read[n] = true
	}
}

// checkRead stops when an attribute was not looked at: silence never means ignored.
func (c *call) checkRead() {
	for i := range c.node.Attrs {
		if name := c.node.Attrs[i].Name; !c.read[name] {
			compose.Fail("attribute %q of this version of the operator is not supported", name)
		}
	}
}

// attrValueOr is an attribute's value, or absent.
func attrValueOr[T any](c *call, name string, absent T, get func(*Attr) (T, error)) T {
	a := c.attr(name)
	if a == nil {
		return absent
	}
	v, err := get(a)
	if err != nil {
		compose.Fail("%w", err)
	}
	return v
}

func (c *call) attrInt(name string, absent int) int {
	return int(attrValueOr(c, name, int64(absent), (*Attr).Int))
}

func (c *call) attrBool(name string, absent bool) bool {
	n := 0
	if absent {
		n = 1
	}
	return c.attrInt(name, n) != 0
}

func (c *call) attrFloat(name string, absent float64) float64 {
	if !c.has(name) {
		c.read[name] = true
		return absent
	}
	return float64(attrValueOr(c, name, 0, (*Attr).Float))
}

func (c *call) attrStr(name, absent string) string {
	return attrValueOr(c, name, absent, (*Attr).Str)
}

func (c *call) attrStrs(name string) []string {
	return attrValueOr(c, name, nil, (*Attr).Strs)
}

// attrInts is nil where the attribute is absent.
func (c *call) attrInts(name string) []int {
	v := attrValueOr(c, name, nil, (*Attr).Ints)
	if v == nil {
		return nil
	}
	out := make([]int, len(v))
	for i, n := range v {
		out[i] = int(n)
	}
	return out
}

func (c *call) attrFloats(name string) []float64 {
	v := attrValueOr(c, name, nil, (*Attr).Floats)
	out := make([]float64, len(v))
	for i, f := range v {
		out[i] = float64(f)
	}
	return out
}

// attrIntsOr is a list of n numbers, all of them absent where the attribute is.
func (c *call) attrIntsOr(name string, n, absent int) []int {
	v := c.attrInts(name)
	if len(v) == 0 {
		return slices.Repeat([]int{absent}, n)
	}
	if len(v) != n {
		compose.Fail("attribute %q has %s instead of %d", name, spelling.Count(len(v), "element"), n)
	}
	return v
}

func (c *call) attrGraph(name string) *Graph {
	g := attrValueOr(c, name, nil, (*Attr).Graph)
	if g == nil {
		compose.Fail("attribute %q is missing", name)
	}
	return g
}

// attrDType is an element type given by its number.
func (c *call) attrDType(name string, absent DType) types.DType {
	d, err := dtypeFor(dtypeOf(int64(c.attrInt(name, int(absent)))))
	if err != nil {
		compose.Fail("attribute %q: %w", name, err)
	}
	return d
}

// oneOf is a string attribute with a fixed set of values.
func (c *call) oneOf(name, absent string, allowed ...string) string {
	s := c.attrStr(name, absent)
	if !slices.Contains(allowed, s) {
		compose.Fail("attribute %q is %q, which is not supported (%s are)", name, s, quoteAll(allowed))
	}
	return s
}

// one makes a row of a function with one result.
func one(f func(c *call) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c)} }
}

// ints resolves the parameter that older versions have as an attribute and newer ones as operand i; nil where both are
// absent.
func (c *call) intsFrom(attr string, i int) []int {
	if c.present(i) {
		return c.knownInts(i, attr)
	}
	return c.attrInts(attr)
}

func describeValue(v *graph.Value) string { return fmt.Sprintf("%q %s", v.Name, v.Type) }
