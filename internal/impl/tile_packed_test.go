package impl_test

import (
	"strings"
	"testing"

	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/te"
	"lathe/internal/types"
)

// TestPacked: a matrix as it lies is packed where several tiles of rows read it and its panels do not stay in L1: where they are long, or where rows of it are a power of two
// apart. One tile reads it as it lies, and so do all where it stays. Whatever is packed, workers divide it.
func TestPacked(t *testing.T) {
	for _, m := range machines {
		for _, c := range []struct {
			name                 string
			rows, depth, columns int
			packed               bool
		}{
			{"one tile", 4, 1024, 1024, false},
			{"small", 256, 16, 64, false},
			{"rows 4 KB apart", 256, 1024, 1024, true},
			{"rows 16 KB apart", 256, 512, 4096, true},
			{"long panels of odd rows", 256, 2000, 1000, true},
			{"beyond L2", 256, 512, 9000, true},
		} {
			y := of(t, ops.Matmul, ops.MatmulAttrs{}, "", f32("", c.rows, c.depth), f32("", c.depth, c.columns))
			plan, err := algorithms.Table.Choose(lower.Lower("f", y, lower.Options{}), m, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := plan.Taken["packed_panels"]
			if packed := got != "" && got != "0"; packed != c.packed {
				t.Errorf("%d bits, %s: %q panels are packed: %s", m.VectorBits, c.name, got, plan.Why)
			}
			if staged := strings.Contains(plan.Schedule.String(), "stage_factors"); staged != c.packed {
				t.Errorf("%d bits, %s: factors staged: %v", m.VectorBits, c.name, staged)
			}
			pieces := 0
			for _, d := range plan.Divisions {
				pieces = max(pieces, d.Extent)
			}
			if c.packed && pieces < 12 {
				t.Errorf("%d bits, %s: %d pieces for workers: %s", m.VectorBits, c.name, pieces, plan.Why)
			}
		}
	}
}

// TestNotPacked: nothing is packed that is no sum, or that no other tile reads: each of many small matrices has rows of its own.
func TestNotPacked(t *testing.T) {
	for _, m := range machines {
		all := of(t, ops.Multiply, op.None{}, "", f32("", 256, 512, 1), f32("", 1, 512, 1024))
		greatest := of(t, ops.Max, ops.ReduceAttrs{Axis: []int{1}}, "", all.Type)
		greatest = ops.Max.Compute(ops.ReduceAttrs{Axis: []int{1}}, []*te.Stage{all}, []types.Tensor{greatest.Type})[0]
		for _, y := range []*te.Stage{
			greatest,
			of(t, ops.Matmul, ops.MatmulAttrs{}, "", f32("", 64, 2, 32), f32("", 64, 32, 48)),
			of(t, ops.Matmul, ops.MatmulAttrs{}, "", f32("", 64, 3, 64), f32("", 64, 64, 32)),
		} {
			plan, err := algorithms.Table.Choose(lower.Lower("f", y, lower.Options{}), m, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := plan.Taken["packed_panels"]; got != "" && got != "0" {
				t.Errorf("%d bits: %s panels are packed: %s", m.VectorBits, got, plan.Why)
			}
		}
	}
}
