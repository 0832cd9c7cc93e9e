package impl_test

import (
	"fmt"
	"strings"
	"testing"

	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// TestWidened: weights are widened once for all rows where tiles would widen them again, also where a panel is larger than L2, and by the
// tile where one takes all rows. Few panels are not all that workers divide.
func TestWidened(t *testing.T) {
	for _, m := range machines {
		server := *m
		server.L3 = 16 << 20
		m, lanes := &server, m.Lanes(32)
		for _, c := range []struct {
			rows, depth, panels int
			want                string
		}{
			{2, 256, 40, "by tiles"},
			{128, 256, 40, "by panels"},
			{1000, 4096, 40, "by panels"},
			{128, 16384, 40, "by panels"},
			{512, 1024, 3, "by panels"},
		} {
			for _, w := range []types.DType{types.I4, types.U4, types.I8, types.U8} {
				if c.depth > 10000 && !w.IsNibble() { // bytes are widened in less time than comes from L3
					continue
				}
				columns := 2 * lanes * c.panels
				panels := types.Layout(fmt.Sprintf("AB%da", 2*lanes))
				weight := types.Of(w, columns, c.depth).With(panels)
				if w.IsNibble() {
					weight = weight.With(panels + "8b")
				}
				y := inPanels(2, of(t, ops.MatmulNBits, ops.MatmulNBitsAttrs{BlockSize: 32}, "", f32("", c.rows, c.depth), weight, f32(panels, columns, c.depth/32)))
				plan, err := algorithms.Table.Choose(lower.Lower("f", y, lower.Options{}), m, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := plan.Taken["widened"]; got != c.want {
					t.Errorf("%d bits, %d rows by %d of depth, %s: widened %q, want %q", m.VectorBits, c.rows, c.depth, w, got, c.want)
				}
				pieces := 0
				for _, d := range plan.Divisions {
					pieces = max(pieces, d.Extent)
				}
				if c.rows > 2 && pieces < 12 {
					t.Errorf("%d bits, %d rows by %d panels: %d pieces for workers: %s", m.VectorBits, c.rows, c.panels, pieces, plan.Why)
				}
				if staged := strings.Contains(plan.Schedule.String(), "stage_factors"); staged != (c.want == "by panels") {
					t.Errorf("widened %s, factors staged: %v", c.want, staged)
				}
			}
		}
	}
}
