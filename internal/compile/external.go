package compile

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"lathe/internal/bundle"
	"lathe/internal/byoc"
	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/pass"
	"lathe/internal/plan"
	"lathe/internal/toolchain"
)

// An external is a region of the network with what an external code generator has made of it.
type external struct {
	pass.Region
	module byoc.Module
}

// takesGenerators refuses external code generators where nothing could call what they generate.
func (j *job) takesGenerators() error {
	if !slices.ContainsFunc(j.Codegens, func(c byoc.Chosen) bool { return c.Emulate == nil }) { // emulations are kernels as others are
		if j.NoFallback {
			return fmt.Errorf("steps that external code generators could do without are left out by --external-fallback=false, and target %q has no generator (leave the flag out)", j.Target)
		}
		return nil
	}
	if j.Target.IsSource() {
		return nil // the generators write C
	}
	if j.format.Name != Formats[0].Name {
		return fmt.Errorf("external code generator %s: what it generates is called by the runtime of packages, and output format %s is none (leave %s out of the target)",
			j.Codegens[0].Name, j.format.Name, j.Codegens[0].Name)
	}
	if j.Weights == WeightsInside {
		return fmt.Errorf("external code generator %s: what it generates lies beside the library, which has all inside with --embed-params (leave it out)", j.Codegens[0].Name)
	}
	return nil
}

// generateRegions has the generators compile the regions that are left of those that passes have found.
func generateRegions(j *job, g *graph.Graph, found []pass.Region) (map[string]external, error) {
	left := map[string]bool{}
	for _, n := range g.Nodes {
		if a, ok := n.Attrs.(graph.ExternalAttrs); ok {
			left[a.Symbol] = true
		}
	}
	regions := map[string]external{}
	for i, r := range found {
		if !left[r.Symbol] {
			continue
		}
		k := slices.IndexFunc(j.Codegens, func(c byoc.Chosen) bool { return c.Name == r.Generator })
		var m byoc.Module
		err := fault.Guard(func() (err error) {
			j.begin("region")
			m, err = j.Codegens[k].Compile(j.ctx, r.Region, j.Codegens[k].Given)
			return err
		})
		if err == nil {
			m, err = packable(j, r.Symbol, m)
		}
		if err != nil {
			return nil, fmt.Errorf("external code generator %s: region %s: %w", r.Generator, r.Symbol, err)
		}
		if j.NoFallback {
			m.WhenFaster = false // there is nothing to be faster than
		}
		regions[r.Symbol] = external{r, m}
		j.progress("regions", i+1, len(found))
	}
	if j.NoFallback || j.Target.IsSource() {
		pass.DropFallback(g)
	}
	return regions, nil
}

// hollow reports whether a node is a region without steps of its own.
func hollow(n *graph.Node) bool { return n.Op == graph.External && len(n.Sub[0].Nodes) == 0 }

// packable is a module as packages hold it: machine code becomes a library with one function.
func packable(j *job, symbol string, m byoc.Module) (byoc.Module, error) {
	if len(m.Bytes) == 0 {
		return m, errors.New("a module without bytes")
	}
	if source := j.Target.IsSource(); source != (m.Kind == byoc.C) {
		return m, fmt.Errorf("a module of kind %q: %s", m.Kind, map[bool]string{true: "target c takes C source alone, kind c", false: "C source is for target c"}[source])
	}
	if m.Kind == byoc.C {
		return m, checkSource(symbol, m.Bytes)
	}
	object := toolchain.Object(m.Bytes)
	switch m.Kind {
	case byoc.Blob:
		if m.Runtime == "" {
			return m, errors.New("a module without the name of the run-time module that loads it")
		}
		return m, nil
	case byoc.IR:
		machine, err := toolchain.Open(toolchain.For(j.Target))
		if err != nil {
			return m, err
		}
		if object, err = machine.Compile(string(m.Bytes), irPasses); err != nil {
			return m, fmt.Errorf("LLVM: %w", err)
		}
	case byoc.Object:
	default:
		return m, fmt.Errorf("a module of kind %q: packages hold %s, %s and %s", m.Kind, byoc.Blob, byoc.Object, byoc.IR)
	}
	if err := checkObject(object); err != nil {
		return m, err
	}
	library, err := toolchain.Link([]toolchain.Object{object}, toolchain.LinkOptions{Soname: "region.so", Triple: j.Target.Triple, Exports: []string{symbol}})
	if err != nil {
		return m, err
	}
	m.Kind, m.Bytes, m.Runtime = byoc.Blob, library, bundle.NativeRuntime
	return m, nil
}

// checkObject refuses what is no relocatable object, which a linker would take for a script of its own, and objects with data that calls at
// once would share.
func checkObject(object []byte) error {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil || f.Type != elf.ET_REL {
		return errors.New("it is no relocatable ELF object")
	}
	for _, s := range f.Sections {
		if s.Flags&(elf.SHF_ALLOC|elf.SHF_WRITE) == elf.SHF_ALLOC|elf.SHF_WRITE && s.Size > 0 && !strings.HasPrefix(s.Name, ".data.rel.ro") {
			return fmt.Errorf("it has writable data, in section %.80q", s.Name)
		}
	}
	return nil
}

// checkSource refuses bytes that are no text with a function of that name. What C compilers make of it they say.
func checkSource(symbol string, text []byte) error {
	switch {
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return errors.New("the C source is no text")
	case !bytes.Contains(text, []byte(symbol+"(")):
		return errors.New("the C source has no function of the region's name")
	}
	return nil
}

// irPasses are for text of other programs, whose loops nobody has scheduled.
const irPasses = "default<O2>"

// externals describes the regions that are steps of p, with the members of the package that they have.
func (n *network) externals(p *program, mem *plan.Plan) (regions []bundle.External, members [][]byte) {
	for i, s := range p.steps {
		a, ok := s.Node.Attrs.(graph.ExternalAttrs)
		if !ok {
			continue
		}
		e := n.regions[a.Symbol]
		r := bundle.External{
			Symbol: a.Symbol, Generator: a.Compiler, Runtime: e.module.Runtime, ABI: bundle.ExternalABI,
			Member: bundle.ExternalMember(len(regions), e.module.Runtime), SHA256: bundle.ExternalDigest(e.module.Bytes),
			Fallback: [2]int{i, i + 1}, NoFallback: hollow(s.Node), WhenFaster: e.module.WhenFaster, Cycles: e.module.Cycles, Nodes: s.Node.Origin,
		}
		for _, v := range s.In {
			r.Inputs = append(r.Inputs, operandAt(v, mem))
		}
		for _, v := range s.Out {
			r.Outputs = append(r.Outputs, operandAt(v, mem))
		}
		regions, members = append(regions, r), append(members, e.module.Bytes)
	}
	return regions, members
}

func operandAt(v *graph.Value, mem *plan.Plan) bundle.Operand {
	at := contextPlace(v, mem)
	return bundle.Operand{Memory: bundle.MemoryNames[at.Kind], Index: at.Index, Offset: at.Offset, DType: at.DType, Shape: v.Type.Dims()}
}

// notes are what generators tell users, each once.
func (n *network) notes() (list []string) {
	for _, r := range n.found {
		for _, text := range n.regions[r.Symbol].module.Notes {
			text = r.Generator + ": " + strings.TrimSpace(text)
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	for _, e := range n.emulated {
		list = append(list, e.Notes...)
	}
	return list
}
