package compile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/toolchain"
)

// Steering of relief.
const (
	spillShare = 0.02 // of a kernel's instructions, from which on those that move values to and from the stack are worth another schedule
	moveCycles = 0.25 // of one of these beside what the CPU's model counts: values come back late
	worthwhile = 0.99 // of the cycles, below which another schedule is taken
)

// relieve looks for other schedules of kernels whose loops keep values on the stack, and takes those by which LLVM's model of the CPU
// expects fewer cycles.
func relieve(j *job, list []*translation) error {
	var spilling []*translation
	for _, t := range list {
		if moved, all := moves(t.loops); moved > spillShare*all {
			spilling = append(spilling, t)
		}
	}
	slices.SortStableFunc(spilling, func(a, b *translation) int { return cmp.Compare(b.wasted(), a.wasted()) })
	return inParallel(j.ctx, j.Workers, len(spilling), func(i int) error { return spilling[i].relieve(j) }, func() {})
}

// moves counts the instructions of a run that store to and load from the stack what registers had no room for, and all.
func moves(loops []toolchain.Loop) (moved, all float64) {
	for _, l := range loops {
		moved += l.Iterations * float64(l.Spills+l.Reloads)
		all += l.Iterations * float64(l.Instructions)
	}
	return moved, all
}

// wasted is the number of moves of all steps with the code.
func (t *translation) wasted() float64 {
	moved, _ := moves(t.loops)
	return moved * float64(len(t.steps))
}

// cost is about the cycles of a run.
func (t *translation) cost() (cycles float64) {
	for _, l := range t.loops {
		cycles += l.Iterations * (l.Cycles + moveCycles*float64(l.Spills+l.Reloads))
	}
	return math.Max(cycles, t.steps[0].plan.Modelled())
}

// relieve tries what the kernel's plan proposes, each on top of what was better before.
func (t *translation) relieve(j *job) error {
	best := t.cost()
	taken := false
	quiet := *j
	quiet.Debug, quiet.IR = Debug{}, nil
	spy := os.Getenv("LATHE_SPY") != ""
	moved, all := moves(t.loops)
	if spy {
		fmt.Fprintf(os.Stderr, "SPY %s moved %.1f%% cost %.4g model %.4g tile %v steps %v\n", t.steps[0].name, 100*moved/all, best, t.steps[0].plan.Modelled(), t.steps[0].plan.Taken["tile"], t.steps[0].plan.Taken["steps"])
	}
	for _, change := range t.steps[0].plan.Relief(j.Choices[t.steps[0].name]) {
		other, err := t.otherwise(&quiet, change)
		if err != nil {
			return err
		}
		if other == nil {
			continue
		}
		cost := other.cost()
		if spy {
			moved, all := moves(other.loops)
			fmt.Fprintf(os.Stderr, "SPY    %s: %v moved %.1f%% cost %.4g (%.3f) text %d\n", t.steps[0].name, change, 100*moved/all, cost, cost/best, len(other.text))
		}
		if cost < worthwhile*best {
			best, taken = cost, true
			t.take(other)
		}
		if moved, all := moves(t.loops); moved <= spillShare*all {
			break
		}
	}
	if !taken {
		return nil
	}
	return t.dump()
}

// take makes t what other is.
func (t *translation) take(other *translation) {
	for i, s := range t.steps {
		s.function = other.steps[i].function
	}
	t.text, t.machine, t.object, t.loops = other.text, other.machine, other.object, other.loops
}

// otherwise is t with a decision changed; nil where that changes no code, or other code for each of the steps.
func (t *translation) otherwise(j *job, change choice.Point) (*translation, error) {
	other := &translation{machine: t.machine}
	functions := map[*function]*function{}
	for _, s := range t.steps {
		f := functions[s.function]
		if f == nil {
			var err error
			if f, err = s.function.otherwise(j, change); err != nil {
				return nil, failed(s.Node, err)
			}
			functions[s.function] = f
		}
		if first := functions[t.steps[0].function]; f.text() != first.text() || f.plan.AsWritten() != first.plan.AsWritten() {
			return nil, nil
		}
		c := *s
		c.function = f
		other.steps = append(other.steps, &c)
	}
	other.write(j, other.steps[0].function)
	if other.text == t.text && other.steps[0].plan.AsWritten() == t.steps[0].plan.AsWritten() {
		return nil, nil
	}
	return other, other.translate(j)
}

// otherwise is f's class with a decision changed.
func (f *function) otherwise(j *job, change choice.Point) (*function, error) {
	c := *f.scheduled
	c.dump = &kernelDump{Debug: &j.Debug}
	if _, only := change["instructions"]; only && len(change) == 1 {
		c.plan = f.plan.Unscheduled()
		g := *f
		g.scheduled = &c
		return &g, nil
	}
	point := maps.Clone(f.plan.Taken)
	maps.Copy(point, change)
	var err error
	if c.plan, err = f.planned(j, choice.Preferred(point)); err != nil {
		return nil, err
	}
	return emitted(j, &c)
}

// planned is a schedule of f's class by other decisions.
func (f *function) planned(j *job, by choice.Chooser) (p *impl.Plan, err error) {
	k := f.kernels[0]
	switch {
	case k.ask != nil:
		p, err = k.ask(by)
	case k.own != nil:
		p = k.own.Copy()
	default:
		p, err = algorithms.Table.Choose(k.Kernel, j.Target, by)
	}
	if err != nil {
		return nil, err
	}
	for i, b := range p.Schedule.Func.Params {
		if align := f.plan.Schedule.Func.Params[i].Align; b.Align != align {
			b.Align = align
		}
	}
	if _, err := p.Divide(j.Target, f.operands, by); err != nil {
		return nil, err
	}
	return p, p.DecideInstructions(by)
}
