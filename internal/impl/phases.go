package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
)

// A PhaseConv is an ordinary convolution that computes phases of a transposed one: so many lines of pixels, in each of which
// every group has Sums, over Depth channels and the taps. Met is the share of these that meet data on the axes across lines, for no loop
// is over others.
type PhaseConv struct {
	Lines, Width, Groups, Depth, Sums, Taps int
	Met                                     float64
}

// cycles estimates a convolution. Few channels are computed along the lines instead, or with zeros to a whole vector. So are more, which do
// not fill vectors, where fewer vectors of pixels do.
func (p PhaseConv) cycles(core core) float64 {
	lanes := core.lanes(4)
	columns := float64(p.Groups * ((p.Sums + lanes - 1) / lanes)) // vectors of results of a pixel
	switch {
	case p.Depth == 1 && p.Sums == 1:
		columns = float64((p.Groups + lanes - 1) / lanes) // of several groups
	case p.Groups*p.Sums < lanes && !p.Fills(core.Target):
		columns = p.alongLines(lanes)
	case p.Groups == 1 && p.Sums%lanes > 0:
		columns = min(columns, p.alongLines(lanes))
	}
	steps := float64(p.Lines*p.Width) * float64(p.Depth*p.Taps) * p.Met * columns
	weights := 4 * float64(p.Groups*p.Depth) * float64(p.Sums*p.Taps)
	return kernelStart + steps/float64(core.Units)/directShare + core.Fetched(weights) + core.Written(p.results())
}

// alongLines is the vectors of results of a pixel where vectors run over pixels. Each is loaded once for all results.
func (p PhaseConv) alongLines(lanes int) float64 {
	vectors := float64(p.Groups*p.Sums) * float64((p.Width+lanes-1)/lanes) / float64(p.Width)
	return vectors / min(alongLinesShare, float64(p.Sums)/float64(p.Sums+1))
}

func (p PhaseConv) results() float64 { return 4 * float64(p.Lines*p.Width) * float64(p.Groups*p.Sums) }

// Fills reports whether channels that are less than a vector are better computed with zeros to a whole one.
func (p PhaseConv) Fills(t *target.Target) bool {
	lanes := t.Lanes(32)
	return p.Groups == 1 && p.Sums < lanes && p.alongLines(lanes) > 1
}

// PhaseDecision is whether phases are computed by one convolution or by several. A sum of columns is a third way where sums is not nil.
func PhaseDecision(t *target.Target, images int, one PhaseConv, several []PhaseConv, sums *ColumnSums) choice.Decision {
	values := []choice.Value{{Text: "together", Cost: phaseCycles(t, images, one)}, {Text: "apart", Cost: phaseCycles(t, images, several...)}}
	if sums != nil {
		values = append(values, choice.Value{Text: SumsColumns, Cost: sums.cycles(core{t})})
	}
	return choice.Least("phases", values...)
}

// SumsColumns is the value of the decision `phases` that multiplies the data of a position by all taps, and adds up.
const SumsColumns = "columns"

// ColumnSums are products of data by all taps, so many for each result that lies in lines of so many pixels; Met is what it is of a PhaseConv.
type ColumnSums struct {
	Products           PhaseConv
	Lines, Width, Taps int
	Met                float64
}

// cycles estimates the products, and additions of vectors along the lines, whose loads cross the lines of caches.
func (s ColumnSums) cycles(core core) float64 {
	lanes := core.lanes(4)
	vectors := float64(s.Lines*s.Taps) * s.Met * float64((s.Width+lanes-1)/lanes)
	sums := kernelStart + crossingLoads*vectors/float64(core.Loads) + core.Written(4*float64(s.Lines*s.Width))
	if bytes := s.Products.results(); bytes > float64(Working(core.L2)) {
		sums += core.Again(bytes, int(bytes))
	}
	return s.Products.cycles(core) + sums
}

// phaseCycles estimates convolutions of phases. The results of several are joined by a copy, but those of one image where they are.
func phaseCycles(t *target.Target, images int, convs ...PhaseConv) float64 {
	cost, results := 0.0, 0.0
	for _, c := range convs {
		cost += c.cycles(core{t})
		results += c.results()
	}
	if len(convs) > 1 && images > 1 {
		cost += kernelStart + 2*core{t}.Written(results)
	}
	return cost
}
