package compile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"

	"lathe/internal/choice"
	"lathe/internal/codegen/llvm"
	"lathe/internal/fault"
	"lathe/internal/toolchain"
)

// A Candidate is the code of a task by other decisions: a library that runs its steps in the place of the network's own.
type Candidate struct {
	// Library exports RunSymbol, whose steps are those of the task in their order and which is called as the run function of a
	// package, and PartSymbol (llvm.Run.Part). It is compiled against the network's plan of memory, but for scratch.
	Library               []byte
	RunSymbol, PartSymbol string
	Scratch               int // bytes for each worker

	Taken  choice.Point
	Asked  []choice.Decision // in order, with the costs of the rules' model
	Digest string            // of the library: candidates with equal ones are one
	Code   int               // bytes of its object
	Cycles float64           // of a run, as LLVM's model of the CPU expects
	Spills float64           // share of moves to and from the stack among the instructions of innermost loops
}

// ErrPoint says that a point cannot be had: the rule fails on it.
var ErrPoint = errors.New("the point is not possible here")

// Build compiles task i by a point. Decisions whose value it does not name, or names one that they do not have here, are taken as
// the network's own kernel has them by relief, or else by the rules; the result says what was taken.
func (s *Session) Build(i int, point choice.Point) (c *Candidate, err error) {
	all := choice.Point{}
	maps.Copy(all, s.relief[i])
	maps.Copy(all, point)
	point = all
	err = fault.Guard(func() error { c, err = s.build(s.tasks[i], point); return err })
	return c, err
}

// Assembly is the kernel of task i by a point as text.
func (s *Session) Assembly(i int, point choice.Point) (text string, err error) {
	all := choice.Point{}
	maps.Copy(all, s.relief[i])
	maps.Copy(all, point)
	err = fault.Guard(func() error {
		code, _, err := s.code(s.tasks[i], all)
		if err == nil {
			text, err = code.machine.Assembly(code.text, passes)
		}
		return err
	})
	return text, err
}

// code is the kernel of a task by a point, to be translated.
func (s *Session) code(t *task, point choice.Point) (*translation, *function, error) {
	f, err := t.steps[0].function.by(s.job, choice.Preferred(point))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrPoint, err)
	}
	code := &translation{machine: s.machine}
	for _, st := range t.steps {
		own := *st.step
		own.function, own.callee = f, t.steps[0].callee // where steps are divided otherwise, their own code is, too
		code.steps = append(code.steps, &own)
	}
	code.write(s.job, f)
	return code, f, nil
}

func (s *Session) build(t *task, point choice.Point) (*Candidate, error) {
	code, f, err := s.code(t, point)
	if err != nil {
		return nil, err
	}
	run := s.runOf(t, code)
	code.text += run.Steps[0].Data() // of all: they have the kernel in common
	c := &Candidate{RunSymbol: run.Symbol, PartSymbol: s.job.symbol("part"), Scratch: f.code.Scratch, Taken: maps.Clone(f.plan.Taken), Asked: f.plan.Asked}
	callers := append(run.Texts(), run.Part(c.PartSymbol))
	c.Digest = digest(fmt.Sprintf("%t %s%s", f.plan.AsWritten(), code.text, strings.Join(callers, "")))
	done := t.translated[c.Digest]
	if done == nil {
		if err := code.translate(s.job); err != nil {
			return nil, err
		}
		done = &translated{len(code.object), code.loops, nil}
		if done.library, err = s.link([]toolchain.Object{code.object}, callers, c.RunSymbol, c.PartSymbol); err != nil {
			return nil, err
		}
		if t.translated == nil {
			t.translated = map[string]*translated{}
		}
		t.translated[c.Digest] = done
	}
	code.loops = done.loops
	c.Library, c.Code, c.Cycles = done.library, done.size, code.cost()
	if moved, all := code.moves(); all > 0 {
		c.Spills = moved / all
	}
	return c, nil
}

// What is translated is kept: other points often lead to the same text.
type translated struct {
	size    int // of the kernel's object
	loops   []toolchain.Loop
	library []byte
}

// by is f's class by other decisions.
func (f *function) by(j *job, chooser choice.Chooser) (*function, error) {
	c := *f.scheduled
	c.dump, c.another = &kernelDump{Debug: &Debug{}}, true
	var err error
	if c.plan, err = f.planned(j, chooser); err != nil {
		return nil, err
	}
	return emitted(j, &c)
}

// runOf is a run function that calls a candidate's kernel as the network's steps do. Its texts do not depend on the kernel, and the one of how
// workers meet not on the task, so that they are compiled once.
func (s *Session) runOf(t *task, code *translation) *llvm.Run {
	run := &llvm.Run{Symbol: s.job.symbol("run"), Target: s.job.Target, FlushDenormals: s.job.Denormals == DenormalsFlush, Apart: true}
	for i, st := range code.steps {
		call := st.call(s.job, t.steps[i].mem, t.steps[i].frame)
		call.Counts = call.Kernel + "_counts"
		run.Steps = append(run.Steps, call)
	}
	return run
}

// link makes a library of kernels and of texts that call them, which are compiled once.
func (s *Session) link(kernels []toolchain.Object, texts []string, exports ...string) ([]byte, error) {
	all := &code{machine: s.machine, objects: kernels}
	for _, text := range texts {
		o, ok := s.objects[text]
		if !ok {
			var err error
			if o, err = all.compile(text, cmp.Or(s.job.llvmPasses, passes)); err != nil {
				return nil, err
			}
			s.objects[text] = o
		}
		all.objects = append(all.objects, o)
	}
	if routines := s.job.Target.ISA().Instructions.Routines; routines != nil {
		if err := all.addRoutines(routines); err != nil {
			return nil, err
		}
	}
	return toolchain.Link(all.objects, toolchain.LinkOptions{Triple: s.job.Target.Triple, Exports: exports})
}
