package impl

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"lathe/internal/ops"
	"lathe/internal/target"
)

// A WinogradConv is a convolution with 3x3 kernels and strides 1 that may be computed in the Winograd domain. Height and
// Width are those of the result.
type WinogradConv struct{ Images, In, Out, Height, Width int }

// A WinogradChoice is how to compute a WinogradConv.
type WinogradChoice struct {
	Tile  int     // outputs of a tile along an axis; 0: by the definition
	Fused bool    // a block of tiles is transformed just before its products, rather than all tiles by a kernel of their own
	Cost  float64 // cycles of one core; 0: not estimated
	Why   string
}

func (w WinogradChoice) String() string {
	switch name := fmt.Sprintf("F(%dx%d)", w.Tile, w.Tile); {
	case w.Tile == 0:
		return "direct"
	case w.Fused:
		return name + " by blocks"
	default:
		return name
	}
}

// Choose picks what takes the least time.
func (c WinogradConv) Choose(t *target.Target) WinogradChoice {
	core := core{t}
	lanes := core.lanes(4)
	if lanes < 4 || c.In%lanes != 0 || c.Out%lanes != 0 {
		return WinogradChoice{Why: fmt.Sprintf("direct: %d to %d channels are not whole vectors of %d", c.In, c.Out, lanes)}
	}
	list := c.choices(core)
	var costs []string
	for _, w := range list {
		costs = append(costs, fmt.Sprintf("%s %.0f", w, w.Cost/1000))
	}
	best := slices.MinFunc(list, func(a, b WinogradChoice) int { return cmp.Compare(a.Cost, b.Cost) })
	best.Why = "thousands of cycles: " + strings.Join(costs, ", ")
	return best
}

// choices lists the ways that are possible, the direct one first.
func (c WinogradConv) choices(core core) []WinogradChoice {
	bytes := float64(4 * 9 * c.In * c.Out)
	macs := float64(c.Images*c.Height*c.Width) * 9 * float64(c.In*c.Out)
	list := []WinogradChoice{{Cost: macs/float64(core.Units*core.lanes(4))/directShare + bytes/memoryRate}}
	for _, m := range []int{4, 2} {
		for _, fused := range []bool{true, false} {
			if cycles := c.cycles(m, fused, core); cycles < math.Inf(1) {
				list = append(list, WinogradChoice{Tile: m, Fused: fused, Cost: cycles})
			}
		}
	}
	return list
}

// cycles estimates the algorithm for a tile size.
func (c WinogradConv) cycles(tile int, fused bool, core core) float64 {
	w, err := ops.WinogradOf(tile)
	if err != nil {
		return math.Inf(1)
	}
	lanes, tiles := core.lanes(4), c.Images*w.Tiles(c.Height)*w.Tiles(c.Width)
	t := core.winogradTile(tiles, c.Out/lanes)
	k := float64(w.Products())
	weights, data := 4*k*float64(c.In*c.Out), 4*k*float64(tiles*c.In)
	cost := max(k*float64(c.In)*core.winogradTileCost(t, tiles, c.Out/lanes)/productShare, weights/memoryRate)
	cost += 4 * k * float64(tiles) * float64(c.In+c.Out) / float64(lanes)
	l2, l3 := float64(core.L2Rate)/(1-hidden), float64(core.L3Rate)/(1-hidden)
	if fused {
		block := c.fusedBlock(w, t, core)
		if block == 0 {
			return math.Inf(1)
		}
		blocks := (tiles + block*t.Rows - 1) / (block * t.Rows)
		rate := l3
		if int(weights)+c.blockBytes(w, t, block, lanes) <= core.L2 {
			rate = l2
		}
		return cost + float64(blocks-1)*weights/rate
	}
	rate := l3
	switch {
	case int(data) > l3Bytes:
		rate = scatterRate
	case int(data) <= working(core.L2):
		rate = l2
	}
	return cost + data/writeRate + data*float64(c.Out/(t.Vecs*lanes))/rate
}

// blockBytes is what a block of groups of tiles occupies: transformed data, and the products of a panel.
func (c WinogradConv) blockBytes(w *ops.Winograd, t Tile, groups, lanes int) int {
	return 4 * w.Products() * groups * t.Rows * (c.In + t.Vecs*lanes)
}

// fusedBlock is the number of groups of tiles that are transformed at a time: as many as fill their part of the second
// level cache with data and products, all of whose blocks keep any small number of workers busy. 0 when there is none.
func (c WinogradConv) fusedBlock(w *ops.Winograd, t Tile, core core) int {
	tiles := c.Images * w.Tiles(c.Height) * w.Tiles(c.Width)
	groups := (tiles + t.Rows - 1) / t.Rows
	most := min(blockPart(core.L2)/c.blockBytes(w, t, 1, core.lanes(4)), groups/pieces)
	if most == 0 {
		return 0
	}
	return evenly(groups, most)
}

// evenly is how many of n things a part has when it may have most of them, and parts are of about one size.
func evenly(n, most int) int {
	parts := (n + max(1, most) - 1) / max(1, most)
	return (n + parts - 1) / parts
}

// WinogradTile picks the register tile of the products: rows of tiles by vectors of output channels.
func WinogradTile(t *target.Target, tiles, vecs int) Tile { return core{t}.winogradTile(tiles, vecs) }

func (c core) winogradTile(tiles, vecs int) Tile {
	best, bestCost := Tile{1, 1, 1}, 0.0
	for v := 1; v <= min(4, vecs); v++ {
		if vecs%v != 0 {
			continue
		}
		for r := 1; r <= min(mostRows, tiles) && r*v+v+1 <= c.registers(false); r++ {
			t := Tile{1, r, v}
			// Equal costs: larger tiles, which read the operands less often.
			cost := c.winogradTileCost(t, tiles, vecs) * (1 - reuse*float64(r*v)/float64(c.registers(false)))
			if bestCost == 0 || cost < bestCost {
				best, bestCost = t, cost
			}
		}
	}
	return best
}

// winogradTileCost is the number of cycles of a channel. The last tiles are computed with zeros.
func (c core) winogradTileCost(t Tile, tiles, vecs int) float64 {
	return float64((tiles+t.Rows-1)/t.Rows) * float64(vecs/t.Vecs) * c.step(t.Rows, t.Vecs, packed)
}
