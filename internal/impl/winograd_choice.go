package impl

import (
	"fmt"

	"lathe/internal/ops"
)

// A WinogradConv is a convolution with 3x3 kernels and strides 1 that may be computed in the Winograd domain. Height and
// Width are those of the result.
type WinogradConv struct{ Images, In, Out, Height, Width int }

// Choose gives the tile size that takes the least time, 0 for the convolution as it is defined, and why.
func (c WinogradConv) Choose(cpu CPU) (tile int, why string) {
	lanes := cpu.Lanes(4)
	if lanes < 4 || c.In%lanes != 0 || c.Out%lanes != 0 {
		return 0, fmt.Sprintf("%d to %d channels are not whole vectors of %d", c.In, c.Out, lanes)
	}
	direct := c.direct(lanes)
	best := direct
	for _, m := range []int{4, 2} {
		t := c.winograd(m, lanes, cpu)
		why += fmt.Sprintf("F(%dx%d) %.0f, ", m, m, t/1000)
		if t < best {
			best, tile = t, m
		}
	}
	return tile, fmt.Sprintf("estimated thousands of cycles: %sdirect %.0f", why, direct/1000)
}

// Rates of a core, by which the alternatives are compared: what products reach of two multiply-adds a cycle, and bytes
// a cycle from memory and from the last level cache.
const (
	productShare = 0.9
	memoryRate   = 10.0
	cacheRate    = 16.0
)

// direct estimates the convolution as it is defined, in cycles.
func (c WinogradConv) direct(lanes int) float64 {
	macs := float64(c.Images*c.Height*c.Width) * 9 * float64(c.In*c.Out)
	return max(macs/float64(2*lanes)/productShare, float64(9*c.In*c.Out*4)/memoryRate)
}

// winograd estimates the algorithm for a tile size, in cycles.
func (c WinogradConv) winograd(tile, lanes int, cpu CPU) float64 {
	w, err := ops.WinogradOf(tile)
	if err != nil {
		return 1e30
	}
	tiles := c.Images * w.Tiles(c.Height) * w.Tiles(c.Width)
	k := float64(w.Products())
	t := WinogradTile(tiles, c.Out/lanes, cpu.Registers)
	product := k * float64(c.In) * winogradTileCost(t.Rows, t.Vecs, tiles, c.Out/lanes) / productShare
	weights := k * float64(c.In*c.Out) * 4 / memoryRate
	data := k * float64(tiles*c.In) * 4
	transforms := 3 * k * float64(tiles) * float64(c.In+c.Out) / float64(lanes)
	return max(product, weights) + min(product, weights)/4 + transforms + 2*data/cacheRate
}

// WinogradTile picks the register tile of the products: rows of tiles by vectors of output channels.
func WinogradTile(tiles, vecs, regs int) Tile {
	best, bestCost := Tile{1, 1, 1}, 0.0
	for v := 1; v <= min(4, vecs); v++ {
		if vecs%v != 0 {
			continue
		}
		for r := 1; r <= min(28, tiles) && r*v+v+1 <= regs; r++ {
			// Equal costs: larger tiles, which read the operands less often.
			cost := winogradTileCost(r, v, tiles, vecs) * (1 - 0.001*float64(r*v)/float64(regs))
			if bestCost == 0 || cost < bestCost {
				best, bestCost = Tile{1, r, v}, cost
			}
		}
	}
	return best
}

// winogradTileCost is the number of cycles of a channel: see ChooseTile. The last tiles are computed with zeros.
func winogradTileCost(rows, vecs, tiles, allVecs int) float64 {
	step := max(float64(rows*vecs)/2, 4.4, float64(rows+vecs)/2)
	return float64((tiles+rows-1)/rows) * float64(allVecs/vecs) * step
}
