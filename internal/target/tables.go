package target

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/spelling"
)

// table is what is known about an architecture.
type table struct {
	triples  []string // beginnings of triples, up to the first "-"
	example  string   // a usual triple
	generic  string   // CPU of a triple without -mcpu
	attrs    []string // features that a triple without -mcpu gets
	given    string   // features of rows that LLVM's CPU of the name lacks, separated by blanks
	required string   // features without which the triple's ABI does not work
	cpus     []cpu
	features []feature
	machine  func(t *Target) // fills VectorBits, VectorRegs, HasFMA from Features
}

// cpu is a row of a table. Features are those of the CPU named by like, and more.
type cpu struct {
	name, like string
	features   string // separated by blanks
	caches     caches
}

// caches are in KiB. The zero value takes those of the CPU named by like.
type caches struct{ l1, l2, l3 int }

// feature names an instruction set and what it needs.
type feature struct{ name, needs string }

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

func (t *table) find(name string) *cpu {
	i := slices.IndexFunc(t.cpus, func(c cpu) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return &t.cpus[i]
}

// featuresOf returns the features a CPU's name implies; false when the table lacks the CPU.
func (t *table) featuresOf(name string) (map[string]bool, bool) {
	set := make(map[string]bool)
	c := t.find(name)
	for ; c != nil; c = t.find(c.like) {
		for f := range strings.FieldsSeq(c.features) {
			t.enable(set, f)
		}
	}
	return set, t.find(name) != nil
}

func (t *table) cachesOf(name string) caches {
	for c := t.find(name); c != nil; c = t.find(c.like) {
		if c.caches != (caches{}) {
			return c.caches
		}
	}
	return caches{32, 256, 0}
}

func (t *table) universe() []string {
	names := make([]string, len(t.features))
	for i, f := range t.features {
		names[i] = f.name
	}
	return names
}

func (t *table) needs(name string) []string {
	for _, f := range t.features {
		if f.name == name {
			return strings.Fields(f.needs)
		}
	}
	return nil
}

// enable adds a feature with all it needs.
func (t *table) enable(set map[string]bool, name string) {
	set[name] = true
	for _, n := range t.needs(name) {
		t.enable(set, n)
	}
}

// disable removes a feature with all that need it.
func (t *table) disable(set map[string]bool, name string) {
	delete(set, name)
	for _, f := range t.features {
		if set[f.name] && slices.Contains(strings.Fields(f.needs), name) {
			t.disable(set, f.name)
		}
	}
}

// describe fills what follows from CPU and Attrs. A CPU that the table lacks implies nothing, so that code for it uses
// what Attrs name; without any it is an error.
func (t *Target) describe() error {
	tab := tables[t.Arch]
	set, known := tab.featuresOf(t.CPU)
	if !known && len(t.Attrs) == 0 {
		return t.unknownCPU()
	}
	universe := tab.universe()
	for _, a := range t.Attrs {
		if t.Arch == X86 && slices.Contains([]string{"-sse", "-sse2", "+soft-float"}, a) {
			return fmt.Errorf("-mattr=%s: floating-point numbers are passed in registers of SSE2 on %s (leave it out)", a, t.Arch)
		}
		switch name := a[1:]; {
		case !slices.Contains(universe, name):
		case a[0] == '+':
			tab.enable(set, name)
		default:
			tab.disable(set, name)
		}
	}
	for f := range strings.FieldsSeq(tab.required) {
		if !set[f] {
			return fmt.Errorf("CPU %s without feature %s: the ABI of %s passes floats in registers that it has not", t.CPU, f, t.Triple)
		}
	}
	t.Features = slices.Sorted(maps.Keys(set))
	c := tab.cachesOf(t.CPU)
	t.L1, t.L2, t.L3 = c.l1<<10, c.l2<<10, c.l3<<10
	tab.machine(t)
	return nil
}

// LLVMFeatures are the changes to LLVM's CPU that make it the target: what the tables know better, then Attrs.
func (t *Target) LLVMFeatures() []string {
	var changes []string
	for f := range strings.FieldsSeq(tables[t.Arch].given) {
		if t.Has(f) {
			changes = append(changes, "+"+f)
		}
	}
	return append(changes, t.Attrs...)
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
	for _, c := range tab.cpus {
		names = append(names, c.name)
	}
	return names
}

// Features lists the features that the table of an architecture knows; Target.Features has no others.
func Features(a Arch) []string {
	tab, ok := tables[a]
	if !ok {
		return nil
	}
	return tab.universe()
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
