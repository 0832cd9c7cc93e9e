package impl_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/ops"
)

// TestStripsOfFewLines: where an image has so few lines that a strip of whole ones does not stay in a cache, pieces of lines do: what the
// tiles of a strip read is at most what L2 holds.
func TestStripsOfFewLines(t *testing.T) {
	tgt := machines[1]
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 8))
		channels, lines, width := 8*(8+r.IntN(16)), 2+r.IntN(6), 1000+r.IntN(2000)
		a := ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{1, 0, 1, 0}, Dilation: []int{1, 1}, Groups: 1}
		x := f32(blocked(8), 1, channels, lines, width)
		k := lower.Lower("conv2d", inPanels(2, of(t, ops.Conv2d, a, blocked(8), x, f32("ABCD16a", 64, channels, 3, 1))), lower.Options{})
		p, err := algorithms.Table.Choose(k, tgt, nil)
		if err != nil {
			t.Fatal(err)
		}
		strips, err := strconv.Atoi(p.Taken["strips"])
		if err != nil || p.Rule != "tile" {
			t.Fatalf("rule %s decided %v: %v", p.Rule, p.Taken, err)
		}
		if each := x.Bytes() / strips; each > tgt.L2 {
			t.Errorf("%d channels, %d lines of %d: %d strips of %d bytes", channels, lines, width, strips, each)
		}
	}
}
