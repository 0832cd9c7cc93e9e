package main

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/isa"
	"lathe/internal/target"
	"lathe/internal/testkit/cputest"
	"lathe/internal/toolchain"
)

// allowed opens LLVM for a target and checks that it has on what the target's code may contain, and nothing else but what
// every machine has: what a package needs is what its manifest says.
func allowed(t *testing.T, r *target.Target) {
	t.Helper()
	m, err := toolchain.Open(toolchain.For(r))
	if err != nil {
		t.Errorf("%s: %v", r, err)
		return
	}
	for _, f := range m.Features() {
		if !r.MayUse(f) {
			t.Errorf("%s: LLVM may use %s", r, f)
		}
	}
	for _, f := range r.Features {
		if !slices.Contains(m.Features(), f) {
			t.Errorf("%s: LLVM does not use %s", r, f)
		}
	}
}

func resolve(t *testing.T, text string, host func() (target.Host, error)) *target.Target {
	t.Helper()
	s, err := target.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(host)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The tables of CPUs say of features that code may contain what LLVM says, but for those that LLVM's CPUs lack and Linux
// counts on.
func TestTargetTablesAgreeWithLLVM(t *testing.T) {
	given := map[target.Arch]string{target.ARM: "neon", target.RISCV64: "m a f d c"}
	for _, a := range target.ISAs() {
		triple, arch := a.Triple, a.Arch
		for _, name := range target.CPUs(arch) {
			r := resolve(t, "llvm -mtriple="+triple+" -mcpu="+name, nil)
			allowed(t, r)
			llvm, err := toolchain.FeaturesOf(triple, name)
			if err != nil {
				t.Fatal(err)
			}
			for f := range strings.FieldsSeq(given[arch]) {
				llvm = append(llvm, f)
			}
			llvm = slices.DeleteFunc(llvm, func(f string) bool { return !slices.Contains(target.Features(arch), f) })
			slices.Sort(llvm)
			if llvm = slices.Compact(llvm); !slices.Equal(llvm, r.Features) {
				t.Errorf("%s: the table says\n%v\nLLVM says\n%v", name, r.Features, llvm)
			}
		}
	}
}

// A CPU that the tables lack has what -mattr says, whatever LLVM knows of it.
func TestTargetsWithoutRows(t *testing.T) {
	for _, name := range toolchain.CPUs("x86_64-linux-gnu") {
		if !slices.Contains(target.CPUs(target.X86), name) && slices.Contains(features(t, name), "64bit") {
			allowed(t, resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu="+name+" -mattr=+avx2,+fma,+amx-int8,+avx10.2,+clwb,+prefer-256-bit", nil))
		}
	}
}

func features(t *testing.T, name string) []string {
	t.Helper()
	list, err := toolchain.FeaturesOf("x86_64-linux-gnu", name)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Adding or removing a single feature does the same in the tables and in LLVM, which has rows without code off.
func TestTargetImplicationsAgreeWithLLVM(t *testing.T) {
	for _, table := range target.ISAs() {
		triple := table.Triple
		for _, name := range table.Names(true) {
			plain := resolve(t, "llvm -mtriple="+triple+" -mcpu="+table.Generic, nil)
			s, err := target.Parse("llvm -mtriple=" + triple + " -mattr=+" + name)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			allowed(t, r)
			if table.Arch == target.RISCV64 || name == "relaxed-simd" {
				continue // LLVM refuses lengths of vectors without vectors, and a level of them without the lower one is its own
			}
			// With the same CPU LLVM's own implications, without what the table says, enable what the table enables.
			llvm, err := toolchain.Open(toolchain.Options{Triple: triple, CPU: r.CPU, Features: append(plain.LLVMFeatures(), "+"+name)})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			on := isa.Set{}
			for _, f := range llvm.Features() {
				on[f] = true
			}
			if got := table.Code(on); !slices.Equal(got, r.Features) {
				t.Errorf("%s: the table says %v, LLVM %v", name, r.Features, got)
			}
		}
	}
}

// This machine, and every recorded one, resolves to a target that LLVM accepts.
func TestTargetsOfMachines(t *testing.T) {
	allowed(t, resolve(t, "llvm", toolchain.Host))
	for _, recorded := range cputest.Recordings() {
		for _, mask := range cputest.Masks {
			allowed(t, resolve(t, "llvm", func() (target.Host, error) {
				return target.Host{Triple: "x86_64-linux-gnu", Machine: recorded.Machine(mask.Keep), Cores: 2}, nil
			}))
		}
	}
}
