package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
)

// A PhaseConv is an ordinary convolution that computes phases of a transposed one: so many lines of pixels, in each of which
// every group has Sums, over Depth channels and the taps.
type PhaseConv struct{ Lines, Width, Groups, Depth, Sums, Taps int }

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
	steps := float64(p.Lines*p.Width) * float64(p.Depth*p.Taps) * columns
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

// PhaseDecision is whether phases are computed by one convolution or by several.
func PhaseDecision(t *target.Target, images int, one PhaseConv, several []PhaseConv) choice.Decision {
	return choice.Least("phases", choice.Value{Text: "together", Cost: phaseCycles(t, images, one)}, choice.Value{Text: "apart", Cost: phaseCycles(t, images, several...)})
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
