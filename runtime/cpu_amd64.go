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
	return amd64CPU(model, strings.Fields(cpuinfo(root, "flags")))
}

// amd64CPU is a machine by the kernel's flags; without any, golang.org/x/sys/cpu answers for this one.
func amd64CPU(model string, flags []string) cpu {
	has := func(name string) (has, known bool) {
		i := slices.IndexFunc(amd64Features, func(f amd64Feature) bool { return f.llvm == name })
		if i < 0 {
			return false, false
		}
		f := amd64Features[i]
		if len(flags) == 0 {
			return f.cpuid != nil && *f.cpuid, true
		}
		return slices.Contains(flags, f.flag), true
	}
	return cpu{
		model:    model,
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
func amd64Level(has func(string) (has, known bool)) string {
	for _, l := range amd64Levels {
		if !slices.ContainsFunc(l.needs, func(name string) bool { ok, _ := has(name); return !ok }) {
			return l.cpu
		}
	}
	return "x86-64"
}

// amd64Feature is an instruction set: LLVM's name, the kernel's, and the answer of golang.org/x/sys/cpu where it has one.
type amd64Feature struct {
	llvm, flag string
	cpuid      *bool
}

// amd64Features are the instruction sets that generated code may use.
var amd64Features = []amd64Feature{
	{"sse3", "pni", &xcpu.X86.HasSSE3},
	{"ssse3", "ssse3", &xcpu.X86.HasSSSE3},
	{"sse4.1", "sse4_1", &xcpu.X86.HasSSE41},
	{"sse4.2", "sse4_2", &xcpu.X86.HasSSE42},
	{"crc32", "sse4_2", &xcpu.X86.HasSSE42},
	{"sse4a", "sse4a", nil},
	{"popcnt", "popcnt", &xcpu.X86.HasPOPCNT},
	{"cx16", "cx16", &xcpu.X86.HasCX16},
	{"sahf", "lahf_lm", nil},
	{"movbe", "movbe", nil},
	{"lzcnt", "abm", nil},
	{"bmi", "bmi1", &xcpu.X86.HasBMI1},
	{"bmi2", "bmi2", &xcpu.X86.HasBMI2},
	{"adx", "adx", &xcpu.X86.HasADX},
	{"tbm", "tbm", nil},
	{"avx", "avx", &xcpu.X86.HasAVX},
	{"avx2", "avx2", &xcpu.X86.HasAVX2},
	{"f16c", "f16c", nil},
	{"fma", "fma", &xcpu.X86.HasFMA},
	{"fma4", "fma4", nil},
	{"xop", "xop", nil},
	{"aes", "aes", &xcpu.X86.HasAES},
	{"vaes", "vaes", &xcpu.X86.HasAVX512VAES},
	{"pclmul", "pclmulqdq", &xcpu.X86.HasPCLMULQDQ},
	{"vpclmulqdq", "vpclmulqdq", &xcpu.X86.HasAVX512VPCLMULQDQ},
	{"gfni", "gfni", &xcpu.X86.HasAVX512GFNI},
	{"sha", "sha_ni", nil},
	{"sha512", "sha512", nil},
	{"sm3", "sm3", nil},
	{"sm4", "sm4", nil},
	{"avx512f", "avx512f", &xcpu.X86.HasAVX512F},
	{"avx512cd", "avx512cd", &xcpu.X86.HasAVX512CD},
	{"avx512bw", "avx512bw", &xcpu.X86.HasAVX512BW},
	{"avx512dq", "avx512dq", &xcpu.X86.HasAVX512DQ},
	{"avx512vl", "avx512vl", &xcpu.X86.HasAVX512VL},
	{"avx512ifma", "avx512ifma", &xcpu.X86.HasAVX512IFMA},
	{"avx512vbmi", "avx512vbmi", &xcpu.X86.HasAVX512VBMI},
	{"avx512vbmi2", "avx512_vbmi2", &xcpu.X86.HasAVX512VBMI2},
	{"avx512vnni", "avx512_vnni", &xcpu.X86.HasAVX512VNNI},
	{"avx512bitalg", "avx512_bitalg", &xcpu.X86.HasAVX512BITALG},
	{"avx512vpopcntdq", "avx512_vpopcntdq", &xcpu.X86.HasAVX512VPOPCNTDQ},
	{"avx512bf16", "avx512_bf16", &xcpu.X86.HasAVX512BF16},
	{"avx512fp16", "avx512_fp16", nil},
	{"avx512vp2intersect", "avx512_vp2intersect", nil},
	{"avxvnni", "avx_vnni", &xcpu.X86.HasAVXVNNI},
	{"avxvnniint8", "avx_vnni_int8", &xcpu.X86.HasAVXVNNIInt8},
	{"avxvnniint16", "avx_vnni_int16", nil},
	{"avxifma", "avx_ifma", &xcpu.X86.HasAVXIFMA},
	{"avxneconvert", "avx_ne_convert", nil},
	{"amx-tile", "amx_tile", &xcpu.X86.HasAMXTile},
	{"amx-int8", "amx_int8", &xcpu.X86.HasAMXInt8},
	{"amx-bf16", "amx_bf16", &xcpu.X86.HasAMXBF16},
	{"amx-fp16", "amx_fp16", nil},
	{"amx-complex", "amx_complex", nil},
	{"egpr", "apx", nil}, {"ccmp", "apx", nil}, {"ndd", "apx", nil}, {"nf", "apx", nil}, {"ppx", "apx", nil},
	{"push2pop2", "apx", nil}, {"zu", "apx", nil},
}

// amd64Harmless are features of every 64-bit CPU, names of sets whose members LLVM lists as well (avx10.1), and
// instructions that a compiler never chooses by itself. LLVM lists all of them for a CPU by name, and virtual machines
// hide many of the last kind.
var amd64Harmless = []string{
	"64bit", "64bit-mode", "cmov", "cx8", "fxsr", "mmx", "nopl", "sse", "sse2", "x87",
	"cldemote", "clflushopt", "clwb", "clzero", "cmpccxadd", "enqcmd", "fsgsbase", "hreset", "invpcid", "kl", "lwp",
	"movdir64b", "movdiri", "mwaitx", "pconfig", "pku", "prefetchi", "prfchw", "ptwrite", "raoint", "rdpid", "rdpru",
	"rdrnd", "rdseed", "rtm", "serialize", "sgx", "shstk", "tsxldtrk", "uintr", "usermsr", "vzeroupper", "waitpkg",
	"wbnoinvd", "widekl", "xsave", "xsavec", "xsaveopt", "xsaves",
	"avx10.1", "avx10.1-256", "avx10.1-512", "movrs",
	"allow-light-256-bit", "branch-hint", "branchfusion", "ermsb", "evex512", "fsrm", "macrofusion", "sbb-dep-breaking",
}

// amd64Tuning are the beginnings of features that only steer the choice between correct instructions.
var amd64Tuning = []string{
	"false-deps-", "fast-", "idivl-", "idivq-", "lea-", "no-bypass-delay", "pad-short-functions", "prefer-", "slow-",
	"tuning-", "use-",
}
