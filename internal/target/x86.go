package target

import "slices"

// x86Table: the features are the instruction sets that LLVM may choose; CPUs imply what LLVM says they imply. L3 is a
// core's share of the usual server or desktop part.
var x86Table = table{
	triples: []string{"x86_64", "amd64"},
	example: "x86_64-linux-gnu",
	generic: "x86-64",
	cpus: []cpu{
		{name: "x86-64", caches: caches{32, 256, 1024}},
		{name: "x86-64-v2", like: "x86-64", features: "crc32 cx16 popcnt sahf sse4.2"},
		{name: "x86-64-v3", like: "x86-64-v2", features: "avx2 bmi bmi2 f16c fma lzcnt movbe"},
		{name: "x86-64-v4", like: "x86-64-v3", features: "avx512bw avx512cd avx512dq avx512vl", caches: caches{32, 1024, 1024}},
		{name: "nehalem", like: "x86-64-v2", caches: caches{32, 256, 2048}},
		{name: "westmere", like: "nehalem", features: "pclmul"},
		{name: "sandybridge", like: "westmere", features: "avx"},
		{name: "ivybridge", like: "sandybridge", features: "f16c"},
		{name: "haswell", like: "ivybridge", features: "avx2 bmi bmi2 fma lzcnt movbe"},
		{name: "core-avx2", like: "haswell"},
		{name: "broadwell", like: "haswell", features: "adx"},
		{name: "skylake", like: "broadwell", features: "aes"},
		{name: "skylake-avx512", like: "skylake", features: "avx512bw avx512cd avx512dq avx512vl", caches: caches{32, 1024, 1408}},
		{name: "cascadelake", like: "skylake-avx512", features: "avx512vnni"},
		{name: "cooperlake", like: "cascadelake", features: "avx512bf16"},
		{name: "cannonlake", like: "skylake", features: "avx512bw avx512cd avx512dq avx512vl avx512ifma avx512vbmi sha"},
		{name: "icelake-client", like: "cannonlake", features: "avx512bitalg avx512vbmi2 avx512vnni avx512vpopcntdq gfni vaes vpclmulqdq", caches: caches{48, 512, 2048}},
		{name: "icelake-server", like: "icelake-client", caches: caches{48, 1280, 1536}},
		{name: "rocketlake", like: "icelake-client"},
		{name: "tigerlake", like: "icelake-client", features: "avx512vp2intersect", caches: caches{48, 1280, 3072}},
		{name: "sapphirerapids", like: "icelake-server", features: "amx-bf16 amx-int8 avx512bf16 avx512fp16 avxvnni", caches: caches{48, 2048, 1920}},
		{name: "emeraldrapids", like: "sapphirerapids", caches: caches{48, 2048, 5120}},
		{name: "graniterapids", like: "emeraldrapids", features: "amx-fp16"},
		{name: "alderlake", like: "skylake", features: "avxvnni gfni sha vaes vpclmulqdq", caches: caches{48, 1280, 3072}},
		{name: "raptorlake", like: "alderlake", caches: caches{48, 2048, 3072}},
		{name: "sierraforest", like: "alderlake", features: "avxifma avxneconvert avxvnniint8", caches: caches{32, 1024, 768}},
		{name: "goldmont", like: "x86-64-v2", features: "aes movbe pclmul sha", caches: caches{24, 512, 0}},
		{name: "btver2", like: "x86-64-v2", features: "aes avx bmi f16c lzcnt movbe pclmul sse4a", caches: caches{32, 512, 0}},
		{name: "bdver4", like: "btver2", features: "avx2 bmi2 fma fma4 tbm xop", caches: caches{16, 1024, 0}},
		{name: "znver1", like: "skylake", features: "sha sse4a", caches: caches{32, 512, 2048}},
		{name: "znver2", like: "znver1", caches: caches{32, 512, 4096}},
		{name: "znver3", like: "znver2", features: "vaes vpclmulqdq"},
		{name: "znver4", like: "znver3", features: "avx512bf16 avx512bitalg avx512cd avx512dq avx512ifma avx512vbmi avx512vbmi2 avx512vl avx512vnni avx512vpopcntdq gfni", caches: caches{32, 1024, 4096}},
		{name: "znver5", like: "znver4", features: "avx512vp2intersect avxvnni", caches: caches{48, 1024, 4096}},
	},
	features: []feature{
		{"adx", ""}, {"aes", ""}, {"amx-bf16", "amx-tile"}, {"amx-complex", "amx-tile"}, {"amx-fp16", "amx-tile"},
		{"amx-int8", "amx-tile"}, {"amx-tile", ""}, {"avx", "sse4.2"}, {"avx2", "avx"}, {"avx512bf16", "avx512bw"},
		{"avx512bitalg", "avx512bw"}, {"avx512bw", "avx512f"}, {"avx512cd", "avx512f"}, {"avx512dq", "avx512f"},
		{"avx512f", "avx2 f16c fma"}, {"avx512fp16", "avx512bw"}, {"avx512ifma", "avx512f"}, {"avx512vbmi", "avx512bw"},
		{"avx512vbmi2", "avx512bw"}, {"avx512vl", "avx512f"}, {"avx512vnni", "avx512f"}, {"avx512vp2intersect", "avx512f"},
		{"avx512vpopcntdq", "avx512f"}, {"avxifma", "avx2"}, {"avxneconvert", "avx2"}, {"avxvnni", "avx2"},
		{"avxvnniint16", "avx2"}, {"avxvnniint8", "avx2"}, {"bmi", ""}, {"bmi2", ""}, {"crc32", ""}, {"cx16", ""},
		{"f16c", "avx"}, {"fma", "avx"}, {"fma4", "avx sse4a"}, {"gfni", ""}, {"lzcnt", ""}, {"movbe", ""}, {"pclmul", ""},
		{"popcnt", ""}, {"sahf", ""}, {"sha", ""}, {"sse3", ""}, {"sse4.1", "ssse3"}, {"sse4.2", "sse4.1"}, {"sse4a", "sse3"},
		{"ssse3", "sse3"}, {"tbm", ""}, {"vaes", "aes avx2"}, {"vpclmulqdq", "avx pclmul"}, {"xop", "fma4"},
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
		t.HasFMA = t.Has("fma") || t.Has("fma4")
		t.HasDot = t.Has("avx512vnni") && (t.VectorBits == 512 || t.Has("avx512vl")) || t.Has("avxvnni") && t.VectorBits == 256
	},
}
