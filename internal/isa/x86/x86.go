// Package x86 is what the compiler knows of x86-64.
package x86

import "lathe/internal/isa"

// ISA is x86-64. CPUs imply what LLVM says they imply, as far as code may contain it. L3 is a core's share of the usual server or
// desktop part.
var ISA = isa.ISA{
	Table:     &Features,
	Triples:   []string{"x86_64", "amd64"},
	Refused:   []string{"-sse", "-sse2", "+soft-float"},
	FloatRegs: "SSE2",
	CPUs: []isa.Processor{
		{Name: "x86-64", Caches: [3]int{32, 256, 1024}},
		{Name: "x86-64-v2", Like: "x86-64", Features: "popcnt sse4.2"},
		{Name: "x86-64-v3", Like: "x86-64-v2", Features: "avx2 bmi bmi2 f16c fma lzcnt movbe"},
		{Name: "x86-64-v4", Like: "x86-64-v3", Features: "avx512bw avx512cd avx512dq avx512vl", Caches: [3]int{32, 1024, 1024}},
		{Name: "nehalem", Like: "x86-64-v2", Caches: [3]int{32, 256, 2048}, Models: "Intel 06 1A 1E 1F 2E"},
		{Name: "westmere", Like: "nehalem", Models: "Intel 06 25 2C 2F"},
		{Name: "sandybridge", Like: "westmere", Features: "avx", Models: "Intel 06 2A 2D"},
		{Name: "ivybridge", Like: "sandybridge", Features: "f16c", Models: "Intel 06 3A 3E"},
		{Name: "haswell", Like: "ivybridge", Features: "avx2 bmi bmi2 fma lzcnt movbe", Models: "Intel 06 3C 3F 45 46", Core: isa.Core{Clock: 3300}},
		{Name: "core-avx2", Like: "haswell"},
		{Name: "broadwell", Like: "haswell", Models: "Intel 06 3D 47 4F 56"},
		{Name: "skylake", Like: "broadwell", Models: "Intel 06 4E 5E 8E 9E A5 A6", Core: isa.Core{Clock: 3600}},
		{Name: "skylake-avx512", Like: "skylake", Features: "avx512bw avx512cd avx512dq avx512vl", Caches: [3]int{32, 1024, 1408}, Models: "Intel 06 55", Core: isa.Core{Clock: 2800, L3Rate: 8, Memory: 13_000}},
		{Name: "cascadelake", Like: "skylake-avx512", Features: "avx512vnni", Models: "Intel 06 55"},
		{Name: "cooperlake", Like: "cascadelake", Features: "avx512bf16", Models: "Intel 06 55"},
		{Name: "cannonlake", Like: "skylake", Features: "avx512bw avx512cd avx512dq avx512vl avx512ifma avx512vbmi", Models: "Intel 06 66"},
		{Name: "icelake-client", Like: "cannonlake", Features: "avx512bitalg avx512vbmi2 avx512vnni avx512vpopcntdq gfni", Caches: [3]int{48, 512, 2048}, Models: "Intel 06 7D 7E", Core: isa.Core{Clock: 3600, Datapath: 256}},
		{Name: "icelake-server", Like: "icelake-client", Caches: [3]int{48, 1280, 1536}, Models: "Intel 06 6A 6C", Core: isa.Core{Clock: 3000, Datapath: 512, L3Rate: 8, Memory: 13_000}},
		{Name: "rocketlake", Like: "icelake-client", Models: "Intel 06 A7"},
		{Name: "tigerlake", Like: "icelake-client", Caches: [3]int{48, 1280, 3072}, Models: "Intel 06 8C 8D"},
		{Name: "sapphirerapids", Like: "icelake-server", Features: "amx-int8 avx512bf16 avx512fp16 avxvnni", Caches: [3]int{48, 2048, 1920}, Models: "Intel 06 8F", Core: isa.Core{Clock: 3000, L2Rate: 48, L3Rate: 7, Memory: 12_000, Streams: 4}},
		{Name: "emeraldrapids", Like: "sapphirerapids", Caches: [3]int{48, 2048, 5120}, Models: "Intel 06 CF"},
		{Name: "graniterapids", Like: "emeraldrapids", Models: "Intel 06 AD AE"},
		{Name: "alderlake", Like: "skylake", Features: "avxvnni gfni", Caches: [3]int{48, 1280, 3072}, Models: "Intel 06 97 9A", Core: isa.Core{Clock: 4000}},
		{Name: "raptorlake", Like: "alderlake", Caches: [3]int{48, 2048, 3072}, Models: "Intel 06 B7 BA BF"},
		{Name: "meteorlake", Like: "raptorlake", Models: "Intel 06 AA AC"},
		{Name: "arrowlake", Like: "raptorlake", Features: "avxifma avxneconvert avxvnniint8", Models: "Intel 06 B5 C5"},
		{Name: "arrowlake-s", Like: "arrowlake", Features: "avxvnniint16", Models: "Intel 06 C6"},
		{Name: "lunarlake", Like: "arrowlake-s", Caches: [3]int{48, 2560, 3072}, Models: "Intel 06 BD"},
		{Name: "sierraforest", Like: "alderlake", Features: "avxifma avxneconvert avxvnniint8", Caches: [3]int{32, 1024, 768}, Models: "Intel 06 AF", Core: isa.Core{Datapath: 128}},
		{Name: "goldmont", Like: "x86-64-v2", Features: "movbe", Caches: [3]int{24, 512, 0}, Models: "Intel 06 5C 5F"},
		{Name: "btver2", Like: "x86-64-v2", Features: "avx bmi f16c lzcnt movbe", Caches: [3]int{32, 512, 0}, Models: "AMD 16 00-0F 30-3F", Core: isa.Core{Datapath: 128}},
		{Name: "bdver4", Like: "btver2", Features: "avx2 bmi2 fma", Caches: [3]int{16, 1024, 0}, Models: "AMD 15 60-7F"},
		{Name: "znver1", Like: "skylake", Caches: [3]int{32, 512, 2048}, Models: "AMD 17 00-2F", Core: isa.Core{Clock: 3300, Datapath: 128}},
		{Name: "znver2", Like: "znver1", Caches: [3]int{32, 512, 4096}, Models: "AMD 17 30-FF", Core: isa.Core{Clock: 3400, Datapath: 256}},
		{Name: "znver3", Like: "znver2", Models: "AMD 19 00-0F 20-5F", Core: isa.Core{Clock: 3600}},
		{Name: "znver4", Like: "znver3", Features: "avx512bf16 avx512bitalg avx512cd avx512dq avx512ifma avx512vbmi avx512vbmi2 avx512vl avx512vnni avx512vpopcntdq gfni", Caches: [3]int{32, 1024, 4096}, Models: "AMD 19 10-1F 60-7F A0-AF", Core: isa.Core{Clock: 3800, Reclaim: 16_000, Streams: 2}},
		{Name: "znver5", Like: "znver4", Features: "avxvnni", Caches: [3]int{48, 1024, 4096}, Models: "AMD 1A 00-4F 60-77", Core: isa.Core{Clock: 4100, Datapath: 512}},
	},
	Core: isa.Core{Clock: 3200, Units: 2, Loads: 2, Latency: 4, L2Rate: 32, L3Rate: 12, Memory: 20_000, Reclaim: 12_000, Streams: 8},
	Vectors: func(has func(string) bool) isa.Vectors {
		v := isa.Vectors{Bits: 128, Regs: 16, FMA: has("fma")}
		switch {
		case has("avx512f") && !has("prefer-256-bit"):
			v.Bits, v.Regs = 512, 32
		case has("avx512vl"):
			v.Bits, v.Regs = 256, 32
		case has("avx"):
			v.Bits = 256
		}
		v.Dot = has("avx512vnni") && (v.Bits == 512 || has("avx512vl")) || has("avxvnni") && v.Bits == 256
		return v
	},
	SetSpan:  4 << 10, // a page: the set is found while the address is translated
	TwoSteps: true,
	// LLVM adds to the operand that was loaded, and not to the sum: sums change their registers at each step, and need others to come back.
	SpareSingle: 2,
	Instructions: isa.Instructions{
		Indefinite: true,
		Long:       "avx512dq",
		LosesNaN:   true,
		Pause:      `call void asm sideeffect "pause", "~{memory}"()`,
		Float: &isa.FloatControl{ // MXCSR: flush to zero, and denormals are zero
			Exchange: `  %p = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %p)
  %was = load i32, ptr %p
  %low = trunc i64 %new to i32
  store i32 %low, ptr %p
  call void @llvm.x86.sse.ldmxcsr(ptr %p)
  %old = zext i32 %was to i64
  ret i64 %old`,
			Declare: "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n",
			Flush:   0x9fc0, Keep: 0x1f80,
		},
		Half: func(has func(string) bool) bool { return has("f16c") },
		// Those of AVX take a dozen cycles on AMD's processors.
		MaskedStores: func(has func(string) bool, elementBits int) bool {
			return has("avx512vl") && (elementBits >= 32 || has("avx512bw"))
		},
		Masks:   &isa.Masks{Features: "avx512bw avx512vl", Constraint: "k", Lanes: 8},
		Ternary: "avx512f",
		Tiles:   &tiles,
		Rounds:  "sse4.1",
		Dots: []isa.Dot{
			{A: "uint8", B: "int8", Features: []string{"avx512vnni"}, Lanes: 16, Name: "x86.avx512.vpdpbusd.512"},
			{A: "uint8", B: "int8", Features: []string{"avxvnni", "avx512vnni avx512vl"}, Lanes: 8, Name: "x86.avx512.vpdpbusd.256"},
			{A: "uint8", B: "int8", Features: []string{"avxvnni", "avx512vnni avx512vl"}, Lanes: 4, Name: "x86.avx512.vpdpbusd.128"},
		},
		Pairs: []isa.Dot{
			{A: "int16", B: "int16", Features: []string{"avx512bw"}, Lanes: 16, Name: "x86.avx512.pmaddw.d.512"},
			{A: "int16", B: "int16", Features: []string{"avx2"}, Lanes: 8, Name: "x86.avx2.pmadd.wd"},
			{A: "int16", B: "int16", Features: []string{""}, Lanes: 4, Name: "x86.sse2.pmadd.wd"},
			{A: "uint8", B: "int8", Features: []string{"avx512bw"}, Lanes: 16, Name: "x86.avx512.pmaddubs.w.512"},
			{A: "uint8", B: "int8", Features: []string{"avx2"}, Lanes: 8, Name: "x86.avx2.pmadd.ub.sw"},
			{A: "uint8", B: "int8", Features: []string{"ssse3"}, Lanes: 4, Name: "x86.ssse3.pmadd.ub.sw.128"},
		},
		Packs: []isa.Pack{
			{Features: "avx512bw", Lanes: 16, Words: "x86.avx512.packssdw.512", Signed: "x86.avx512.packsswb.512", Unsigned: "x86.avx512.packuswb.512"},
			{Features: "avx2", Lanes: 8, Words: "x86.avx2.packssdw", Signed: "x86.avx2.packsswb", Unsigned: "x86.avx2.packuswb"},
			{Lanes: 4, Words: "x86.sse2.packssdw.128", Signed: "x86.sse2.packsswb.128", Unsigned: "x86.sse2.packuswb.128"},
		},
		// Counted: two loads, two permutes and a choice; measured: 2.9 ns for a gather that is narrowed to bytes (Granite Rapids).
		Lookups: []isa.Lookup{
			{Features: "avx512vbmi", Lanes: 64, Name: "x86.avx512.vpermi2var.qi.512", Permutes: true, Cycles: 5},
			{Features: "avx2", Lanes: 8, Name: "x86.avx2.gather.d.d.256", Cycles: 10},
		},
	},
}
