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
		model: model,
		has: func(name string) (has, known bool) {
			i := slices.IndexFunc(riscv64Features, func(f riscv64Feature) bool { return f.llvm == name })
			if i < 0 {
				listed := slices.Contains(extensions, name)
				return listed, listed
			}
			f := riscv64Features[i]
			if f.letter != "" {
				return letters>>(f.letter[0]-'a')&1 != 0, true
			}
			return f.probe != nil && *f.probe || slices.Contains(extensions, name), true
		},
		harmless: func(name string) bool { return matches(name, riscv64Harmless, riscv64Tuning) },
		advice: func() string {
			return `on this machine, or with --target "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64"`
		},
	}
}

// riscv64Feature is an extension: LLVM's name, the letter of the standard extension that includes it ("" for one of its
// own), and the answer of the hardware probe where there is one.
type riscv64Feature struct {
	llvm, letter string
	probe        *bool
}

// riscv64Features are the extensions that the isa line may not spell out. Others are looked up in it by name.
var riscv64Features = []riscv64Feature{
	{llvm: "i", letter: "i"},
	{llvm: "m", letter: "m"}, {llvm: "zmmul", letter: "m"},
	{llvm: "a", letter: "a"}, {llvm: "zaamo", letter: "a"}, {llvm: "zalrsc", letter: "a"},
	{llvm: "f", letter: "f"}, {llvm: "zicsr", letter: "f"},
	{llvm: "d", letter: "d"},
	{llvm: "c", letter: "c"}, {llvm: "zca", letter: "c"}, {llvm: "zcd", letter: "c"},
	{llvm: "v", letter: "v"}, {llvm: "zve32x", letter: "v"}, {llvm: "zve32f", letter: "v"}, {llvm: "zve64x", letter: "v"},
	{llvm: "zve64f", letter: "v"}, {llvm: "zve64d", letter: "v"},
	{llvm: "zvl32b", letter: "v"}, {llvm: "zvl64b", letter: "v"}, {llvm: "zvl128b", letter: "v"},
	{llvm: "zba", probe: &xcpu.RISCV64.HasZba},
	{llvm: "zbb", probe: &xcpu.RISCV64.HasZbb},
	{llvm: "zbs", probe: &xcpu.RISCV64.HasZbs},
	{llvm: "zvbb", probe: &xcpu.RISCV64.HasZvbb},
}

// riscv64Harmless are features of every 64-bit CPU, sets whose members LLVM lists as well, hints, and instructions that a
// compiler does not choose for computing.
var riscv64Harmless = []string{
	"64bit", "b", "e", "h", "relax", "supm", "za64rs", "zama16b", "zic64b", "zicbom", "ziccamoa", "ziccif", "zicclsm",
	"ziccrse", "zicntr", "zifencei", "zihintntl", "zihintpause", "zihpm", "zkr", "zkt", "zvkt",
}

// riscv64Tuning are the beginnings of features that only steer the choice between correct instructions, and of
// extensions of the hypervisor, machine and supervisor levels.
var riscv64Tuning = []string{"dlen-", "no-", "optimized-", "predictable-", "prefer-", "sh", "sm", "ss", "sv", "use-", "unaligned-"}
