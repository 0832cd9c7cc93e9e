package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
)

// An IntegerGroups is a convolution of bytes, or of int16 by bytes, in groups of channels that fill no vectors or no dot products.
type IntegerGroups struct {
	Groups, PerGroup, In int // groups; output channels of one; input channels of one
	Taps                 int
	Width                int // products that a dot product adds
	Lines, Rows, Stride  int // pixels of the result, over all images
	Data, Result         int // bytes
}

// SeparateDecision is whether groups are computed by one kernel, by channels of a group or by pixels, or are convolutions of their own, for which
// channels are parted before and joined behind.
func SeparateDecision(t *target.Target, g IntegerGroups) choice.Decision {
	c := core{t}
	lanes := c.lanes(4)
	instructions := 1.0 // of a dot product, besides loads
	if g.Width < DotWidth || !t.HasDot {
		instructions = 2
	}
	dots := (g.In + g.Width - 1) / g.Width
	tiles := func(vecs int) float64 {
		list, best := c.tiles(output{lines: g.Lines, rows: g.Rows, vecs: vecs, panels: true}, c.registers(g.Width), 0, true, reuse)
		return instructions * list[best].cost * float64(dots*g.Taps)
	}
	together := (1 + widening/2.0) * GroupedConv{Groups: g.Groups, PerGroup: g.PerGroup, Steps: g.In * g.Taps, Lines: g.Lines, Rows: g.Rows, Stride: g.Stride, Result: g.Result}.pixels(c)
	if part := GroupLanes(g.Groups, g.Groups*g.PerGroup, lanes); part > 1 && g.In%g.Width == 0 {
		together = tiles(1) * float64(g.Groups*g.PerGroup/part) * c.passes(part)
	}
	apart := float64(g.Groups)*tiles((g.PerGroup+lanes-1)/lanes)*c.passes(lanes) + c.Starts(2*g.Groups+1) + 2*c.between(g.Data) + 2*c.between(g.Result)
	return choice.Least("groups", choice.Value{Text: "together", Cost: together}, choice.Value{Text: "apart", Cost: apart})
}
