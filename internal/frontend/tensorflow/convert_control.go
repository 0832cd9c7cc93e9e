package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var controlRows = []row{{"PartitionedCall", inlined}, {"If", ifElse}, {"While", while}}

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
