package compile

import (
	"errors"
	"fmt"
	"slices"

	csource "lathe/internal/codegen/c"
	"lathe/internal/impl"
	"lathe/internal/plan"
	"lathe/internal/target"
)

const gib = 1 << 30

// place plans the memory of a program, and checks that the target can address what a run touches.
func place(j *job, n *network, p *program) (*plan.Plan, error) {
	if j.Target.IsSource() && p.hasParts() {
		return nil, errors.New("a loop that runs in parts of its rows has no C source (compile the model itself, or its graph as it was before DivideLoops)")
	}
	p.markSerial()
	mem := plan.New(n.boundary(), planned(p.steps), p.aliases, piecesFor(j.Target), costsFor(j.Target))
	if total := mem.Bytes(); j.Target.PointerBits() == 32 && total > 2*gib {
		return nil, fmt.Errorf("the model needs %.1f GiB of memory, and a program on %s has at most 2 (smaller --input-shapes, or a 64-bit target)", float64(total)/gib, j.Target.Arch)
	}
	return mem, nil
}

// hasParts reports whether a loop of p, or of a body, runs in parts.
func (p *program) hasParts() bool {
	return slices.ContainsFunc(p.steps, func(s *step) bool {
		return inParts(s.Node) || slices.ContainsFunc(s.bodies, (*program).hasParts)
	})
}

// markSerial tells planning which steps one worker does, and reports whether those are all.
func (p *program) markSerial() bool {
	all := true
	for _, s := range p.steps {
		s.Serial = s.bodies != nil || s.serial
		if s.bodies == nil {
			s.Periods = s.plan.Periods
		}
		for k, b := range s.bodies {
			s.Serial = b.markSerial() && s.Serial && !inParts(s.Node)
			s.Bodies[k].Steps = planned(b.steps)
		}
		all = all && s.Serial
	}
	return all
}

// piecesFor are the pieces of a target's workspace. A vector load of a row's last elements runs past it; C source has no
// vectors, and runs where memory is scarce.
func piecesFor(t *target.Target) plan.Pieces {
	if t.IsSource() {
		return plan.Pieces{Align: csource.Align}
	}
	return plan.Pieces{Align: 64, Slack: 64, Apart: plan.HalfPage}
}

// costsFor are what the places of values cost besides memory, where there are workers for it to matter.
func costsFor(t *target.Target) *plan.Costs {
	if t.IsSource() || t.Downloaded() || t.NumCores < 2 { // the code of the first two has one worker
		return nil
	}
	return &plan.Costs{Reclaim: float64(t.Clock) / float64(t.Reclaim), Memory: float64(t.Clock) / float64(t.Memory), L2: t.L2, Shared: impl.IdleShares * t.L3}
}
