package cpu

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"lathe/internal/isa"
	"lathe/internal/isa/riscv"
)

// vlenb is the length of a vector register in bytes, on a machine that has them.
func vlenb() uint64

// ask joins the kernel's letters, its probe of extensions and, for kernels without one, the line isa of /proc/cpuinfo.
func ask() *Machine {
	root := os.DirFS("/")
	words := auxiliary()
	words[isa.HWCAP2] = 0
	probe := []unix.RISCVHWProbePairs{{Key: unix.RISCV_HWPROBE_KEY_IMA_EXT_0}}
	if err := unix.RISCVHWProbe(probe, nil, 0); err == nil && probe[0].Key == unix.RISCV_HWPROBE_KEY_IMA_EXT_0 {
		words[isa.HWCAP2] = probe[0].Value
	}
	for _, line := range cpuinfo(root)["isa"] {
		extensions := strings.Split(line, "_")
		for _, f := range riscv.Features.Rows {
			if f.Word == isa.HWCAP2 && slices.Contains(extensions, f.Name) {
				words[isa.HWCAP2] |= 1 << f.Bit
			}
		}
	}
	if words[isa.HWCAP]>>21&1 != 0 {
		bits := vlenb() * 8
		for bit := range 6 {
			if bits >= 32<<bit {
				words[isa.Other] |= 1 << bit
			}
		}
	}
	return FromLinux(&riscv.Features, words, root)
}
