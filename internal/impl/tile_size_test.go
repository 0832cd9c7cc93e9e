package impl

import (
	"fmt"
	"strings"
	"testing"

	"lathe/internal/target"
	"lathe/internal/testkit/golden"
)

var usual = core{&target.Target{Core: target.ClassOf(target.X86, 256)}}

// TestChooseTile: a tile fits the registers with its operands, its vectors divide the output's or are those of the
// packed operand, and outputs large enough get as many accumulators as hide the latency of a multiply-add.
func TestChooseTile(t *testing.T) {
	for _, regs := range []int{8, 16, 32} {
		for rows := 1; rows <= 60; rows++ {
			for vecs := 1; vecs <= 16; vecs++ {
				for forced := range 4 {
					if forced > 0 && vecs%forced != 0 {
						continue
					}
					for _, broadcast := range []bool{true, false} {
						at := fmt.Sprintf("%d rows, %d vectors, %d registers, forced %d, broadcast %v", rows, vecs, regs, forced, broadcast)
						list, best := usual.tiles(output{lines: 1, rows: rows, vecs: vecs}, regs, forced, broadcast, reuse)
						tile := list[best]
						switch {
						case tile.Rows < 1 || tile.Vecs < 1 || tile.Rows > rows:
							t.Errorf("%s: %s", at, tile)
						case tile.Rows*tile.Vecs+tile.Vecs+1 > regs:
							t.Errorf("%s: %s does not fit the registers", at, tile)
						case forced > 0 && tile.Vecs != forced:
							t.Errorf("%s: %s", at, tile)
						case vecs%tile.Vecs != 0:
							t.Errorf("%s: %s does not divide the vectors", at, tile)
						case broadcast && forced == 0 && regs >= 16 && rows >= 12 && tile.Rows*tile.Vecs < 6:
							t.Errorf("%s: %s leaves the pipeline idle", at, tile)
						}
					}
				}
			}
		}
	}
}

// TestPanelsOfChannels: panels of output channels, whose number of vectors may be prime, cost about as much for each of them as those of
// a number that many divide.
func TestPanelsOfChannels(t *testing.T) {
	cost := func(rows, vecs, regs int) float64 {
		list, best := usual.tiles(output{lines: 1, rows: rows, vecs: vecs, panels: true}, regs, 0, true, reuse)
		return list[best].cost / float64(vecs)
	}
	for _, rows := range []int{14, 28, 49, 196} {
		for _, regs := range []int{16, 32} {
			for vecs := 5; vecs <= 130; vecs++ {
				if got, even := cost(rows, vecs, regs), cost(rows, 120, regs); got > even*(1.03+1/float64(vecs)) {
					t.Errorf("%d rows, %d vectors, %d registers: a vector takes %.1f cycles, one of 120 %.1f", rows, vecs, regs, got, even)
				}
			}
		}
	}
}

// TestPassingVectors: where no panel says how vectors lie together, any number of them, a prime one included, costs about as much for each
// as one that many divide, and three rows by four vectors fit 16 registers, since the rows stay there.
func TestPassingVectors(t *testing.T) {
	cost := func(rows, vecs int) (costedTile, float64) {
		list, best := usual.tiles(output{lines: 1, rows: rows, vecs: vecs, passing: true}, 16, 0, true, reuse)
		return list[best], list[best].cost / float64(vecs)
	}
	for rows := 2; rows <= 60; rows++ {
		_, even := cost(rows, 120)
		for vecs := 5; vecs <= 130; vecs++ {
			tile, got := cost(rows, vecs)
			if got > even*(1.03+3/float64(vecs)) {
				t.Errorf("%d rows, %d vectors: a vector takes %.1f cycles by %s, one of 120 %.1f", rows, vecs, got, tile, even)
			}
			if tile.Rows*tile.Vecs+min(tile.Rows, tile.Vecs)+1 > 16 {
				t.Errorf("%d rows, %d vectors: %s does not fit the registers", rows, vecs, tile)
			}
		}
	}
	if tile, _ := cost(3, 8); tile.Tile != (Tile{1, 3, 4}) {
		t.Errorf("three rows by eight vectors: %s", tile)
	}
}

// TestPanels: few rows by any number of vectors, a prime one included, have panels that hide latency and are not much larger than
// what they hold.
func TestPanels(t *testing.T) {
	for rows := 1; rows <= 3; rows++ {
		for vecs := 1; vecs <= 90; vecs++ {
			for _, regs := range []int{16, 32} {
				list, best := usual.tiles(output{lines: 1, rows: rows, vecs: vecs, panels: true}, regs, 0, true, reuse)
				tile := list[best]
				panels := (vecs + tile.Vecs - 1) / tile.Vecs
				if tile.Rows != rows || rows*tile.Vecs < min(rows*vecs, 3*min(rows, 2)) || panels*tile.Vecs-vecs >= tile.Vecs || panels > (vecs+3)/4+(vecs+11)/12 {
					t.Errorf("%d rows, %d vectors, %d registers: %s", rows, vecs, regs, tile)
				}
			}
		}
	}
}

// TestTiles pins tiles of shapes in use: rows of pixels or of matrices, vectors of channels.
func TestTiles(t *testing.T) {
	var b strings.Builder
	for _, rows := range []int{1, 4, 7, 14, 28, 49, 56, 112, 128, 196, 3136} {
		for _, vecs := range []int{1, 2, 3, 4, 8, 16} {
			fmt.Fprintf(&b, "%4d rows %2d vectors:", rows, vecs)
			for _, regs := range []int{32, 16} {
				list, best := usual.tiles(output{lines: 1, rows: rows, vecs: vecs}, regs, 0, true, reuse)
				tile := list[best]
				fmt.Fprintf(&b, "  %2d x %d of %d registers", tile.Rows, tile.Vecs, regs)
			}
			b.WriteByte('\n')
		}
	}
	golden.Check(t, "tiles", []byte(b.String()))
}

// TestApartTiles: rows that share nothing, and any number of vectors, a prime one included, hide latency; a tile fits the registers.
func TestApartTiles(t *testing.T) {
	for rows := 1; rows <= 40; rows++ {
		for vecs := 1; vecs <= 70; vecs++ {
			for _, regs := range []int{16, 32} {
				list, best := usual.apartTiles(rows, vecs, regs, longestPiece, 1)
				tile := list[best]
				switch {
				case tile.Rows < 1 || tile.Vecs < 1 || tile.Rows > rows || tile.Vecs > vecs:
					t.Errorf("%d rows, %d vectors: %s", rows, vecs, tile)
				case tile.Rows*tile.Vecs+tile.Vecs+1 > regs:
					t.Errorf("%d rows, %d vectors: %s does not fit %d registers", rows, vecs, tile, regs)
				case tile.Rows*tile.Vecs < min(rows*vecs, 3):
					t.Errorf("%d rows, %d vectors, %d registers: %s leaves the pipeline idle", rows, vecs, regs, tile)
				case vecs >= 16 && tile.Vecs < 4:
					t.Errorf("%d rows, %d vectors, %d registers: %s reads short pieces", rows, vecs, regs, tile)
				}
			}
		}
	}
}
