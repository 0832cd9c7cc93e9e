package impl

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// withReduction asks whether a pointwise block of a row is computed in the loop of the reduction that stands behind it and reads it, so
// that the row is walked once for both: exponentials are summed as they are made. at is the loop around the row. It reports
// whether that is done.
func (k *kernel) withReduction(block, at string) bool {
	b, _ := k.find(block)
	if b == nil || len(k.inside(block, at)) == 0 {
		return false
	}
	reader := k.nextReader(block, b.Body.To)
	if reader == "" || !slices.Contains(k.s.Loops(reader), at) || !k.trial(func() bool { return k.join(block, reader, at) }) {
		return false
	}
	lanes := k.core.lanes(b.Body.To.DType.Size())
	vectors := func(name string) float64 {
		n := 1
		for _, l := range k.inside(name, at) {
			n *= k.s.Extent(l)
		}
		return float64((n + lanes - 1) / lanes)
	}
	vecs := 1
	for _, l := range k.inside(reader, at)[1:] {
		vecs *= k.s.Extent(l)
	}
	vecs = max(1, vecs/lanes)
	work := float64(operations(b.Body.Value)) / float64(k.core.Units)
	values := choice.Texts("off", "on")
	values[0].Cost = vectors(block)*work + vectors(reader)*k.core.fold(vecs)/float64(vecs)
	values[1].Cost = vectors(reader) * work
	return k.decide(Of("joined", block), indexIf(values[1].Cost < values[0].Cost), values) == 1 && k.try(func() bool { return k.join(block, reader, at) })
}

// join divides the loops of a block at a loop as those of one that reads it, and computes it in the outermost of these.
func (k *kernel) join(block, reader, at string) bool {
	own, theirs := k.inside(block, at), k.inside(reader, at)
	if len(theirs) < 2 || len(own) != 1 && len(own) != len(theirs) {
		return false
	}
	for len(own) < len(theirs) {
		n := 1
		for _, l := range theirs[len(own):] {
			n *= k.s.Extent(l)
		}
		last := len(own) - 1
		o, i, err := k.s.Split(own[last], n)
		if err != nil {
			return false
		}
		own = append(own[:last:last], o, i)
	}
	if !k.unitStride(block, k.variable(block, own[len(own)-1])) {
		return false
	}
	_, around := k.find(reader)
	for i, f := range around[len(around)-len(theirs):] {
		var err error
		switch f.Kind {
		case loop.Vector:
			err = k.s.Vectorize(own[i])
		case loop.Unrolled:
			err = k.s.Unroll(own[i])
		}
		if err != nil {
			return false
		}
	}
	return k.s.ComputeWith(own[0], theirs[0]) == nil
}

// nextReader is the first block behind another one that reads what it computes.
func (k *kernel) nextReader(block string, from *loop.Buffer) (name string) {
	passed := false
	loop.Walk(k.s.Func.Body, func(t loop.Stmt) bool {
		b, ok := t.(*loop.Block)
		if !ok || name != "" {
			return name == ""
		}
		expr.Loads(b.Body.Value, func(l *expr.Load) {
			if passed && name == "" && l.From == expr.Source(from) {
				name = b.Name
			}
		})
		passed = passed || b.Name == block
		return true
	})
	return name
}

// inPlace asks whether an intermediate of a row is kept in the elements of the output that are made from it. Each line of these is brought
// into the caches either way, and scratch need not be.
func (k *kernel) inPlace(block string) {
	b, _ := k.find(block)
	if b == nil || b.Body.To.Scope != loop.Worker || types.Count(b.Body.To.Shape) < 2 {
		return
	}
	store := func() bool { return k.s.InPlace(block) == nil }
	if k.trial(store) && k.DecideIf(Of("in_place", block), true) {
		k.try(store)
	}
}
