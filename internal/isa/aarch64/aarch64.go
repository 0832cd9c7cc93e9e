// Package aarch64 is what the compiler knows of 64-bit Arm.
package aarch64

import "lathe/internal/isa"

// ISA is 64-bit Arm. Vectors are NEON's. Every operand of a multiply-add takes a register, and LLVM's scheduler loads some steps
// ahead.
var ISA = isa.ISA{
	Table:   &Features,
	Triples: []string{"aarch64", "arm64"},
	CPUs: []isa.Processor{
		{Name: "generic", Features: "neon", Caches: [3]int{32, 512, 0}},
		{Name: "cortex-a53", Like: "generic", Models: "Arm 41 D03"},
		{Name: "cortex-a57", Like: "cortex-a53", Caches: [3]int{32, 1024, 0}, Models: "Arm 41 D07"},
		{Name: "cortex-a72", Like: "cortex-a53", Caches: [3]int{32, 1024, 0}, Models: "Arm 41 D08"},
		{Name: "cortex-a73", Like: "cortex-a53", Caches: [3]int{64, 1024, 0}, Models: "Arm 41 D09"},
		{Name: "cortex-a55", Like: "cortex-a53", Features: "dotprod fullfp16 lse rdm", Caches: [3]int{32, 128, 512}, Models: "Arm 41 D05"},
		{Name: "cortex-a76", Like: "cortex-a55", Caches: [3]int{64, 512, 1024}, Models: "Arm 41 D0B"},
		{Name: "cortex-a78", Like: "cortex-a76", Models: "Arm 41 D41"},
		{Name: "cortex-x1", Like: "cortex-a76", Caches: [3]int{64, 1024, 2048}, Models: "Arm 41 D44"},
		{Name: "neoverse-n1", Like: "cortex-a76", Caches: [3]int{64, 1024, 1024}, Models: "Arm 41 D0C"},
		{Name: "neoverse-v1", Like: "neoverse-n1", Features: "bf16 fp16fml i8mm", Models: "Arm 41 D40"},
		{Name: "neoverse-n2", Like: "generic", Features: "bf16 dotprod fp16fml i8mm lse rdm", Caches: [3]int{64, 1024, 1024}, Models: "Arm 41 D49"},
		{Name: "neoverse-v2", Like: "neoverse-n2", Caches: [3]int{64, 2048, 1536}, Models: "Arm 41 D4F"},
		{Name: "apple-a14", Like: "cortex-a55", Features: "fp16fml", Caches: [3]int{128, 3072, 0}},
		{Name: "apple-m4", Like: "apple-a14", Features: "bf16 i8mm", Caches: [3]int{128, 4096, 0}},
		{Name: "a64fx", Like: "cortex-a53", Features: "fullfp16 lse rdm", Caches: [3]int{64, 683, 0}, Models: "Arm 46 001"},
	},
	Core: isa.Core{Clock: 2200, Units: 2, Loads: 2, Latency: 4, L2Rate: 16, L3Rate: 8, Memory: 8_000, Reclaim: 8_000, Streams: 8},
	Vectors: func(has func(string) bool) isa.Vectors {
		v := isa.Vectors{Bits: 128, Regs: 32, FMA: true, Reach: 1 << 14}
		v.Dot = has("dotprod") || has("i8mm")
		v.SignedDot = v.Dot && !has("i8mm")
		return v
	},
	SetSpan:       16 << 10, // 32 KiB in two ways, 64 in four
	Spare:         6,
	DotLoadsFirst: true,
	Instructions: isa.Instructions{
		Pause: `call void asm sideeffect "isb", "~{memory}"()`,
		Float: &isa.FloatControl{ // FPCR: FZ, which leaves float16 alone
			Exchange: `  %old = call i64 @llvm.aarch64.get.fpcr()
  call void @llvm.aarch64.set.fpcr(i64 %new)
  ret i64 %old`,
			Declare: "declare i64 @llvm.aarch64.get.fpcr()\ndeclare void @llvm.aarch64.set.fpcr(i64)\n",
			Flush:   1 << 24,
		},
		Dots: []isa.Dot{
			{A: "uint8", B: "int8", Features: []string{"i8mm"}, Lanes: 4, Name: "aarch64.neon.usdot.v4i32.v16i8"},
			{A: "uint8", B: "int8", Features: []string{"i8mm"}, Lanes: 2, Name: "aarch64.neon.usdot.v2i32.v8i8"},
			{A: "int8", B: "int8", Features: []string{"dotprod"}, Lanes: 4, Name: "aarch64.neon.sdot.v4i32.v16i8"},
			{A: "int8", B: "int8", Features: []string{"dotprod"}, Lanes: 2, Name: "aarch64.neon.sdot.v2i32.v8i8"},
			{A: "uint8", B: "uint8", Features: []string{"dotprod"}, Lanes: 4, Name: "aarch64.neon.udot.v4i32.v16i8"},
			{A: "uint8", B: "uint8", Features: []string{"dotprod"}, Lanes: 2, Name: "aarch64.neon.udot.v2i32.v8i8"},
		},
	},
	Emulator: isa.Emulator{
		Program: "qemu-aarch64-static", Compiler: "aarch64-linux-gnu-gcc", Sysroot: "/usr/aarch64-linux-gnu", Packages: "gcc-aarch64-linux-gnu qemu-user-static",
		CPUs: []string{"a64fx", "cortex-a53", "cortex-a57", "cortex-a72", "cortex-a76", "neoverse-n1"},
	},
}
