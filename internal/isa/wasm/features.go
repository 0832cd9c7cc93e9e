package wasm

import "lathe/internal/isa"

// Features is what WebAssembly has: features are proposals, and the engine that compiles a module tells whether it has them.
var Features = isa.Table{
	Arch: "wasm32", Triple: "wasm32-unknown-unknown", Generic: "generic",
	Rows: []isa.Feature{
		{Name: "atomics", Code: true},
		{Name: "bulk-memory", Needs: "bulk-memory-opt", Code: true},
		{Name: "bulk-memory-opt", Code: true},
		{Name: "call-indirect-overlong", Code: true},
		{Name: "exception-handling", Code: true},
		{Name: "extended-const", Code: true},
		{Name: "fp16", Code: true},
		{Name: "multimemory", Code: true},
		{Name: "multivalue", Code: true},
		{Name: "mutable-globals", Code: true},
		{Name: "nontrapping-fptoint", Code: true},
		{Name: "reference-types", Needs: "call-indirect-overlong", Code: true},
		{Name: "relaxed-simd", Needs: "simd128", Code: true},
		{Name: "sign-ext", Code: true},
		{Name: "simd128", Code: true},
		{Name: "tail-call", Code: true},
	},
}
