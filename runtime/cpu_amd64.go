package runtime

import (
	"os"
	"slices"
	"strings"

	xcpu "golang.org/x/sys/cpu"
)

// thisCPU asks the kernel, whose flags leave out what the operating system does not support, and without /proc the
// processor.
func thisCPU() cpu {
	root := os.DirFS("/")
	model := cpuinfo(root, "model name")
	if model == "" {
		model = "unknown model"
	}
	flags := strings.Fields(cpuinfo(root, "flags"))
	has := func(f feature) bool {
		if len(flags) == 0 {
			return f.alt != nil && *f.alt
		}
		return slices.Contains(flags, f.flag)
	}
	return cpu{
		model:    model,
		features: amd64Features,
		has:      has,
		harmless: func(name string) bool { return matches(name, amd64Harmless, amd64Tuning) },
		advice:   func() string { return `with --target "llvm -mcpu=` + amd64Level(has) + `"` },
	}
}

// amd64Levels are LLVM's CPUs for the levels of the x86-64 ABI with the features that tell them apart.
var amd64Levels = []struct {
	cpu   string
	needs []string
}{
	{"x86-64-v4", []string{"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma", "f16c", "bmi2", "lzcnt", "movbe"}},
	{"x86-64-v3", []string{"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"}},
	{"x86-64-v2", []string{"sse4.2", "ssse3", "popcnt", "cx16"}},
}

// amd64Level returns the highest level the CPU reaches.
func amd64Level(has func(feature) bool) string {
	for _, l := range amd64Levels {
		if checkCPU(l.needs, cpu{features: amd64Features, has: has, advice: func() string { return "" }}) == nil {
			return l.cpu
		}
	}
	return "x86-64"
}

// amd64Features are the instruction sets that generated code may use, with the kernel's names.
var amd64Features = []feature{
	{llvm: "sse3", flag: "pni", alt: &xcpu.X86.HasSSE3},
	{llvm: "ssse3", flag: "ssse3", alt: &xcpu.X86.HasSSSE3},
	{llvm: "sse4.1", flag: "sse4_1", alt: &xcpu.X86.HasSSE41},
	{llvm: "sse4.2", flag: "sse4_2", alt: &xcpu.X86.HasSSE42},
	{llvm: "crc32", flag: "sse4_2", alt: &xcpu.X86.HasSSE42},
	{llvm: "sse4a", flag: "sse4a"},
	{llvm: "popcnt", flag: "popcnt", alt: &xcpu.X86.HasPOPCNT},
	{llvm: "cx16", flag: "cx16", alt: &xcpu.X86.HasCX16},
	{llvm: "sahf", flag: "lahf_lm"},
	{llvm: "movbe", flag: "movbe"},
	{llvm: "lzcnt", flag: "abm"},
	{llvm: "bmi", flag: "bmi1", alt: &xcpu.X86.HasBMI1},
	{llvm: "bmi2", flag: "bmi2", alt: &xcpu.X86.HasBMI2},
	{llvm: "adx", flag: "adx", alt: &xcpu.X86.HasADX},
	{llvm: "tbm", flag: "tbm"},
	{llvm: "avx", flag: "avx", alt: &xcpu.X86.HasAVX},
	{llvm: "avx2", flag: "avx2", alt: &xcpu.X86.HasAVX2},
	{llvm: "f16c", flag: "f16c"},
	{llvm: "fma", flag: "fma", alt: &xcpu.X86.HasFMA},
	{llvm: "fma4", flag: "fma4"},
	{llvm: "xop", flag: "xop"},
	{llvm: "aes", flag: "aes", alt: &xcpu.X86.HasAES},
	{llvm: "vaes", flag: "vaes", alt: &xcpu.X86.HasAVX512VAES},
	{llvm: "pclmul", flag: "pclmulqdq", alt: &xcpu.X86.HasPCLMULQDQ},
	{llvm: "vpclmulqdq", flag: "vpclmulqdq", alt: &xcpu.X86.HasAVX512VPCLMULQDQ},
	{llvm: "gfni", flag: "gfni", alt: &xcpu.X86.HasAVX512GFNI},
	{llvm: "sha", flag: "sha_ni"},
	{llvm: "sha512", flag: "sha512"},
	{llvm: "sm3", flag: "sm3"},
	{llvm: "sm4", flag: "sm4"},
	{llvm: "avx512f", flag: "avx512f", alt: &xcpu.X86.HasAVX512F},
	{llvm: "avx512cd", flag: "avx512cd", alt: &xcpu.X86.HasAVX512CD},
	{llvm: "avx512bw", flag: "avx512bw", alt: &xcpu.X86.HasAVX512BW},
	{llvm: "avx512dq", flag: "avx512dq", alt: &xcpu.X86.HasAVX512DQ},
	{llvm: "avx512vl", flag: "avx512vl", alt: &xcpu.X86.HasAVX512VL},
	{llvm: "avx512ifma", flag: "avx512ifma", alt: &xcpu.X86.HasAVX512IFMA},
	{llvm: "avx512vbmi", flag: "avx512vbmi", alt: &xcpu.X86.HasAVX512VBMI},
	{llvm: "avx512vbmi2", flag: "avx512_vbmi2", alt: &xcpu.X86.HasAVX512VBMI2},
	{llvm: "avx512vnni", flag: "avx512_vnni", alt: &xcpu.X86.HasAVX512VNNI},
	{llvm: "avx512bitalg", flag: "avx512_bitalg", alt: &xcpu.X86.HasAVX512BITALG},
	{llvm: "avx512vpopcntdq", flag: "avx512_vpopcntdq", alt: &xcpu.X86.HasAVX512VPOPCNTDQ},
	{llvm: "avx512bf16", flag: "avx512_bf16", alt: &xcpu.X86.HasAVX512BF16},
	{llvm: "avx512fp16", flag: "avx512_fp16"},
	{llvm: "avx512vp2intersect", flag: "avx512_vp2intersect"},
	{llvm: "avxvnni", flag: "avx_vnni", alt: &xcpu.X86.HasAVXVNNI},
	{llvm: "avxvnniint8", flag: "avx_vnni_int8", alt: &xcpu.X86.HasAVXVNNIInt8},
	{llvm: "avxvnniint16", flag: "avx_vnni_int16"},
	{llvm: "avxifma", flag: "avx_ifma", alt: &xcpu.X86.HasAVXIFMA},
	{llvm: "avxneconvert", flag: "avx_ne_convert"},
	{llvm: "amx-tile", flag: "amx_tile", alt: &xcpu.X86.HasAMXTile},
	{llvm: "amx-int8", flag: "amx_int8", alt: &xcpu.X86.HasAMXInt8},
	{llvm: "amx-bf16", flag: "amx_bf16", alt: &xcpu.X86.HasAMXBF16},
	{llvm: "amx-fp16", flag: "amx_fp16"},
	{llvm: "amx-complex", flag: "amx_complex"},
}

// amd64Harmless are features of every 64-bit CPU, and instructions that a compiler never chooses by itself. LLVM lists
// both for a CPU by name, and virtual machines hide many of the second kind.
var amd64Harmless = []string{
	"64bit", "64bit-mode", "cmov", "cx8", "fxsr", "mmx", "nopl", "sse", "sse2", "x87",
	"cldemote", "clflushopt", "clwb", "clzero", "cmpccxadd", "enqcmd", "fsgsbase", "hreset", "invpcid", "kl", "lwp",
	"movdir64b", "movdiri", "mwaitx", "pconfig", "pku", "prefetchi", "prfchw", "ptwrite", "raoint", "rdpid", "rdpru",
	"rdrnd", "rdseed", "rtm", "serialize", "sgx", "shstk", "tsxldtrk", "uintr", "usermsr", "vzeroupper", "waitpkg",
	"wbnoinvd", "widekl", "xsave", "xsavec", "xsaveopt", "xsaves",
	"allow-light-256-bit", "branch-hint", "branchfusion", "ermsb", "evex512", "fsrm", "macrofusion", "sbb-dep-breaking",
}

// amd64Tuning are the beginnings of features that only steer the choice between correct instructions.
var amd64Tuning = []string{
	"false-deps-", "fast-", "idivl-", "idivq-", "lea-", "no-bypass-delay", "pad-short-functions", "prefer-", "slow-",
	"tuning-", "use-",
}
