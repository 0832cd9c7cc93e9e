package target

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/cpu"
	"lathe/internal/spelling"
)

// table is what is known about an architecture.
type table struct {
	triples  []string // beginnings of triples, up to the first "-"
	example  string   // a usual triple
	generic  string   // CPU of a triple without -mcpu
	attrs    []string // features that a triple without -mcpu gets
	required string   // features without which the triple's ABI does not work
	isa      *cpu.Table
	cpus     []processor
	machine  func(t *Target) // fills VectorBits, VectorRegs, HasFMA and others from Features
}

// A processor is a row of a table. Features are those of the CPU named by like, and more; so is what is left out.
type processor struct {
	name, like string
	features   string // separated by blanks
	caches     caches
	models     string // who says to be one: maker, family, models and ranges of them, all in hexadecimal
	core       Core
}

// caches are those of package cpu.
type caches struct{ L1, L2, L3 int }

var tables = map[Arch]*table{X86: &x86Table, AArch64: &aarch64Table, ARM: &armTable, RISCV64: &riscvTable, WASM32: &wasmTable}

// arches fixes the order of messages.
var arches = []Arch{X86, AArch64, ARM, RISCV64, WASM32}

// archOf finds the table for a triple.
func archOf(triple string) (Arch, error) {
	first, _, _ := strings.Cut(triple, "-")
	var examples []string
	for _, a := range arches {
		for _, p := range tables[a].triples {
			if first == p || p == "armv7" && strings.HasPrefix(first, p) {
				return a, nil
			}
		}
		examples = append(examples, tables[a].example)
	}
	return "", fmt.Errorf("-mtriple=%s: architecture %q is not supported yet; supported: %s", triple, first, strings.Join(examples, ", "))
}

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
	if strings.HasPrefix(triple, "arm") && strings.HasSuffix(triple, "eabi") {
		return fmt.Errorf("-mtriple=%s: floating-point numbers are passed in registers only (write %shf)", triple, triple)
	}
	return nil
}

// fullTriple writes the architecture of Debian's 32-bit ARM, arm-linux-gnueabihf, as LLVM has it: to LLVM "arm" alone is
// ARMv4, which no hard-float system runs on.
func fullTriple(triple string) string {
	if rest, ok := strings.CutPrefix(triple, "arm-"); ok && strings.HasSuffix(rest, "hf") {
		return "armv7-" + rest
	}
	return triple
}

func (t *table) find(name string) *processor {
	i := slices.IndexFunc(t.cpus, func(p processor) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &t.cpus[i]
}

// featuresOf returns the features a CPU's name implies; false when the table lacks the CPU.
func (t *table) featuresOf(name string) (cpu.Set, bool) {
	set := cpu.Set{}
	p := t.find(name)
	for ; p != nil; p = t.find(p.like) {
		for f := range strings.FieldsSeq(p.features) {
			t.isa.Enable(set, f)
		}
	}
	return set, t.find(name) != nil
}

// first is the first number that is not 0 of a CPU and those it is like.
func (t *table) first(name string, of func(p *processor) int) int {
	for p := t.find(name); p != nil; p = t.find(p.like) {
		if n := of(p); n != 0 {
			return n
		}
	}
	return 0
}

func (t *table) cachesOf(name string) caches {
	for p := t.find(name); p != nil; p = t.find(p.like) {
		if p.caches != (caches{}) {
			return p.caches
		}
	}
	return caches{L1: 32, L2: 256}
}

// describe fills what follows from CPU and Attrs. A CPU that the table lacks implies nothing, so that code for it uses
// what Attrs name; without any it is an error.
func (t *Target) describe() error {
	tab := tables[t.Arch]
	set, known := tab.featuresOf(t.CPU)
	if !known && len(t.Attrs) == 0 {
		return t.unknownCPU()
	}
	for _, a := range t.Attrs {
		if t.Arch == X86 && slices.Contains([]string{"-sse", "-sse2", "+soft-float"}, a) {
			return fmt.Errorf("-mattr=%s: floating-point numbers are passed in registers of SSE2 on %s (leave it out)", a, t.Arch)
		}
		switch name := a[1:]; {
		case tab.isa.Row(name) == nil:
		case a[0] == '+':
			tab.isa.Enable(set, name)
		default:
			tab.isa.Disable(set, name)
		}
	}
	for f := range strings.FieldsSeq(tab.required) {
		if !set[f] {
			return fmt.Errorf("CPU %s without feature %s: the ABI of %s passes floats in registers that it has not", t.CPU, f, t.Triple)
		}
	}
	t.Features = tab.isa.Code(set)
	tab.machine(t)
	t.rowFacts()
	return nil
}

// LLVMFeatures are the changes to LLVM's CPU that make it the target: Attrs, then every feature of the table, off or on,
// whatever LLVM thinks of the CPU's name.
func (t *Target) LLVMFeatures() []string {
	changes := slices.Clone(t.Attrs)
	for _, sign := range []string{"-", "+"} { // in this order, for a feature goes with what it needs
		for _, name := range tables[t.Arch].isa.Names(true) {
			if t.Has(name) == (sign == "+") {
				changes = append(changes, sign+name)
			}
		}
	}
	return changes
}

// MayUse reports whether LLVM may have a feature on: one of Features, of every machine, or one that adds no instructions.
func (t *Target) MayUse(feature string) bool {
	return t.Has(feature) || tables[t.Arch].isa.Tunes(feature)
}

// unknownCPU names near CPUs, or the architecture that has it.
func (t *Target) unknownCPU() error {
	for _, a := range arches {
		if tables[a].find(t.CPU) != nil {
			return fmt.Errorf("-mcpu=%s is a CPU of %s, and the triple is %s: add -mtriple=%s", t.CPU, a, t.Triple, tables[a].example)
		}
	}
	return fmt.Errorf("unknown CPU -mcpu=%s for %s%s (for a CPU that Lathe has no table of, list its features with -mattr)",
		t.CPU, t.Arch, spelling.Hint(t.CPU, CPUs(t.Arch)))
}

// Arches lists the architectures that have tables.
func Arches() []Arch { return slices.Clone(arches) }

// CPUs lists the CPU names that the tables know for an architecture.
func CPUs(a Arch) []string {
	tab, ok := tables[a]
	if !ok {
		return nil
	}
	var names []string
	for _, p := range tab.cpus {
		names = append(names, p.name)
	}
	return names
}

// Features lists the features that the table of an architecture knows; Target.Features has no others.
func Features(a Arch) []string {
	tab, ok := tables[a]
	if !ok {
		return nil
	}
	return tab.isa.Names(false)
}

// vectorLength is the largest zvlNb of a RISC-V CPU.
func vectorLength(features []string) int {
	bits := 0
	for _, f := range features {
		if n, ok := strings.CutPrefix(f, "zvl"); ok {
			if v, err := strconv.Atoi(strings.TrimSuffix(n, "b")); err == nil {
				bits = max(bits, v)
			}
		}
	}
	return bits
}
