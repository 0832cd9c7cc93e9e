package target

// Speed is about what one core of a target does at best, in operations and bytes per nanosecond. It follows
// from the target alone, whatever the machine at hand.
type Speed struct {
	Float32 float64 `json:"float32_gflop_per_s"`       // multiply-adds of float32 vectors, each counted as two operations
	Int8    float64 `json:"int8_gop_per_s"`            // the same of sums of products of bytes
	Tiles   float64 `json:"tiles_gop_per_s,omitempty"` // the same by registers of matrices; 0 where there are none
	L2      float64 `json:"l2_gb_per_s"`               // reading what is in the core's L2
	L3      float64 `json:"l3_gb_per_s"`
	Memory  float64 `json:"memory_gb_per_s"`
	Meet    float64 `json:"meet_ns"` // what a meeting of workers costs a run, in ns
}

// meetCycles are what a meeting takes at best, a line of the cache going from core to core and back, and by how much the
// last chunk is later than the others.
const meetCycles = 4000

// Speed returns the model of one core: what its units do of the datapath's width, and the rates of its memories.
func (t *Target) Speed() Speed {
	clock := float64(t.Clock) / 1000
	s := Speed{
		Float32: clock * float64(t.Units) * float64(max(1, t.VectorBits/t.Passes()/32)) * 2,
		L2:      clock * float64(t.L2Rate),
		L3:      clock * float64(t.L3Rate),
		Memory:  float64(t.Memory) / 1000,
	}
	if !t.HasFMA && t.ISA().TwoSteps {
		s.Float32 /= 2
	}
	s.Int8, s.Meet = s.Float32, meetCycles/clock
	if t.HasDot {
		s.Int8 = 4 * s.Float32
	}
	if set := t.Tiles(); set != nil {
		s.Tiles = clock * 2 * float64(set.Rows*set.RowBytes*set.RowBytes/4) / float64(set.ProductCycles)
	}
	return s
}

// Passes is how many times a vector goes through the datapath.
func (t *Target) Passes() int {
	if t.Datapath == 0 {
		return 1
	}
	return max(1, (t.VectorBits+t.Datapath-1)/t.Datapath)
}
