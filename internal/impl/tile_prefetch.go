package impl

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/sched"
)

// fewLines are worth asking for at a time: fewer waste more by rounding up, many at once fill the miss buffers.
const fewLines = 2

// prefetchPanel has the tiles of one panel of weights ask for the next panel, in equal slices. Weights are read once per
// run of a network and so come from memory; a panel that arrives while the one before is in use costs no time.
func (k *kernel) prefetchPanel(acc, vecTiles string) {
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
	v := around[from].Var
	for _, a := range k.accesses(acc) {
		stride, linear := a.stride(v)
		if a.store || !linear || stride <= 0 {
			continue
		}
		at, turns := "", 1
		for _, f := range around[from+1:] {
			n, ok := expr.IntOf(f.Extent)
			if !ok || f.Kind != loop.Serial {
				break
			}
			turns *= int(n)
			if lines := int(stride) * a.buf.DType.Size() / loop.LineBytes / turns; at != "" && lines < fewLines {
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
func (k *kernel) prefetchEpilogue(out, acc, tile string) {
	b, _ := k.find(out)
	a, around := k.find(acc)
	i := slices.IndexFunc(around, func(f *loop.For) bool { return f.Kind == loop.Serial && sched.ReducesOver(a, f) })
	if i < 0 {
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
