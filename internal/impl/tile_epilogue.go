package impl

import (
	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// rolled reports whether the pointwise rest of a group is to run in a loop over a tile's vectors instead of on all
// accumulators at once: an exponential takes some twenty instructions and a dozen constants, a power five times as many, which would push the
// accumulators out of their registers within the reduction, and as often as there are vectors in the tile.
func (k *kernel) rolled(out string, vectors int) bool {
	if vectors < rolledFrom {
		return false
	}
	b, _ := k.find(out)
	return transcendental(b.Body.Value)
}

// transcendental reports whether an expression has a function that takes some twenty instructions or more.
func transcendental(e expr.Expr) (found bool) {
	expr.Walk(e, func(e expr.Expr) bool {
		switch e := e.(type) {
		case *expr.Unary:
			found = found || e.Fn >= expr.FnExp && e.Fn <= expr.FnAtanh
		case *expr.Binary:
			found = found || e.DType().IsFloat() && (e.Op == expr.OpPow || e.Op == expr.OpAtan2)
		}
		return !found
	})
	return found
}

// decideRolled asks how the rest of a tile's group runs.
func (k *kernel) decideRolled(t *tiling, size Tile) bool {
	vectors := size.Lines * size.Rows * size.Vecs
	return vectors > 1 && k.decide(t.decision("epilogue"), indexIf(k.rolled(t.out, vectors)), choice.Texts("registers", "rolled")) == 1
}

// leaveRegisters copies finished accumulators to scratch, from where the rolled loops of the rest read them.
func (k *kernel) leaveRegisters(out, acc string, lanes int) error {
	loops, err := k.s.CacheRead(out, acc, loop.Worker)
	if err != nil || len(loops) == 0 {
		return err
	}
	if loops, err = k.splitLast(loops, lanes); err != nil {
		return err
	}
	return k.UnrollTile(loops[:len(loops)-1], loops[len(loops)-1])
}
