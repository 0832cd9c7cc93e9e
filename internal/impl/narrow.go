package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
	"lathe/internal/types"
)

// WeightsDecision is whether the weights of a product, columns by depth, stay in memory in a type that is narrower than float32 and
// are widened where they are read: a product of few rows takes the time of reading its weights. all is the bytes of the
// network's constants: those that stay in L2 are read faster.
func WeightsDecision(t *target.Target, rows, columns, depth int, narrow types.DType, all int) choice.Decision {
	c := core{t}
	lanes := c.lanes(4)
	tiles, best := c.tiles(output{lines: 1, rows: rows, vecs: (columns + lanes - 1) / lanes}, c.registers(0), 0, true, reuse)
	each := tiles[best].Rows
	vectors := float64(columns*depth) / float64(lanes)
	passes := float64((rows + each - 1) / each)
	wide, less := c.weights(float64(4*columns*depth), all), c.weights(float64(narrow.Bytes(columns*depth)), all)
	return choice.Least("weights", choice.Value{Text: "wide", Cost: wide}, choice.Value{Text: "narrow", Cost: less + passes*vectors*c.widen(narrow, widening)})
}

// weights is the time to read weights of so many bytes, which are among constants of all bytes.
func (c core) weights(bytes float64, all int) float64 {
	if all <= Working(c.L2) {
		return bytes / float64(c.L2Rate)
	}
	return c.Fetched(bytes)
}

// widen is the time to widen something of a type that takes so many instructions.
func (c core) widen(t types.DType, instructions int) float64 {
	if converts := c.ISA().Instructions.Half; t == types.F16 && converts != nil && !converts(c.Has) {
		instructions *= softwareHalf
	}
	return float64(instructions) / float64(c.Units)
}

// A NarrowProduct is a convolution or a matrix product of numbers that are narrower than what it computes with.
type NarrowProduct struct {
	Type  types.DType
	Data  int     // elements of the operands that are computed when the network runs
	Macs  float64 // multiply-adds
	Lanes bool    // both operands are vectors, as those of depthwise convolutions
}

// WidenDecision is whether a product of 16-bit floats has its operands widened in memory rather than wherever it reads them.
func WidenDecision(t *target.Target, p NarrowProduct) choice.Decision {
	c := core{t}
	vectors := p.Macs / float64(max(1, c.lanes(4)))
	each := c.widen(p.Type, wideningSingle) / broadcastVecs
	if p.Lanes {
		each = c.widen(p.Type, widening)
	}
	product := vectors / float64(c.Units)
	return choice.Least("widen", choice.Value{Text: "off", Cost: product + vectors*each}, choice.Value{Text: "on", Cost: product + c.Written(float64(p.Data)*castBytes)})
}
