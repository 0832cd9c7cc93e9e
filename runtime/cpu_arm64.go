package runtime

import (
	"os"
	"slices"

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
		model: "aarch64, part " + model,
		has: func(name string) (has, known bool) {
			i := slices.IndexFunc(arm64Features, func(f arm64Feature) bool { return f.llvm == name })
			if i < 0 {
				return false, false
			}
			return caps[arm64Features[i].auxv]>>arm64Features[i].bit&1 != 0, true
		},
		harmless: func(name string) bool { return matches(name, arm64Harmless, arm64Tuning) },
		advice: func() string {
			return `on this machine, or with --target "llvm -mtriple=aarch64-linux-gnu -mcpu=generic"`
		},
	}
}

// arm64Feature is an instruction set: LLVM's name and the kernel's bit.
type arm64Feature struct {
	llvm string
	auxv uintptr
	bit  uint
}

// arm64Features are the instruction sets that generated code may use.
var arm64Features = []arm64Feature{
	{"fp-armv8", atHWCAP, 0},
	{"neon", atHWCAP, 1},
	{"aes", atHWCAP, 4}, // includes PMULL, the later of the two
	{"sha2", atHWCAP, 6},
	{"crc", atHWCAP, 7},
	{"lse", atHWCAP, 8},
	{"fullfp16", atHWCAP, 10},
	{"rdm", atHWCAP, 12},
	{"jsconv", atHWCAP, 13},
	{"complxnum", atHWCAP, 14},
	{"rcpc", atHWCAP, 15},
	{"sha3", atHWCAP, 17},
	{"sm4", atHWCAP, 19},
	{"dotprod", atHWCAP, 20},
	{"sve", atHWCAP, 22},
	{"fp16fml", atHWCAP, 23},
	{"rcpc-immo", atHWCAP, 26},
	{"flagm", atHWCAP, 27},
	{"sve2", atHWCAP2, 1},
	{"sve-aes", atHWCAP2, 2},
	{"sve2-aes", atHWCAP2, 2},
	{"sve-bitperm", atHWCAP2, 4},
	{"sve2-bitperm", atHWCAP2, 4},
	{"sve-sha3", atHWCAP2, 5},
	{"sve2-sha3", atHWCAP2, 5},
	{"sve-sm4", atHWCAP2, 6},
	{"sve2-sm4", atHWCAP2, 6},
	{"altnzcv", atHWCAP2, 7},
	{"fptoint", atHWCAP2, 8},
	{"f32mm", atHWCAP2, 10},
	{"f64mm", atHWCAP2, 11},
	{"i8mm", atHWCAP2, 13},
	{"bf16", atHWCAP2, 14},
	{"sme", atHWCAP2, 23},
	{"sme-i16i64", atHWCAP2, 24},
	{"sme-f64f64", atHWCAP2, 25},
	{"cssc", atHWCAP2, 34},
	{"sve2p1", atHWCAP2, 36},
	{"sme2", atHWCAP2, 37},
	{"sme2p1", atHWCAP2, 38},
	{"sme-b16b16", atHWCAP2, 41},
	{"sme-f16f16", atHWCAP2, 42},
	{"mops", atHWCAP2, 43},
	{"sve-b16b16", atHWCAP2, 45},
	{"rcpc3", atHWCAP2, 46},
	{"lut", atHWCAP2, 49},
	{"faminmax", atHWCAP2, 50},
	{"fp8", atHWCAP2, 51},
	{"fp8fma", atHWCAP2, 52},
	{"fp8dot4", atHWCAP2, 53},
	{"fp8dot2", atHWCAP2, 54},
}

// arm64Harmless are features of the system level, and instructions that a compiler does not choose for computing. The
// architecture versions (v8.2a) stand for sets whose members LLVM lists as well.
var arm64Harmless = []string{
	"CONTEXTIDREL2", "am", "amvs", "brbe", "bti", "ccdp", "ccidx", "ccpp", "chk", "clrbhb", "dit", "ecv", "el2vmsa", "el3", "ete",
	"fgt", "fpac", "gcs", "hbc", "hcx", "lor", "ls64", "lse2", "mec", "mpam", "mte", "nmi", "nv", "pan", "pan-rwv", "pauth", "perfmon",
	"predres", "rand", "ras", "rasv2", "rme", "sb", "sel2", "spe", "spe-eef", "specrestrict", "specres2", "ssbs", "tlb-rmi",
	"tracev8.4", "trbe", "uaops", "vh", "wfxt", "xs",
	"aggressive-fma", "ascend-store-address", "predictable-select-expensive", "store-pair-suppress",
}

// arm64Tuning are the beginnings of features that only steer the choice between correct instructions.
var arm64Tuning = []string{
	"addr-", "alu-", "arith-", "avoid-", "balance-", "cmp-", "disable-", "enable-", "exynos-", "fuse-", "ldp-", "no-",
	"prefer-", "slow-", "stp-", "use-", "v8", "v9", "zcm", "zcz",
}
