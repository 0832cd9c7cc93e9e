package strips

import (
	"testing"

	"lathe/internal/impl"
	"lathe/internal/target"
)

// TestStripSizes: strips divide the rows, fit half of L2 if any but the least do, and count what two of them need.
func TestStripSizes(t *testing.T) {
	cpu := impl.Core{Target: &target.Target{VectorBits: 512, VectorRegs: 32, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 512)}}
	for _, rows := range []int{1, 7, 28, 56, 112, 113} {
		for _, stride := range []int{1, 2, 3} {
			for _, window := range []int{1, 2, 3, 5} {
				for _, bytes := range []int{1 << 10, 14 << 10, 200 << 10} {
					for _, panels := range []int{1, 3} {
						s := strip{Rows: rows, Stride: stride, Window: window, RowBytes: bytes, Panels: panels}
						list, best := s.sizes(cpu)
						for _, z := range list {
							need := (z.rows-1)*stride + window
							switch {
							case z.rows < 1 || rows%z.rows != 0:
								t.Errorf("%+v: strips of %d rows", s, z.rows)
							case z.rows > 1 && need*bytes > cpu.L2/2:
								t.Errorf("%+v: strips of %d rows take %d bytes", s, z.rows, need*bytes)
							case z.rows < rows && window > stride && !(z.again > 0), (z.rows == rows || window <= stride) && z.again != 0:
								t.Errorf("%+v: %d rows, %g computed again", s, z.rows, z.again)
							case z.cost < list[best].cost:
								t.Errorf("%+v: %d rows cost less than the best", s, z.rows)
							}
						}
					}
				}
			}
		}
	}
	// Without a cost of strips there would be as many as workers take.
	if list, best := (strip{Rows: 112, Stride: 1, Window: 3, RowBytes: 14 << 10, Panels: 1}).sizes(cpu); list[best].rows != 28 {
		t.Errorf("%d rows of 112", list[best].rows)
	}
}
