package toolchain

import (
	"runtime"

	"lathe/internal/cpu"
	"lathe/internal/target"
)

// Host is this machine: its processor says itself what it has, and LLVM knows how the system is called.
func Host() (target.Host, error) {
	m, err := cpu.This()
	if err != nil {
		return target.Host{}, err
	}
	return target.Host{Triple: HostTriple(), Machine: m, Cores: runtime.NumCPU()}, nil
}

// Native returns this machine as a target.
func Native() (*target.Target, error) {
	spec, err := target.Parse("llvm")
	if err != nil {
		return nil, err
	}
	return spec.Resolve(Host)
}

// For returns the options to compile for a target: LLVM has on what the target's code may contain and nothing else, whatever
// it thinks of the CPU's name.
func For(t *target.Target) Options {
	return Options{Triple: t.Triple, CPU: t.CPU, Features: t.LLVMFeatures(), Only: t.MayUse, OptLevel: t.OptLevel}
}
