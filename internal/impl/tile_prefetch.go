package impl

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/sched"
)

// prefetchPanel has the tiles of one panel of weights ask for the next panel, in slices as small as can be: many lines at
// once fill the miss buffers. Weights are read once per run of a network and so come from memory; a panel that arrives
// while the one before is in use costs no time. The cache must hold two panels; a longer one is a stream, which the
// hardware fetches ahead at a distance that stays in the cache.
func (k *kernel) prefetchPanel(t *tiling, vecTiles string) {
	acc := t.acc
	if vecTiles == "" || k.s.Extent(vecTiles) < 2 {
		return
	}
	b, around := k.find(acc)
	from := -1
	for i, f := range around {
		if f.Var.Name == vecTiles {
			from = i
		}
	}
	if from < 0 {
		return
	}
	if !k.DecideIf(t.decision("prefetch_panel"), true) {
		return
	}
	v := around[from].Var
	for _, a := range k.accesses(acc) {
		stride, linear := a.stride(v)
		if a.store || !linear || stride <= 0 || int(stride)*a.buf.DType.Size() > Working(k.core.L2) {
			continue
		}
		at := ""
		for _, f := range around[from+1:] {
			if _, ok := expr.IntOf(f.Extent); !ok || f.Kind != loop.Serial {
				break
			}
			at = f.Var.Name
		}
		if at == "" {
			continue
		}
		k.try(func() bool { return k.s.Prefetch(b.Name, a.buf.Name, vecTiles, at) == nil })
	}
}

// prefetchEpilogue has a tile ask for the operands of its epilogue, such as a residual, and for the lines it stores to,
// while it accumulates: all are needed at once when the sums are complete, and the next tile would wait for them.
func (k *kernel) prefetchEpilogue(t *tiling, tile string) {
	out, acc := t.out, t.acc
	b, _ := k.find(out)
	a, around := k.find(acc)
	i := slices.IndexFunc(around, func(f *loop.For) bool {
		return f.Kind == loop.Serial && sched.ReducesOver(a, f) && f.Var.Name != t.partLoop
	})
	if i < 0 {
		return
	}
	if !k.DecideIf(t.decision("prefetch_epilogue"), true) {
		return
	}
	at := around[i].Var.Name
	asked := map[*loop.Buffer]bool{a.Body.To: true}
	ask := func(buf *loop.Buffer) {
		if !asked[buf] && buf.Bytes() >= b.Body.To.Bytes() {
			asked[buf] = true
			k.try(func() bool { return k.s.PrefetchTile(out, buf.Name, tile, at) == nil })
		}
	}
	expr.Loads(b.Body.Value, func(l *expr.Load) { ask(l.From.(*loop.Buffer)) })
	ask(b.Body.To)
}
