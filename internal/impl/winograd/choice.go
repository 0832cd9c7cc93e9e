package winograd

import (
	"fmt"
	"math"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A shape is a convolution that may be computed in the Winograd domain. Height and
// Width are those of the result, Type is that of transformed operands.
type shape struct {
	Images, In, Out, Height, Width int
	Kernel, Strides, Dilation      []int
	Type                           types.DType
}

// channels are those of all phases.
func (c shape) channels(w *ops.Winograd) int { return w.Phases() * c.In }

// tiles is their number for an algorithm.
func (c shape) tiles(w *ops.Winograd) int {
	return c.Images * w.Axes[0].Tiles(c.Height) * w.Axes[1].Tiles(c.Width)
}

// A variant is how to compute such a convolution.
type variant struct {
	Tile  int  // outputs of a tile along an axis of several taps
	Fused bool // a block of tiles is transformed just before its products, rather than all tiles by a kernel of their own
}

// variants are those to choose from: even tiles for kernels of an odd number of taps, and odd ones for an even number.
var variants = []variant{
	{6, true}, {6, false}, {4, true}, {4, false}, {2, true}, {2, false},
	{7, true}, {7, false}, {5, true}, {5, false}, {3, true}, {3, false},
}

func (v variant) String() string {
	name := fmt.Sprintf("F(%dx%d)", v.Tile, v.Tile)
	if v.Fused {
		name += " by blocks"
	}
	return name
}

// matrices are those of c by a variant; nil where there are none for its kernel.
func (c shape) matrices(v variant) *ops.Winograd {
	w, err := ops.WinogradOf(v.Tile, c.Kernel, c.Strides, c.Dilation)
	if err != nil {
		return nil
	}
	return w
}

// shapeOf describes n if its results may be computed so. Its kernels need channels in vectors, and transformed weights are up to
// mostWeights times as many bytes.
func shapeOf(n *impl.Node, c impl.Core) (w shape, ok bool) {
	if n.Given || c.Downloaded() || slices.Contains(n.Disabled, "Winograd") {
		return w, false
	}
	weight := n.In[1]
	switch {
	case (n.Op == ops.Conv2d || n.Op == ops.Conv1d) && n.Const(1) && (len(n.In) < 3 || n.Const(2)) && n.Out.DType == types.F32:
		w.Type = types.F32
	case n.Op == ops.QnnConv2d && n.Const(2) && n.Zero(1) && n.Zero(3) && exact(n):
		weight, w.Type = n.In[2], types.I16
	default:
		return w, false
	}
	a, x, y := n.Attrs.(ops.ConvAttrs), n.In[0].Shape, ops.Lines(n.Out.Shape)
	if a.Groups != 1 {
		return w, false
	}
	input := inputAttrs(a, weight.Shape[2:])
	w.Images, w.In, w.Out, w.Height, w.Width = x[0], x[1], y[1], y[2], y[3]
	w.Kernel, w.Strides, w.Dilation = input.KernelSize, input.Strides, input.Dilation
	return w, w.Kernel[0] > w.Strides[0] || w.Kernel[1] > w.Strides[1] // some phase has several taps
}

// inputAttrs are the attributes of the data's transform, but for the tile, for a convolution of one or two spatial axes.
func inputAttrs(a ops.ConvAttrs, kernel []int) ops.WinogradInputAttrs {
	if len(kernel) == 1 {
		return ops.WinogradInputAttrs{
			KernelSize: []int{1, kernel[0]}, Strides: []int{1, a.Strides[0]}, Dilation: []int{1, a.Dilation[0]}, Padding: []int{0, a.Padding[0], 0, a.Padding[1]},
		}
	}
	return ops.WinogradInputAttrs{KernelSize: kernel, Strides: a.Strides, Dilation: a.Dilation, Padding: a.Padding}
}

// exact reports whether data of int16 by weights of int8 give in the Winograd domain what they give outside: the sums and differences
// of four numbers of the data are int16, and four times a result is an int32.
func exact(n *impl.Node) bool {
	if n.In[0].DType != types.I16 || n.In[2].DType != types.I8 || n.Out.DType != types.I32 {
		return false
	}
	lo, hi := n.Range(0)
	if lo > hi {
		return false
	}
	most, products := max(-lo, hi), int64(types.Count(n.In[2].Shape[1:])) // of a result
	const ofWeights = 1 << 7
	return 4*most <= math.MaxInt16 && 4*most*ofWeights*products <= math.MaxInt32
}

// takes reports whether matrices compute c: integers have tiles whose transforms are integers.
func (c shape) takes(w *ops.Winograd) bool {
	return w != nil && w.Phases() <= mostPhases && w.Products()*w.Phases() <= mostWeights*c.Kernel[0]*c.Kernel[1] && (c.Type == types.F32 || w.Exact())
}

// ways are the variants that are possible for n.
func ways(n *impl.Node, core impl.Core) (list []impl.Way, why string) {
	c, ok := shapeOf(n, core)
	if !ok {
		return nil, ""
	}
	lanes := core.Lanes(32)
	if lanes < 4 || c.In%lanes != 0 || c.Out%lanes != 0 {
		return nil, fmt.Sprintf("direct: %d to %d channels are not whole vectors of %d", c.In, c.Out, lanes)
	}
	for _, v := range variants {
		w := c.matrices(v)
		if !c.takes(w) {
			continue
		}
		if tiles, best := c.registerTiles(v, w, core); tiles[best].cost < math.Inf(1) {
			list = append(list, impl.Way{Text: v.String(), Cost: tiles[best].cost, Name: Name, Decide: func(a *impl.NodeAsker) {
				impl.DecideOne(a, tileDecision, best, tiles, func(t costedTile) float64 { return t.cost })
			}})
		}
	}
	return list, ""
}

// variantOf is the variant that p names; Tile is 0 if it names none.
func variantOf(p choice.Point) variant {
	for _, v := range variants {
		if v.String() == p["algorithm"] {
			return v
		}
	}
	return variant{}
}

// cycles estimates a variant with products by a register tile.
func (c shape) cycles(v variant, w *ops.Winograd, t impl.Tile, core impl.Core) float64 {
	lanes, tiles := core.Lanes(32), c.tiles(w)
	k, in := float64(w.Products()), c.channels(w)
	size := float64(c.Type.Size())
	weights, data := size*k*float64(in*c.Out), size*k*float64(tiles*in)
	sums, fetched := float64(w.Summed()*c.In)*tileCost(core, c.Type, t, tiles, c.Out/lanes, in)/productShare, core.Fetched(weights)
	cost := max(sums, fetched) + exposed*min(sums, fetched)
	cost += transformCycles(w) * k * float64(tiles) * float64(in+c.Out) / float64(lanes)
	l2, l3 := float64(core.L2Rate)/(1-hidden), float64(core.L3Rate)/(1-hidden)
	if v.Fused {
		block := c.fusedBlock(w, t, core)
		if block == 0 {
			return math.Inf(1)
		}
		blocks := (tiles + block*t.Rows - 1) / (block * t.Rows)
		rate := 1 / core.Again(1, int(weights)) / (1 - hidden)
		if int(weights)+c.blockBytes(w, t, block, lanes) <= core.L2 {
			rate = l2
		}
		return cost + float64(blocks-1)*weights/rate
	}
	rate, panels, panelRate := l3, c.Out/(t.Vecs*lanes), l3
	switch {
	case int(data) > max(impl.IdleShares*core.L3, core.L2):
		rate = scatterRate
	case int(data) <= impl.Working(core.L2):
		rate = l2
	}
	if int(weights)/panels <= core.L2 {
		panelRate = l2
	}
	groups := (tiles + t.Rows - 1) / t.Rows
	block := productBlock(w, t, groups, panels, lanes, core.L2)
	again := float64((groups+block-1)/block-1) * weights / panelRate
	return cost + again + core.Written(data) + data*float64(panels)/rate + core.Starts(1)
}

// productBlock is the number of groups of tiles whose products with a panel are made at a time, from data that another kernel
// transformed: as many as stay in the second level cache, all of whose pieces keep workers busy.
func productBlock(w *ops.Winograd, t impl.Tile, groups, panels, lanes, l2 int) int {
	return evenly(groups, min(impl.Working(l2)/sumBytes(w, t, lanes), groups*panels/impl.Pieces))
}

// sumBytes is the size of the products of a group and a panel.
func sumBytes(w *ops.Winograd, t impl.Tile, lanes int) int {
	return 4 * w.Products() * t.Rows * t.Vecs * lanes
}

// blockBytes is what a block of groups of tiles occupies: transformed data, and the products of a panel.
func (c shape) blockBytes(w *ops.Winograd, t impl.Tile, groups, lanes int) int {
	return w.Products() * groups * t.Rows * (c.Type.Size()*c.channels(w) + ops.WinogradSum(c.Type).Size()*t.Vecs*lanes)
}

// fusedBlock is the number of groups of tiles that are transformed at a time: as many as fill their part of the second
// level cache with data and products, all of whose blocks keep any small number of workers busy. 0 when there is none.
func (c shape) fusedBlock(w *ops.Winograd, t impl.Tile, core impl.Core) int {
	groups := (c.tiles(w) + t.Rows - 1) / t.Rows
	most := min(blockPart(core.L2)/c.blockBytes(w, t, 1, core.Lanes(32)), groups/impl.Pieces)
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

// A costedTile is a register tile and its cycles.
type costedTile struct {
	impl.Tile
	cost float64
}

// registerTiles lists the register tiles of the products of a variant, rows of tiles by vectors of output channels, and which of them is the default: of
// those that cost about the least, and of all by blocks, whose size in rows is about the same, that of the least arithmetic.
func (c shape) registerTiles(v variant, w *ops.Winograd, core impl.Core) (list []costedTile, best int) {
	vecs, tiles := c.Out/core.Lanes(32), c.tiles(w)
	least := math.Inf(1)
	for n := 1; n <= min(4, vecs); n++ {
		if vecs%n != 0 {
			continue
		}
		for r := 1; r <= tiles && core.Fits(r, n, impl.DotWidthOf(c.Type, c.Type)); r++ {
			t := impl.Tile{Lines: 1, Rows: r, Vecs: n}
			list = append(list, costedTile{t, c.cycles(v, w, t, core)})
			least = min(least, list[len(list)-1].cost)
		}
	}
	arithmetic := math.Inf(1)
	for i, t := range list {
		if t.cost == math.Inf(1) || t.cost > alike*least && !v.Fused {
			continue
		}
		if cost := core.Reusing(tileCost(core, c.Type, t.Tile, tiles, vecs, c.channels(w)), t.Rows*t.Vecs); cost < arithmetic {
			best, arithmetic = i, cost
		}
	}
	return list, best
}

// tileCost is the number of cycles of a channel. The last tiles are computed with zeros. Weights of a factor that the first level cache does not hold
// come from the second for every group.
func tileCost(c impl.Core, of types.DType, t impl.Tile, tiles, vecs, in int) float64 {
	step := c.PackedStep(t.Rows, t.Vecs)
	if weights := of.Size() * t.Vecs * c.Lanes(32); weights*in > impl.Working(c.L1) {
		step += float64(weights) / float64(c.L2Rate) * (1 - hidden)
	}
	return float64((tiles+t.Rows-1)/t.Rows) * float64(vecs/t.Vecs) * step
}
