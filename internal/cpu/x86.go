package cpu

import "strings"

// Words of x86-64: registers of CPUID leaves.
const (
	leaf1C = iota
	leaf7B
	leaf7C
	leaf7D
	leaf71A
	leaf71D
	extendedC
)

// A Leaf is where CPUID has a word.
type Leaf struct {
	Leaf, Sub uint32
	Register  int // 0 to 3: eax, ebx, ecx, edx
}

// Leaves are the words of x86-64, in their order.
var Leaves = []Leaf{{1, 0, 2}, {7, 0, 1}, {7, 0, 2}, {7, 0, 3}, {7, 1, 0}, {7, 1, 3}, {0x80000001, 0, 2}}

// States of XCR0.
const (
	xmm  = 0
	ymm  = 0x6
	zmm  = 0xe6
	tile = 0x60000
)

// X86 is x86-64. Rows without code are sets that LLVM uses for functions of their own only (cryptography, matrices), that a
// system uses, or that only processors of one maker have for what others do otherwise; code never contains them, so that it
// runs where a virtual machine hides them.
var X86 = Table{
	Arch: "x86_64",
	Base: []string{"64bit", "cmov", "cx8", "fxsr", "mmx", "nopl", "sse", "sse2", "x87"},
	Tuning: []string{
		"allow-light-256-bit", "branch-hint", "branchfusion", "false-deps-", "fast-", "faster-", "harden-", "idivl-", "idivq-", "lea-",
		"lvi-", "macrofusion", "no-bypass-delay", "pad-short-functions", "prefer-", "retpoline", "sbb-dep-breaking", "seses", "slow-",
		"sse-unaligned-mem", "tuning-", "use-", "vzeroupper",
	},
	Rows: []Feature{
		{"sse3", "", leaf1C, 0, xmm, true},
		{"pclmul", "", leaf1C, 1, xmm, false},
		{"ssse3", "sse3", leaf1C, 9, xmm, true},
		{"fma", "avx", leaf1C, 12, ymm, true},
		{"cx16", "", leaf1C, 13, xmm, false},
		{"sse4.1", "ssse3", leaf1C, 19, xmm, true},
		{"sse4.2", "sse4.1", leaf1C, 20, xmm, true},
		{"crc32", "", leaf1C, 20, xmm, false},
		{"movbe", "", leaf1C, 22, xmm, true},
		{"popcnt", "", leaf1C, 23, xmm, true},
		{"aes", "", leaf1C, 25, xmm, false},
		{"avx", "sse4.2", leaf1C, 28, ymm, true},
		{"f16c", "avx", leaf1C, 29, ymm, true},

		{"bmi", "", leaf7B, 3, xmm, true},
		{"avx2", "avx", leaf7B, 5, ymm, true},
		{"bmi2", "", leaf7B, 8, xmm, true},
		{"avx512f", "avx2 f16c fma", leaf7B, 16, zmm, true},
		{"avx512dq", "avx512f", leaf7B, 17, zmm, true},
		{"adx", "", leaf7B, 19, xmm, false},
		{"avx512ifma", "avx512f", leaf7B, 21, zmm, true},
		{"avx512cd", "avx512f", leaf7B, 28, zmm, true},
		{"sha", "", leaf7B, 29, xmm, false},
		{"avx512bw", "avx512f", leaf7B, 30, zmm, true},
		{"avx512vl", "avx512f", leaf7B, 31, zmm, true},

		{"avx512vbmi", "avx512bw", leaf7C, 1, zmm, true},
		{"avx512vbmi2", "avx512bw", leaf7C, 6, zmm, true},
		{"gfni", "", leaf7C, 8, xmm, true},
		{"vaes", "aes avx2", leaf7C, 9, ymm, false},
		{"vpclmulqdq", "avx pclmul", leaf7C, 10, ymm, false},
		{"avx512vnni", "avx512f", leaf7C, 11, zmm, true},
		{"avx512bitalg", "avx512bw", leaf7C, 12, zmm, true},
		{"avx512vpopcntdq", "avx512f", leaf7C, 14, zmm, true},

		{"avx512vp2intersect", "avx512f", leaf7D, 8, zmm, false},
		{"amx-bf16", "amx-tile", leaf7D, 22, tile, false},
		{"avx512fp16", "avx512bw", leaf7D, 23, zmm, true},
		{"amx-tile", "", leaf7D, 24, tile, false},
		{"amx-int8", "amx-tile", leaf7D, 25, tile, false},

		{"sha512", "avx2", leaf71A, 0, ymm, false},
		{"sm3", "avx", leaf71A, 1, ymm, false},
		{"sm4", "avx2", leaf71A, 2, ymm, false},
		{"avxvnni", "avx2", leaf71A, 4, ymm, true},
		{"avx512bf16", "avx512bw", leaf71A, 5, zmm, true},
		{"amx-fp16", "amx-tile", leaf71A, 21, tile, false},
		{"avxifma", "avx2", leaf71A, 23, ymm, true},

		{"avxvnniint8", "avx2", leaf71D, 4, ymm, true},
		{"avxneconvert", "avx2", leaf71D, 5, ymm, true},
		{"amx-complex", "amx-tile", leaf71D, 8, tile, false},
		{"avxvnniint16", "avx2", leaf71D, 10, ymm, true},

		{"sahf", "", extendedC, 0, xmm, false},
		{"lzcnt", "", extendedC, 5, xmm, true},
		{"sse4a", "sse3", extendedC, 6, xmm, false},
		{"xop", "fma4", extendedC, 11, ymm, false},
		{"fma4", "avx sse4a", extendedC, 16, ymm, false},
		{"tbm", "", extendedC, 21, xmm, false},
	},
}

// A Level is a level of the x86-64 ABI: LLVM's name and what code may contain on it beyond the next lower one.
type Level struct{ Name, Features string }

// Levels are those of the x86-64 ABI, the lowest first.
var Levels = []Level{
	{"x86-64", ""},
	{"x86-64-v2", "popcnt sse4.2"},
	{"x86-64-v3", "avx2 bmi bmi2 f16c fma lzcnt movbe"},
	{"x86-64-v4", "avx512bw avx512cd avx512dq avx512vl"},
}

// LevelOf returns the highest level whose features are all there.
func LevelOf(has func(name string) bool) string {
	best := Levels[0].Name
	for _, l := range Levels {
		s := Set{}
		for f := range strings.FieldsSeq(l.Features) {
			X86.Enable(s, f)
		}
		for f := range s {
			if !has(f) {
				return best
			}
		}
		best = l.Name
	}
	return best
}
