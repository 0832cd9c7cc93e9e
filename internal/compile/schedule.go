package compile

import (
	"errors"
	"fmt"
	"time"

	"lathe/internal/choice"
	csource "lathe/internal/codegen/c"
	"lathe/internal/codegen/llvm"
	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/looppass"
	"lathe/internal/pipeline"
	"lathe/internal/plan"
)

// A scheduled class is kernels that are equal, with the schedule that they share.
type scheduled struct {
	kernels  []*kernel
	plan     *impl.Plan
	operands []impl.Operand // as they were when the first kernel was divided
	dump     *kernelDump
	alone    bool // one worker runs it among others of a part of a loop
	another  bool // schedule of a class that has one: its loops are verified behind the last pass only
}

// A function is the code of a class.
type function struct {
	*scheduled
	serial bool         // one worker does all of it
	extent int          // iterations that workers divide
	relief choice.Point // decisions that were taken otherwise than by the rules, for loops that spilled
	code   llvm.Kernel
	source csource.Function // in place of code, for C source
}

// text is the code as it is compared, with symbolMark for a name.
func (f *function) text() string {
	if f.source.Text != "" {
		return f.source.Text
	}
	return f.code.Text
}

// An identity is equal for functions of which one serves the others: their text is, and LLVM makes the same of it.
type identity struct {
	asWritten bool
	text      string
}

func (f *function) identity() identity { return identity{f.plan.AsWritten(), f.text()} }

// symbolMark stands for the function's name while texts are compared.
const symbolMark = "LATHE_KERNEL"

// schedule chooses the schedules of steps up to their division among workers, one for those that are equal.
func schedule(j *job, steps []*step, owned map[*graph.Value]bool) ([]*scheduled, error) {
	classes := map[*lowered]*scheduled{}
	var list []*scheduled
	for _, s := range steps {
		c := classes[s.lowered]
		if c == nil {
			c = &scheduled{dump: &kernelDump{Debug: &j.Debug}}
			classes[s.lowered] = c
			list = append(list, c)
		}
		c.add(s.kernel)
	}
	return list, inParallel(j.ctx, j.ordered(), len(list), func(i int) error {
		k := list[i].kernels[0]
		return failed(k.Node, j.working(nil, "schedule", func() (err error) {
			list[i].plan, err = chosen(k, owned, j.point(k))
			if err != nil && k.record != nil {
				for _, k := range list[i].kernels {
					k.drop(err)
				}
				list[i].plan, err = chosen(k, owned, nil)
			}
			if err != nil {
				return err
			}
			return list[i].dump.loop("lowered", k.Func)
		}))
	}, func() {})
}

func (c *scheduled) add(k *kernel) {
	c.kernels = append(c.kernels, k)
	c.dump.kernels = append(c.dump.kernels, k.name)
}

// chosen is a kernel's schedule. point holds the decisions that are given.
func chosen(k *kernel, owned map[*graph.Value]bool, point choice.Point) (p *impl.Plan, err error) {
	if p = k.own; p == nil || len(point) > 0 {
		if p, err = k.ask(point); err != nil {
			return nil, err
		}
	}
	for i, v := range k.Values() {
		if owned[v] {
			p.Schedule.Func.Params[i].Align = 0
		}
	}
	return p, nil
}

// fits refuses decisions that are given for a kernel and were not asked.
func (j *job) fits(k *kernel, p *impl.Plan) error {
	if err := j.Choices[k.name].Fits(p.Asked); err != nil {
		return fmt.Errorf("choices: kernel %s, scheduled by rule %s: %w", k.name, p.Rule, err)
	}
	return nil
}

// divide divides the steps of p among workers. What this does to equal kernels may differ, for it depends on what computed
// their operands: a class becomes one of each division.
func divide(j *job, p *program, classes []*scheduled) ([]*scheduled, error) {
	if j.Target.IsSource() { // one worker runs it
		for _, c := range classes {
			c.plan.Serialise()
			if err := j.fits(c.kernels[0], c.plan); err != nil {
				return nil, err
			}
		}
		return classes, nil
	}
	of := map[*lowered]*scheduled{}
	for _, c := range classes {
		of[c.kernels[0].lowered] = c
	}
	type division struct {
		of                   *scheduled
		workers, way, chunks string
		asWritten, alone     bool
	}
	divided := map[division]*scheduled{}
	var list []*scheduled
	one := func(k *kernel, operands []impl.Operand, alone bool) (home int, err error) {
		c := of[k.lowered]
		return home, failed(k.Node, j.working(nil, "divide", func() error {
			own := c.plan.Copy()
			given := choice.Chooser(j.point(k))
			if k.record != nil {
				given = choice.Preferred(k.record)
			}
			if alone {
				own.Serialise()
				home = impl.Scattered
			} else if home, err = own.Divide(j.Target, operands, given); err != nil {
				return err
			}
			if err := own.DecideInstructions(given); err != nil {
				return err
			}
			if err := j.fits(k, own); err != nil {
				return err
			}
			if err := k.fitsRecord(own); err != nil {
				k.unfit = fmt.Sprintf("kernel %s: %v", k.name, err)
			}
			id := division{c, own.Taken["workers"], own.Taken["division"], own.Taken["chunks"], own.AsWritten(), alone}
			if divided[id] == nil {
				divided[id] = &scheduled{plan: own, operands: operands, alone: alone, dump: &kernelDump{Debug: c.dump.Debug, n: c.dump.n}}
				list = append(list, divided[id])
			}
			divided[id].add(k)
			return nil
		}))
	}
	var all func(p *program, alone bool) error // alone: one worker runs all of p
	all = func(p *program, alone bool) error {
		return plan.Divide(planned(p.all), p.aliases, func(i int, operands []impl.Operand) (home int, err error) {
			if err := j.ctx.Err(); err != nil {
				return 0, err
			}
			if bodies := p.all[i].bodies; bodies != nil {
				for _, body := range bodies {
					if err := all(body, alone || inParts(p.all[i].Node)); err != nil {
						return 0, err
					}
				}
				return impl.Scattered, nil
			}
			return one(p.all[i].kernel, operands, alone)
		})
	}
	err := all(p, false)
	return list, err
}

// inParts reports whether a region is a loop whose parts workers run, each by itself.
func inParts(n *graph.Node) bool {
	a, ok := n.Attrs.(graph.LoopAttrs)
	return ok && a.Parts > 1
}

// emit writes the code of scheduled classes and gives it to the steps of p.
func emit(j *job, p *program, classes []*scheduled) error {
	functions := make([]*function, len(classes))
	done := 0
	err := inParallel(j.ctx, j.ordered(), len(classes), func(i int) error {
		return failed(classes[i].kernels[0].Node, j.working(nil, "build", func() (err error) {
			functions[i], err = emitted(j, classes[i])
			return err
		}))
	}, func() { done++; j.progress("kernels", done, len(classes)) })
	if err != nil {
		return err
	}
	if j.Debug.stopsLoops() {
		return j.Debug.stopped()
	}
	of := map[*kernel]*function{}
	for _, f := range functions {
		for _, k := range f.kernels {
			of[k] = f
		}
	}
	callees := map[*function]string{}
	first := map[identity]string{}
	for _, s := range p.kernels() {
		s.function = of[s.kernel]
		if callees[s.function] == "" {
			id := s.identity()
			if first[id] == "" {
				first[id] = s.name
			}
			callees[s.function] = first[id]
		}
		s.callee = callees[s.function]
	}
	return nil
}

// ordered is the number of goroutines for work that prints.
func (j *job) ordered() int {
	if j.IR != nil && len(j.PrintBefore)+len(j.PrintAfter) > 0 {
		return 1 // what is printed comes in order
	}
	return j.Workers
}

// emitted takes a class through the loop passes and writes its code. Where what becomes of its loops cannot be divided as
// planned, one worker runs it.
func emitted(j *job, c *scheduled) (*function, error) {
	err := lowerLoops(j, c)
	if errors.Is(err, loop.ErrDivision) && c.plan.Undivide() {
		err = lowerLoops(j, c)
	}
	f := &function{scheduled: c}
	if err != nil || j.Debug.stopsLoops() {
		return f, err
	}
	loops := c.plan.Schedule.Func
	if j.Target.IsSource() {
		f.source, err = csource.Emit(loops, csource.SymbolMark)
		return f, err
	}
	f.extent = loop.DividedExtent(loops.Body)
	f.serial = f.extent == 0
	f.code, err = llvm.Emit(loops, llvm.Options{Symbol: symbolMark, VectorBits: j.Target.VectorBits, Target: j.Target, FlushDenormals: j.Denormals == DenormalsFlush})
	return f, err
}

// lowerLoops runs the loop passes on a schedule.
func lowerLoops(j *job, c *scheduled) error {
	f := c.plan.Schedule.Func
	dumped := c.dump.loop("schedule", f)
	verify := func(f *loop.Func) error { return loop.Verify(f, loop.NoBlocks) }
	each := verify
	if c.another {
		each = nil
	}
	err := pipeline.Run(looppass.Table, f, pipeline.Options[*loop.Func]{
		StopAt: j.Debug.Stop,
		Verify: each,
		Before: func(name string, f *loop.Func) { j.printIR("before", j.PrintBefore, name, f) },
		After: func(name string, f *loop.Func, _ time.Duration) {
			j.printIR("after", j.PrintAfter, name, f)
			dumped = errors.Join(dumped, c.dump.loop(name, f))
		},
	})
	if err == nil && c.another {
		err = fault.Guard(func() error { return verify(f) })
	}
	if err != nil {
		return fmt.Errorf("%w\nschedule:\n%s", err, c.plan.Schedule)
	}
	return dumped
}
