package impl_test

import (
	"testing"

	"lathe/internal/choice"
	"lathe/internal/impl"
	"lathe/internal/testkit/targettest"
)

// TestDecidePack: a few columns that lie as rows are packed for many rows, the sooner where L1 does not hold them, which every row reads.
func TestDecidePack(t *testing.T) {
	cpu := targettest.Resolve(t, "llvm -mcpu=x86-64-v4 -caches=48,2048,1920 -l2-rate=48")
	for _, c := range []struct{ rows, columns, depth, panel int }{
		{28, 7, 2216, impl.Transposed}, {10, 7, 2216, 0}, {2, 7, 300, 0}, {64, 7, 300, impl.Transposed}, {28, 1, 2216, 0},
	} {
		log := &choice.Log{}
		panel, err := impl.DecidePack(cpu, c.rows, c.columns, c.depth, log)
		if err != nil {
			t.Fatal(err)
		}
		if panel != c.panel {
			t.Errorf("%d rows by %d columns of %d: %d instead of %d: %v", c.rows, c.columns, c.depth, panel, c.panel, log.Asked)
		}
	}
}
