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
// neighbouring taps are computed once. More passes cost compile time and gain nothing on explicit vectors.
const passes = "function(mem2reg,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)"

// code is a program in LLVM's hands.
type code struct {
	machine *toolchain.Machine
	texts   []string
	kernels []*kernel // that the first texts are of; the others are the run function's
	objects []toolchain.Object
}

// failed names the kernel of text i in an error of LLVM.
func (c *code) failed(i int, err error) error {
	if err != nil && i < len(c.kernels) {
		return failed(c.kernels[i].Node, fmt.Errorf("kernel %s: %w", c.kernels[i].name, err))
	}
	return err
}

// compile compiles a text by LLVM's passes.
func (c *code) compile(text, passes string) (toolchain.Object, error) {
	o, err := c.machine.Compile(text, passes)
	if err != nil {
		return nil, fmt.Errorf("LLVM: %w", err)
	}
	return o, nil
}

// assembly is all of the code as text.
func (c *code) assembly() (string, error) {
	var b strings.Builder
	for i, t := range c.texts {
		s, err := c.machine.Assembly(t, passes)
		if err != nil {
			return "", c.failed(i, fmt.Errorf("LLVM: %w", err))
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// generate compiles the texts of p's kernels, each once, and the run function.
func generate(j *job, p *program, mem *plan.Plan) (*code, error) {
	m, err := toolchain.Open(toolchain.For(j.Target))
	if err != nil {
		return nil, err
	}
	c := &code{machine: m}
	for _, s := range p.kernels() {
		if s.callee != s.name {
			continue
		}
		text := strings.Replace(s.code.Text, "@"+symbolMark, "@"+j.symbol(s.name), 1)
		c.texts, c.kernels = append(c.texts, text), append(c.kernels, s.kernel)
		if err := s.dump.code(s.name, text, func() (string, error) { return m.Assembly(text, passes) }); err != nil {
			return nil, err
		}
	}
	c.texts = append(c.texts, entry(j, p, mem).Texts()...)
	c.objects = make([]toolchain.Object, len(c.texts))
	done := 0
	err = inParallel(j.ctx, j.Workers, len(c.texts), func(i int) (err error) {
		j.begin("code of a kernel")
		c.objects[i], err = c.compile(c.texts[i], cmp.Or(j.llvmPasses, passes))
		return c.failed(i, err)
	}, func() { done++; j.progress("code", done, len(c.texts)) })
	routines := j.Target.ISA().Instructions.Routines
	if err != nil || routines == nil {
		return c, err // there are instructions for all that is emitted
	}
	return c, c.addRoutines(routines)
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
		if s.body != nil {
			list = append(list, llvm.Step{Barrier: mem.Barriers[i], Joined: mem.Joined[i], Serial: s.Serial, Loop: loopOf(j, s.body, mem.Loops[i])})
			continue
		}
		call := llvm.Step{
			Kernel: j.symbol(s.callee), Barrier: mem.Barriers[i], Joined: mem.Joined[i], Serial: s.serial,
			Chunks: s.plan.Chunks, Extent: s.extent,
		}
		for _, v := range s.Values() {
			call.Args = append(call.Args, placeOf(mem.Places[v]))
		}
		list = append(list, call)
	}
	return list
}

func loopOf(j *job, body *program, at *plan.Loop) *llvm.Loop {
	bounds := func(list []plan.Bound) (b []llvm.Bound) {
		for _, p := range list {
			b = append(b, llvm.Bound{First: placeOf(p.First), Even: placeOf(p.Even), Odd: placeOf(p.Odd), Offset: p.Offset, Step: p.Step})
		}
		return b
	}
	return &llvm.Loop{Trips: at.Trips, Inputs: bounds(at.Inputs), Outputs: bounds(at.Outputs), Workspace: at.Offset, Steps: calls(j, body, at.Body)}
}

func placeOf(at plan.Place) llvm.Place {
	kinds := [...]llvm.PlaceKind{
		plan.Workspace: llvm.Workspace, plan.Input: llvm.Input, plan.Output: llvm.Output, plan.Constant: llvm.Param, plan.Symbol: llvm.Symbol,
	}
	return llvm.Place{Kind: kinds[at.Kind], Index: at.Index + at.Offset}
}
