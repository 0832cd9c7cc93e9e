package target

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/isa"
	"lathe/internal/tool/spelling"
)

// otherSystems are words in triples of systems whose libraries are no ELF shared objects.
var otherSystems = []string{"windows", "win32", "mingw", "cygwin", "apple", "darwin", "macos", "ios"}

// checkSystem refuses triples of other systems than Linux.
func checkSystem(triple string) error {
	for _, word := range strings.Split(triple, "-")[1:] {
		for _, s := range otherSystems {
			if strings.HasPrefix(word, s) {
				return fmt.Errorf("-mtriple=%s: packages are made only for Linux, and %s is another system", triple, word)
			}
		}
	}
	return nil
}

func find(cpus []isa.Processor, name string) *isa.Processor {
	i := slices.IndexFunc(cpus, func(p isa.Processor) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &cpus[i]
}

// featuresOf returns the features a CPU's name implies; false when there is no row of it.
func featuresOf(a *isa.ISA, name string) (isa.Set, bool) {
	set := isa.Set{}
	for p := find(a.CPUs, name); p != nil; p = find(a.CPUs, p.Like) {
		for f := range strings.FieldsSeq(p.Features) {
			a.Enable(set, f)
		}
	}
	return set, find(a.CPUs, name) != nil
}

// first is the first value that is not zero of a CPU and those it is like.
func first[T comparable](a *isa.ISA, name string, of func(p *isa.Processor) T) (v T) {
	for p := find(a.CPUs, name); p != nil; p = find(a.CPUs, p.Like) {
		if n := of(p); n != v {
			return n
		}
	}
	return v
}

// describe fills what follows from CPU and Attrs. A CPU that the table lacks implies nothing, so that code for it uses
// what Attrs name; without any it is an error.
func (t *Target) describe() error {
	a := t.ISA()
	set, known := featuresOf(a, t.CPU)
	if !known && len(t.Attrs) == 0 {
		return t.unknownCPU()
	}
	for _, change := range t.Attrs {
		if slices.Contains(a.Refused, change) {
			return fmt.Errorf("-mattr=%s: floating-point numbers are passed in registers of %s on %s (leave it out)", change, a.FloatRegs, t.Arch)
		}
		switch name := change[1:]; {
		case a.Row(name) == nil:
		case change[0] == '+':
			a.Enable(set, name)
		default:
			a.Disable(set, name)
		}
	}
	for f := range strings.FieldsSeq(a.Required) {
		if !set[f] {
			return fmt.Errorf("CPU %s without feature %s: the ABI of %s passes floats in registers that it has not", t.CPU, f, t.Triple)
		}
	}
	t.Features = a.Code(set)
	v := a.Vectors(t.asked)
	t.VectorBits, t.VectorRegs, t.Reach, t.HasFMA, t.HasDot, t.SignedDot = v.Bits, v.Regs, v.Reach, v.FMA, v.Dot, v.SignedDot
	t.rowFacts()
	return nil
}

// asked reports whether code may use a feature, or the user adds it without a row in the table.
func (t *Target) asked(feature string) bool {
	return t.Has(feature) || t.ISA().Row(feature) == nil && slices.Contains(t.Attrs, "+"+feature)
}

// LLVMFeatures are the changes to LLVM's CPU that make it the target: Attrs, then every feature of the table, off or on,
// whatever LLVM thinks of the CPU's name.
func (t *Target) LLVMFeatures() []string {
	changes := slices.Clone(t.Attrs)
	for _, sign := range []string{"-", "+"} { // in this order, for a feature goes with what it needs
		for _, name := range t.ISA().Names(true) {
			if t.Has(name) == (sign == "+") {
				changes = append(changes, sign+name)
			}
		}
	}
	return changes
}

// MayUse reports whether LLVM may have a feature on: one of Features, of every machine, or one that adds no instructions.
func (t *Target) MayUse(feature string) bool {
	return t.Has(feature) || t.ISA().Tunes(feature)
}

// unknownCPU names near CPUs, or the architecture that has it.
func (t *Target) unknownCPU() error {
	for _, a := range isas {
		if find(a.CPUs, t.CPU) != nil {
			return fmt.Errorf("-mcpu=%s is a CPU of %s, and the triple is %s: add -mtriple=%s", t.CPU, a.Arch, t.Triple, a.Triple)
		}
	}
	return fmt.Errorf("unknown CPU -mcpu=%s for %s%s (for a CPU that Lathe has no table of, list its features with -mattr)",
		t.CPU, t.Arch, spelling.Hint(t.CPU, CPUs(t.Arch)))
}
