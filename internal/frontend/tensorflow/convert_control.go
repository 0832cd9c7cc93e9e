package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var controlRows = []row{{"PartitionedCall", inlined}, {"If", ifElse}, {"Case", choose}, {"While", while}}

// inlined runs a function.
func inlined(c *call) values { return c.Inline(c.Body("f"), c.In) }

// ifElse runs one of two bodies, which read what is around them or take the operands behind the condition.
func ifElse(c *call) values {
	return c.Branch(c.truth(c.X(0)), "then_branch", "else_branch", c.In[1:])
}

// truth is a condition: a number is true unless it is 0, another tensor where it has elements.
func (c *call) truth(v *graph.Value) *graph.Value {
	switch {
	case v.Type.DType == types.Bool && v.Type.Rank() == 0:
		return v
	case v.Type.Rank() == 0:
		return c.Do(ops.NotEqual, v, compose.Like(v, 0))
	}
	return compose.Number(types.Bool, float64(min(v.Type.Elements(), 1)))
}

// choose runs the branch of a number; the last one where there is none of it.
func choose(c *call) values {
	c.Ignore(c.Node.Attrs.Names()...) // branches that are not taken too
	n := len(c.Node.Sub)
	if n == 0 {
		compose.Fail("it has no branches")
	}
	index, in := c.Scalar(c.X(0)), c.In[1:]
	if t := index.Value(); t != nil {
		i := int(t.Int(0))
		if i < 0 || i >= n {
			i = n - 1
		}
		return c.Inline(c.Body(branchOf(i)), in)
	}
	is := func(i int) *graph.Value { return c.Do(ops.Equal, index, compose.Like(index, float64(i))) }
	if n == 2 {
		return c.Branch(is(0), branchOf(0), branchOf(1), in)
	}
	out := c.Inline(c.Body(branchOf(n-1)), in)
	for i := n - 2; i >= 0; i-- {
		for k, v := range c.Inline(c.Body(branchOf(i)), in) {
			if !v.Type.Equal(out[k].Type) {
				compose.Fail("result %d is %s in one branch and %s in another, which is not supported", k, v.Type, out[k].Type)
			}
			out[k] = c.Do(ops.Where, is(i), v, out[k])
		}
	}
	return out
}
