package impl

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// fewLines are worth asking for at a time: fewer waste more by rounding up, many at once fill the miss buffers.
const fewLines = 4

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
