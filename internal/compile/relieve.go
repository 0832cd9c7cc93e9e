package compile

import (
	"maps"

	"lathe/internal/choice"
	"lathe/internal/impl"
)

// relieve looks for other schedules of kernels whose innermost loops keep values on the stack, and takes those by which fewer are
// moved and LLVM's model of the CPU expects fewer cycles. Compiling takes little longer: only kernels of weight are tried.
func relieve(j *job, list []*translation) error {
	instructions, text := 0.0, 0.0
	for _, t := range list {
		_, all := t.moves()
		instructions += all * float64(len(t.steps))
		text += float64(len(t.text))
	}
	var spilling []*translation
	for _, t := range list {
		gain, _ := t.moves()
		if gain *= float64(len(t.steps)); t.steps[0].plan.Modelled() == 0 {
			gain *= fixedShare
		}
		if t.spills() && gain/instructions > payment*float64(len(t.text))/max(text, muchCode) {
			spilling = append(spilling, t)
		}
	}
	return inParallel(j.ctx, j.Workers, len(spilling), func(i int) error { return spilling[i].relieve(j) }, func() {})
}

// moves counts the instructions of a run in innermost loops that store to and load from the stack what registers had no room for,
// and all.
func (t *translation) moves() (moved, all float64) {
	for _, l := range t.loops {
		if l.Innermost {
			moved += l.Iterations * float64(l.Spills+l.Reloads)
			all += l.Iterations * float64(l.Instructions)
		}
	}
	return moved, all
}

func (t *translation) spills() bool {
	moved, all := t.moves()
	return moved > spillShare*all
}

// cost is about the cycles of a run.
func (t *translation) cost() (cycles float64) {
	for _, l := range t.loops {
		cycles += l.Iterations * (l.Cycles + loopCycles + moveCycles*float64(l.Spills+l.Reloads))
	}
	return max(cycles, t.steps[0].plan.Modelled())
}

// relieve tries what the kernel's plan proposes, each on top of what was better before.
func (t *translation) relieve(j *job) error {
	taken := false
	quiet := *j
	quiet.Debug, quiet.IR = Debug{}, nil
	s := t.steps[0]
	moved, all := t.moves()
	budget := int(tries * moved / all * float64(len(t.text)))
	for _, change := range s.plan.Relief(j.point(s.kernel)) {
		other, err := t.otherwise(&quiet, change)
		if err != nil {
			return err
		}
		if other == nil {
			continue
		}
		moved, _ := other.moves()
		if before, _ := t.moves(); moved < before && other.cost() < worthwhile*t.cost() {
			t.take(other)
			taken = true
		}
		if budget -= len(other.text); budget <= 0 || !t.spills() {
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
		if first := functions[t.steps[0].function]; f.identity() != first.identity() {
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
	c.dump, c.another = &kernelDump{Debug: &j.Debug}, true
	relief := choice.Point{}
	maps.Copy(relief, f.relief)
	maps.Copy(relief, change)
	if _, only := change["instructions"]; only && len(change) == 1 {
		c.plan = f.plan.Unscheduled()
		g := *f
		g.scheduled, g.relief = &c, relief
		return &g, nil
	}
	point := maps.Clone(f.plan.Taken)
	maps.Copy(point, change)
	var err error
	if c.plan, err = f.planned(j, choice.Preferred(point)); err != nil {
		return nil, err
	}
	g, err := emitted(j, &c)
	if err != nil {
		return nil, err
	}
	g.relief = relief
	return g, nil
}

// planned is a schedule of f's class by other decisions.
func (f *function) planned(j *job, by choice.Chooser) (p *impl.Plan, err error) {
	if p, err = f.kernels[0].ask(by); err != nil {
		return nil, err
	}
	for i, b := range p.Schedule.Func.Params {
		if align := f.plan.Schedule.Func.Params[i].Align; b.Align != align {
			b.Align = align
		}
	}
	if f.alone {
		p.Serialise()
	} else if _, err := p.Divide(j.Target, f.operands, by); err != nil {
		return nil, err
	}
	return p, p.DecideInstructions(by)
}
