// Package riscv is what the compiler knows of 64-bit RISC-V.
package riscv

import (
	"fmt"
	"strconv"
	"strings"

	"lathe/internal/isa"
)

// ISA is 64-bit RISC-V. LLVM's plainest CPU has no multiplication and no floating point, and the Linux ABI passes doubles in
// registers, so that here it has the extensions of RV64GC. The register of float modes has none for denormals, only one for
// rounding.
var ISA = isa.ISA{
	Table:    &Features,
	Triples:  []string{"riscv64"},
	Required: "d",
	CPUs: []isa.Processor{
		{Name: "generic-rv64", Features: "m a d c", Caches: [3]int{32, 256, 0}},
		{Name: "sifive-u74", Like: "generic-rv64", Caches: [3]int{32, 2048, 0}},
		{Name: "sifive-p470", Like: "sifive-u74", Features: "v zba zbb zbs zfhmin", Caches: [3]int{32, 512, 0}},
		{Name: "sifive-x280", Like: "sifive-u74", Features: "v zba zbb zfh zvfh zvl512b", Caches: [3]int{32, 512, 0}},
		{Name: "spacemit-x60", Like: "sifive-u74", Features: "v zba zbb zbs zfh zvfh zvl256b", Caches: [3]int{32, 512, 0}},
		{Name: "xiangshan-nanhu", Like: "sifive-u74", Features: "zba zbb zbs", Caches: [3]int{64, 1024, 0}},
	},
	SetSpan: 4 << 10, // 32 KiB in eight ways
	Core:    isa.Core{Clock: 1600, Units: 2, Loads: 2, Latency: 4, L2Rate: 16, L3Rate: 8, Memory: 8_000, Reclaim: 6_000, Streams: 8},
	Vectors: func(has func(string) bool) isa.Vectors {
		if has("v") {
			return isa.Vectors{Bits: vectorLength(has), Regs: 32, FMA: has("f")}
		}
		return isa.Vectors{Bits: 128, Regs: 8, Scalars: true, FMA: has("f")} // 32 scalar registers hold eight vectors of four
	},
	Instructions: isa.Instructions{
		Pause: `call void asm sideeffect ".insn i 0x0F, 0, x0, x0, 0x010", "~{memory}"()`,
		Float: &isa.FloatControl{ // fcsr
			Exchange: `  %old = call i64 asm sideeffect "csrrw $0, fcsr, $1", "=r,r"(i64 %new)
  ret i64 %old`,
		},
		Half: func(has func(string) bool) bool {
			if has("v") {
				return has("zvfh")
			}
			return has("zfhmin")
		},
		MaskedStores: func(has func(string) bool, _ int) bool { return has("v") },
	},
	Emulator: isa.Emulator{
		Program: "qemu-riscv64-static", Compiler: "riscv64-linux-gnu-gcc", Sysroot: "/usr/riscv64-linux-gnu", Packages: "gcc-riscv64-linux-gnu qemu-user-static",
		CPU: emulated,
	},
}

// vectorLength is the largest N of the features zvlNb.
func vectorLength(has func(string) bool) int {
	bits := 0
	for _, f := range Features.Rows {
		if n, ok := strings.CutPrefix(f.Name, "zvl"); ok && has(f.Name) {
			if v, err := strconv.Atoi(strings.TrimSuffix(n, "b")); err == nil {
				bits = max(bits, v)
			}
		}
	}
	return bits
}

func emulated(has func(string) bool, vectorBits int) string {
	p := "rv64"
	for _, f := range []string{"zba", "zbb", "zbc", "zbs"} {
		p += fmt.Sprintf(",%s=%t", f, has(f))
	}
	if has("zfh") || has("zfhmin") {
		p += ",Zfh=true"
	}
	if has("v") {
		p += fmt.Sprintf(",v=true,vlen=%d,vext_spec=v1.0", vectorBits)
	}
	return p
}
