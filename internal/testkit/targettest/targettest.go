// Package targettest makes targets for tests.
package targettest

import (
	"testing"

	"lathe/internal/cpu"
	"lathe/internal/target"
	"lathe/internal/toolchain"
)

// Resolve makes a target from a string, with this machine as host. What is compiled for a named target runs here only where
// the machine has its features; and what is chosen for "llvm" is known only to the machine.
func Resolve(t testing.TB, s string) *target.Target {
	t.Helper()
	spec, err := target.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	tgt, err := spec.Resolve(func() (target.Host, error) {
		h, err := toolchain.Host()
		h.Cores = 2
		return h, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tgt
}

// schedulesOf is this machine with the numbers by which schedules are chosen for a target: instructions are the machine's,
// and LLVM splits vectors that are wider than its own.
func schedulesOf(t testing.TB, s string) *target.Target {
	t.Helper()
	here, tgt := Resolve(t, "llvm"), *Resolve(t, s)
	tgt.Arch, tgt.Triple, tgt.CPU, tgt.Attrs, tgt.Features = here.Arch, here.Triple, here.CPU, here.Attrs, here.Features
	tgt.HasFMA, tgt.HasDot, tgt.SignedDot = here.HasFMA, here.HasDot, here.SignedDot
	return &tgt
}

// Runnable is a target, or its schedules where this machine lacks its features.
func Runnable(t testing.TB, s string) *target.Target {
	t.Helper()
	m, err := cpu.This()
	if err != nil {
		t.Fatal(err)
	}
	tgt := Resolve(t, s)
	if tgt.Arch != m.Arch || m.Missing(tgt.Features) != nil {
		return schedulesOf(t, s)
	}
	return tgt
}

// Registers are schedules for vectors of any width in any number of registers.
func Registers(t testing.TB, bits, count int) *target.Target {
	t.Helper()
	tgt := schedulesOf(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")
	tgt.VectorBits, tgt.VectorRegs = bits, count
	return tgt
}

// Executed are the targets that kernels with choices of their own run on: this machine's, AVX2's, and schedules for narrower
// and wider vectors.
func Executed(t testing.TB) []*target.Target {
	t.Helper()
	return []*target.Target{Resolve(t, "llvm"), Runnable(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=core-avx2"), Registers(t, 128, 32), Registers(t, 512, 32)}
}
