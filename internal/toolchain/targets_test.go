package toolchain

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/isa"
	"lathe/internal/target"
)

func TestOpenErrors(t *testing.T) {
	const x86 = "x86_64-linux-gnu"
	for _, c := range []struct {
		name    string
		options Options
		want    []string
	}{
		{"architecture", Options{Triple: "x86_46-linux-gnu"}, []string{"unknown target triple", `architecture "x86_46"`, "near it: x86_64-linux-gnu"}},
		{"back end left out", Options{Triple: "mips-linux-gnu"}, []string{"unknown target triple", "mips"}},
		{"operating system", Options{Triple: "x86_64-linx-gnu"}, []string{`"linx"`, "near it: x86_64-linux-gnu"}},
		{"environment", Options{Triple: "x86_64-pc-linux-glibc"}, []string{"unknown target triple"}},
		{"CPU", Options{Triple: x86, CPU: "skylake-avx521"}, []string{`unknown CPU "skylake-avx521"`, "near it: skylake-avx512"}},
		{"CPU of another target", Options{Triple: x86, CPU: "cortex-a53"}, []string{"unknown CPU"}},
		{"CPU called help", Options{Triple: x86, CPU: "help"}, []string{"unknown CPU"}},
		{"feature", Options{Triple: x86, Features: []string{"+avx215"}}, []string{`unknown CPU feature "avx215"`, "avx2"}},
		{"feature without sign", Options{Triple: x86, Features: []string{"avx2"}}, []string{`"+avx2"`, `"-avx2"`}},
		{"two features in one", Options{Triple: x86, Features: []string{"+avx2,+fma"}}, []string{"unknown CPU feature"}},
		{"32-bit CPU", Options{Triple: x86, CPU: "i386"}, []string{`CPU "i386"`, "64-bit"}},
		{"level", Options{Triple: x86, OptLevel: 4}, []string{"level 4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(c.options)
			wantError(t, err, c.want...)
		})
	}
}

func TestTripleSpellings(t *testing.T) {
	for _, triple := range append(slices.Clone(triples), "x86_64-pc-linux-gnu", "x86_64-myvendor-linux-musl", "aarch64-none-elf",
		"aarch64-linux-android21", "thumbv7em-none-eabihf", "riscv64-unknown-linux-gnu", "wasm32-wasi", "spirv1.6-unknown-vulkan1.3-compute") {
		if reason := checkTriple(triple); reason != "" {
			t.Errorf("%s: %s", triple, reason)
		}
	}
}

// LLVM has a back end for every architecture, which knows its plainest CPU, and lld links its shared objects.
func TestISAs(t *testing.T) {
	for _, a := range target.ISAs() {
		if reason := checkTriple(a.Triple); reason != "" || !slices.Contains(CPUs(a.Triple), a.Generic) {
			t.Errorf("%s: no code for %s (%s) and its CPU %s: see targets.h", a.Arch, a.Triple, reason, a.Generic)
		}
		if _, err := emulationOf(a.Triple); (err == nil) != (a.Object == isa.ELF) {
			t.Errorf("%s: %v: see emulations", a.Arch, err)
		}
	}
}

func TestHost(t *testing.T) {
	here, err := Native()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(CPUs(HostTriple()), here.CPU) {
		t.Errorf("host CPU %q is not among the CPUs of %s", here.CPU, HostTriple())
	}
	m := open(t, For(here))
	for _, f := range m.Features() {
		if !here.MayUse(f) {
			t.Errorf("LLVM has %s on, which %s has not", f, here)
		}
	}
	if !strings.HasPrefix(Version(), "22.") {
		t.Errorf("LLVM %s, want 22", Version())
	}
}

func TestFeaturesOf(t *testing.T) {
	for _, c := range []struct {
		triple, cpu string
		has, lacks  []string
	}{
		{"x86_64-linux-gnu", "x86-64-v3", []string{"avx2", "fma", "f16c", "sse4.2", "64bit"}, []string{"avx512f", "fast-gather", "slow-3ops-lea"}},
		{"x86_64-linux-gnu", "znver5", []string{"avx512vnni", "avx512bf16", "avxvnni"}, []string{"amx-tile", "fast-15bytenop"}},
		{"x86_64-linux-gnu", "", []string{"sse2"}, []string{"sse4.2", "avx", "64bit-mode", "idivq-to-divl"}},
		{"aarch64-linux-gnu", "neoverse-n1", []string{"neon", "dotprod", "fullfp16"}, []string{"sve", "i8mm"}},
		{"riscv64-linux-gnu", "generic-rv64", []string{"64bit"}, []string{"v"}},
	} {
		got, err := FeaturesOf(c.triple, c.cpu)
		if err != nil {
			t.Errorf("%s %s: %v", c.triple, c.cpu, err)
		}
		for _, f := range c.has {
			if !slices.Contains(got, f) {
				t.Errorf("%s %s lacks %s: %v", c.triple, c.cpu, f, got)
			}
		}
		for _, f := range c.lacks {
			if slices.Contains(got, f) {
				t.Errorf("%s %s has %s: %v", c.triple, c.cpu, f, got)
			}
		}
		if !slices.IsSorted(got) {
			t.Errorf("%s %s: not sorted: %v", c.triple, c.cpu, got)
		}
	}
	if _, err := FeaturesOf("x86_64-linux-gnu", "zenver5"); err == nil || !strings.Contains(err.Error(), "znver5") {
		t.Errorf("unknown CPU: %v", err)
	}
}

func TestMachineFeatures(t *testing.T) {
	m := open(t, Options{Triple: "x86_64-linux-gnu", CPU: "x86-64-v3", Features: []string{"-avx2", "+avx512vnni", "-avx512vnni"}})
	got := m.Features()
	// Removing avx2 removes what is built on it; adding avx512vnni brings avx512f, and avx2 with it, which stay when only vnni goes.
	for f, want := range map[string]bool{"avx": true, "avx2": true, "avx512f": true, "avx512vnni": false, "fma": true} {
		if slices.Contains(got, f) != want {
			t.Errorf("%s: %v, want %v", f, !want, want)
		}
	}
}

func TestLists(t *testing.T) {
	if got := CPUs("nosuch-linux-gnu"); len(got) != 0 {
		t.Errorf("CPUs of an unknown triple: %v", got)
	}
	for _, triple := range triples {
		if !slices.IsSorted(Features(triple)) || !slices.IsSorted(CPUs(triple)) {
			t.Errorf("%s: lists are not sorted", triple)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"avx2", "avx2", 0}, {"avx2", "avx", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
