package x86

import "lathe/internal/isa"

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
	ymm  = 0x6
	zmm  = 0xe6
	tile = 0x60000

	tileData = 0x40000
)

// Features is what x86-64 has. Rows without code are sets that LLVM uses for functions of their own only (cryptography), that a
// system uses, or that only processors of one maker have for what others do otherwise; code never contains them, so that it
// runs where a virtual machine hides them.
var Features = isa.Table{
	Arch: "x86_64", Triple: "x86_64-linux-gnu", Generic: "x86-64",
	Base: []string{"64bit", "cmov", "cx8", "fxsr", "mmx", "nopl", "sse", "sse2", "x87"},
	Tuning: []string{
		"allow-light-256-bit", "branch-hint", "branchfusion", "false-deps-", "fast-", "faster-", "harden-", "idivl-", "idivq-", "lea-",
		"lvi-", "macrofusion", "no-bypass-delay", "pad-short-functions", "prefer-", "retpoline", "sbb-dep-breaking", "seses", "slow-",
		"sse-unaligned-mem", "tuning-", "use-", "vzeroupper",
	},
	Rows: []isa.Feature{
		{Name: "sse3", Word: leaf1C, Bit: 0, Code: true},
		{Name: "pclmul", Word: leaf1C, Bit: 1},
		{Name: "ssse3", Needs: "sse3", Word: leaf1C, Bit: 9, Code: true},
		{Name: "fma", Needs: "avx", Word: leaf1C, Bit: 12, State: ymm, Code: true},
		{Name: "cx16", Word: leaf1C, Bit: 13},
		{Name: "sse4.1", Needs: "ssse3", Word: leaf1C, Bit: 19, Code: true},
		{Name: "sse4.2", Needs: "sse4.1", Word: leaf1C, Bit: 20, Code: true},
		{Name: "crc32", Word: leaf1C, Bit: 20},
		{Name: "movbe", Word: leaf1C, Bit: 22, Code: true},
		{Name: "popcnt", Word: leaf1C, Bit: 23, Code: true},
		{Name: "aes", Word: leaf1C, Bit: 25},
		{Name: "avx", Needs: "sse4.2", Word: leaf1C, Bit: 28, State: ymm, Code: true},
		{Name: "f16c", Needs: "avx", Word: leaf1C, Bit: 29, State: ymm, Code: true},

		{Name: "bmi", Word: leaf7B, Bit: 3, Code: true},
		{Name: "avx2", Needs: "avx", Word: leaf7B, Bit: 5, State: ymm, Code: true},
		{Name: "bmi2", Word: leaf7B, Bit: 8, Code: true},
		{Name: "avx512f", Needs: "avx2 f16c fma", Word: leaf7B, Bit: 16, State: zmm, Code: true},
		{Name: "avx512dq", Needs: "avx512f", Word: leaf7B, Bit: 17, State: zmm, Code: true},
		{Name: "adx", Word: leaf7B, Bit: 19},
		{Name: "avx512ifma", Needs: "avx512f", Word: leaf7B, Bit: 21, State: zmm, Code: true},
		{Name: "avx512cd", Needs: "avx512f", Word: leaf7B, Bit: 28, State: zmm, Code: true},
		{Name: "sha", Word: leaf7B, Bit: 29},
		{Name: "avx512bw", Needs: "avx512f", Word: leaf7B, Bit: 30, State: zmm, Code: true},
		{Name: "avx512vl", Needs: "avx512f", Word: leaf7B, Bit: 31, State: zmm, Code: true},

		{Name: "avx512vbmi", Needs: "avx512bw", Word: leaf7C, Bit: 1, State: zmm, Code: true},
		{Name: "avx512vbmi2", Needs: "avx512bw", Word: leaf7C, Bit: 6, State: zmm, Code: true},
		{Name: "gfni", Word: leaf7C, Bit: 8, Code: true},
		{Name: "vaes", Needs: "aes avx2", Word: leaf7C, Bit: 9, State: ymm},
		{Name: "vpclmulqdq", Needs: "avx pclmul", Word: leaf7C, Bit: 10, State: ymm},
		{Name: "avx512vnni", Needs: "avx512f", Word: leaf7C, Bit: 11, State: zmm, Code: true},
		{Name: "avx512bitalg", Needs: "avx512bw", Word: leaf7C, Bit: 12, State: zmm, Code: true},
		{Name: "avx512vpopcntdq", Needs: "avx512f", Word: leaf7C, Bit: 14, State: zmm, Code: true},

		{Name: "avx512vp2intersect", Needs: "avx512f", Word: leaf7D, Bit: 8, State: zmm},
		{Name: "amx-bf16", Needs: "amx-tile", Word: leaf7D, Bit: 22, State: tile},
		{Name: "avx512fp16", Needs: "avx512bw", Word: leaf7D, Bit: 23, State: zmm, Code: true},
		{Name: "amx-tile", Word: leaf7D, Bit: 24, State: tile, Code: true},
		{Name: "amx-int8", Needs: "amx-tile", Word: leaf7D, Bit: 25, State: tile, Code: true},

		{Name: "sha512", Needs: "avx2", Word: leaf71A, Bit: 0, State: ymm},
		{Name: "sm3", Needs: "avx", Word: leaf71A, Bit: 1, State: ymm},
		{Name: "sm4", Needs: "avx2", Word: leaf71A, Bit: 2, State: ymm},
		{Name: "avxvnni", Needs: "avx2", Word: leaf71A, Bit: 4, State: ymm, Code: true},
		{Name: "avx512bf16", Needs: "avx512bw", Word: leaf71A, Bit: 5, State: zmm, Code: true},
		{Name: "amx-fp16", Needs: "amx-tile", Word: leaf71A, Bit: 21, State: tile},
		{Name: "avxifma", Needs: "avx2", Word: leaf71A, Bit: 23, State: ymm, Code: true},

		{Name: "avxvnniint8", Needs: "avx2", Word: leaf71D, Bit: 4, State: ymm, Code: true},
		{Name: "avxneconvert", Needs: "avx2", Word: leaf71D, Bit: 5, State: ymm, Code: true},
		{Name: "amx-complex", Needs: "amx-tile", Word: leaf71D, Bit: 8, State: tile},
		{Name: "avxvnniint16", Needs: "avx2", Word: leaf71D, Bit: 10, State: ymm, Code: true},

		{Name: "sahf", Word: extendedC, Bit: 0},
		{Name: "lzcnt", Word: extendedC, Bit: 5, Code: true},
		{Name: "sse4a", Needs: "sse3", Word: extendedC, Bit: 6},
		{Name: "xop", Needs: "fma4", Word: extendedC, Bit: 11, State: ymm},
		{Name: "fma4", Needs: "avx sse4a", Word: extendedC, Bit: 16, State: ymm},
		{Name: "tbm", Word: extendedC, Bit: 21},
	},
	OnRequest: tileData,
	// Those of the x86-64 ABI.
	Levels: []isa.Level{
		{Name: "x86-64"},
		{Name: "x86-64-v2", Features: "popcnt sse4.2"},
		{Name: "x86-64-v3", Features: "avx2 bmi bmi2 f16c fma lzcnt movbe"},
		{Name: "x86-64-v4", Features: "avx512bw avx512cd avx512dq avx512vl"},
	},
}
