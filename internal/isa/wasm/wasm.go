// Package wasm is what the compiler knows of WebAssembly.
package wasm

import "lathe/internal/isa"

// ISA is WebAssembly with 32-bit addresses. Its CPU is the engine that compiles a module a second time: names of CPUs are sets
// of proposals, and vectors are those of 128 bits that every current browser has, in the registers of x86-64. Engines keep one
// of these and hold all operands of a step: 4 x 2 accumulators, 4 + 2 operands, an unfused product.
var ISA = isa.ISA{
	Table:   &Features,
	Triples: []string{"wasm32"},
	Attrs:   []string{"+simd128"},
	CPUs: []isa.Processor{
		{Name: "mvp", Caches: [3]int{32, 512, 0}},
		{Name: "generic", Like: "mvp", Features: "bulk-memory call-indirect-overlong multivalue mutable-globals nontrapping-fptoint reference-types sign-ext"},
		{Name: "lime1", Like: "mvp", Features: "bulk-memory-opt call-indirect-overlong extended-const multivalue mutable-globals nontrapping-fptoint sign-ext"},
		{Name: "bleeding-edge", Like: "generic", Features: "atomics exception-handling extended-const fp16 multimemory relaxed-simd tail-call"},
	},
	Core: isa.Core{Clock: 2500, Units: 2, Loads: 2, Latency: 4, L2Rate: 16, L3Rate: 8, Memory: 8_000, Reclaim: 10_000, Streams: 8},
	Vectors: func(has func(string) bool) isa.Vectors {
		v := isa.Vectors{Bits: 128, Regs: 16, FMA: has("relaxed-simd")}
		if !has("simd128") {
			v.Regs, v.Scalars = 4, true // of four scalars each
		}
		return v
	},
	TwoSteps:    true,
	Spare:       5,
	SetSpan:     4 << 10, // of most machines that run it
	LoadsFirst:  true,
	PointerBits: 32,
	Object:      isa.Wasm,
	OneWorker:   true,
	Instructions: isa.Instructions{
		Half:     func(func(string) bool) bool { return false },
		LooseFMA: true,
		Pairs:    []isa.Dot{{A: "int16", B: "int16", Features: []string{"simd128"}, Lanes: 4, Name: "wasm.dot"}},
	},
}
