package impl

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/lower"
)

// attention schedules chained products: a block of rows goes through all stages in worker scratch before the next one,
// so that scores and weights never leave the cache. Keys and values of a head are arranged once.
//
//	parallel (heads) {
//	  keys, values = arranged operands of the head
//	  rows.o { scores = queries × keys; reductions of scores' rows; weights; context = f(weights × values) }
//	}
//
// Both products have tiles of accumulators in registers, with the same rows.
func attention(k *kernel) (string, bool, error) {
	product := k.role(lower.Context)
	if product == "" {
		return "", false, nil
	}
	a := &attentionKernel{kernel: k, out: k.outBlock(), product: product}
	if !a.axes() {
		return "", false, nil
	}
	return a.schedule()
}

// role is the block of the stage with a role, if it is laid out as its axes are, or "".
func (k *kernel) role(tag string) string {
	for i, s := range k.Stages {
		if s.Tag == tag && s.Type.Layout == "" {
			return k.Blocks[i]
		}
	}
	return ""
}

type attentionKernel struct {
	*kernel
	out, product string   // blocks
	outer        []string // output loops over heads
	row, column  string   // output loops over queries and over the columns of values
}

// axes finds which loops of the output run over heads, queries and columns: the output reads the second product at its
// own variables, in any order but for the last.
func (a *attentionKernel) axes() bool {
	b, around := a.find(a.out)
	p, _ := a.find(a.product)
	var dims []string
	ok := true
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		if l.From != expr.Source(p.Body.To) || dims != nil {
			ok = ok && l.From != expr.Source(p.Body.To)
			return
		}
		for _, x := range l.Index {
			i := slices.IndexFunc(b.Iters, func(it loop.Iter) bool { return x == expr.Expr(it.Var) })
			if i < 0 {
				ok = ok && expr.IsInt(x, 0)
				dims = append(dims, "")
				continue
			}
			v, isVar := b.Iters[i].Binding.(*expr.Var)
			if !isVar {
				ok = false
				return
			}
			dims = append(dims, v.Name)
		}
	})
	if n := len(dims); ok && n >= 2 && dims[n-2] != "" && dims[n-1] == around[len(around)-1].Var.Name {
		a.row, a.column = dims[n-2], dims[n-1]
		for _, f := range around {
			if f.Var.Name != a.row && f.Var.Name != a.column {
				a.outer = append(a.outer, f.Var.Name)
			}
		}
		return a.s.Extent(a.column) > 1 && a.unitStride(a.out, a.variable(a.out, a.column))
	}
	return false
}

func (a *attentionKernel) schedule() (string, bool, error) {
	lanes := a.cpu.Lanes(4)
	n, width := a.s.Extent(a.row), a.s.Extent(a.column)
	vecs := 1
	if width%(2*lanes) == 0 {
		vecs = 2
	}
	rows := ChooseTile(n, 2, a.cpu.Registers, 2, true).Rows
	rowLoop, row, err := a.s.Split(a.row, rows)
	if err != nil {
		return "", false, err
	}
	outer, rowLoop, err := a.pieces(rowLoop)
	if err != nil {
		return "", false, err
	}
	head := outer[len(outer)-1]
	tile, unrolled, lane, err := a.columns(a.column, vecs, lanes)
	if err != nil {
		return "", false, err
	}
	order := slices.Concat(outer, []string{rowLoop, tile, row}, unrolled, []string{lane})
	if err := a.s.Reorder(order...); err != nil {
		return "", false, err
	}
	if err := a.unrollTile(append([]string{row}, unrolled...), lane); err != nil {
		return "", false, err
	}
	if err := a.place(head, rowLoop, tile, lanes); err != nil {
		return "", false, err
	}
	return fmt.Sprintf("%d rows at a time, %d x %d accumulators of %d lanes", min(rows, n), min(rows, n), vecs, min(width, lanes)), true, a.parallelize(outer)
}

// pieces are the loops to divide among workers: over heads and, where these are few, over pieces of the blocks of rows.
func (a *attentionKernel) pieces(rowLoop string) (outer []string, inner string, err error) {
	heads, n := 1, a.s.Extent(rowLoop)
	for _, h := range a.outer {
		heads *= a.s.Extent(h)
	}
	if len(a.outer) > 0 && (heads >= shares || n < 2) {
		return a.outer, rowLoop, nil
	}
	count := strips(n, 1, heads)
	piece, inner, err := a.s.Split(rowLoop, (n+count-1)/count)
	return append(slices.Clone(a.outer), piece), inner, err
}

// columns splits a loop over contiguous elements into tiles of vectors.
func (a *attentionKernel) columns(name string, vecs, lanes int) (tile string, unrolled []string, lane string, err error) {
	vec, lane, err := a.s.Split(name, min(lanes, a.s.Extent(name)))
	if err != nil || vecs == 1 {
		return vec, nil, lane, err
	}
	tile, in, err := a.s.Split(vec, min(vecs, a.s.Extent(vec)))
	return tile, []string{in}, lane, err
}

func (a *attentionKernel) unrollTile(unrolled []string, lane string) error {
	for _, n := range unrolled {
		if err := a.s.Unroll(n); err != nil {
			return err
		}
	}
	return a.s.Vectorize(lane)
}

// place computes every stage at its loop, the last first: arranged operands at the head, the rest at the block of rows,
// the products in registers at their tiles.
func (a *attentionKernel) place(head, rowLoop, tile string, lanes int) error {
	if err := a.accumulate(a.product, tile, lanes); err != nil {
		return err
	}
	for i, block := range slices.Backward(a.Blocks[:len(a.Blocks)-1]) {
		if block == a.product || a.Stages[i].Combine != 0 && a.Stages[i].Type.Rank() > 0 && a.isFirst(i) {
			continue
		}
		at := rowLoop
		if tag := a.Stages[i].Tag; tag == lower.Keys || tag == lower.Values {
			at = head
		}
		if err := a.s.ComputeAt(block, at, loop.Worker); err != nil {
			return err
		}
		if err := a.fill(block, at, lanes); err != nil {
			return err
		}
	}
	return nil
}

// isFirst reports whether stage i is the first product: what scores, or the weights themselves, are made of.
func (a *attentionKernel) isFirst(i int) bool {
	keys := a.role(lower.Keys)
	b, _ := a.find(a.Blocks[i])
	if b == nil {
		return false
	}
	found := false
	expr.Loads(b.Body.Value, func(l *expr.Load) { found = found || l.From.Label() == keys })
	return found
}

// fill schedules a stage that was placed in scratch.
func (a *attentionKernel) fill(block, at string, lanes int) error {
	loops := a.s.Loops(block)
	loops = loops[slices.Index(loops, at)+1:]
	b, _ := a.find(block)
	switch {
	case b.Init != nil:
		return a.vectorReduction(block, at)
	case len(loops) == 0:
		return nil
	}
	if first := a.firstProduct(b); first != "" {
		tile, unrolled, lane, err := a.columns(loops[len(loops)-1], 2, lanes)
		if err != nil {
			return err
		}
		rows := loops[:len(loops)-1]
		if err := a.s.Reorder(slices.Concat([]string{tile}, rows, unrolled, []string{lane})...); err != nil {
			return err
		}
		if err := a.unrollTile(append(slices.Clone(rows), unrolled...), lane); err != nil {
			return err
		}
		return a.accumulate(first, tile, lanes)
	}
	lane := loops[len(loops)-1]
	if _, ok := a.square(block, loops, true); ok {
		return nil
	}
	a.try(func() bool { // a part of an axis may not divide into vectors
		_, _, err := a.vectorInner(block, lane)
		return err == nil
	})
	return nil
}

// firstProduct is the block of the product that b reads if it is not scheduled yet.
func (a *attentionKernel) firstProduct(b *loop.Block) string {
	found := ""
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		if i := slices.Index(a.Blocks, l.From.Label()); i >= 0 && a.isFirst(i) {
			found = a.Blocks[i]
		}
	})
	return found
}

// accumulate computes a product in registers at a loop over tiles.
func (a *attentionKernel) accumulate(block, tile string, lanes int) error {
	if err := a.s.ComputeAt(block, tile, loop.Reg); err != nil {
		return err
	}
	loops := a.s.Loops(block)
	loops = loops[slices.Index(loops, tile)+1:]
	r := loops[len(loops)-1]
	inner := loops[:len(loops)-1]
	lane := inner[len(inner)-1]
	if a.s.Extent(lane) > lanes {
		o, i, err := a.s.Split(lane, lanes)
		if err != nil {
			return err
		}
		inner, lane = append(inner[:len(inner)-1:len(inner)-1], o, i), i
	}
	if err := a.s.Reorder(append([]string{r}, inner...)...); err != nil {
		return err
	}
	if err := a.unrollTile(inner[:len(inner)-1], lane); err != nil {
		return err
	}
	if err := a.s.DecomposeReduction(block, r); err != nil {
		return err
	}
	if n := a.s.Extent(r); n > 4 && n%4 == 0 {
		_, in, err := a.s.Split(r, 4)
		if err != nil {
			return err
		}
		return a.s.Unroll(in)
	}
	return nil
}
