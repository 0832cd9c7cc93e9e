package plan

import (
	"slices"
	"sort"

	"lathe/internal/graph"
)

// barriers marks the steps that touch what others have written, or write what others read or write, since the last
// barrier: workers divide every step their own way, so any overlap of planned bytes counts. Workers meet before and behind
// every loop, whose operands move.
func barriers(steps []Step, at map[*graph.Value]Place) []bool {
	marks := make([]bool, len(steps))
	reads, writes := newTouched(), newTouched()
	for i, s := range steps {
		need := i > 0 && (s.Body != nil || steps[i-1].Body != nil)
		for _, v := range s.Out {
			need = need || reads.overlaps(at[v]) || writes.overlaps(at[v])
		}
		for _, v := range s.In {
			need = need || writes.overlaps(at[v])
		}
		if need {
			marks[i] = true
			reads, writes = newTouched(), newTouched()
		}
		for _, v := range s.Out {
			writes.add(at[v])
		}
		for _, v := range s.In {
			reads.add(at[v])
		}
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
