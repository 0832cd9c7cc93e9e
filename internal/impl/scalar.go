package impl

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// scalar schedules a reduction for a core without vectors, for code that is short and read by people: a few sums at a time
// stay in variables, so that each element that is loaded serves several of them and their latencies overlap. Which sums,
// the axes say that no border touches: what is beyond a border then bounds the reduction's loops, and no code is copied.
//
//	for (outer axes) { acc = 0; reduce { rows × columns: acc += ... }; y = f(acc) }
func scalar(k *kernel) error {
	out, acc := k.outBlock(), k.accBlock()
	t := k.decideSums(k.scalarTile(out, acc))
	var outer, inner []string
	for _, n := range k.s.Loops(out) {
		size := t.size(n)
		if size == 1 {
			outer = append(outer, n)
			continue
		}
		o, i, err := k.s.Split(n, size)
		if err != nil {
			return err
		}
		outer, inner = append(outer, o), append(inner, i)
	}
	if err := k.s.Reorder(slices.Concat(outer, inner)...); err != nil {
		return err
	}
	for _, n := range inner {
		if err := k.s.Unroll(n); err != nil {
			return err
		}
	}
	at := outer[len(outer)-1]
	if err := k.s.ComputeAt(acc, at, loop.Reg); err != nil {
		return err
	}
	return k.scalarSums(acc, at)
}

func scalarApplies(k *kernel) bool {
	if k.core.VectorBits > 0 || len(k.Stages) != 2 {
		return false
	}
	out, acc := k.outBlock(), k.accBlock()
	b, _ := k.find(acc)
	return b.Init != nil && k.SameIndex(out, acc) && k.scalarTile(out, acc).sums() > 1
}

// A scalarTile is a block of sums: of the elements along a loop of the output, or along two.
type scalarTile struct {
	row, column         string
	rowSize, columnSize int
}

func (t scalarTile) sums() int { return t.rowSize * t.columnSize }

func (t scalarTile) String() string { return fmt.Sprintf("%d x %d", t.rowSize, t.columnSize) }

// decideSums asks for the numbers of sums along the loops of t.
func (k *kernel) decideSums(t scalarTile) scalarTile {
	var list []scalarTile
	def := 0
	for rows := 1; rows <= min(8, k.s.Extent(t.row)); rows++ {
		for columns := 1; columns <= 2; columns++ {
			if columns > 1 && t.column == "" {
				continue
			}
			if rows == t.rowSize && columns == t.columnSize {
				def = len(list)
			}
			list = append(list, scalarTile{t.row, t.column, rows, columns})
		}
	}
	return DecideOne(k, "sums", def, list, nil)
}

func (t scalarTile) size(name string) int {
	switch name {
	case t.row:
		return t.rowSize
	case t.column:
		return t.columnSize
	}
	return 1
}

// scalarTile chooses the sums to compute together: as many as a small core has registers for, of floats twice as many as
// of integers, whose registers hold addresses too.
func (k *kernel) scalarTile(out, acc string) scalarTile {
	t := scalarTile{rowSize: 1, columnSize: 1}
	b, _ := k.find(acc)
	most := 4
	if b.Body.To.DType.Compute() == types.F32 && k.core.registers(0) >= 12 {
		most = 8
	}
	var axes []string
	for _, n := range k.s.Loops(out) {
		if k.s.Extent(n) > 1 && !k.bordered(acc, k.loopOf(acc, n)) {
			axes = append(axes, n)
		}
	}
	if len(axes) == 0 {
		return t
	}
	i := max(0, slices.IndexFunc(axes, func(n string) bool { return k.broadcasts(out, acc, n) }))
	t.row = axes[i]
	reused := k.broadcasts(out, acc, t.row)
	if !reused {
		most = min(most, 4)
	}
	for _, n := range slices.Backward(axes) {
		if reused && n != t.row && k.broadcasts(out, acc, n) && k.s.Extent(n)%2 == 0 {
			t.column, t.columnSize = n, 2
			most /= 2
			break
		}
	}
	t.rowSize = part(k.s.Extent(t.row), most)
	return t
}

// part is the greatest divisor of n up to most, or most itself where all divisors are small: a tail is code of its own.
func part(n, most int) int {
	for d := min(n, most); 2*d >= min(n, most) && d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return min(n, most)
}

// bordered reports whether a condition within a block depends on one of its loops.
func (k *kernel) bordered(block, name string) bool {
	b, _ := k.find(block)
	v := k.variable(block, name)
	if v == nil {
		return true
	}
	bind := b.Bindings()
	found := b.Where != nil && expr.Uses(expr.Subst(b.Where, bind), v)
	expr.Walk(b.Body.Value, func(x expr.Expr) bool {
		if s, ok := x.(*expr.Select); ok && expr.Uses(expr.Subst(s.Cond, bind), v) {
			found = true
		}
		return !found
	})
	return found
}

// scalarSums orders the loops of a tile of sums below a loop: reductions outside, in the order of memory, and the sums
// written out.
func (k *kernel) scalarSums(acc, at string) error {
	rs, ss := k.reducing(acc, at)
	rs = k.orderReductions(acc, rs)
	if err := k.s.Reorder(slices.Concat(rs, ss)...); err != nil {
		return err
	}
	for _, n := range ss {
		if err := k.s.Unroll(n); err != nil {
			return err
		}
	}
	if len(rs) == 0 {
		return nil
	}
	return k.s.DecomposeReduction(acc, rs[0])
}
