package frontend

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
)

// A Call is one node being converted by a row of the table, which adds to the graph with the methods of compose.Builder and
// returns the node's results in order. A trailing result may be missing, any may be nil, when the row does not support it; that is
// an error only if the model uses it. Methods stop the conversion with compose.Fail.
type Call struct {
	*importer
	Node *Node
	In   []*graph.Value // nil where an optional operand is absent
	env  *env
	read map[string]bool // attributes
}

// With is the call with other operands.
func (c *Call) With(in ...*graph.Value) *Call {
	return &Call{importer: c.importer, Node: c.Node, In: in, env: c.env, read: c.read}
}

// As is the call as one of another node, for operators that a node has among its attributes. Attributes that it does not ask for are no error.
func (c *Call) As(n *Node) *Call {
	return &Call{importer: c.importer, Node: n, In: c.In, env: c.env, read: c.read}
}

// Present reports whether operand i is given.
func (c *Call) Present(i int) bool { return i < len(c.In) && c.In[i] != nil }

// X is operand i, a tensor that has to be there.
func (c *Call) X(i int) *graph.Value {
	if !c.Present(i) {
		compose.Fail("operand %d is missing", i)
	}
	if c.isList(c.In[i]) {
		compose.Fail("operand %q is a sequence or an empty optional, which is not supported here", c.Node.In[i])
	}
	return c.In[i]
}

// Opt is operand i, or nil.
func (c *Call) Opt(i int) *graph.Value {
	if !c.Present(i) {
		return nil
	}
	return c.X(i)
}

// All returns the operands, all of which have to be there.
func (c *Call) All() []*graph.Value {
	if len(c.In) == 0 {
		compose.Fail("no operands")
	}
	for i := range c.In {
		c.X(i)
	}
	return c.In
}

// Shape is operand i's shape.
func (c *Call) Shape(i int) []int { return c.X(i).Type.Shape }

// Rank is operand i's rank.
func (c *Call) Rank(i int) int { return c.X(i).Type.Rank() }

// WantRank stops when operand i has fewer axes than least.
func (c *Call) WantRank(i, least int) {
	if r := c.Rank(i); r < least {
		compose.Fail("operand %q has rank %d, it must be %d or more", c.Node.In[i], r, least)
	}
}

// Known is the value of operand i, which decides a shape or the like.
func (c *Call) Known(i int, what string) *tensor.Tensor {
	v := c.X(i)
	if v.Value() == nil {
		compose.Fail("%s (%q) depends on input data, which is not supported%s", what, c.Node.In[i], c.FixHint(v))
	}
	return v.Value()
}

// FixHint names the inputs that have to be constants for v to be known.
func (c *Call) FixHint(v *graph.Value) string {
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

// KnownInts is operand i as a list of numbers.
func (c *Call) KnownInts(i int, what string) []int {
	t := c.Known(i, what)
	if !t.DType.IsInt() {
		compose.Fail("%s is %s; it must be integers", what, t.DType)
	}
	return t.Ints()
}

// KnownInt is operand i as one number.
func (c *Call) KnownInt(i int, what string) int {
	v := c.KnownInts(i, what)
	if len(v) != 1 {
		compose.Fail("%s has %s instead of one", what, spelling.Count(len(v), "element"))
	}
	return v[0]
}

// KnownFloat is operand i as one number.
func (c *Call) KnownFloat(i int, what string) float64 {
	t := c.Known(i, what)
	if t.Len() != 1 {
		compose.Fail("%s has %s instead of one", what, spelling.Count(t.Len(), "element"))
	}
	return t.Float(0)
}

// Axis resolves an axis of a tensor of the given rank; negative ones count from the end.
func Axis(a, rank int) int {
	if a < -rank || a >= rank {
		compose.Fail("axis %d of a tensor of rank %d", a, rank)
	}
	if a < 0 {
		a += rank
	}
	return a
}

// EachAxis resolves several axes, which may be the same.
func EachAxis(list []int, rank int) []int {
	out := make([]int, len(list))
	for i, a := range list {
		out[i] = Axis(a, rank)
	}
	return out
}

// Axes resolves several axes, which have to be different, and sorts them.
func Axes(list []int, rank int) []int {
	out := EachAxis(list, rank)
	slices.Sort(out)
	if len(slices.Compact(slices.Clone(out))) != len(out) {
		compose.Fail("an axis stands twice in %v", list)
	}
	return out
}

// List makes a value that stands for a sequence, which exists during the import only. No elements are also what an empty
// optional is.
func (c *Call) List(elements []*graph.Value) *graph.Value {
	v := &graph.Value{}
	c.lists[v] = elements
	return v
}

// Elements are those of a sequence; ok is false for a tensor.
func (c *Call) Elements(v *graph.Value) (elements []*graph.Value, ok bool) {
	elements, ok = c.lists[v]
	return elements, ok
}

// Note tells the user something about the conversion, should it be the one that is taken.
func (c *Call) Note(format string, args ...any) { c.note(fmt.Sprintf(format, args...)) }

// Scalar is v, which has one element, with rank 0.
func (c *Call) Scalar(v *graph.Value) *graph.Value {
	if v.Type.Elements() != 1 {
		compose.Fail("%q %s, where only one number is supported", v.Name, v.Type)
	}
	return c.Reshape(v)
}
