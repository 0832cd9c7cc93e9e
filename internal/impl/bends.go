package impl

import (
	"lathe/internal/expr"
)

// straight reports whether most iterations of a loop read along straight lines, as those of a reflected or repeated border do not:
// LoopPartition tells these from the interior.
func (k *kernel) straight(block, name string) bool {
	b, around := k.find(block)
	v := k.variable(block, name)
	r := rangesOf(around)
	all := r[v]
	in := r.Settle(expr.Subst(b.Body.Value, b.Bindings()), v, all, func(x *expr.Var) bool { return x == v })
	if in == all || 2*(in.Hi-in.Lo+1) < all.Hi-all.Lo+1 {
		return false
	}
	for _, a := range k.accessesIn(block, r.With(v, in)) {
		if n, ok := a.stride(v); !ok || !a.inLanes(n) {
			return false
		}
	}
	return true
}
