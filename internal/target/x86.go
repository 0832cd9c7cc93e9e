package target

import (
	"slices"

	"lathe/internal/cpu"
)

// x86Table: CPUs imply what LLVM says they imply, as far as code may contain it. L3 is a core's share of the usual server or
// desktop part.
var x86Table = table{
	triples: []string{"x86_64", "amd64"},
	example: "x86_64-linux-gnu",
	generic: "x86-64",
	isa:     &cpu.X86,
	cpus: []processor{
		{name: "x86-64", caches: caches{32, 256, 1024}},
		{name: "x86-64-v2", like: "x86-64", features: "popcnt sse4.2"},
		{name: "x86-64-v3", like: "x86-64-v2", features: "avx2 bmi bmi2 f16c fma lzcnt movbe"},
		{name: "x86-64-v4", like: "x86-64-v3", features: "avx512bw avx512cd avx512dq avx512vl", caches: caches{32, 1024, 1024}},
		{name: "nehalem", like: "x86-64-v2", caches: caches{32, 256, 2048}, models: "Intel 06 1A 1E 1F 2E"},
		{name: "westmere", like: "nehalem", models: "Intel 06 25 2C 2F"},
		{name: "sandybridge", like: "westmere", features: "avx", models: "Intel 06 2A 2D"},
		{name: "ivybridge", like: "sandybridge", features: "f16c", models: "Intel 06 3A 3E"},
		{name: "haswell", like: "ivybridge", features: "avx2 bmi bmi2 fma lzcnt movbe", models: "Intel 06 3C 3F 45 46", core: Core{Clock: 3300}},
		{name: "core-avx2", like: "haswell"},
		{name: "broadwell", like: "haswell", models: "Intel 06 3D 47 4F 56"},
		{name: "skylake", like: "broadwell", models: "Intel 06 4E 5E 8E 9E A5 A6", core: Core{Clock: 3600}},
		{name: "skylake-avx512", like: "skylake", features: "avx512bw avx512cd avx512dq avx512vl", caches: caches{32, 1024, 1408}, models: "Intel 06 55", core: Core{Clock: 2800}},
		{name: "cascadelake", like: "skylake-avx512", features: "avx512vnni", models: "Intel 06 55"},
		{name: "cooperlake", like: "cascadelake", features: "avx512bf16", models: "Intel 06 55"},
		{name: "cannonlake", like: "skylake", features: "avx512bw avx512cd avx512dq avx512vl avx512ifma avx512vbmi", models: "Intel 06 66"},
		{name: "icelake-client", like: "cannonlake", features: "avx512bitalg avx512vbmi2 avx512vnni avx512vpopcntdq gfni", caches: caches{48, 512, 2048}, models: "Intel 06 7D 7E", core: Core{Clock: 3600, Datapath: 256}},
		{name: "icelake-server", like: "icelake-client", caches: caches{48, 1280, 1536}, models: "Intel 06 6A 6C", core: Core{Clock: 3000, Datapath: 512}},
		{name: "rocketlake", like: "icelake-client", models: "Intel 06 A7"},
		{name: "tigerlake", like: "icelake-client", caches: caches{48, 1280, 3072}, models: "Intel 06 8C 8D"},
		{name: "sapphirerapids", like: "icelake-server", features: "avx512bf16 avx512fp16 avxvnni", caches: caches{48, 2048, 1920}, models: "Intel 06 8F", core: Core{Clock: 3000}},
		{name: "emeraldrapids", like: "sapphirerapids", caches: caches{48, 2048, 5120}, models: "Intel 06 CF"},
		{name: "graniterapids", like: "emeraldrapids", models: "Intel 06 AD AE"},
		{name: "alderlake", like: "skylake", features: "avxvnni gfni", caches: caches{48, 1280, 3072}, models: "Intel 06 97 9A", core: Core{Clock: 4000}},
		{name: "raptorlake", like: "alderlake", caches: caches{48, 2048, 3072}, models: "Intel 06 B7 BA BF"},
		{name: "meteorlake", like: "raptorlake", models: "Intel 06 AA AC"},
		{name: "arrowlake", like: "raptorlake", features: "avxifma avxneconvert avxvnniint8", models: "Intel 06 B5 C5"},
		{name: "arrowlake-s", like: "arrowlake", features: "avxvnniint16", models: "Intel 06 C6"},
		{name: "lunarlake", like: "arrowlake-s", caches: caches{48, 2560, 3072}, models: "Intel 06 BD"},
		{name: "sierraforest", like: "alderlake", features: "avxifma avxneconvert avxvnniint8", caches: caches{32, 1024, 768}, models: "Intel 06 AF", core: Core{Datapath: 128}},
		{name: "goldmont", like: "x86-64-v2", features: "movbe", caches: caches{24, 512, 0}, models: "Intel 06 5C 5F"},
		{name: "btver2", like: "x86-64-v2", features: "avx bmi f16c lzcnt movbe", caches: caches{32, 512, 0}, models: "AMD 16 00-0F 30-3F", core: Core{Datapath: 128}},
		{name: "bdver4", like: "btver2", features: "avx2 bmi2 fma", caches: caches{16, 1024, 0}, models: "AMD 15 60-7F"},
		{name: "znver1", like: "skylake", caches: caches{32, 512, 2048}, models: "AMD 17 00-2F", core: Core{Clock: 3300, Datapath: 128}},
		{name: "znver2", like: "znver1", caches: caches{32, 512, 4096}, models: "AMD 17 30-FF", core: Core{Clock: 3400, Datapath: 256}},
		{name: "znver3", like: "znver2", models: "AMD 19 00-0F 20-5F", core: Core{Clock: 3600}},
		{name: "znver4", like: "znver3", features: "avx512bf16 avx512bitalg avx512cd avx512dq avx512ifma avx512vbmi avx512vbmi2 avx512vl avx512vnni avx512vpopcntdq gfni", caches: caches{32, 1024, 4096}, models: "AMD 19 10-1F 60-7F A0-AF", core: Core{Clock: 3800}},
		{name: "znver5", like: "znver4", features: "avxvnni", caches: caches{48, 1024, 4096}, models: "AMD 1A 00-4F 60-77", core: Core{Clock: 4100, Datapath: 512}},
	},
	machine: func(t *Target) {
		switch {
		case t.Has("avx512f") && !slices.Contains(t.Attrs, "+prefer-256-bit"):
			t.VectorBits, t.VectorRegs = 512, 32
		case t.Has("avx512vl"):
			t.VectorBits, t.VectorRegs = 256, 32
		case t.Has("avx"):
			t.VectorBits, t.VectorRegs = 256, 16
		default:
			t.VectorBits, t.VectorRegs = 128, 16
		}
		t.HasFMA = t.Has("fma")
		t.HasDot = t.Has("avx512vnni") && (t.VectorBits == 512 || t.Has("avx512vl")) || t.Has("avxvnni") && t.VectorBits == 256
	},
}
