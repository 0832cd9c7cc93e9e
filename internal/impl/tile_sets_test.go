package impl

import (
	"slices"
	"testing"

	"lathe/internal/target"
)

// TestEvicted holds the cost of lines that are read again to a cache with sets of least recently used lines: rows at every distance,
// each read along, are either read once a line, and cost nothing, or again by each iteration of the loop's body.
func TestEvicted(t *testing.T) {
	c := core{&target.Target{Arch: target.X86, Core: target.ClassOf(target.X86, 512)}}
	for _, l1 := range []int{32 << 10, 48 << 10} {
		c.L1 = l1
		span := c.ISA().SetSpan
		for apart := 64; apart <= 4*span; apart += 64 {
			for rows := 1; rows <= mostRows; rows++ {
				missed := readAlong(rows, apart, span, l1/span)
				again := missed > rows*64*4/lineBytes
				if got := c.evicted(rows, 1, apart) > 0; got != again {
					t.Errorf("%d rows %d bytes apart, L1 of %d ways: expected to be read again: %v, but %d lines were", rows, apart, l1/span, got, missed)
				}
			}
		}
	}
}

// readAlong counts the lines that a cache reads for 64 steps of four bytes along rows.
func readAlong(rows, apart, span, ways int) (missed int) {
	sets := make([][]int, span/lineBytes)
	for step := range 64 {
		for r := range rows {
			line := (r*apart + step*4) / lineBytes
			set := &sets[line%len(sets)]
			if i := slices.Index(*set, line); i >= 0 {
				*set = slices.Delete(*set, i, i+1)
			} else {
				missed++
			}
			if *set = append(*set, line); len(*set) > ways {
				*set = (*set)[1:]
			}
		}
	}
	return missed
}

// TestRowsApart: whatever the distance of rows, the tile that is chosen for many of them has no more in a set than it holds.
func TestRowsApart(t *testing.T) {
	for _, bits := range []int{256, 512} {
		c := core{&target.Target{Arch: target.X86, L1: 32 << 10, Core: target.ClassOf(target.X86, bits)}}
		regs := bits / 16
		for apart := 256; apart <= 16<<10; apart += 256 {
			for vecs := 1; vecs <= 8; vecs++ {
				list, best := c.tiles(output{lines: 1, rows: 128, vecs: vecs, apart: apart}, regs, 0, true, reuse)
				if tile := list[best]; c.evicted(tile.Rows, tile.Vecs, apart) > 0 {
					t.Errorf("%d vectors of %d bits, rows %d bytes apart: %s puts its own lines out of L1", vecs, bits, apart, tile)
				}
			}
		}
	}
}
