package runtime

import (
	"slices"
	"strings"
	"testing"
)

// zen4 and haswell are flags lines of /proc/cpuinfo, shortened to what counts.
const (
	haswell = "fpu sse sse2 ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt aes avx f16c lahf_lm abm bmi1 avx2 bmi2 pni"
	zen4    = haswell + " avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512_vnni avx512_bf16"
)

func TestCheckCPU(t *testing.T) {
	for _, c := range []struct {
		flags  string
		needed []string
		want   []string // nil: accepted
	}{
		{haswell, nil, nil},
		{haswell, []string{"avx2", "fma", "f16c", "sse4.2", "crc32", "64bit", "fast-gather", "clzero", "+bmi2"}, nil},
		{zen4, []string{"avx512f", "avx512vnni", "avx512bf16", "evex512", "prefer-256-bit"}, nil},
		{haswell, []string{"avx2", "avx512f", "avx512vl"}, []string{"features avx512f avx512vl,", "(Model)", "-mcpu=x86-64-v3"}},
		{zen4, []string{"amx-int8"}, []string{"amx-int8", "-mcpu=x86-64-v4"}},
		{zen4, []string{"avx2048"}, []string{"avx2048"}},
		{zen4, []string{""}, []string{"features"}},
		{"fpu sse2 ssse3 sse4_2 popcnt cx16 pni", []string{"avx2"}, []string{"-mcpu=x86-64-v2"}},
		{"fpu sse2", []string{"avx2"}, []string{`-mcpu=x86-64"`}},
	} {
		err := checkCPU(c.needed, amd64CPU("Model", strings.Fields(c.flags)))
		if c.want == nil {
			if err != nil {
				t.Errorf("%v: %v", c.needed, err)
			}
			continue
		}
		wantError(t, err, c.want...)
	}
}

// TestCPUSources compares what the kernel says about this machine with what the processor says.
func TestCPUSources(t *testing.T) {
	here, probe := thisCPU(), amd64CPU("", nil)
	for _, f := range amd64Features {
		if f.cpuid == nil || strings.HasPrefix(f.llvm, "amx") {
			continue
		}
		kernel, _ := here.has(f.llvm)
		cpuid, _ := probe.has(f.llvm)
		// x/sys/cpu knows the vector forms of these only with AVX-512.
		if slices.Contains([]string{"vaes", "vpclmulqdq", "gfni"}, f.llvm) && kernel {
			continue
		}
		if kernel != cpuid {
			t.Errorf("%s: the kernel says %t, the processor %t", f.llvm, kernel, cpuid)
		}
	}
}
