package target

import "lathe/internal/cpu"

// aarch64Table: vectors are NEON's.
var aarch64Table = table{
	triples: []string{"aarch64", "arm64"},
	example: "aarch64-linux-gnu",
	generic: "generic",
	isa:     &cpu.AArch64,
	cpus: []processor{
		{name: "generic", features: "neon", caches: caches{32, 512, 0}},
		{name: "cortex-a53", like: "generic", models: "Arm 41 D03"},
		{name: "cortex-a57", like: "cortex-a53", caches: caches{32, 1024, 0}, models: "Arm 41 D07"},
		{name: "cortex-a72", like: "cortex-a53", caches: caches{32, 1024, 0}, models: "Arm 41 D08"},
		{name: "cortex-a73", like: "cortex-a53", caches: caches{64, 1024, 0}, models: "Arm 41 D09"},
		{name: "cortex-a55", like: "cortex-a53", features: "dotprod fullfp16 lse rdm", caches: caches{32, 128, 512}, models: "Arm 41 D05"},
		{name: "cortex-a76", like: "cortex-a55", caches: caches{64, 512, 1024}, models: "Arm 41 D0B"},
		{name: "cortex-a78", like: "cortex-a76", models: "Arm 41 D41"},
		{name: "cortex-x1", like: "cortex-a76", caches: caches{64, 1024, 2048}, models: "Arm 41 D44"},
		{name: "neoverse-n1", like: "cortex-a76", caches: caches{64, 1024, 1024}, models: "Arm 41 D0C"},
		{name: "neoverse-v1", like: "neoverse-n1", features: "bf16 fp16fml i8mm", models: "Arm 41 D40"},
		{name: "neoverse-n2", like: "generic", features: "bf16 dotprod fp16fml i8mm lse rdm", caches: caches{64, 1024, 1024}, models: "Arm 41 D49"},
		{name: "neoverse-v2", like: "neoverse-n2", caches: caches{64, 2048, 1536}, models: "Arm 41 D4F"},
		{name: "apple-a14", like: "cortex-a55", features: "fp16fml", caches: caches{128, 3072, 0}},
		{name: "apple-m4", like: "apple-a14", features: "bf16 i8mm", caches: caches{128, 4096, 0}},
		{name: "a64fx", like: "cortex-a53", features: "fullfp16 lse rdm", caches: caches{64, 683, 0}, models: "Arm 46 001"},
	},
	machine: func(t *Target) {
		t.VectorBits, t.VectorRegs, t.HasFMA, t.Reach = 128, 32, true, 1<<14
		t.HasDot = t.Has("dotprod") || t.Has("i8mm")
		t.SignedDot = t.HasDot && !t.Has("i8mm")
	},
}

// armTable is 32-bit ARMv7-A and ARMv8-A with NEON, which LLVM's CPUs of ARMv7-A leave out because it is optional there.
var armTable = table{
	triples: []string{"armv7", "arm", "armv8l"},
	example: "armv7-linux-gnueabihf",
	generic: "generic",
	isa:     &cpu.ARM,
	cpus: []processor{
		{name: "generic", features: "neon", caches: caches{32, 512, 0}},
		{name: "cortex-a8", like: "generic"},
		{name: "cortex-a9", like: "generic", features: "fp16"},
		{name: "cortex-a7", like: "cortex-a9", features: "hwdiv hwdiv-arm vfp4"},
		{name: "cortex-a15", like: "cortex-a7", caches: caches{32, 1024, 0}},
		{name: "cortex-a17", like: "cortex-a7", caches: caches{32, 1024, 0}},
		{name: "cortex-a53", like: "cortex-a7", features: "fp-armv8"},
		{name: "cortex-a72", like: "cortex-a53", caches: caches{32, 1024, 0}},
	},
	machine: func(t *Target) {
		t.VectorBits, t.VectorRegs, t.HasFMA = 128, 16, t.Has("vfp4")
		if !t.Has("neon") {
			t.VectorRegs = 8 // 32 scalar registers hold eight vectors of four
		}
	},
}
