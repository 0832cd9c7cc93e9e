package target

// Speed is about what one core of a target does at best, in operations and bytes per nanosecond. It comes from tables, so
// that what is derived from it depends on the target alone and not on the machine at hand.
type Speed struct {
	Float32 float64 `json:"float32_gflop_per_s"` // multiply-adds of float32 vectors, each counted as two operations
	Int8    float64 `json:"int8_gop_per_s"`      // the same of sums of products of bytes
	L2      float64 `json:"l2_gb_per_s"`         // reading what is in the core's L2
	L3      float64 `json:"l3_gb_per_s"`
	Memory  float64 `json:"memory_gb_per_s"`
}

// clocks are about the GHz that CPUs keep under load; others have those of the CPU they are like, or of their architecture.
var clocks = map[string]float64{
	"haswell": 3.3, "skylake": 3.6, "skylake-avx512": 2.8, "icelake-client": 3.6, "icelake-server": 3.0, "sapphirerapids": 3.0,
	"alderlake": 4.0, "znver1": 3.3, "znver2": 3.4, "znver3": 3.6, "znver4": 3.8, "znver5": 4.1,
}

var archClocks = map[Arch]float64{X86: 3.2, AArch64: 2.2, ARM: 1.5, RISCV64: 1.6, CSource: 0.4, WASM32: 2.5}

// halfWide are CPUs that take two cycles for a pair of multiply-adds of 512-bit vectors.
var halfWide = map[string]bool{"znver4": true, "icelake-client": true, "tigerlake": true, "rocketlake": true}

// Speed returns the model of one core.
func (t *Target) Speed() Speed {
	clock := archClocks[t.Arch]
	tab := tables[t.Arch]
	if tab == nil {
		tab = new(table) // source for any machine
	}
	for c := tab.find(t.CPU); c != nil; c = tab.find(c.like) {
		if ghz, ok := clocks[c.name]; ok {
			clock = ghz
			break
		}
	}
	units := 2.0
	if t.VectorBits == 512 && halfWide[t.CPU] {
		units = 1
	}
	s := Speed{Float32: clock * units * float64(t.Lanes(32)) * 2, L2: clock * 32, L3: clock * 12, Memory: 20}
	if !t.HasFMA && (t.Arch == X86 || t.Arch == WASM32) {
		s.Float32 /= 2
	}
	s.Int8 = s.Float32
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
