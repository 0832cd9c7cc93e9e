package plan

import (
	"slices"
	"sort"

	"lathe/internal/graph"
)

// mostJoined bounds the steps that one worker takes at once: others wait for it where they could do some of them.
const mostJoined = 64

// join marks serial steps that the worker does that did the one before: those in a row.
func join(steps []Step) []bool {
	joined := make([]bool, len(steps))
	for i, n := 1, 1; i < len(steps); i++ {
		if n++; steps[i].Serial && steps[i-1].Serial && n <= mostJoined {
			joined[i] = true
		} else {
			n = 1
		}
	}
	return joined
}

// barriers marks the steps that touch what others have written, or write what others read or write, since the last
// barrier: workers divide every step their own way, so any overlap of planned bytes counts. What one worker does in a row needs
// none. Workers meet before and behind every region, whose operands move.
func barriers(steps []Step, joined []bool, at map[*graph.Value]Place) []bool {
	marks := make([]bool, len(steps))
	reads, writes := newTouched(), newTouched()
	loops := false // in what came just before
	for i := 0; i < len(steps); {
		next := i + 1
		for next < len(steps) && joined[next] {
			next++
		}
		row := steps[i:next]
		after := loops
		loops = slices.ContainsFunc(row, func(s Step) bool { return len(s.Bodies) > 0 })
		need := i > 0 && (loops || after)
		for _, s := range row {
			for _, v := range s.Out {
				need = need || reads.overlaps(at[v]) || writes.overlaps(at[v])
			}
			for _, v := range s.In {
				need = need || writes.overlaps(at[v])
			}
		}
		if need {
			marks[i] = true
			reads, writes = newTouched(), newTouched()
		}
		for _, s := range row {
			for _, v := range s.Out {
				writes.add(at[v])
			}
			for _, v := range s.In {
				reads.add(at[v])
			}
		}
		i = next
	}
	return marks
}

// touched is a set of bytes: buffers of the caller, and pieces of the workspace, joined where they overlap.
type touched struct {
	buffers map[Place]bool // without sizes
	pieces  pieces
}

func newTouched() *touched { return &touched{buffers: map[Place]bool{}} }

func (t *touched) overlaps(p Place) bool {
	if p.Kind != Workspace {
		return t.buffers[Place{Kind: p.Kind, Index: p.Index}]
	}
	i, j := t.around(p)
	return i < j
}

func (t *touched) add(p Place) {
	if p.Kind != Workspace {
		t.buffers[Place{Kind: p.Kind, Index: p.Index}] = true
		return
	}
	i, j := t.around(p)
	end := p.Offset + p.Size
	if i < j {
		end = max(end, t.pieces[j-1].Offset+t.pieces[j-1].Size)
		p.Offset = min(p.Offset, t.pieces[i].Offset)
	}
	p.Size = end - p.Offset
	t.pieces = slices.Replace(t.pieces, i, j, p)
}

// around finds the pieces [i, j) that overlap p.
func (t *touched) around(p Place) (i, j int) {
	i = sort.Search(len(t.pieces), func(k int) bool { return t.pieces[k].Offset+t.pieces[k].Size > p.Offset })
	for j = i; j < len(t.pieces) && t.pieces[j].Offset < p.Offset+p.Size; j++ {
	}
	return i, j
}
