package impl

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// A Tile is a block of accumulators in registers: Rows times Vecs vectors.
type Tile struct{ Rows, Vecs int }

// ChooseTile picks the tile for an output of rows by vecs vectors on a machine with regs vector registers. The cost of
// a step of the reduction is the most of: two multiply-adds a cycle, the latency of four cycles (with some slack: eight accumulators reach 92 % of peak), two loads a cycle.
// broadcast tells whether one operand is shared by the vectors of a row (a product); without it vectors are not tiled.
// A packed operand may force the number of vectors; 0 leaves it free among the divisors of vecs.
func ChooseTile(rows, vecs, regs, forced int, broadcast bool) Tile {
	best, bestCost := Tile{1, max(1, forced)}, 0.0
	for v := 1; v <= min(4, vecs); v++ {
		if forced > 0 && v != forced {
			continue
		}
		if v > 1 && forced == 0 && (!broadcast || vecs%v != 0) {
			continue
		}
		for r := 1; r <= min(28, rows); r++ {
			if r*v+v+1 > regs {
				break
			}
			step := func(r, v int) float64 {
				if r == 0 || v == 0 {
					return 0
				}
				return max(float64(r*v)/2, 4.4, float64(r+v)/2)
			}
			cost := float64(vecs/v) * (float64(rows/r)*step(r, v) + step(rows%r, v))
			// Equal costs: fewer tails, then larger tiles, which reuse more.
			cost *= 1 - 0.001*float64(r*v)/float64(regs)
			if rows%r != 0 {
				cost *= 1.01
			}
			if bestCost == 0 || cost < bestCost {
				best, bestCost = Tile{r, v}, cost
			}
		}
	}
	return best
}

// tile schedules a reduction that has a spatial axis contiguous in memory: accumulators for a few rows and vectors of
// the output stay in registers over the whole reduction, and the pointwise rest of the group runs on them before the
// store.
//
//	parallel (outer axes) { rows.o { acc = 0; reduce { rows.i × vecs × lanes: acc += ... }; y = f(acc) } }
func tile(k *kernel) (string, bool, error) {
	if len(k.Stages) != 2 {
		return "", false, nil
	}
	out, acc := k.outBlock(), k.accBlock()
	spatial := k.s.Loops(out)
	lane := ""
	for _, n := range slices.Backward(spatial) {
		if k.s.Extent(n) > 1 {
			lane = n
			break
		}
	}
	if lane == "" || !k.sameIndex(out, acc) {
		return "", false, nil
	}
	b, _ := k.find(out)
	lanes := k.cpu.Lanes(max(4, b.Body.To.DType.Size()))
	n := k.s.Extent(lane)
	k.splitBlockedReductions(acc)
	outer := ""
	if i := slices.Index(spatial, lane); n == lanes && i > 0 {
		outer = k.outerPart(out, acc, lane, spatial[:i])
	}
	forced := k.packedVecs(acc, accLoop(out, acc, outer))
	panel := 0
	if n > lanes {
		panel = k.packedVecs(acc, accLoop(out, acc, lane))
	}
	if !k.vectorAxis(accLoop(out, acc, lane), accLoop(out, acc, outer), acc, lanes, forced, panel) {
		return "", false, nil
	}
	// From here on the rule applies: lane is the axis of vectors.
	vecLoop := outer
	if n > lanes {
		if panel > lanes && panel < n { // the loop over panels is an outer one; the vectors of a panel are the tile's
			_, i, err := k.s.Split(lane, panel)
			if err != nil {
				return "", false, err
			}
			lane = i
		}
		o, i, err := k.s.Split(lane, lanes)
		if err != nil {
			return "", false, err
		}
		vecLoop, lane = o, i
	}
	if panel > lanes {
		forced = panel / lanes
	}
	rowLoop := k.rowAxis(out, acc, lane, vecLoop)
	broadcast := k.broadcasts(out, acc, lane)
	rows, vecs := 1, 1
	if rowLoop != "" {
		rows = k.s.Extent(rowLoop)
	}
	if vecLoop != "" {
		vecs = k.s.Extent(vecLoop)
	}
	t := ChooseTile(rows, vecs, k.cpu.Registers, forced, broadcast)
	if rowLoop == "" && !broadcast {
		t.Vecs = min(vecs, 4) // independent accumulators hide the latency
	}
	order, err := k.applyTile(out, acc, lane, rowLoop, vecLoop, t)
	if err != nil {
		return "", false, err
	}
	return fmt.Sprintf("%d x %d accumulators of %d lanes", t.Rows, t.Vecs, min(n, lanes)), true, k.parallelize(order)
}

// applyTile splits, orders and places everything; it returns the loops to divide among workers.
func (k *kernel) applyTile(out, acc, lane, rowLoop, vecLoop string, t Tile) ([]string, error) {
	var inner, outer []string
	if vecLoop != "" && t.Vecs >= 1 {
		o, i, err := k.splitTile(vecLoop, t.Vecs)
		if err != nil {
			return nil, err
		}
		if i != "" {
			inner = append(inner, i)
		}
		vecLoop = o
	}
	if rowLoop != "" {
		o, i, err := k.splitTile(rowLoop, t.Rows)
		if err != nil {
			return nil, err
		}
		if i != "" {
			inner = append([]string{i}, inner...)
		}
		rowLoop = o
	}
	for _, n := range k.s.Loops(out) {
		if n != lane && !slices.Contains(inner, n) && n != rowLoop {
			outer = append(outer, n)
		}
	}
	if rowLoop != "" {
		outer = append(outer, rowLoop)
	}
	if len(outer) == 0 { // the output is one tile: a loop of one iteration holds the accumulators
		o, i, err := k.s.Split(lane, k.s.Extent(lane))
		if err != nil {
			return nil, err
		}
		outer, lane = []string{o}, i
	}
	if err := k.s.Reorder(slices.Concat(outer, inner, []string{lane})...); err != nil {
		return nil, err
	}
	at := outer[len(outer)-1]
	for _, n := range inner {
		if err := k.s.Unroll(n); err != nil {
			return nil, err
		}
	}
	if err := k.s.Vectorize(lane); err != nil {
		return nil, err
	}
	if err := k.s.ComputeAt(acc, at, loop.Reg); err != nil {
		return nil, err
	}
	if err := k.scheduleAcc(acc, at, accLoop(out, acc, base(vecLoop)), k.s.Extent(lane)); err != nil {
		return nil, err
	}
	// The loop that holds the accumulators is divided only when it is the only one.
	if len(outer) > 1 {
		return outer[:len(outer)-1], nil
	}
	return outer, nil
}

// splitTile divides a loop by the tile size; a loop that is one tile as a whole gets an outer loop of one iteration.
func (k *kernel) splitTile(name string, size int) (outer, inner string, err error) {
	if size <= 1 {
		return name, "", nil
	}
	return k.s.Split(name, size)
}

// scheduleAcc orders the accumulation: reductions outside, rows and vectors unrolled, lanes innermost. Vectors stand
// inside rows: the few vectors of an operand stay in registers while rows are broadcast one by one.
func (k *kernel) scheduleAcc(acc, at, vecAxis string, lanes int) error {
	loops := k.s.Loops(acc)
	i := slices.Index(loops, at)
	loops = loops[i+1:]
	b, around := k.find(acc)
	reduce := map[string]bool{}
	for _, f := range around {
		for _, it := range b.Iters {
			if it.Reduce && expr.Uses(it.Binding, f.Var) {
				reduce[f.Var.Name] = true
			}
		}
	}
	var rs, ss []string
	for _, n := range loops {
		if reduce[n] {
			rs = append(rs, n)
		} else {
			ss = append(ss, n)
		}
	}
	if i := slices.Index(ss, vecAxis+".t"); i >= 0 && i < len(ss)-1 {
		lane := ss[len(ss)-1]
		ss = slices.Delete(slices.Clone(ss[:len(ss)-1]), i, i+1)
		ss = append(ss, vecAxis+".t", lane)
	}
	if last := len(ss) - 1; last >= 0 && k.s.Extent(ss[last]) > lanes {
		o, i, err := k.s.Split(ss[last], lanes)
		if err != nil {
			return err
		}
		ss = append(ss[:last:last], o, i)
	}
	rs = k.orderReductions(acc, rs)
	if err := k.s.Reorder(append(slices.Clone(rs), ss...)...); err != nil {
		return err
	}
	for j, n := range ss {
		var err error
		if j == len(ss)-1 && k.unitStride(acc, k.variable(acc, n)) {
			err = k.s.Vectorize(n)
		} else {
			err = k.s.Unroll(n)
		}
		if err != nil {
			return err
		}
	}
	if len(rs) == 0 {
		return nil
	}
	if err := k.s.DecomposeReduction(acc, rs[0]); err != nil {
		return err
	}
	last := rs[len(rs)-1]
	if n := k.s.Extent(last); n > 2 {
		u := 2
		if n%4 == 0 && len(ss) > 0 {
			u = 4
		}
		if n%u == 0 {
			_, in, err := k.s.Split(last, u)
			if err != nil {
				return err
			}
			return k.s.Unroll(in)
		}
	}
	return nil
}

// orderReductions puts the loop with the smallest stride innermost, so that memory is streamed.
func (k *kernel) orderReductions(acc string, rs []string) []string {
	stride := func(n string) int64 {
		v, most := k.variable(acc, n), int64(0)
		for _, a := range k.accesses(acc) {
			if !a.store {
				if s, ok := a.stride(v); ok {
					most = max(most, max(s, -s))
				}
			}
		}
		return most
	}
	rs = slices.Clone(rs)
	slices.SortStableFunc(rs, func(a, b string) int { return int(stride(b) - stride(a)) })
	return rs
}

// splitBlockedReductions splits each reduction loop by the block in which its operand is laid out, so that quotients
// and remainders of the loop variable disappear from the addresses.
func (k *kernel) splitBlockedReductions(acc string) {
	b, around := k.find(acc)
	for _, f := range around {
		block := int64(0)
		for _, it := range b.Iters {
			if !it.Reduce || it.Binding != expr.Expr(f.Var) {
				continue
			}
			expr.Walk(b.Body.Value, func(e expr.Expr) bool {
				if x, ok := e.(*expr.Binary); ok && (x.Op == expr.OpFloorDiv || x.Op == expr.OpFloorMod) && expr.Uses(x.A, it.Var) {
					if c, ok := expr.IntOf(x.B); ok {
						block = c
					}
				}
				return true
			})
		}
		n, _ := expr.IntOf(f.Extent)
		if block > 1 && n > block {
			k.s.Split(f.Var.Name, int(block))
		}
	}
}

// accBlock is the block of the only intermediate stage.
func (k *kernel) accBlock() string { return k.Blocks[0] }

// sameIndex reports whether the output block reads the accumulator at its own index only.
func (k *kernel) sameIndex(out, acc string) bool {
	ob, _ := k.find(out)
	ab, _ := k.find(acc)
	same := len(ob.Body.Index) == len(ab.Body.Index)
	expr.Loads(ob.Body.Value, func(l *expr.Load) {
		if l.From != expr.Source(ab.Body.To) {
			return
		}
		for i, x := range l.Index {
			if !same || ob.Body.To.Shape[i] > 1 && !arith.Equal(x, ob.Body.Index[i]) {
				same = false
			}
		}
	})
	return same
}

// vectorAxis reports whether a loop of the accumulation is a good axis of vectors: every access, once the loop is split
// into vectors and the loop over blocks as its packed operand asks, has stride 0 or 1 in it, and some load has stride 1.
func (k *kernel) vectorAxis(lane, outer, acc string, lanes, forced, panel int) bool {
	ok := false
	k.try(func() bool {
		if forced > 1 && outer != "" {
			if _, _, err := k.s.Split(outer, forced); err != nil {
				return false
			}
		}
		if panel > lanes && panel < k.s.Extent(lane) {
			_, i, err := k.s.Split(lane, panel)
			if err != nil {
				return false
			}
			lane = i
		}
		if k.s.Extent(lane) > lanes {
			_, i, err := k.s.Split(lane, lanes)
			if err != nil {
				return false
			}
			lane = i
		}

		v := k.variable(acc, lane)
		if v == nil {
			return false
		}
		for _, a := range k.accesses(acc) {
			n, linear := a.stride(v)
			if !linear || n != 0 && n != 1 {
				ok = false
				return false
			}
			ok = ok || n == 1 && !a.store
		}
		return false
	})
	return ok
}

// packedVecs is the number of vectors that an operand packed in wider blocks keeps together: c/a when a load's address
// has a quotient by c of a sum in which the named loop counts steps of a. 0 when no operand is packed so.
func (k *kernel) packedVecs(acc, outer string) int {
	v := k.variable(acc, outer)
	if v == nil {
		return 0
	}
	b, _ := k.find(acc)
	bind := map[*expr.Var]expr.Expr{}
	for _, it := range b.Iters {
		bind[it.Var] = it.Binding
	}
	vecs := 0
	expr.Walk(expr.Subst(b.Body.Value, bind), func(e expr.Expr) bool {
		if x, ok := e.(*expr.Binary); ok && x.Op == expr.OpFloorMod {
			c, _ := expr.IntOf(x.B)
			if a, _ := arith.LinearOf(x.A).Coef(v); a > 0 && c%a == 0 {
				vecs = int(c / a)
			}
		}
		return true
	})
	return vecs
}

// accLoop is the accumulation's own loop for an output loop: lowering names both by the axis.
func accLoop(out, acc, name string) string {
	if len(name) <= len(out) || name[:len(out)] != out {
		return ""
	}
	return acc + name[len(out):]
}

// depends tells for each load of the accumulation whether it depends on an output loop.
func (k *kernel) depends(out, acc, name string) []bool {
	v := k.variable(acc, accLoop(out, acc, base(name)))
	var list []bool
	for _, a := range k.accesses(acc) {
		if a.store {
			continue
		}
		n, linear := int64(1), true
		if v != nil {
			n, linear = a.stride(v)
		}
		list = append(list, v != nil && (!linear || n != 0))
	}
	return list
}

// broadcasts reports whether some load of the accumulation does not depend on the vector axis.
func (k *kernel) broadcasts(out, acc, lane string) bool {
	return slices.Contains(k.depends(out, acc, lane), false)
}

// base strips the suffixes that splitting added to a loop's name: the axis follows the last underscore.
func base(name string) string {
	at := strings.LastIndexByte(name, '_')
	if i := strings.IndexByte(name[at+1:], '.'); i >= 0 {
		return name[:at+1+i]
	}
	return name
}

// outerPart finds the loop over blocks of the vector axis: the one that the same loads depend on.
func (k *kernel) outerPart(out, acc, lane string, candidates []string) string {
	want := k.depends(out, acc, lane)
	for _, n := range candidates {
		if k.s.Extent(n) > 1 && slices.Equal(k.depends(out, acc, n), want) && slices.Contains(want, false) {
			return n
		}
	}
	return ""
}

// rowAxis picks the axis of tile rows: the innermost loop that some load of vectors does not depend on, so that a vector
// is used once per row; else the innermost other loop.
func (k *kernel) rowAxis(out, acc, lane, vecLoop string) string {
	loops := k.s.Loops(out)
	lanes := k.depends(out, acc, lane)
	fallback := ""
	for _, n := range slices.Backward(loops) {
		if base(n) == base(lane) || n == vecLoop || k.s.Extent(n) < 2 {
			continue
		}
		d := k.depends(out, acc, n)
		for i := range d {
			if lanes[i] && !d[i] {
				return n
			}
		}
		if fallback == "" {
			fallback = n
		}
	}
	return fallback
}
