package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"lathe/bench/model"
)

// most bounds what a random case works on, so that it takes milliseconds.
const (
	mostElements = 2 << 20   // of an input or an output
	mostProducts = 300 << 20 // multiplications and additions
)

// Random draws so many cases, the same for the same seed, from the generators of all families in turn. Sizes are those of networks,
// odd ones and small ones; their names hold all that was drawn.
func Random(seed uint64, cases int) []Family {
	d := dice{rand.New(rand.NewPCG(seed, 0))}
	list := make([]Family, len(generators))
	seen := map[string]bool{}
	for n := 0; n < cases; {
		k := n % len(generators)
		g := generators[k]
		c := g.draw(d)
		list[k].Name, list[k].Kind = g.family, g.kind
		if c.Name = fmt.Sprintf("%d_%s", n, c.Name); seen[c.Name] {
			continue
		}
		seen[c.Name] = true
		list[k].Cases = append(list[k].Cases, c)
		n++
	}
	return list[:min(cases, len(list))]
}

// A generator draws cases of a family.
type generator struct {
	family string
	draw   func(d dice) Case
	kind   Kind
}

var generators = []generator{
	{family: "conv2d", draw: dice.conv2d},
	{family: "conv1d", draw: dice.conv1d},
	{family: "conv3d", draw: dice.conv3d},
	{family: "depthwise", draw: dice.depthwise},
	{family: "grouped", draw: dice.grouped},
	{family: "convT", draw: dice.convTranspose},
	{family: "gemm", draw: dice.gemm},
	{family: "attention", draw: dice.attention},
	{family: "rnn", draw: dice.rnn},
	{family: "softmax", draw: dice.softmax},
	{family: "norm", draw: dice.norm},
	{family: "reduce", draw: dice.reduce},
	{family: "elementwise", draw: dice.elementwise},
	{family: "act", draw: dice.act},
	{family: "pool", draw: dice.pool},
	{family: "resize", draw: dice.resize},
	{family: "transpose", draw: dice.transpose},
	{family: "move", draw: dice.move},
	{family: "index", draw: dice.index},
	{family: "int8", draw: dice.int8, kind: quantised},
	{family: "pieces", draw: dice.pieces, kind: unplanned},
	{family: "pieces8", draw: dice.pieces8, kind: unplanned8},
	{family: "texts8", draw: dice.texts8, kind: unplanned8},
	{family: "texts", draw: dice.texts, kind: unplanned},
	{family: "algebra", draw: dice.algebra, kind: unplanned},
}

// dice draw sizes.
type dice struct{ *rand.Rand }

// pick is one of the values, each as likely.
func pick[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

// chance is true in so many of a hundred cases.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// size is a number from low to high; small ones are as likely as large ones, and half of those from 8 on are multiples of 8.
func (d dice) size(low, high int) int {
	v := int(math.Round(float64(low) * math.Pow(float64(high)/float64(low), d.Float64())))
	if v >= 8 && d.chance(50) {
		v = min(high, (v+4)/8*8)
	}
	return v
}

func (d dice) batch() int { return pick(d, 1, 1, 1, 1, 2, 3, 8) }

// shape has so many axes and at most limit elements.
func (d dice) shape(rank, limit int) (s shape) {
	left := float64(d.size(1000, limit))
	for i := range rank {
		share := math.Pow(left, 1/float64(rank-i))
		n := d.size(1, max(1, int(math.Min(left, share*share))))
		s = append(s, n)
		left = math.Max(1, left/float64(n))
	}
	d.Shuffle(rank, func(i, j int) { s[i], s[j] = s[j], s[i] })
	return s
}

// shrunk is s with its longest axes halved until it has at most limit elements.
func shrunk(s shape, limit int) shape {
	for elements(s) > limit {
		longest := 0
		for i := range s {
			if s[i] > s[longest] {
				longest = i
			}
		}
		s[longest] = (s[longest] + 1) / 2
	}
	return s
}

func elements(s shape) int {
	n := 1
	for _, v := range s {
		n *= v
	}
	return n
}

// joined spells numbers, such as 3x224x224.
func joined(list []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", "x")
}

// named is a case whose name is what, and what was drawn.
func named(what string, drawn []any, build func(b *model.Builder) model.Value) Case {
	for _, v := range drawn {
		if s, ok := v.(shape); ok {
			v = joined(s)
		}
		what += fmt.Sprintf("_%v", v)
	}
	return row(what, build)
}
