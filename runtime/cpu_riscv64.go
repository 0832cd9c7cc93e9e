package runtime

import (
	"os"
	"slices"
	"strings"

	xcpu "golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

const atHWCAP = 16

// thisCPU joins three sources: the auxiliary vector has the single letters (and is right under an emulator), the
// hardware probe behind golang.org/x/sys/cpu some extensions, and the isa line of /proc/cpuinfo the rest.
func thisCPU() cpu {
	var letters uintptr
	if auxv, err := unix.Auxv(); err == nil {
		for _, kv := range auxv {
			if kv[0] == atHWCAP {
				letters = kv[1]
			}
		}
	}
	root := os.DirFS("/")
	isa := cpuinfo(root, "isa")
	extensions := strings.Split(isa, "_")
	model := cpuinfo(root, "uarch")
	if model == "" {
		model = "riscv64 " + isa
	}
	return cpu{
		model:    model,
		features: riscv64Features,
		has: func(f feature) bool {
			if f.flag != "" {
				return letters>>(f.flag[0]-'a')&1 != 0
			}
			return f.alt != nil && *f.alt || slices.Contains(extensions, f.llvm)
		},
		harmless: func(name string) bool { return matches(name, riscv64Harmless, riscv64Tuning) },
		advice: func() string {
			return `on this machine, or with --target "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64"`
		},
	}
}

// riscv64Features have the letter of the standard extension that includes them as flag; those without one are extensions
// of their own.
var riscv64Features = []feature{
	{llvm: "i", flag: "i"},
	{llvm: "m", flag: "m"}, {llvm: "zmmul", flag: "m"},
	{llvm: "a", flag: "a"}, {llvm: "zaamo", flag: "a"}, {llvm: "zalrsc", flag: "a"},
	{llvm: "f", flag: "f"}, {llvm: "zicsr", flag: "f"},
	{llvm: "d", flag: "d"},
	{llvm: "c", flag: "c"}, {llvm: "zca", flag: "c"}, {llvm: "zcd", flag: "c"},
	{llvm: "v", flag: "v"}, {llvm: "zve32x", flag: "v"}, {llvm: "zve32f", flag: "v"}, {llvm: "zve64x", flag: "v"},
	{llvm: "zve64f", flag: "v"}, {llvm: "zve64d", flag: "v"},
	{llvm: "zvl32b", flag: "v"}, {llvm: "zvl64b", flag: "v"}, {llvm: "zvl128b", flag: "v"},
	{llvm: "zvl256b"}, {llvm: "zvl512b"}, {llvm: "zvl1024b"},
	{llvm: "zba", alt: &xcpu.RISCV64.HasZba},
	{llvm: "zbb", alt: &xcpu.RISCV64.HasZbb},
	{llvm: "zbs", alt: &xcpu.RISCV64.HasZbs},
	{llvm: "zbc"}, {llvm: "zbkb"},
	{llvm: "zfhmin"}, {llvm: "zfh"}, {llvm: "zfa"}, {llvm: "zfbfmin"},
	{llvm: "zvfhmin"}, {llvm: "zvfh"}, {llvm: "zvfbfmin"}, {llvm: "zvfbfwma"},
	{llvm: "zvbb", alt: &xcpu.RISCV64.HasZvbb},
	{llvm: "zicond"}, {llvm: "zicbop"}, {llvm: "zicboz"},
	{llvm: "zcb"}, {llvm: "zcmop"}, {llvm: "zimop"}, {llvm: "zawrs"},
}

// riscv64Harmless are features of every 64-bit CPU and of the system level.
var riscv64Harmless = []string{"64bit", "e", "relax", "zifencei", "zicntr", "zihpm", "ziccif", "ziccrse", "ziccamoa", "zicclsm", "za64rs", "zic64b"}

// riscv64Tuning are the beginnings of features that only steer the choice between correct instructions.
var riscv64Tuning = []string{"dlen-", "no-", "optimized-", "predictable-", "prefer-", "ss", "sv", "use-", "unaligned-"}
