package impl

import (
	"lathe/internal/expr"
	"lathe/internal/types"
)

// worked limits registers to those that a tile over the block has use for. Accumulators hide the latency of a few operations; a power
// is a hundred of them, which hide their own.
func (k *kernel) worked(regs int, block string) int {
	b, _ := k.find(block)
	return min(regs, max(4, tileWork/(1+operations(b.Body.Value))))
}

// operations is about how many instructions compute a value from what it loads.
func operations(value expr.Expr) int {
	n := 0
	expr.Walk(value, func(e expr.Expr) bool {
		switch e := e.(type) {
		case *expr.Load:
			return false
		case *expr.Binary:
			if e.Op == expr.OpPow || e.Op == expr.OpAtan2 {
				n += 128
			} else if e.DType() != types.I64 {
				n++
			}
		case *expr.Unary:
			if e.Fn >= expr.FnExp && e.Fn <= expr.FnAtanh {
				n += 32
			} else {
				n++
			}
		}
		return true
	})
	return n
}
