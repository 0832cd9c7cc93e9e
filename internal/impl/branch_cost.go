package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
)

// BranchDecision is how to have the results of one of two branches: to run the one that is taken, either as often, which all workers
// have to learn of, or to compute both and select. Branches are given by their arithmetic and the bytes that
// they write; kernels around take over what is selected.
func BranchDecision(t *target.Target, flops, bytes [2]float64) choice.Decision {
	c, both := core{t}, 0.0
	for k := range flops {
		both += c.Flops(flops[k]) + c.Shared(bytes[k])
	}
	run := kernelStart + both/2
	if !t.IsSource() && !t.ISA().OneWorker {
		run += c.meeting()
	}
	return choice.Least("branches", choice.Value{Text: "run", Cost: run}, choice.Value{Text: "select", Cost: both})
}
