package compile

import (
	"cmp"
	"fmt"
	"strings"

	"lathe/internal/codegen/llvm"
	"lathe/internal/isa"
	"lathe/internal/plan"
	"lathe/internal/toolchain"
)

// passes is LLVM's pipeline for our kernels: register slots become SSA values, equal address arithmetic and loads of
// neighbouring taps are computed once, and addresses outside of the loops in which they stay the same, which LLVM's code generator does
// for outermost loops only. More passes cost compile time and gain nothing on explicit vectors.
const passes = "function(mem2reg,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm))"

// code is a program in LLVM's hands.
type code struct {
	machine *toolchain.Machine
	kernels []*translation
	entry   []string // texts of the run function
	objects []toolchain.Object
}

// A translation is a kernel in LLVM's hands, and those that have the same code.
type translation struct {
	steps   []*step // that call it; the first has its name
	text    string
	machine *toolchain.Machine // which says how it is translated
	object  toolchain.Object
	loops   []toolchain.Loop
}

// failed names the kernel in an error of LLVM.
func (t *translation) failed(err error) error {
	if err != nil {
		k := t.steps[0].kernel
		return failed(k.Node, fmt.Errorf("kernel %s: LLVM: %w", k.name, err))
	}
	return nil
}

// compile compiles a text by LLVM's passes.
func (c *code) compile(text, passes string) (toolchain.Object, error) {
	o, err := c.machine.Compile(text, passes)
	if err != nil {
		return nil, fmt.Errorf("LLVM: %w", err)
	}
	return o, nil
}

// texts are the modules in the order of the objects.
func (c *code) texts() []string {
	var list []string
	for _, t := range c.kernels {
		list = append(list, t.text)
	}
	return append(list, c.entry...)
}

// assembly is all of the code as text.
func (c *code) assembly() (string, error) {
	var b strings.Builder
	for _, t := range c.kernels {
		s, err := t.machine.Assembly(t.text, passes)
		if err != nil {
			return "", t.failed(err)
		}
		b.WriteString(s)
	}
	for _, text := range c.entry {
		s, err := c.machine.Assembly(text, passes)
		if err != nil {
			return "", fmt.Errorf("LLVM: %w", err)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// generate compiles the texts of p's kernels, each once, and the run function. A kernel whose loops spill gets another schedule.
func generate(j *job, p *program, mem *plan.Plan) (*code, error) {
	m, err := toolchain.Open(toolchain.For(j.Target))
	if err != nil {
		return nil, err
	}
	c := &code{machine: m, kernels: translations(j, p, m), entry: entry(j, p, mem).Texts()}
	for _, t := range c.kernels {
		if err := t.dump(); err != nil {
			return nil, err
		}
	}
	rest := make([]toolchain.Object, len(c.entry))
	done, total := 0, len(c.kernels)+len(c.entry)
	err = inParallel(j.ctx, j.Workers, total, func(i int) (err error) {
		j.begin("code of a kernel")
		if i < len(c.kernels) {
			return c.kernels[i].translate(j)
		}
		i -= len(c.kernels)
		if rest[i], _, err = j.Known.Screen(c.machine, c.entry[i], cmp.Or(j.llvmPasses, passes)); err != nil {
			return fmt.Errorf("LLVM: %w", err)
		}
		return nil
	}, func() { done++; j.progress("code", done, total) })
	if err == nil {
		err = relieve(j, c.kernels)
	}
	for _, t := range c.kernels {
		c.objects = append(c.objects, t.object)
	}
	c.objects = append(c.objects, rest...)
	routines := j.Target.ISA().Instructions.Routines
	if err != nil || routines == nil {
		return c, err // there are instructions for all that is emitted
	}
	return c, c.addRoutines(routines)
}

// translations are the kernels of p with texts of their own, to be compiled on m.
func translations(j *job, p *program, m *toolchain.Machine) (list []*translation) {
	of := map[string]*translation{}
	for _, s := range p.kernels() {
		if of[s.callee] == nil {
			t := &translation{machine: m}
			of[s.callee] = t
			list = append(list, t)
		}
		of[s.callee].steps = append(of[s.callee].steps, s)
	}
	for _, t := range list {
		t.write(j, t.steps[0].function)
	}
	return list
}

// write takes the text of f, of the name that the steps call.
func (t *translation) write(j *job, f *function) {
	t.text = strings.Replace(f.code.Text, "@"+symbolMark, "@"+j.symbol(t.steps[0].callee), 1)
	if f.plan.AsWritten() {
		t.machine = t.machine.AsWritten()
	}
}

// dump writes the code for people.
func (t *translation) dump() error {
	s := t.steps[0]
	return s.dump.code(s.name, t.text, func() (string, error) { return t.machine.Assembly(t.text, passes) })
}

// translate compiles the text.
func (t *translation) translate(j *job) (err error) {
	t.object, t.loops, err = j.Known.Screen(t.machine, t.text, cmp.Or(j.llvmPasses, passes))
	return t.failed(err)
}

// addRoutines adds objects with the functions that LLVM calls in place of instructions, until none is missing but those
// that the table lacks, which the linker will name.
func (c *code) addRoutines(table []isa.Routine) error {
	for {
		undefined, err := toolchain.Undefined(c.objects)
		if err != nil {
			return err
		}
		text, _ := llvm.Routines(table, undefined)
		if text == "" {
			return nil
		}
		o, err := c.compile(text, passes)
		if err != nil {
			return err
		}
		c.objects = append(c.objects, o)
	}
}

// symbol is the name of a kernel in the objects. It has the module's name in it, for two models that are linked into one
// program may have kernels of the same name.
func (o *Options) symbol(kernel string) string { return "lathe_" + o.Module + "_" + kernel }

// entry is the library's run function.
func entry(j *job, p *program, mem *plan.Plan) *llvm.Run {
	return &llvm.Run{Symbol: j.symbol("run"), Target: j.Target, FlushDenormals: j.Denormals == DenormalsFlush, Steps: calls(j, p, mem)}
}

// calls are the steps of p where mem has placed them.
func calls(j *job, p *program, mem *plan.Plan) (list []llvm.Step) {
	for i, s := range p.steps {
		call := s.at(j, i, mem, nil)
		call.Barrier, call.Joined = mem.Barriers[i], mem.Joined[i]
		list = append(list, call)
	}
	return list
}

// at is the call of s, which is step i of what mem has placed, in a frame.
func (s *step) at(j *job, i int, mem *plan.Plan, f *frame) llvm.Step {
	if s.bodies == nil {
		return s.call(j, mem, f)
	}
	region := llvm.Step{Serial: s.Serial}
	if b := mem.Branches[i]; b != nil {
		region.Condition = f.place(b.Condition)
		region.Loop, region.Else = f.loop(j, s.bodies[0], b.Ways[0]), f.loop(j, s.bodies[1], b.Ways[1])
	} else {
		region.Loop = f.loop(j, s.bodies[0], mem.Loops[i])
	}
	return region
}

// call is the call of a kernel where mem has placed its operands.
func (s *step) call(j *job, mem *plan.Plan, f *frame) llvm.Step {
	call := llvm.Step{Kernel: j.symbol(s.callee), Serial: s.serial, Chunks: s.plan.Chunks, Extent: s.extent}
	for _, v := range s.Values() {
		call.Args = append(call.Args, f.place(mem.Places[v]))
	}
	return call
}

// loop is a loop whose operands lie in f.
func (f *frame) loop(j *job, body *program, at *plan.Loop) *llvm.Loop {
	bounds := func(list []plan.Bound) (b []llvm.Bound) {
		for _, p := range list {
			b = append(b, llvm.Bound{First: f.place(p.First), Even: f.place(p.Even), Odd: f.place(p.Odd), Offset: p.Offset, Step: p.Step, Part: p.Part})
		}
		return b
	}
	l := &llvm.Loop{Trips: at.Trips, Inputs: bounds(at.Inputs), Outputs: bounds(at.Outputs), Workspace: f.base() + at.Offset, Steps: calls(j, body, at.Body), Parts: at.Parts, Apart: at.Apart}
	swing(j, body, l.Steps)
	if w := at.While; w != nil {
		l.While = &llvm.While{Bytes: w.Bytes, Strict: w.Strict, Count: f.place(w.Count)}
		for _, p := range w.Results {
			l.While.Results = append(l.While.Results, f.place(p))
		}
	}
	return l
}
