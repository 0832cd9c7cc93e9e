package impl

import (
	"cmp"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/types"
)

// Weights are the constant weights of a product of float32, columns by depth, which rows of data share.
type Weights struct {
	Rows, Columns, Depth int
	Type                 types.DType // narrower than float32
	All                  int         // bytes of the network's constants: those that stay in L2 are read faster
	Digits               int         // of data that may meet them, as far as their scales allow it: 0
}

// WeightsDecision is whether weights stay in memory in a type that is narrower than float32, for a product of few rows takes the time of reading
// its weights. They are widened where they are read, or meet data that were made narrow for them: digits of fixed-point numbers.
func (all Algorithms) WeightsDecision(t *target.Target, w Weights) choice.Decision {
	c := core{t}
	lanes := c.lanes(4)
	tiles, best := c.tiles(output{lines: 1, rows: w.Rows, vecs: (w.Columns + lanes - 1) / lanes}, c.registers(0), 0, true, reuse)
	each := tiles[best].Rows
	vectors := float64(w.Columns*w.Depth) / float64(lanes)
	passes := float64((w.Rows + each - 1) / each)
	product := float64(w.Rows) * vectors / float64(c.Units)
	wide, less := c.weights(float64(4*w.Columns*w.Depth), w.All), c.weights(float64(w.Type.Bytes(w.Columns*w.Depth)), w.All)
	values := []choice.Value{{Text: "wide", Cost: wide + product}, {Text: "narrow", Cost: less + product + passes*vectors*c.widen(w.Type, widening)}}
	if w.Digits > 0 && w.Type == types.I8 && w.Depth <= digitsDepth && (c.HasDot || c.Tiles() != nil) {
		values = append(values, choice.Value{Text: "digits", Cost: less + all.digits(c, w)})
	}
	return choice.Least("weights", values...)
}

// digitsDepth is how many products of digits and weights a sum of int32 holds, none of which exceeds 2^14.
const digitsDepth = 1 << 16

// DigitsOf is how many digits of 8 bits stand for a number of float32 in sums of so many products, at a level of optimisation. Three lose
// half of the last bit of the greatest number of a row for each product, which is less than sums of float32 lose in the worst case as long as
// that number is not depth times as great as the others are on average; four do where sums are short. From -O4 on two do for all.
func DigitsOf(depth, level int) int {
	switch {
	case level >= 4:
		return 2
	case depth >= longDigits:
		return 3
	}
	return 4
}

// digits is the time of a product whose data are digits, and of what makes them and joins their sums, but for reading the weights.
func (all Algorithms) digits(c core, w Weights) float64 {
	data, sums := w.Digits*w.Rows*w.Depth, 4*w.Digits*w.Rows*w.Columns
	zero := types.Of(types.I8)
	n := &Node{
		Op: ops.QnnMatmul, Attrs: op.None{},
		In:  []types.Tensor{types.Of(types.I8, w.Digits*w.Rows, w.Depth), zero, types.Of(types.I8, w.Depth, w.Columns), zero},
		Out: types.Of(types.I32, w.Digits*w.Rows, w.Columns), Lanes: c.lanes(4),
		Const: func(i int) bool { return i > 0 }, Zero: func(i int) bool { return i == 1 || i == 3 },
	}
	direct := n.dotWay(c)
	ways, _ := n.ways(c, all, direct)
	least := slices.MinFunc(ways, func(a, b Way) int { return cmp.Compare(a.Cost, b.Cost) })
	made := float64(data)*digitOperations/float64(c.lanes(4)*c.Units) + c.Written(float64(data+sums))
	return least.Cost - c.Fetched(float64(n.In[2].Bytes())) + made + kernelStart
}

// weights is the time to read weights of so many bytes, which are among constants of all bytes.
func (c core) weights(bytes float64, all int) float64 {
	if all <= Working(c.L2) {
		return c.FromL2(bytes)
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
