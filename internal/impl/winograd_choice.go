package impl

import (
	"fmt"
	"math"
	"strings"

	"lathe/internal/choice"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A winogradShape is a convolution with 3x3 kernels and strides 1 that may be computed in the Winograd domain. Height and
// Width are those of the result.
type winogradShape struct{ Images, In, Out, Height, Width int }

// tiles is their number for an algorithm.
func (c winogradShape) tiles(w *ops.Winograd) int {
	return c.Images * w.Tiles(c.Height) * w.Tiles(c.Width)
}

// A WinogradAlgorithm is how to compute such a convolution.
type WinogradAlgorithm struct {
	Tile  int  // outputs of a tile along an axis; 0: by the definition
	Fused bool // a block of tiles is transformed just before its products, rather than all tiles by a kernel of their own
	cost  float64
}

// winogradSizes are the tiles to choose from.
var winogradSizes = []int{4, 2}

func (w WinogradAlgorithm) String() string {
	switch name := fmt.Sprintf("F(%dx%d)", w.Tile, w.Tile); {
	case w.Tile == 0:
		return "direct"
	case w.Fused:
		return name + " by blocks"
	default:
		return name
	}
}

// winograd describes n if its results may be computed so.
func (n *Node) winograd() (w winogradShape, ok bool) {
	if !n.Winograd || n.Op != ops.Conv2d || !n.Const(1) || len(n.In) == 3 && !n.Const(2) {
		return w, false
	}
	a, x, y := n.Attrs.(ops.ConvAttrs), n.In[0].Shape, n.Out.Shape
	all := func(v []int, want int) bool { return v[0] == want && v[1] == want }
	if a.Groups != 1 || !all(a.Strides, 1) || !all(a.Dilation, 1) || !all(n.In[1].Shape[2:], 3) || n.Out.DType != types.F32 {
		return w, false
	}
	return winogradShape{Images: x[0], In: x[1], Out: y[1], Height: y[2], Width: y[3]}, true
}

// decide asks for the algorithm, and for the register tile of the products.
func (c winogradShape) decide(a *nodeAsker) (name, why string) {
	lanes := a.lanes(4)
	if lanes < 4 || c.In%lanes != 0 || c.Out%lanes != 0 {
		return Direct, fmt.Sprintf("direct: %d to %d channels are not whole vectors of %d", c.In, c.Out, lanes)
	}
	list := c.choices(a.core)
	best := 0
	var costs []string
	for i, w := range list {
		costs = append(costs, fmt.Sprintf("%s %.0f", w, w.cost/1000))
		if w.cost < list[best].cost {
			best = i
		}
	}
	why = "thousands of cycles: " + strings.Join(costs, ", ")
	taken := decideOne(a, "algorithm", best, list, func(w WinogradAlgorithm) float64 { return w.cost })
	if taken.Tile == 0 {
		return Direct, why
	}
	w, err := ops.WinogradOf(taken.Tile)
	if err != nil {
		panic(err) // it is in the list
	}
	tiles, def := a.winogradTiles(c.tiles(w), c.Out/lanes)
	decideOne(a, "winograd_tile", def, tiles, func(t costedTile) float64 { return t.cost })
	return Winograd, why
}

// WinogradOf is the algorithm that p names; Tile is 0 if it names none.
func WinogradOf(p choice.Point) WinogradAlgorithm {
	for _, m := range winogradSizes {
		for _, w := range []WinogradAlgorithm{{Tile: m}, {Tile: m, Fused: true}} {
			if w.String() == p["algorithm"] {
				return w
			}
		}
	}
	return WinogradAlgorithm{}
}

// choices lists the ways that are possible, the direct one first.
func (c winogradShape) choices(core core) []WinogradAlgorithm {
	bytes := float64(4 * 9 * c.In * c.Out)
	macs := float64(c.Images*c.Height*c.Width) * 9 * float64(c.In*c.Out)
	list := []WinogradAlgorithm{{cost: macs/float64(core.Units*core.lanes(4))/directShare + bytes/memoryRate}}
	for _, m := range winogradSizes {
		for _, fused := range []bool{true, false} {
			if cycles := c.cycles(m, fused, core); cycles < math.Inf(1) {
				list = append(list, WinogradAlgorithm{Tile: m, Fused: fused, cost: cycles})
			}
		}
	}
	return list
}

// cycles estimates the algorithm for a tile size.
func (c winogradShape) cycles(tile int, fused bool, core core) float64 {
	w, err := ops.WinogradOf(tile)
	if err != nil {
		return math.Inf(1)
	}
	lanes, tiles := core.lanes(4), c.tiles(w)
	list, best := core.winogradTiles(tiles, c.Out/lanes)
	t := list[best].Tile
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
func (c winogradShape) blockBytes(w *ops.Winograd, t Tile, groups, lanes int) int {
	return 4 * w.Products() * groups * t.Rows * (c.In + t.Vecs*lanes)
}

// fusedBlock is the number of groups of tiles that are transformed at a time: as many as fill their part of the second
// level cache with data and products, all of whose blocks keep any small number of workers busy. 0 when there is none.
func (c winogradShape) fusedBlock(w *ops.Winograd, t Tile, core core) int {
	groups := (c.tiles(w) + t.Rows - 1) / t.Rows
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

// winogradTiles lists the register tiles of the products, rows of tiles by vectors of output channels, and which of them costs
// least for one channel.
func (c core) winogradTiles(tiles, vecs int) (list []costedTile, best int) {
	for v := 1; v <= min(4, vecs); v++ {
		if vecs%v != 0 {
			continue
		}
		for r := 1; r <= min(mostRows, tiles) && r*v+v+1 <= c.registers(false); r++ {
			t := Tile{1, r, v}
			// Equal costs: larger tiles, which read the operands less often.
			cost := c.winogradTileCost(t, tiles, vecs) * (1 - reuse*float64(r*v)/float64(c.registers(false)))
			if list = append(list, costedTile{t, cost}); cost < list[best].cost {
				best = len(list) - 1
			}
		}
	}
	return list, best
}

// winogradTileCost is the number of cycles of a channel. The last tiles are computed with zeros.
func (c core) winogradTileCost(t Tile, tiles, vecs int) float64 {
	return float64((tiles+t.Rows-1)/t.Rows) * float64(vecs/t.Vecs) * c.step(t.Rows, t.Vecs, packed)
}
