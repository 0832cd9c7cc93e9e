package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
	"lathe/internal/types"
)

// SoftmaxDecision is whether a softmax of x is computed as its lines lie, of so many elements each, so many side by side that are the lanes of vectors, or elements of a line
// are, which have to be moved there and back.
func SoftmaxDecision(t *target.Target, x types.Tensor, line, beside int) choice.Decision {
	c := core{t}
	lanes := c.lanes(x.DType.Compute().Size())
	elements := float64(x.Elements())
	vector := c.instructions(exponential)
	moved := elements/float64(line)*float64((line+lanes-1)/lanes)*vector + 2*(c.Arranged(elements)+c.Starts(1)+2*c.between(x.Bytes()))
	return choice.Least("softmax", choice.Value{Text: "in place", Cost: elements / float64(beside) * vector}, choice.Value{Text: "moved", Cost: moved})
}
