package main

import (
	"slices"
	"testing"

	"lathe/internal/target"
	"lathe/internal/toolchain"
)

// The tables of CPUs say of their features what LLVM says, once LLVM is told
// what it leaves out. Features that the tables do not name are not compared.
func TestTargetTablesAgreeWithLLVM(t *testing.T) {
	for triple, arch := range map[string]target.Arch{"x86_64-linux-gnu": target.X86, "aarch64-linux-gnu": target.AArch64, "armv7-linux-gnueabihf": target.ARM, "riscv64-linux-gnu": target.RISCV64, "wasm32-unknown-unknown": target.WASM32} {
		named := target.Features(arch)
		for _, cpu := range target.CPUs(arch) {
			s, err := target.Parse("llvm -mtriple=" + triple + " -mcpu=" + cpu)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			m, err := toolchain.Open(toolchain.Options{Triple: triple, CPU: cpu, Features: r.LLVMFeatures()})
			if err != nil {
				t.Errorf("%s: %v", cpu, err)
				continue
			}
			llvm := slices.DeleteFunc(m.Features(), func(f string) bool { return !slices.Contains(named, f) })
			if !slices.Equal(llvm, r.Features) {
				t.Errorf("%s: the table says\n%v\nLLVM says\n%v", cpu, r.Features, llvm)
			}
		}
	}
}

// Adding a single feature implies the same in the tables and in LLVM.
func TestTargetImplicationsAgreeWithLLVM(t *testing.T) {
	for _, text := range target.Features(target.X86) {
		s, err := target.Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=+" + text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := toolchain.Open(toolchain.Options{Triple: r.Triple, CPU: r.CPU, Features: r.LLVMFeatures()})
		if err != nil {
			t.Fatal(err)
		}
		llvm := slices.DeleteFunc(m.Features(), func(f string) bool { return !slices.Contains(target.Features(target.X86), f) })
		if !slices.Equal(llvm, r.Features) {
			t.Errorf("%s: the table says %v, LLVM says %v", text, r.Features, llvm)
		}
	}
}

// This machine resolves to a target that LLVM accepts and whose features are those that were probed.
func TestTargetOfThisMachine(t *testing.T) {
	s, err := target.Parse("llvm")
	if err != nil {
		t.Fatal(err)
	}
	cpu, features := toolchain.HostCPU()
	r, err := s.Resolve(func() (target.Host, error) {
		return target.Host{Triple: toolchain.HostTriple(), CPU: cpu, Features: features, Cores: 2}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := toolchain.Open(toolchain.Options{Triple: r.Triple, CPU: r.CPU, Features: r.LLVMFeatures()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Features {
		if !slices.Contains(m.Features(), f) {
			t.Errorf("%s: LLVM does not enable %s", r, f)
		}
		if slices.Contains(features, "-"+f) {
			t.Errorf("%s has %s, which this machine hides", r, f)
		}
	}
}
