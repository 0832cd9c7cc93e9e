package impl

import (
	"cmp"
	"math"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/loop"
	"lathe/internal/sched"
)

// The values of the decision on operands to ask L1 for.
const (
	nearOff = iota
	nearPanels
	nearRows
	nearAll
)

// prefetchNear has a tile ask L1 for what its sum reads some steps later, where one tile's operands are more than L1 holds, so that all come
// from L2 again for each tile: of the panel, and of rows whose steps are on other lines. A core has so many instructions under way as last for
// a step or two of a large tile, and L1's own prefetchers follow loads no further.
func (k *kernel) prefetchNear(t *tiling, size Tile) {
	around := k.sumLoops(t.acc)
	if len(around) == 0 || t.streams > 1 {
		return
	}
	type stream struct {
		access
		at *loop.For
	}
	ask := func(s stream) bool {
		return k.s.PrefetchNear(t.acc, s.buf.Name, s.at.Var.Name, k.nearAhead(t, s.at.Var.Name, size)) == nil
	}
	var panels, rows []stream
	bytes, shared := 0, false
	loops := k.s.Loops(t.acc)
	lane := k.variable(t.acc, loops[len(loops)-1])
	for _, a := range k.accesses(t.acc) {
		if a.store || a.buf.Scope != loop.Global {
			continue
		}
		bytes += k.sumBytes(t.acc, a)
		if !k.free(a, lane) {
			panels = append(panels, stream{a, around[0]})
			continue
		}
		shared = true
		i := slices.IndexFunc(around, func(f *loop.For) bool {
			return k.leaps(t.acc, a, f) && 2*k.nearAhead(t, f.Var.Name, size) <= k.s.Extent(f.Var.Name) // most is of this loop, and not behind it
		})
		if i >= 0 && k.trial(func() bool { return ask(stream{a, around[i]}) }) {
			rows = append(rows, stream{a, around[i]})
		}
	}
	if !shared {
		return
	}
	values, def := choice.Texts("off", "panels", "rows", "all"), nearOff
	switch {
	case len(rows) == 0:
		values = values[:nearRows]
	case bytes > Working(k.core.L1):
		def = nearRows
	}
	way := k.decide(t.decision("prefetch_near"), def, values)
	var asked []stream
	if way == nearPanels || way == nearAll {
		asked = panels
	}
	if way == nearRows || way == nearAll {
		asked = append(asked, rows...)
	}
	for _, s := range asked {
		k.try(func() bool { return ask(s) })
	}
}

// leaps reports whether an access is on other lines in each iteration of a loop, behind what it has read before.
func (k *kernel) leaps(acc string, a access, f *loop.For) bool {
	_, around := k.find(acc)
	run, _ := k.runsOf(a, around[slices.Index(around, f)+1:])
	step, inside := a.at.Coef(f.Var)
	return !inside && step > int64(run) && a.buf.DType.Bytes(int(step)) >= lineBytes
}

// sumLoops are the loops of a sum that are not unrolled, innermost first.
func (k *kernel) sumLoops(acc string) (list []*loop.For) {
	b, around := k.find(acc)
	for _, f := range slices.Backward(around) {
		if f.Kind == loop.Serial {
			if !sched.ReducesOver(b, f) {
				break
			}
			list = append(list, f)
		}
	}
	return list
}

// nearAhead is how many iterations of a loop take the time in which L2 answers.
func (k *kernel) nearAhead(t *tiling, at string, size Tile) int {
	return max(1, int(math.Ceil(nearCycles/k.turnCycles(t.acc, at, size))))
}

// turnCycles is the time of an iteration of a loop around a sum.
func (k *kernel) turnCycles(acc, at string, size Tile) float64 {
	b, around := k.find(acc)
	steps := 1
	i := slices.IndexFunc(around, func(f *loop.For) bool { return f.Var.Name == at })
	for _, f := range around[i+1:] {
		if sched.ReducesOver(b, f) || f.Kind == loop.Serial {
			steps *= k.s.Extent(f.Var.Name)
		}
	}
	return float64(steps) * k.core.PackedStep(size.Rows*size.Lines, size.Vecs)
}

// sumBytes is the memory that an access touches in the sum of one tile, in whole lines.
func (k *kernel) sumBytes(acc string, a access) int {
	b, around := k.find(acc)
	tile := slices.DeleteFunc(slices.Clone(around), func(f *loop.For) bool {
		return !sched.ReducesOver(b, f) && (f.Kind == loop.Serial || f.Kind == loop.Parallel)
	})
	run, runs := k.runsOf(a, tile)
	return runs * ((a.buf.DType.Bytes(run) + lineBytes - 1) / lineBytes * lineBytes)
}

// runsOf is what an access touches in some loops: runs of so many elements that are neighbours. What iterations have in common counts once within
// a run, and again for each of several.
func (k *kernel) runsOf(a access, loops []*loop.For) (run, runs int) {
	type walk struct{ stride, extent int }
	var walks []walk
	for _, f := range loops {
		if c, _ := a.at.Coef(f.Var); c != 0 {
			walks = append(walks, walk{int(max(c, -c)), k.s.Extent(f.Var.Name)})
		}
	}
	slices.SortFunc(walks, func(a, b walk) int { return cmp.Compare(a.stride, b.stride) })
	run, runs = int(a.each), 1
	for _, w := range walks {
		if runs == 1 && w.stride <= run {
			run += w.stride * (w.extent - 1)
		} else {
			runs *= w.extent
		}
	}
	return run, runs
}
