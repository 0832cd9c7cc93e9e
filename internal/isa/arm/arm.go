// Package arm is what the compiler knows of 32-bit Arm.
package arm

import (
	"fmt"
	"strings"

	"lathe/internal/isa"
)

// ISA is 32-bit ARMv7-A and ARMv8-A with NEON, which LLVM's CPUs of ARMv7-A leave out because it is optional there.
var ISA = isa.ISA{
	Table:     &Features,
	Triples:   []string{"armv7*", "arm", "armv8l"},
	Canonical: canonical,
	CPUs: []isa.Processor{
		{Name: "generic", Features: "neon", Caches: [3]int{32, 512, 0}},
		{Name: "cortex-a8", Like: "generic"},
		{Name: "cortex-a9", Like: "generic", Features: "fp16"},
		{Name: "cortex-a7", Like: "cortex-a9", Features: "hwdiv hwdiv-arm vfp4"},
		{Name: "cortex-a15", Like: "cortex-a7", Caches: [3]int{32, 1024, 0}},
		{Name: "cortex-a17", Like: "cortex-a7", Caches: [3]int{32, 1024, 0}},
		{Name: "cortex-a53", Like: "cortex-a7", Features: "fp-armv8"},
		{Name: "cortex-a72", Like: "cortex-a53", Caches: [3]int{32, 1024, 0}},
	},
	Core: isa.Core{Clock: 1500, Units: 2, Loads: 2, Latency: 4, L2Rate: 16, L3Rate: 8, Memory: 8_000, Reclaim: 6_000, Streams: 8},
	Vectors: func(has func(string) bool) isa.Vectors {
		v := isa.Vectors{Bits: 128, Regs: 16, FMA: has("vfp4")}
		if !has("neon") {
			v.Regs, v.Scalars = 8, true // 32 scalar registers hold eight vectors of four
		}
		return v
	},
	SetSpan: 8 << 10, // 32 KiB in four ways
	Spare:   2, SpareUnfused: 3,
	LoadsFirst:  true,
	PointerBits: 32,
	Instructions: isa.Instructions{
		Pause: `call void asm sideeffect "yield", "~{memory}"()`,
		Float: &isa.FloatControl{ // FPSCR: FZ, for scalars; NEON always flushes
			Exchange: `  %was = call i32 asm sideeffect "vmrs $0, fpscr", "=r"()
  %low = trunc i64 %new to i32
  call void asm sideeffect "vmsr fpscr, $0", "r,~{cc}"(i32 %low)
  %old = zext i32 %was to i64
  ret i64 %old`,
			Flush: 1 << 24, Always: true,
		},
		Half:     func(has func(string) bool) bool { return has("fp16") },
		Rounds:   "fp-armv8",
		NamesFMA: true,
		Routines: routines,
	},
	Emulator: isa.Emulator{
		Program: "qemu-arm-static", Compiler: "arm-linux-gnueabihf-gcc", Sysroot: "/usr/arm-linux-gnueabihf", Packages: "gcc-arm-linux-gnueabihf qemu-user-static",
		CPUs: []string{"cortex-a15", "cortex-a7", "cortex-a8", "cortex-a9"},
	},
}

// canonical writes Debian's 32-bit Arm, arm-linux-gnueabihf, as LLVM has it: to LLVM "arm" alone is ARMv4, which no hard-float
// system runs on.
func canonical(triple string) (string, error) {
	if strings.HasPrefix(triple, "arm") && strings.HasSuffix(triple, "eabi") {
		return "", fmt.Errorf("-mtriple=%s: floating-point numbers are passed in registers only (write %shf)", triple, triple)
	}
	if rest, ok := strings.CutPrefix(triple, "arm-"); ok && strings.HasSuffix(rest, "hf") {
		return "armv7-" + rest, nil
	}
	return triple, nil
}
