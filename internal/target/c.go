package target

import "lathe/internal/isa"

// CSource stands in Target.Arch where there is no architecture: the target is C source, which any compiler takes to any machine.
const CSource Arch = "c"

// source is what schedules of C source count on, and is in no list: a plain core as microcontrollers have it, without vectors,
// with the float registers that Arm's smallest float unit lends a function. Its compiler takes some of them.
var source = isa.ISA{
	Table:     &isa.Table{Arch: CSource},
	Core:      Core{Clock: 400, Units: 2, Loads: 2, Latency: 4, L2Rate: 16, L3Rate: 8, Memory: 8_000, Reclaim: 1_600, Streams: 8},
	Spare:     4,
	Object:    isa.Source,
	OneWorker: true,
}

// IsSource reports whether the output is C source, and not machine code.
func (t *Target) IsSource() bool { return t.ISA().Object == isa.Source }

// source is the target of kind c. Memory is read without a cache to speak of. Nothing that an option says changes the source.
func (s *Spec) source() *Target {
	t := &Target{Kind: s.Kind, Arch: CSource, VectorRegs: 16, L1: 16 << 10, L2: 16 << 10, Core: ClassOf(CSource, 0), NumCores: 1}
	for _, o := range s.Options {
		t.Remarks = append(t.Remarks, o.Name+"="+o.Value)
	}
	return t
}
