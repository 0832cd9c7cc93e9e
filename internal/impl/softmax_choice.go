package impl

import (
	"math/bits"

	"lathe/internal/choice"
	"lathe/internal/target"
	"lathe/internal/types"
)

// SoftmaxDecision is whether a softmax of x is computed as its lines lie, of so many elements each, so many side by side that are the lanes of vectors, or elements of a line
// are, which have to be moved there and back, and whose lanes are joined for the maximum and for the sum.
func SoftmaxDecision(t *target.Target, x types.Tensor, line, beside int) choice.Decision {
	c := core{t}
	lanes := c.lanes(x.DType.Compute().Size())
	elements := float64(x.Elements())
	vector := c.instructions(exponential)
	joins := float64(bits.Len(uint(lanes-1)) * c.Latency) // of two folds, as those of one line hide half of those of another
	move := c.Starts(1) + moveCycles*elements
	if x.Bytes() > IdleShares*c.L3 {
		move += 2 * c.Fetched(float64(x.Bytes()))
	}
	moved := elements/float64(line)*(float64((line+lanes-1)/lanes)*vector+joins) + 2*move
	return choice.Least("softmax", choice.Value{Text: "in place", Cost: elements / float64(beside) * vector}, choice.Value{Text: "moved", Cost: moved})
}
