package strips

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/sched"
)

// schedule schedules a reduction whose result another one reads through windows of rows, such as a convolution and the
// depthwise convolution or pooling behind it: what a strip of result rows needs is made in worker scratch, for one panel of
// channels, and read there before it leaves the cache. Rows that two strips need are computed for both.
//
//	parallel (panels, strips) {
//	  rows of the first stage: tiles of accumulators, the pointwise rest of them to scratch
//	  rows of the second: tiles of accumulators and their rest
//	}
func schedule(k *impl.Kernel) error {
	first, middle, second, out := k.Blocks[0], k.Blocks[1], k.Blocks[2], k.Blocks[3]
	s := k.Schedule()
	rows, w, _ := windowRows(k, middle, second, out)
	inside := "" // the loop over the blocks of a panel
	if blocks, panel := k.Panel(out, first, middle); panel > 1 {
		var err error
		if _, inside, err = s.Split(blocks, panel); err != nil {
			return err
		}
	}
	loops := s.Loops(out)
	for _, n := range loops[:slices.Index(loops, rows)] {
		if n != inside {
			w.Panels *= s.Extent(n)
		}
	}
	w.RowBytes /= w.Panels
	list, best := w.sizes(k.Core())
	once := k.Core().Flops(k.Flops()) / 3 // of one, two and four workers
	size := impl.DecideOne(k, "strip_rows", best, list, func(z stripSize) float64 { return z.cost * once }).rows
	strip, _, err := s.Split(rows, size)
	if err != nil {
		return err
	}
	loops = s.Loops(out)
	shared := slices.DeleteFunc(slices.Clone(loops[:slices.Index(loops, strip)+1]), func(n string) bool { return n == inside })
	if inside != "" {
		if err := s.Reorder(append(slices.Clone(shared), inside)...); err != nil {
			return err
		}
	}
	if err := k.TileInside(out, second, strip); err != nil {
		return err
	}
	if err := s.ComputeAt(middle, strip, loop.Worker); err != nil {
		return err
	}
	if err := k.TileInside(middle, first, strip); err != nil {
		return err
	}
	return k.Parallelize(shared)
}

func applies(k *impl.Kernel) bool {
	if len(k.Stages) != 4 || k.Stages[1].Tag != lower.Strips {
		return false
	}
	first, middle, second, out := k.Blocks[0], k.Blocks[1], k.Blocks[2], k.Blocks[3]
	_, _, ok := windowRows(k, middle, second, out)
	return ok && k.SameIndex(middle, first) && k.SameIndex(out, second)
}

// windowRows finds the loop over rows of the output, the outermost one whose rows are windows of those of the middle stage,
// and how the windows lie.
func windowRows(k *impl.Kernel, middle, second, out string) (rows string, w strip, ok bool) {
	s := k.Schedule()
	b, around := s.Block(second)
	m, _ := s.Block(middle)
	bind := b.Bindings()
	var index []arith.Linear
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		if l.From == expr.Source(m.Body.To) && index == nil {
			for _, x := range l.Index {
				index = append(index, arith.LinearOf(arith.Ranges{}.Simplify(expr.Subst(x, bind))))
			}
		}
	})
	for _, n := range s.Loops(out) {
		v := k.LoopOver(second, n)
		if v == nil {
			continue
		}
		for d, x := range index {
			step, inside := x.Coef(v)
			if step <= 0 || inside {
				continue
			}
			for _, f := range around {
				taps, constant := expr.IntOf(f.Extent)
				each, nonlinear := x.Coef(f.Var)
				if !sched.ReducesOver(b, f) || each <= 0 || nonlinear || !constant {
					continue
				}
				shape := m.Body.To.Shape
				return n, strip{
					Rows: s.Extent(n), Stride: int(step), Window: int(each*(taps-1)) + 1, Panels: 1,
					RowBytes: m.Body.To.Bytes() / shape[d],
				}, true
			}
		}
	}
	return "", w, false
}
