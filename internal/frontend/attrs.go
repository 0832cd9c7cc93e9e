package frontend

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// The methods of Call named for a type return an attribute of that type, or what holds where it is absent. An attribute that
// nobody asks for is an error when the row is done: silence never means ignored.

// Has reports whether the node has an attribute. It does not count as asking for it.
func (c *Call) Has(name string) bool { return slices.Contains(c.Node.Attrs.Names(), name) }

// Ignore names attributes that do not matter here.
func (c *Call) Ignore(names ...string) {
	for _, n := range names {
		c.read[n] = true
	}
}

func (c *Call) checkRead() {
	for _, name := range c.Node.Attrs.Names() {
		if !c.read[name] {
			compose.Fail("attribute %q of this version of the operator is not supported", name)
		}
	}
}

// attr is an attribute's value as get finds it, or absent.
func attr[T any](c *Call, name string, absent T, get func(string) (T, error)) T {
	c.read[name] = true
	if !c.Has(name) {
		return absent
	}
	v, err := get(name)
	if err != nil {
		compose.Fail("%w", err)
	}
	return v
}

func (c *Call) Int(name string, absent int) int {
	return int(attr(c, name, int64(absent), c.Node.Attrs.Int))
}

func (c *Call) Bool(name string, absent bool) bool {
	return attr(c, name, absent, c.Node.Attrs.Bool)
}

func (c *Call) Float(name string, absent float64) float64 {
	return attr(c, name, absent, c.Node.Attrs.Float)
}

func (c *Call) Str(name, absent string) string { return attr(c, name, absent, c.Node.Attrs.Str) }

func (c *Call) Strs(name string) []string { return attr(c, name, nil, c.Node.Attrs.Strs) }

func (c *Call) Floats(name string) []float64 { return attr(c, name, nil, c.Node.Attrs.Floats) }

// Ints is nil where the attribute is absent.
func (c *Call) Ints(name string) []int {
	v := attr(c, name, nil, c.Node.Attrs.Ints)
	if v == nil {
		return nil
	}
	out := make([]int, len(v))
	for i, n := range v {
		out[i] = int(n)
	}
	return out
}

// IntsOr is a list of n numbers, all of them absent where the attribute is.
func (c *Call) IntsOr(name string, n, absent int) []int {
	v := c.Ints(name)
	if len(v) == 0 {
		return slices.Repeat([]int{absent}, n)
	}
	if len(v) != n {
		compose.Fail("attribute %q has %s instead of %d", name, spelling.Count(len(v), "element"), n)
	}
	return v
}

// IntsFrom is the parameter that some versions have as an attribute and others as operand i; nil where both are absent.
func (c *Call) IntsFrom(name string, i int) []int {
	if c.Present(i) {
		return c.KnownInts(i, name)
	}
	return c.Ints(name)
}

// DType is an element type. It has to be there where absent is none.
func (c *Call) DType(name string, absent types.DType) types.DType {
	d := attr(c, name, absent, c.Node.Attrs.DType)
	if d == types.Invalid {
		compose.Fail("attribute %q is missing", name)
	}
	return d
}

// Tensor is nil where the attribute is absent.
func (c *Call) Tensor(name string) *tensor.Tensor { return attr(c, name, nil, c.Node.Attrs.Tensor) }

// Body is an attribute that has to be there.
func (c *Call) Body(name string) *Graph {
	g := attr(c, name, nil, c.Node.Attrs.Graph)
	if g == nil {
		compose.Fail("attribute %q is missing", name)
	}
	return g
}

// OneOf is a string attribute with a fixed set of values.
func (c *Call) OneOf(name, absent string, allowed ...string) string {
	s := c.Str(name, absent)
	if !slices.Contains(allowed, s) {
		compose.Fail("attribute %q is %q, which is not supported (%s are)", name, s, quoteAll(allowed))
	}
	return s
}

// PerAxis is v as n numbers: one stands for all, none for absent ones. what names it in messages.
func PerAxis(v []int, n, absent int, what string) []int {
	switch len(v) {
	case 0:
		return slices.Repeat([]int{absent}, n)
	case 1:
		return slices.Repeat(v, n)
	case n:
		return v
	}
	compose.Fail("%s is %v for %d axes", what, v, n)
	return nil
}
