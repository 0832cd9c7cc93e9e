package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
)

// A SparseConv is a convolution by single elements that lie apart, which reads some of its data only.
type SparseConv struct {
	Images, Lines, Rows int // of the result
	In, Out             int // channels
	Bytes               int // of the data
}

// SubsampleDecision is whether such a convolution reads its elements where they lie, or whether those are gathered before. Gathered, the
// pixels of all lines are one line of a tile's rows, and more of them stay in L2 while weights pass.
func SubsampleDecision(t *target.Target, s SparseConv) choice.Decision {
	c := core{t}
	lanes := c.lanes(4)
	vecs := (s.Out + lanes - 1) / lanes
	weights, gathered := 4*s.In*s.Out, 4*s.Images*s.In*s.Lines*s.Rows
	cost := func(o output, pixels int) float64 {
		o.vecs, o.panels = vecs, true
		list, best := c.tiles(o, c.registers(0), 0, true, reuse)
		tile := list[best]
		panels := (vecs + tile.Vecs - 1) / tile.Vecs
		tiles := (o.lines + tile.Lines - 1) / tile.Lines
		if o.lines == 1 {
			tiles = (o.rows + tile.Rows - 1) / tile.Rows
		}
		_, inside, outside := orderOperands(weights, pixels, panels, tiles, c.L2)
		return float64(s.Images) * (tile.cost*float64(s.In) + min(inside.cycles(c, weights, pixels), outside.cycles(c, weights, pixels)))
	}
	there := cost(output{lines: s.Lines, rows: s.Rows}, s.Bytes/s.Images)
	apart := cost(output{lines: 1, rows: s.Lines * s.Rows}, gathered/s.Images) + kernelStart + c.between(min(s.Bytes, gathered*lineBytes/(4*lanes))) + c.between(gathered)
	return choice.Least("subsample", choice.Value{Text: "off", Cost: there}, choice.Value{Text: "on", Cost: apart})
}
