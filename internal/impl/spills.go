package impl

import (
	"strconv"
	"strings"

	"lathe/internal/choice"
)

// asWritten is the value of the decision on instructions by which LLVM's scheduler has no part in a kernel.
const asWritten = "as written"

// DecideInstructions asks for the order of instructions within the blocks of p's machine code. chooser may be nil.
func (p *Plan) DecideInstructions(chooser choice.Chooser) error {
	a := &asker{log: &choice.Log{Chooser: chooser, Asked: p.Asked, Taken: p.Taken}}
	if a.decide("instructions", 0, choice.Texts("scheduled", asWritten)) == 1 {
		p.Why = strings.TrimPrefix(p.Why+", instructions "+asWritten, ", ")
	}
	p.Asked, p.Taken = a.log.Asked, a.log.Taken
	return a.err
}

// AsWritten reports whether LLVM's scheduler has no part in p's kernel.
func (p *Plan) AsWritten() bool { return p.Taken["instructions"] == asWritten }

// Relief lists what to decide otherwise where the machine code of p's kernel moves values to and from the stack in its loops, in the
// order of trying. Of tiles of one vector, in which every product has a load of its own, too many are alive at any order: those of
// fewer accumulators that cost least by the model come first. Then the order of instructions, which changes nothing else; fewer
// steps of the reduction at a time, which have less to load ahead; and other tiles. What fixed names is not decided otherwise.
func (p *Plan) Relief(fixed choice.Point) (list []choice.Point) {
	add := func(name, value string) {
		if _, ok := fixed[name]; !ok && p.Taken[name] != value {
			list = append(list, choice.Point{name: value})
		}
	}
	tiles := func(oneVector bool) {
		for _, d := range p.Asked {
			if taken := p.Taken[d.Name]; base(d.Name) == "tile" && strings.HasSuffix(taken, " x 1") == oneVector {
				for _, t := range smallerTiles(d, taken) {
					add(d.Name, t)
				}
			}
		}
	}
	tiles(true)
	add("instructions", asWritten)
	for _, d := range p.Asked {
		if base(d.Name) == "steps" {
			for i := range d.Values {
				if d.Values[i].Text == p.Taken[d.Name] && i > 0 {
					add(d.Name, d.Values[i-1].Text)
				}
			}
		}
	}
	tiles(false)
	return list
}

// base is the name of a decision without that of a block.
func base(name string) string {
	name, _, _ = strings.Cut(name, "(")
	return name
}

// smallerTiles are the cheapest tile of a decision that has fewer accumulators than the one that was taken, and the cheapest that has
// fewer than three quarters of them.
func smallerTiles(d choice.Decision, taken string) (list []string) {
	for _, limit := range []int{accumulators(taken) - 1, accumulators(taken) * 3 / 4} {
		best := -1
		for i, v := range d.Values {
			if accumulators(v.Text) <= limit && (best < 0 || v.Cost < d.Values[best].Cost) {
				best = i
			}
		}
		if best >= 0 && (len(list) == 0 || list[0] != d.Values[best].Text) {
			list = append(list, d.Values[best].Text)
		}
	}
	return list
}

// accumulators is the product of the numbers in the text of a Tile.
func accumulators(tile string) int {
	n := 1
	for part := range strings.SplitSeq(tile, " x ") {
		if k, err := strconv.Atoi(part); err == nil {
			n *= k
		}
	}
	return n
}

// Modelled is what the model expects of the tiles that p's kernel has, in cycles; 0 where it has none.
func (p *Plan) Modelled() (cycles float64) {
	for _, d := range p.Asked {
		if base(d.Name) != "tile" {
			continue
		}
		for _, v := range d.Values {
			if v.Text == p.Taken[d.Name] {
				cycles += v.Cost
			}
		}
	}
	return cycles
}

// Unscheduled is p without a part of LLVM's scheduler in it.
func (p *Plan) Unscheduled() *Plan {
	c := p.Copy()
	c.Taken["instructions"] = asWritten
	c.Why = strings.TrimPrefix(c.Why+", instructions "+asWritten, ", ")
	return c
}
