package target

import "lathe/internal/cpu"

// wasmTable is WebAssembly with 32-bit addresses. Its CPU is the engine that compiles a module a second time: names of CPUs
// are sets of proposals, and vectors are those of 128 bits that every current browser has.
var wasmTable = table{
	triples: []string{"wasm32"},
	example: "wasm32-unknown-unknown",
	generic: "generic",
	isa:     &cpu.WASM32,
	attrs:   []string{"+simd128"},
	cpus: []processor{
		{name: "mvp", caches: caches{32, 512, 0}},
		{name: "generic", like: "mvp", features: "bulk-memory call-indirect-overlong multivalue mutable-globals nontrapping-fptoint reference-types sign-ext"},
		{name: "lime1", like: "mvp", features: "bulk-memory-opt call-indirect-overlong extended-const multivalue mutable-globals nontrapping-fptoint sign-ext"},
		{name: "bleeding-edge", like: "generic", features: "atomics exception-handling extended-const fp16 multimemory relaxed-simd tail-call"},
	},
	machine: func(t *Target) {
		t.VectorBits, t.VectorRegs, t.HasFMA = 128, 16, t.Has("relaxed-simd") // of engines for x86-64
		if !t.Has("simd128") {
			t.VectorRegs = 4 // of four scalars each
		}
	},
}
