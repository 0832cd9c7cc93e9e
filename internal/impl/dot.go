package impl

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// DotWidth is the number of neighbouring elements of both operands that a dot product of bytes takes.
const DotWidth = expr.DotWidth

// DotWidthOf is that number for elements of two types, 0 where there is no such dot product.
func DotWidthOf(a, b types.DType) int { return expr.WidthOfDot(a, b) }

// NibbleWord is the number of weights of 4 bits of one column that lie next to each other, a word of a vector's lane.
const NibbleWord = loop.NibbleLanes

// dots asks whether the products of bytes that a reduction adds become dot products of four, and those of bytes by int16 of two, where
// both operands hold these next to each other or, with lanes in the other, apart. A rule then schedules what is left of the reduction.
//
//	for r in 0..K { acc += int32(x[r]) * int32(w[r]) }  →  for r in 0..K/4 { acc += dot4(x[4*r], 0, w[4*r], 0) }
func (k *kernel) dots() {
	for _, block := range k.Blocks {
		for _, r := range k.reductions(block) {
			dot := func() bool { return k.dot(block, r) }
			if k.trial(dot) {
				if k.DecideIf(Of("dot", block), true) {
					dot()
				}
				break
			}
		}
	}
}

// dotOf is the dot product that the block adds, or nil.
func (k *kernel) dotOf(block string) (d *expr.Dot) {
	b, _ := k.find(block)
	expr.Walk(b.Body.Value, func(e expr.Expr) bool {
		if x, is := e.(*expr.Dot); is {
			d = x
		}
		return d == nil
	})
	return d
}

// dotWidth is the number of products that a dot product of what the block loads adds.
func (k *kernel) dotWidth(block string) int {
	b, _ := k.find(block)
	width := DotWidth
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		if l.From.Elem() == types.I16 {
			width = DotWidthOf(types.I16, types.I8)
		}
	})
	return width
}

// reductions are the loops that count one reduction axis of a block each, by themselves.
func (k *kernel) reductions(block string) []string {
	b, around := k.find(block)
	var names []string
	for _, f := range around {
		if slices.ContainsFunc(b.Iters, func(it loop.Iter) bool { return it.Reduce && it.Binding == expr.Expr(f.Var) }) {
			names = append(names, f.Var.Name)
		}
	}
	return names
}

// dot makes a dot product of the reduction loop r, split by the larger of its operands' blocks.
func (k *kernel) dot(block, r string) bool {
	b, _ := k.find(block)
	width := k.dotWidth(block)
	if b.Body.To.DType != types.I32 || k.s.Extent(r)%width != 0 {
		return false
	}
	v := k.variable(block, r)
	for _, n := range k.blocksOf(block, v) {
		if n%width != 0 {
			return false
		}
	}
	if n := slices.Max(append(k.blocksOf(block, v), 0)); n > width && n < k.s.Extent(r) {
		_, in, err := k.s.Split(r, n)
		if err != nil {
			return false
		}
		r = in
	}
	_, i, err := k.s.Split(r, width)
	if err != nil {
		return false
	}
	loops := k.s.Loops(block)
	at := slices.Index(loops, i)
	if at < len(loops)-1 && k.s.Reorder(append(slices.Clone(loops[at+1:]), i)...) != nil {
		return false
	}
	return k.runs(block, k.variable(block, i)) && k.s.Tensorize(block, i) == nil
}

// blocksOf are the sizes of the blocks in which the operands of a block are laid out along the axis that v counts.
func (k *kernel) blocksOf(block string, v *expr.Var) []int {
	b, _ := k.find(block)
	var blocks []int
	for _, it := range b.Iters {
		if it.Binding != expr.Expr(v) {
			continue
		}
		expr.Walk(b.Body.Value, func(e expr.Expr) bool {
			if x, ok := e.(*expr.Binary); ok && x.Op == expr.OpFloorMod && counts(x.A, it.Var) {
				if c, ok := expr.IntOf(x.B); ok {
					blocks = append(blocks, int(c))
				}
			}
			return true
		})
	}
	return blocks
}

// counts reports whether a sum counts the steps of v, one by one, and not whole blocks of them.
func counts(sum expr.Expr, v *expr.Var) bool {
	n, inside := arith.LinearOf(sum).Coef(v)
	return n == 1 && !inside
}

// runs reports whether consecutive values of v are consecutive in memory in every operand of the block, so that a group is one access.
func (k *kernel) runs(block string, v *expr.Var) bool {
	for _, a := range k.accesses(block) {
		if n, ok := a.stride(v); !a.store && (!ok || n != 1) {
			return false
		}
	}
	return true
}
