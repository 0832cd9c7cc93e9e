package impl

import (
	"lathe/internal/arith"
	"lathe/internal/expr"
)

// decideLines asks whether rows are walked outside of the planes around them where lanes skip elements: other planes read those
// that are skipped, of the same cache lines, which are gone by then where planes are large.
//
//	for plane { for row { for v { y[plane, row, v] = x[f(plane, row), 2*v + g(plane)] } } }   →   for row { for plane { for v { ... } } }
func (k *kernel) decideLines(block string) error {
	loops := k.s.Loops(block)
	n := len(loops)
	if n < 3 || k.interleaved(block, loops[n-2], loops[n-1]) { // these planes are written together
		return nil
	}
	bytes := k.skips(block, loops[n-3], loops[n-2], loops[n-1])
	if bytes == 0 || !k.DecideIf("lines", bytes > Working(k.core.L2)) {
		return nil
	}
	return k.s.Reorder(loops[n-2], loops[n-3], loops[n-1])
}

// skips is the size of what a load reads that skips elements along lanes, and depends on plane and row; 0 where none does.
func (k *kernel) skips(block, plane, row, lanes string) (bytes int) {
	p, r, v := k.variable(block, plane), k.variable(block, row), k.variable(block, lanes)
	for _, a := range k.accesses(block) {
		if n, ok := a.stride(v); !a.store && ok && n*n > 1 && uses(a.at, p) && uses(a.at, r) {
			bytes = max(bytes, a.buf.Bytes())
		}
	}
	return bytes
}

// uses reports whether a variable is part of l.
func uses(l arith.Linear, v *expr.Var) bool {
	c, inside := l.Coef(v)
	return c != 0 || inside
}
