package compile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/codegen/llvm"
	"lathe/internal/target"
	"lathe/internal/toolchain"
)

// passes is LLVM's pipeline for our kernels: register slots become SSA values, equal address arithmetic and loads of
// neighbouring taps are computed once. More passes cost compile time and gain nothing on explicit vectors.
const passes = "function(mem2reg,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)"

// generate compiles the kernels' texts, each once, and the entry.
func (c *compiler) generate() error {
	m, err := toolchain.Open(toolchain.For(c.Target))
	if err != nil {
		return err
	}
	bySource := map[string]string{}
	var texts []string
	var first []*kernel // the one that a text was written for; the entry's are for none
	for _, k := range c.kernels {
		if s, ok := bySource[k.code.Text]; ok {
			k.symbol = s
			continue
		}
		k.symbol = c.kernelSymbol(k.name)
		bySource[k.code.Text] = k.symbol
		text := strings.Replace(k.code.Text, "@"+symbolMark, "@"+k.symbol, 1)
		texts, first = append(texts, text), append(first, k)
		if err := k.dump.code(text, func() (string, error) { return m.Assembly(text, passes) }); err != nil {
			return err
		}
	}
	texts = append(texts, c.entry()...)
	failed := func(text int, err error) error {
		if text < len(first) {
			return first[text].failed(fmt.Errorf("kernel %s: LLVM: %w", first[text].name, err))
		}
		return fmt.Errorf("LLVM: %w", err)
	}
	if slices.Contains(c.Code, "ll") {
		c.res.Code["ll"] = strings.Join(texts, "\n")
	}
	if slices.Contains(c.Code, "asm") {
		var b strings.Builder
		for i, t := range texts {
			s, err := m.Assembly(t, passes)
			if err != nil {
				return failed(i, err)
			}
			b.WriteString(s)
		}
		c.res.Code["asm"] = b.String()
	}
	c.objects = make([]toolchain.Object, len(texts))
	done := 0
	err = inParallel(c.ctx, c.Workers, len(texts), func(i int) error {
		c.begin("code of a kernel")
		o, err := m.Compile(texts[i], cmp.Or(c.llvmPasses, passes))
		if err != nil {
			return failed(i, err)
		}
		c.objects[i] = o
		return nil
	}, func() { done++; c.progress("code", done, len(texts)) })
	c.machine = m
	if err != nil {
		return err
	}
	return c.addRoutines()
}

// addRoutines adds objects with the functions that LLVM calls in place of instructions, until none is missing but those
// that nobody knows, which the linker will name.
func (c *compiler) addRoutines() error {
	if c.Target.Arch != target.ARM {
		return nil // the others have instructions for all that is emitted
	}
	for {
		undefined, err := toolchain.Undefined(c.objects)
		if err != nil {
			return err
		}
		text, _ := llvm.Routines(undefined)
		if text == "" {
			return nil
		}
		o, err := c.machine.Compile(text, passes)
		if err != nil {
			return fmt.Errorf("LLVM: %w", err)
		}
		c.objects = append(c.objects, o)
	}
}

// entry writes the library's run function.
func (c *compiler) entry() []string {
	r := llvm.Run{Symbol: c.kernelSymbol("run"), Target: c.Target, FlushDenormals: c.Denormals == DenormalsFlush}
	for i, k := range c.kernels {
		s := llvm.Step{Kernel: k.symbol, Barrier: c.plan.barrier[i], Serial: k.serial}
		for _, v := range k.params() {
			p := c.plan.at[v]
			to := llvm.Place{Kind: runPlaces[p.kind], Index: p.index}
			if p.kind == inWorkspace {
				to.Index = p.offset
			}
			s.Args = append(s.Args, to)
		}
		r.Steps = append(r.Steps, s)
	}
	return r.Texts()
}

// runPlaces are the kinds of places in the words of package llvm.
var runPlaces = map[placeKind]llvm.PlaceKind{inWorkspace: llvm.Workspace, isInput: llvm.Input, isOutput: llvm.Output, isConst: llvm.Param, isSymbol: llvm.Symbol}

// kernelSymbol is the name of a kernel in the objects. It has the module's name in it, for two models that are linked into
// one program may have kernels of the same name.
func (c *compiler) kernelSymbol(name string) string { return "lathe_" + c.Module + "_" + name }

// link joins the objects, the manifest's digest and the descriptor to the library, and the rest of the package as well
// where weights are embedded.
func (c *compiler) link() error {
	manifest := c.res.Contents.Manifest
	digests, err := c.res.Contents.Digests()
	if err != nil {
		return err
	}
	manifest.Digests = digests
	embed := c.Weights == WeightsInside
	text, err := llvm.Descriptor(&c.res.Contents, c.Target, embed, true)
	if err != nil {
		return err
	}
	o, err := c.machine.Compile(text, passes)
	if err != nil {
		return fmt.Errorf("LLVM: %w", err)
	}
	objects := append(c.objects, o)
	var compress []string
	if embed {
		sections, err := c.sections()
		if err != nil {
			return err
		}
		if o, err = c.machine.Embed(sections); err != nil {
			return err
		}
		objects = append(objects, o)
		c.res.Contents.Complete = true
		compress = []string{bundle.GraphName, bundle.ManifestName}
	}
	c.res.Contents.Library, err = toolchain.Link(objects, toolchain.LinkOptions{
		Soname: "mod.so", Triple: c.Target.Triple, Compress: compress,
		Exports: []string{manifest.RunSymbol(), manifest.DigestSymbol(), manifest.LibrarySymbol(), bundle.LibraryAlias},
	})
	return err
}
