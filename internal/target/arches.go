package target

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/isa"
	"lathe/internal/isa/aarch64"
	"lathe/internal/isa/arm"
	"lathe/internal/isa/riscv"
	"lathe/internal/isa/wasm"
	"lathe/internal/isa/x86"
)

// isas are the architectures, in the order of messages: a new one is a folder of package isa and a line here.
var isas = []*isa.ISA{&x86.ISA, &aarch64.ISA, &arm.ISA, &riscv.ISA, &wasm.ISA}

// Arch is the name of an instruction set architecture.
type Arch = isa.Arch

// Names for tests that are about one architecture. Others ask for its facts.
const (
	X86     Arch = "x86_64"
	AArch64 Arch = "aarch64"
	ARM     Arch = "arm"
	RISCV64 Arch = "riscv64"
	WASM32  Arch = "wasm32"
)

// ISAs lists the architectures.
func ISAs() []*isa.ISA { return slices.Clone(isas) }

// noISA is what is known of a target of no architecture, as tests make them: nothing is in its way.
var noISA = isa.ISA{Table: &isa.Table{}}

// isaOf returns an architecture by its name.
func isaOf(name Arch) *isa.ISA {
	for _, a := range isas {
		if a.Arch == name {
			return a
		}
	}
	if name == CSource {
		return &source
	}
	return &noISA
}

// ISA is what is known of the target's architecture.
func (t *Target) ISA() *isa.ISA {
	if t == nil {
		return &noISA
	}
	return isaOf(t.Arch)
}

// ofTriple finds the architecture of a triple.
func ofTriple(triple string) (*isa.ISA, error) {
	first, _, _ := strings.Cut(triple, "-")
	var examples []string
	for _, a := range isas {
		for _, p := range a.Triples {
			if begin, open := strings.CutSuffix(p, "*"); first == begin || open && strings.HasPrefix(first, begin) {
				return a, nil
			}
		}
		examples = append(examples, a.Triple)
	}
	return nil, fmt.Errorf("-mtriple=%s: architecture %q is not supported yet; supported: %s", triple, first, strings.Join(examples, ", "))
}

// Arches lists the names of the architectures.
func Arches() []Arch {
	var names []Arch
	for _, a := range isas {
		names = append(names, a.Arch)
	}
	return names
}

// CPUs lists the CPU names that are known of an architecture.
func CPUs(name Arch) []string {
	var names []string
	for _, p := range isaOf(name).CPUs {
		names = append(names, p.Name)
	}
	return names
}

// Features lists the features that code for an architecture may contain; Target.Features has no others.
func Features(name Arch) []string { return isaOf(name).Names(false) }
