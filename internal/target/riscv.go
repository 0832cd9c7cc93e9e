package target

import "lathe/internal/cpu"

// riscvTable: LLVM's plainest CPU has no multiplication and no floating point, and the Linux ABI passes doubles in
// registers, so that here it has the extensions of RV64GC.
var riscvTable = table{
	triples:  []string{"riscv64"},
	example:  "riscv64-linux-gnu",
	generic:  "generic-rv64",
	isa:      &cpu.RISCV64,
	required: "d",
	cpus: []processor{
		{name: "generic-rv64", features: "m a d c", caches: caches{32, 256, 0}},
		{name: "sifive-u74", like: "generic-rv64", caches: caches{32, 2048, 0}},
		{name: "sifive-p470", like: "sifive-u74", features: "v zba zbb zbs zfhmin", caches: caches{32, 512, 0}},
		{name: "sifive-x280", like: "sifive-u74", features: "v zba zbb zfh zvfh zvl512b", caches: caches{32, 512, 0}},
		{name: "spacemit-x60", like: "sifive-u74", features: "v zba zbb zbs zfh zvfh zvl256b", caches: caches{32, 512, 0}},
		{name: "xiangshan-nanhu", like: "sifive-u74", features: "zba zbb zbs", caches: caches{64, 1024, 0}},
	},
	machine: func(t *Target) {
		t.VectorBits, t.VectorRegs, t.HasFMA = 128, 8, t.Has("f") // 32 scalar registers hold eight vectors of four
		if t.Has("v") {
			t.VectorBits, t.VectorRegs = vectorLength(t.Features), 32
		}
	},
}
