package compile

import (
	"bytes"
	"context"
	"testing"

	"lathe/internal/cpu"
	"lathe/internal/target"
	"lathe/internal/toolchain"
)

// resolve makes a target from a string, with this machine as host. What is compiled for a named target runs here only where
// the machine has its features; and what is chosen for "llvm" is known only to the machine.
func resolve(t testing.TB, s string) *target.Target {
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
func schedulesOf(t *testing.T, s string) *target.Target {
	t.Helper()
	here, tgt := resolve(t, "llvm"), *resolve(t, s)
	tgt.Arch, tgt.Triple, tgt.CPU, tgt.Attrs, tgt.Features = here.Arch, here.Triple, here.CPU, here.Attrs, here.Features
	tgt.HasFMA, tgt.HasDot, tgt.SignedDot = here.HasFMA, here.HasDot, here.SignedDot
	return &tgt
}

// runnable is a target, or its schedules where this machine lacks its features.
func runnable(t *testing.T, s string) *target.Target {
	t.Helper()
	m, err := cpu.This()
	if err != nil {
		t.Fatal(err)
	}
	tgt := resolve(t, s)
	if string(tgt.Arch) != m.Arch || m.Missing(tgt.Features) != nil {
		return schedulesOf(t, s)
	}
	return tgt
}

// registers are schedules for vectors of any width in any number of registers.
func registers(t *testing.T, bits, count int) *target.Target {
	t.Helper()
	tgt := schedulesOf(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")
	tgt.VectorBits, tgt.VectorRegs = bits, count
	return tgt
}

// executed are the targets that kernels with choices of their own run on: this machine's, AVX2's, and schedules for narrower
// and wider vectors.
func executed(t *testing.T) []*target.Target {
	t.Helper()
	return []*target.Target{resolve(t, "llvm"), runnable(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=core-avx2"), registers(t, 128, 32), registers(t, 512, 32)}
}

// TestResolvedTarget: what "llvm" stands for here gives the same library where "llvm" stands for something else.
func TestResolvedTarget(t *testing.T) {
	library := func(tgt *target.Target) []byte {
		res, err := Compile(context.Background(), digits(t), Options{Target: tgt, Level: 3, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		return res.Contents.Library
	}
	here := resolve(t, "llvm")
	want := library(here)
	if len(here.Features) > 0 {
		t.Setenv(cpu.Variable, "-"+here.Features[0])
		if other := resolve(t, "llvm"); other.Has(here.Features[0]) || other.String() == here.String() {
			t.Errorf("with %s less this machine is still %s", here.Features[0], other)
		}
	}
	if !bytes.Equal(library(resolve(t, here.String())), want) {
		t.Errorf("%s gives another library on another machine", here)
	}
}
