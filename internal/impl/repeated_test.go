package impl_test

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/te"
)

// TestRepeated: what stands several times in the output is written to all places piece by piece where L1 does not hold it twice, along whatever axis it
// is repeated, and whether an operator says so by an axis of its own or by remainders. A fill, and what differs between the places, is not.
func TestRepeated(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		m := machines[r.IntN(len(machines))]
		outer, times, rows, columns := 1+r.IntN(3), 2+r.IntN(5), 2+r.IntN(40), 64*(1+r.IntN(12))
		x := f32("", outer, 1, rows, columns)
		var repeated *te.Stage
		if r.IntN(2) == 0 {
			repeated = of(t, ops.BroadcastTo, ops.BroadcastToAttrs{Shape: []int{outer, times, rows, columns}}, "", x)
		} else {
			repeated = of(t, ops.Tile, ops.TileAttrs{Reps: []int{1, times, 1}}, "", f32("", outer, rows, columns))
		}
		taken := func(s *te.Stage) choice.Point {
			plan, err := algorithms.Table.Choose(lower.Lower("f", s, lower.Options{}), m, nil)
			if err != nil {
				t.Fatal(err)
			}
			return plan.Taken
		}
		bytes := 4 * rows * columns
		pieces := taken(repeated)["repeated"]
		if cut := pieces != "" && pieces != "1"; cut != (2*bytes > m.L1*7/8) {
			t.Errorf("%s of %d bytes, L1 of %d: %q pieces", repeated.Name, bytes, m.L1, pieces)
		}
		sum := of(t, ops.Add, op.None{}, "", f32("", outer, times, rows, columns), x)
		if p := taken(sum)["repeated"]; p != "" {
			t.Errorf("a sum with other elements at each place: %q pieces", p)
		}
	}
}
