package impl

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/sched"
)

// windowStrips schedules a reduction whose result another one reads through windows of rows, such as a convolution and the
// depthwise convolution or pooling behind it: what a strip of result rows needs is made in worker scratch, for one panel of
// channels, and read there before it leaves the cache. Rows that two strips need are computed for both.
//
//	parallel (panels, strips) {
//	  rows of the first stage: tiles of accumulators, the pointwise rest of them to scratch
//	  rows of the second: tiles of accumulators and their rest
//	}
func windowStrips(k *kernel) error {
	first, middle, second, out := k.Blocks[0], k.Blocks[1], k.Blocks[2], k.Blocks[3]
	rows, s, _ := k.windowRows(middle, second, out)
	inside := "" // the loop over the blocks of a panel
	if blocks, panel := k.panel(first, middle); panel > 1 {
		var err error
		if _, inside, err = k.s.Split(k.loopOf(out, blocks), panel); err != nil {
			return err
		}
	}
	loops := k.s.Loops(out)
	for _, n := range loops[:slices.Index(loops, rows)] {
		if n != inside {
			s.Panels *= k.s.Extent(n)
		}
	}
	s.RowBytes /= s.Panels
	list, best := s.sizes(k.core)
	once := k.core.flops(k.Flops()) / 3 // of one, two and four workers
	size := decideOne(k, "strip_rows", best, list, func(z stripSize) float64 { return z.cost * once }).rows
	strip, _, err := k.s.Split(rows, size)
	if err != nil {
		return err
	}
	loops = k.s.Loops(out)
	shared := slices.DeleteFunc(slices.Clone(loops[:slices.Index(loops, strip)+1]), func(n string) bool { return n == inside })
	if inside != "" {
		if err := k.s.Reorder(append(slices.Clone(shared), inside)...); err != nil {
			return err
		}
	}
	if _, err := k.tilePair(tiling{out: out, acc: second, below: strip, several: true}); err != nil {
		return err
	}
	if err := k.s.ComputeAt(middle, strip, loop.Worker); err != nil {
		return err
	}
	if _, err := k.tilePair(tiling{out: middle, acc: first, below: strip, several: true}); err != nil {
		return err
	}
	return k.parallelize(shared)
}

func stripsApply(k *kernel) bool {
	if len(k.Stages) != 4 || k.Stages[1].Tag != lower.Strips {
		return false
	}
	first, middle, second, out := k.Blocks[0], k.Blocks[1], k.Blocks[2], k.Blocks[3]
	_, _, ok := k.windowRows(middle, second, out)
	return ok && k.sameIndex(middle, first) && k.sameIndex(out, second)
}

// windowRows finds the loop over rows of the output, the outermost one whose rows are windows of those of the middle stage,
// and how the windows lie.
func (k *kernel) windowRows(middle, second, out string) (rows string, s Strip, ok bool) {
	b, around := k.find(second)
	m, _ := k.find(middle)
	bind := map[*expr.Var]expr.Expr{}
	for _, it := range b.Iters {
		bind[it.Var] = it.Binding
	}
	var index []arith.Linear
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		if l.From == expr.Source(m.Body.To) && index == nil {
			for _, x := range l.Index {
				index = append(index, arith.LinearOf(arith.Ranges{}.Simplify(expr.Subst(x, bind))))
			}
		}
	})
	for _, n := range k.s.Loops(out) {
		v := k.variable(second, k.loopOf(second, n))
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
				return n, Strip{
					Rows: k.s.Extent(n), Stride: int(step), Window: int(each*(taps-1)) + 1, Panels: 1,
					RowBytes: m.Body.To.Bytes() / shape[d],
				}, true
			}
		}
	}
	return "", s, false
}

// panel finds the loop over blocks of channels of a product and how many of them are a panel: those that its weights keep
// together, or that a tile takes. It is 1 if there is no such loop.
func (k *kernel) panel(acc, out string) (blocks string, count int) {
	spatial := k.s.Loops(out)
	i := len(spatial) - 1
	for i > 0 && k.s.Extent(spatial[i]) == 1 {
		i--
	}
	blocks = k.outerPart(out, acc, spatial[i], spatial[:i])
	if blocks == "" {
		return "", 1
	}
	if count = k.panelOf(acc); count == 0 {
		row := 1
		if axes := k.rowAxes(out, acc, "", spatial[i], blocks); len(axes) > 0 {
			row = k.s.Extent(axes[0])
		}
		list, best := k.core.tiles(1, row, k.s.Extent(blocks), k.core.registers(false), 0, true, reuse)
		count = list[best].Vecs
	}
	return blocks, count
}
