package impl_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/op"
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

// TestDeepProducts: a product of few columns whose sums are long has one panel of weights, which no cache holds: fewer strips of rows than there are tiles read it, each
// once, part by part for all of its tiles.
func TestDeepProducts(t *testing.T) {
	m := machines[1] // whose tiles have few rows
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 65))
		rows, depth := 14+r.IntN(30), 40_000+2*r.IntN(20_000)
		k := lower.Lower("dense", inPanels(2, of(t, ops.Dense, op.None{}, "", f32("", rows, depth), f32("AB16a", 16, depth))), lower.Options{})
		p, err := algorithms.Table.Choose(k, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		var size impl.Tile
		fmt.Sscanf(p.Taken["tile"], "%d x %d", &size.Rows, &size.Vecs)
		strips, err := strconv.Atoi(p.Taken["strips"])
		if err != nil || p.Rule != "tile" || size.Rows == 0 {
			t.Fatalf("rule %s decided %v: %v", p.Rule, p.Taken, err)
		}
		if tiles := (rows + size.Rows - 1) / size.Rows; strips >= tiles || p.Taken["parts_of"] != "strips" {
			t.Errorf("%d x %d: %d strips of %d tiles, parts of %s", rows, depth, strips, tiles, p.Taken["parts_of"])
		}
	}
}
