package executor

import (
	"strings"
	"testing"

	"lathe/internal/cpu"
	"lathe/internal/target"
	"lathe/internal/testkit/cputest"
)

// A package for a recorded machine is accepted by that machine, whatever its system leaves off.
func TestCheckOwnPackages(t *testing.T) {
	spec, err := target.Parse("llvm")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range cputest.Recordings() {
		for _, mask := range cputest.Masks {
			m := r.Machine(mask.Keep)
			tgt, err := spec.Resolve(func() (target.Host, error) {
				return target.Host{Triple: "x86_64-linux-gnu", Machine: m, Cores: 2}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := checkCPU(tgt.Features, m); err != nil {
				t.Errorf("%s %s: %v", r.Name, mask.Name, err)
			}
		}
	}
}

// Packages for CPUs by name run where what their code may contain is there, and else are refused by name.
func TestCheckCPU(t *testing.T) {
	machines := map[string]*cpu.Machine{}
	for _, r := range cputest.Recordings() {
		machines[r.Name] = r.Machine(^uint64(0))
	}
	for _, c := range []struct {
		machine, cpu string
		want         []string // nil: accepted
	}{
		{"haswell-ep", "x86-64", nil},
		{"haswell-ep", "skylake", nil},
		{"haswell-ep", "znver3", nil}, // sse4a, sha, clzero: nothing of it is in code
		{"skylake-x", "znver2", nil},
		{"zen4-genoa", "icelake-server", nil},
		{"zen5-turin", "cooperlake", nil},
		{"sapphirerapids", "znver5", nil},
		{"xeon-amx-virtual-model-167", "graniterapids", nil},
		{"graniterapids", "sapphirerapids", nil},
		{"haswell-ep", "x86-64-v4", []string{"features avx512bw avx512cd avx512dq avx512f avx512vl,", "(Intel(R) Xeon(R) CPU E5-2630 v3 @ 2.40GHz)", `--target "llvm -mcpu=x86-64-v3"`}},
		{"zen4-genoa", "sapphirerapids", []string{"features amx-int8 amx-tile avx512fp16 avxvnni,", `-mcpu=x86-64-v4"`}},
		{"xeon-virtual-model-207", "emeraldrapids", []string{"features amx-int8 amx-tile avx512bf16 avx512fp16 avxvnni,"}},
	} {
		tgt, err := target.OfCPU(target.X86, c.cpu)
		if err != nil {
			t.Fatal(err)
		}
		err = checkCPU(tgt.Features, machines[c.machine])
		if c.want != nil {
			wantError(t, err, c.want...)
		} else if err != nil {
			t.Errorf("%s on %s: %v", c.cpu, c.machine, err)
		}
	}
	// Features that packages of former versions list, and one that nobody knows.
	here := machines["sapphirerapids"]
	if err := checkCPU(strings.Fields("aes amx-int8 amx-tile sha vaes sahf"), here); err != nil {
		t.Error(err)
	}
	wantError(t, checkCPU([]string{"avx2", "amx-fp16", "warp-drive"}, here), "features amx-fp16 warp-drive,")
	without, err := here.Without("-sse3")
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, checkCPU([]string{"avx2"}, without), `-mcpu=x86-64"`)
}

// wantError checks that err mentions all parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one about %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not mention %q", err, p)
		}
	}
}
