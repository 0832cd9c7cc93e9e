package impl

import (
	"testing"

	"lathe/internal/target"
)

// TestSubsample: what short lines read is gathered where there are channels enough to pay for it.
func TestSubsample(t *testing.T) {
	core := target.ClassOf(target.X86, 256)
	m := &target.Target{Core: core, VectorBits: 256, VectorRegs: 16, HasFMA: true, L1: 32 << 10, L2: 512 << 10, L3: 16 << 20}
	for _, c := range []struct {
		in, out, size int
		want          string
	}{{1024, 2048, 7, "on"}, {512, 1024, 14, "on"}, {256, 512, 28, "on"}, {64, 128, 28, "off"}, {64, 8, 56, "off"}} {
		d := SubsampleDecision(m, SparseConv{Images: 1, Lines: c.size, Rows: c.size, In: c.in, Out: c.out, Bytes: 4 * c.in * 4 * c.size * c.size})
		if got := d.Values[d.Default].Text; got != c.want {
			t.Errorf("%d to %d channels of %d: %s, want %s: %v", c.in, c.out, c.size, got, c.want, d.Values)
		}
	}
}
