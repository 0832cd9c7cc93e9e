package impl

import (
	"lathe/internal/choice"
	"lathe/internal/loop"
	"lathe/internal/target"
)

// A GroupedConv is a convolution of groups whose output channels do not fill vectors, or a depthwise one. There are two ways: channels of a group
// are the lanes of blocked layouts, as many as fill groups and blocks; or pixels of a line are those of plain ones.
type GroupedConv struct {
	Groups, PerGroup int // groups of output channels
	Steps            int // products of a sum
	Lines, Rows      int // pixels of the result, over all images
	Stride           int // of a line
	Result           int // bytes of the result
	Window           int // of a line that a sum reads
	MovedChannels    int // bytes, of data and result, that come into another layout where lanes are channels
	MovedPixels      int // the same where they are pixels
}

// GroupLanes is the number of output channels that a vector of a convolution on blocks of block channels holds: a whole one of
// one group, or the part of one that fills both groups and blocks, see lower's groupAxes.
func GroupLanes(groups, channels, block int) int {
	lanes := block
	for groups > 1 && (channels/groups%lanes != 0 || block%lanes != 0) {
		lanes--
	}
	return lanes
}

// ByChannels asks for lanes of so many channels or of pixels, where both ways give vectors.
func (g GroupedConv) ByChannels(t *target.Target, lanes int, ask func(choice.Decision) (string, error)) (bool, error) {
	if lanes == 1 {
		return false, nil
	}
	c := core{t}
	channels, pixels := g.channels(c, lanes)+c.Shared(float64(2*g.MovedChannels)), g.pixels(c)+c.Shared(float64(2*g.MovedPixels))
	taken, err := ask(choice.Least("lanes", choice.Value{Text: "channels", Cost: channels}, choice.Value{Text: "pixels", Cost: pixels}))
	return taken == "channels", err
}

func (g GroupedConv) channels(c core, lanes int) float64 {
	if g.Groups == 1 {
		list, best := c.tiles(output{lines: g.Lines, rows: g.Rows, vecs: (g.PerGroup + lanes - 1) / lanes, panels: true}, c.registers(0), 0, true, reuse)
		return list[best].cost * float64(g.Steps) * c.passes(lanes)
	}
	list, best := c.tiles(output{lines: g.Lines, rows: g.Rows, vecs: 1}, c.registers(0), 0, true, reuse)
	return list[best].cost * float64((g.Groups*g.PerGroup+lanes-1)/lanes*g.Steps) * c.passes(lanes)
}

// pixels estimates vectors of pixels. Where taps of a window read them they are not aligned; where the lines of all steps do not stay in L1
// each step waits for one of another page, which nothing fetches ahead. With strides a vector is picked from as many as the stride is, for
// all rows of a tile; with large ones every place is computed, and those between are left out.
func (g GroupedConv) pixels(c core) float64 {
	lanes, pixels := c.lanes(4), g.Rows
	if !Picked(g.Stride) {
		pixels *= g.Stride
	}
	list, best := c.tiles(output{lines: 1, rows: g.PerGroup, vecs: (pixels + lanes - 1) / lanes, passing: true}, c.registers(0), 0, true, reuse)
	cost := list[best].cost
	if Picked(g.Stride) {
		tiles := (g.PerGroup + list[best].Rows - 1) / list[best].Rows
		cost += float64(2*(g.Stride-1)*tiles*((pixels+lanes-1)/lanes)) / float64(c.Loads) // loads, and as many that pick
	}
	cost *= float64(g.Lines*g.Groups*g.Steps) * c.passes(lanes)
	if panel := g.Steps * list[best].Vecs * lanes * 4; g.Groups == 1 && (g.Window > 1 || panel > Working(c.L1)) {
		cost /= alongLinesShare
	}
	if !Picked(g.Stride) {
		cost += c.Shared(float64(2 * g.Stride * g.Result))
	}
	return cost
}

// Picked reports whether vectors of pixels that lie a stride apart are picked from whole ones.
func Picked(stride int) bool { return stride <= loop.MaxStride }

// passes is how many times a vector of so many lanes of four bytes goes through the datapath.
func (c core) passes(lanes int) float64 {
	if c.Datapath == 0 {
		return 1
	}
	return float64(max(1, (32*lanes+c.Datapath-1)/c.Datapath))
}
