package target

import "cmp"

// Speed is about what one core of a target does at best, in operations and bytes per nanosecond. It follows
// from the target alone, whatever the machine at hand.
type Speed struct {
	Float32 float64 `json:"float32_gflop_per_s"` // multiply-adds of float32 vectors, each counted as two operations
	Int8    float64 `json:"int8_gop_per_s"`      // the same of sums of products of bytes
	L2      float64 `json:"l2_gb_per_s"`         // reading what is in the core's L2
	L3      float64 `json:"l3_gb_per_s"`
	Memory  float64 `json:"memory_gb_per_s"`
	Meet    float64 `json:"meet_ns"` // what a meeting of workers costs a run, in ns
}

// meetCycles are what a barrier takes at best, a line of the cache going from core to core and back, and by how much the
// worker that is waited for is later than the others.
const meetCycles = 4000

// archClocks are the MHz of CPUs whose rows have none.
var archClocks = map[Arch]int{X86: 3200, AArch64: 2200, ARM: 1500, RISCV64: 1600, CSource: 400, WASM32: 2500}

// Speed returns the model of one core: two units, each of a vector or of what the datapath takes of it.
func (t *Target) Speed() Speed {
	clock := float64(cmp.Or(t.Clock, archClocks[t.Arch])) / 1000
	bits := t.VectorBits
	if t.Datapath > 0 {
		bits = min(bits, t.Datapath)
	}
	s := Speed{Float32: clock * 2 * float64(max(1, bits/32)) * 2, L2: clock * 32, L3: clock * 12, Memory: 20}
	if !t.HasFMA && (t.Arch == X86 || t.Arch == WASM32) {
		s.Float32 /= 2
	}
	s.Int8, s.Meet = s.Float32, meetCycles/clock
	if t.Has("avx512vnni") || t.Has("avxvnni") || t.Has("dotprod") {
		s.Int8 = 4 * s.Float32
	}
	if t.Arch != X86 {
		s.L2, s.L3, s.Memory = clock*16, clock*8, 8
	}
	if t.VectorBits == 512 {
		s.Memory = 30
	}
	return s
}
