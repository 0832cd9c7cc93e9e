package attention

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/sched"
)

// schedule schedules chained products: a block of rows goes through all stages in worker scratch before the next one,
// so that scores and weights never leave the cache. Keys and values of a head are arranged once.
//
//	parallel (heads) {
//	  keys, values = arranged operands of the head
//	  rows.o { scores = queries × keys; reductions of scores' rows; weights; context = f(weights × values) }
//	}
//
// Both products have tiles of accumulators in registers, with the same rows.
func schedule(k *impl.Kernel) error {
	a, _ := newKernel(k)
	return a.schedule()
}

func applies(k *impl.Kernel) bool {
	_, ok := newKernel(k)
	return ok
}

// newKernel finds the second product and the loops of its result.
func newKernel(k *impl.Kernel) (a *kernel, ok bool) {
	a = &kernel{Kernel: k, s: k.Schedule(), out: k.Blocks[len(k.Blocks)-1]}
	a.product = a.role(lower.Context)
	return a, a.product != "" && a.axes()
}

// role is the block of the stage with a role, if it is laid out as its axes are, or "".
func (a *kernel) role(tag string) string {
	for i, s := range a.Stages {
		if s.Tag == tag && s.Type.Layout == "" {
			return a.Blocks[i]
		}
	}
	return ""
}

type kernel struct {
	*impl.Kernel
	s            *sched.Schedule
	out, product string   // blocks
	outer        []string // output loops over heads
	row, column  string   // output loops over queries and over the columns of values
}

// axes finds which loops of the output run over heads, queries and columns: the output reads the second product at its
// own variables, in any order but for the last.
func (a *kernel) axes() bool {
	b, around := a.s.Block(a.out)
	p, _ := a.s.Block(a.product)
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
		return a.s.Extent(a.column) > 1 && a.Contiguous(a.out, a.column)
	}
	return false
}

// tileVectors are those of a tile of either product, where its columns have as many.
const tileVectors = 2

func (a *kernel) schedule() error {
	lanes := a.Core().Lanes(32)
	n, width := a.s.Extent(a.row), a.s.Extent(a.column)
	vecs := 1
	if width%(2*lanes) == 0 {
		vecs = a.DecideAmong("vectors", 2, nil, 1)
	}
	steps := a.Flops() / float64(2*n*tileVectors*lanes) // of both products
	rows := a.DecideRows("rows", n, tileVectors, steps)
	rowLoop, row, err := a.s.Split(a.row, rows)
	if err != nil {
		return err
	}
	outer, rowLoop, err := a.pieces(rowLoop)
	if err != nil {
		return err
	}
	head := outer[len(outer)-1]
	tile, unrolled, lane, err := a.columns(a.column, vecs, lanes)
	if err != nil {
		return err
	}
	order := slices.Concat(outer, []string{rowLoop, tile, row}, unrolled, []string{lane})
	if err := a.s.Reorder(order...); err != nil {
		return err
	}
	if err := a.UnrollTile(append([]string{row}, unrolled...), lane); err != nil {
		return err
	}
	if err := a.place(head, rowLoop, tile, lanes); err != nil {
		return err
	}
	return a.Parallelize(outer)
}

// pieces are the loops to divide among workers: over heads and, where these are few, over pieces of the blocks of rows, each of which
// arranges keys and values for itself.
func (a *kernel) pieces(rowLoop string) (outer []string, inner string, err error) {
	heads, n := 1, a.s.Extent(rowLoop)
	for _, h := range a.outer {
		heads *= a.s.Extent(h)
	}
	if len(a.outer) > 0 && (impl.EnoughParts(heads) || n < 2) {
		return a.outer, rowLoop, nil
	}
	arranged := 0.0
	for _, s := range a.Stages {
		if s.Tag == lower.Keys || s.Tag == lower.Values {
			arranged += float64(s.Type.Elements()) / float64(heads)
		}
	}
	count := a.DecidePieces("pieces", n, heads, a.Core().Arranged(arranged), a.Core().Flops(a.Flops()/float64(heads*n)))
	piece, inner, err := a.s.Split(rowLoop, (n+count-1)/count)
	return append(slices.Clone(a.outer), piece), inner, err
}

// columns splits a loop over contiguous elements into tiles of vectors.
func (a *kernel) columns(name string, vecs, lanes int) (tile string, unrolled []string, lane string, err error) {
	vec, lane, err := a.s.Split(name, min(lanes, a.s.Extent(name)))
	if err != nil || vecs == 1 {
		return vec, nil, lane, err
	}
	tile, in, err := a.s.Split(vec, min(vecs, a.s.Extent(vec)))
	return tile, []string{in}, lane, err
}
