package op

import (
	"math"

	"lathe/internal/te"
	"lathe/internal/types"
)

// Work is about how many steps the reference evaluation takes: the terms of all sums, or the elements where the operator has
// no expressions. It is infinite where that cannot be told.
func (d *Def) Work(attrs any, in, out []types.Tensor) (work float64) {
	for _, t := range in {
		work += float64(t.Elements())
	}
	for _, t := range out {
		work += float64(t.Elements())
	}
	if d.Compute == nil {
		return work
	}
	defer func() {
		if recover() != nil { // a compilation of the node says it better
			work = math.Inf(1)
		}
	}()
	operands := make([]*te.Stage, len(in))
	for i, t := range in {
		operands[i] = te.Input("", t)
	}
	for _, s := range te.Order(d.Compute(attrs, operands, out)...) {
		if s.Body == nil {
			continue
		}
		points := float64(types.Count(s.Type.Shape))
		for _, r := range s.Reduce {
			points *= float64(r.Extent)
		}
		work += points
	}
	return work
}
