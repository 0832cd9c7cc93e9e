package target

// CSource stands for the architecture where there is none: the target is C source, which any compiler takes to any machine.
const CSource Arch = "c"

// source is the target of kind c: a plain core as microcontrollers have it, without vectors, with the float registers that
// Arm's smallest float unit lends a function, and memory that is read without a cache to speak of. Nothing that
// an option says changes the source.
func (s *Spec) source() *Target {
	t := &Target{Kind: s.Kind, Arch: CSource, VectorRegs: 16, L1: 16 << 10, L2: 16 << 10, Core: ClassOf(CSource, 0), NumCores: 1}
	for _, o := range s.Options {
		t.Remarks = append(t.Remarks, o.Name+"="+o.Value)
	}
	return t
}
