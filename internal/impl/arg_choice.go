package impl

import (
	"math/bits"

	"lathe/internal/choice"
	"lathe/internal/target"
	"lathe/internal/types"
)

// ArgDecision is whether the place of the extreme of each line of x, of so many elements, is found as the lines lie, where lanes of a vector are joined for the extreme and
// again for its place, or x is moved so that each line is a lane.
func ArgDecision(t *target.Target, x types.Tensor, line int) choice.Decision {
	c := core{t}
	lanes := c.lanes(max(4, x.DType.Compute().Size()))
	lines := float64(x.Elements()) / float64(max(1, line))
	vectors := float64((line + lanes - 1) / lanes)
	joins := float64(bits.Len(uint(lanes-1)) * c.Latency) // of two folds, as those of one line hide half of those of another
	inPlace := lines * (joins + 2*vectors*float64(c.Latency))
	moved := c.Arranged(float64(x.Elements())) + c.Starts(1) + 2*c.between(x.Bytes()) + float64(x.Elements())/float64(lanes)*c.instructions(argWork)
	return choice.Least("argmax", choice.Value{Text: "in place", Cost: inPlace}, choice.Value{Text: "moved", Cost: moved})
}
