package runtime

import (
	"os"

	"golang.org/x/sys/unix"
)

// Keys of the auxiliary vector under which the kernel passes the CPU's features.
const (
	atHWCAP  = 16
	atHWCAP2 = 26
)

// thisCPU reads the auxiliary vector, which is right under an emulator too.
func thisCPU() cpu {
	caps := make(map[uintptr]uintptr)
	if auxv, err := unix.Auxv(); err == nil {
		for _, kv := range auxv {
			caps[kv[0]] = kv[1]
		}
	}
	model := cpuinfo(os.DirFS("/"), "CPU part")
	if model == "" {
		model = "unknown"
	}
	return cpu{
		model:    "aarch64, part " + model,
		features: arm64Features,
		has:      func(f feature) bool { return caps[f.auxv]>>f.bit&1 != 0 },
		harmless: func(name string) bool { return matches(name, arm64Harmless, arm64Tuning) },
		advice: func() string {
			return `on this machine, or with --target "llvm -mtriple=aarch64-linux-gnu -mcpu=generic"`
		},
	}
}

// arm64Features are the instruction sets that generated code may use, with the kernel's bits.
var arm64Features = []feature{
	{llvm: "fp-armv8", auxv: atHWCAP, bit: 0},
	{llvm: "neon", auxv: atHWCAP, bit: 1},
	{llvm: "aes", auxv: atHWCAP, bit: 4}, // includes PMULL, the later of the two
	{llvm: "sha2", auxv: atHWCAP, bit: 6},
	{llvm: "crc", auxv: atHWCAP, bit: 7},
	{llvm: "lse", auxv: atHWCAP, bit: 8},
	{llvm: "fullfp16", auxv: atHWCAP, bit: 10},
	{llvm: "rdm", auxv: atHWCAP, bit: 12},
	{llvm: "jsconv", auxv: atHWCAP, bit: 13},
	{llvm: "complxnum", auxv: atHWCAP, bit: 14},
	{llvm: "rcpc", auxv: atHWCAP, bit: 15},
	{llvm: "sha3", auxv: atHWCAP, bit: 17},
	{llvm: "sm4", auxv: atHWCAP, bit: 19},
	{llvm: "dotprod", auxv: atHWCAP, bit: 20},
	{llvm: "sve", auxv: atHWCAP, bit: 22},
	{llvm: "fp16fml", auxv: atHWCAP, bit: 23},
	{llvm: "rcpc-immo", auxv: atHWCAP, bit: 26},
	{llvm: "flagm", auxv: atHWCAP, bit: 27},
	{llvm: "sve2", auxv: atHWCAP2, bit: 1},
	{llvm: "sve-aes", auxv: atHWCAP2, bit: 2},
	{llvm: "sve2-aes", auxv: atHWCAP2, bit: 2},
	{llvm: "sve-bitperm", auxv: atHWCAP2, bit: 4},
	{llvm: "sve2-bitperm", auxv: atHWCAP2, bit: 4},
	{llvm: "sve-sha3", auxv: atHWCAP2, bit: 5},
	{llvm: "sve2-sha3", auxv: atHWCAP2, bit: 5},
	{llvm: "sve-sm4", auxv: atHWCAP2, bit: 6},
	{llvm: "sve2-sm4", auxv: atHWCAP2, bit: 6},
	{llvm: "altnzcv", auxv: atHWCAP2, bit: 7},
	{llvm: "fptoint", auxv: atHWCAP2, bit: 8},
	{llvm: "f32mm", auxv: atHWCAP2, bit: 10},
	{llvm: "f64mm", auxv: atHWCAP2, bit: 11},
	{llvm: "i8mm", auxv: atHWCAP2, bit: 13},
	{llvm: "bf16", auxv: atHWCAP2, bit: 14},
	{llvm: "sme", auxv: atHWCAP2, bit: 23},
	{llvm: "sme-i16i64", auxv: atHWCAP2, bit: 24},
	{llvm: "sme-f64f64", auxv: atHWCAP2, bit: 25},
	{llvm: "cssc", auxv: atHWCAP2, bit: 34},
	{llvm: "sve2p1", auxv: atHWCAP2, bit: 36},
	{llvm: "sme2", auxv: atHWCAP2, bit: 37},
	{llvm: "sme2p1", auxv: atHWCAP2, bit: 38},
	{llvm: "mops", auxv: atHWCAP2, bit: 43},
}

// arm64Harmless are features of the system level, and instructions that a compiler does not choose for computing. The
// architecture versions (v8.2a) stand for sets whose members LLVM lists as well.
var arm64Harmless = []string{
	"am", "amvs", "bti", "ccdp", "ccidx", "ccpp", "chk", "clrbhb", "contextidr-el2", "dit", "ecv", "el2vmsa", "el3", "ete",
	"fgt", "fpac", "gcs", "hbc", "hcx", "lor", "lse2", "mpam", "mte", "nmi", "nv", "pan", "pan-rwv", "pauth", "perfmon",
	"predres", "rand", "ras", "rasv2", "sb", "sel2", "spe", "spe-eef", "specrestrict", "specres2", "ssbs", "tlb-rmi",
	"tracev8.4", "trbe", "uaops", "vh", "wfxt", "xs",
	"aggressive-fma", "ascend-store-address", "predictable-select-expensive", "store-pair-suppress",
}

// arm64Tuning are the beginnings of features that only steer the choice between correct instructions.
var arm64Tuning = []string{
	"addr-", "alu-", "arith-", "avoid-", "balance-", "cmp-", "disable-", "enable-", "exynos-", "fuse-", "ldp-", "no-",
	"prefer-", "slow-", "stp-", "use-", "v8", "v9", "zcm", "zcz",
}
