package impl

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/sched"
)

// The values of the decision on weights to ask for.
const (
	prefetchOff = iota
	prefetchNext
	prefetchAhead
)

// prefetchPanel has tiles ask for weights, which are read once per run of a network and so come from memory. Where several tiles
// use a panel, they ask for the next one, in slices as small as can be: many lines at once fill the miss buffers, and a panel that arrives
// while the one before is in use costs no time. The cache must hold two panels. A panel that one tile reads is a stream: what it
// reads a little later is asked for, since what arrives long before its use keeps less of memory's rate. A tile of so few rows that it waits for memory, and
// reads as many streams as memory gives fastest, asks for nothing.
func (k *kernel) prefetchPanel(t *tiling, vecTiles string, size Tile) {
	if vecTiles == "" || k.s.Extent(vecTiles) < 2 {
		return
	}
	reads := t.acc
	if t.widened != "" {
		reads = t.widened
	}
	b, around := k.find(reads)
	from := slices.IndexFunc(around, func(f *loop.For) bool { return f.Var.Name == vecTiles })
	if from < 0 {
		return
	}
	at := ""
	for _, f := range around[from+1:] {
		if _, ok := expr.IntOf(f.Extent); !ok || f.Kind != loop.Serial {
			break
		}
		at = f.Var.Name
	}
	def := prefetchOff
	if enoughStreams*max(1, t.streams) < k.core.Streams || !k.waits(reads, around[from].Var, t, size) {
		def = k.prefetchWay(reads, around[from:], at)
	}
	way := k.decide(t.decision("prefetch_panel"), def, choice.Texts("off", "on", "ahead"))
	if at == "" || way == prefetchOff {
		return
	}
	for _, a := range k.panels(reads, around[from].Var) {
		k.try(func() bool {
			if way == prefetchNext {
				seldom := k.seldom(t, reads, at, around[from+1:], size)
				return k.s.Prefetch(b.Name, a.buf.Name, vecTiles, seldom, k.pace(t, reads, seldom, size)) == nil || k.s.Prefetch(b.Name, a.buf.Name, vecTiles, at, 1) == nil
			}
			return k.s.PrefetchAhead(b.Name, a.buf.Name, at, k.ahead(b.Name, a, at)) == nil
		})
	}
}

// seldom is the innermost of some loops, of which at is the last that may ask, whose iterations take longer than to ask, but for those over parts of a sum.
func (k *kernel) seldom(t *tiling, block, at string, around []*loop.For, size Tile) string {
	if block != t.acc {
		return at
	}
	i := slices.IndexFunc(around, func(f *loop.For) bool { return f.Var.Name == at })
	for i > 0 && k.turnCycles(block, around[i].Var.Name, size) < leastTurn && around[i-1].Var.Name != t.partLoop {
		i--
	}
	return around[i].Var.Name
}

// pace bounds the iterations of a loop of which one asks for a line more: several where an iteration takes longer than to test whether it does, and
// the sums have no loops over taps, whose addresses leave no register for that of the line.
func (k *kernel) pace(t *tiling, block, at string, size Tile) int {
	if block != t.acc || k.turnCycles(block, at, size) < leastTurn {
		return 1
	}
	b, around := k.find(block)
	sums := 0
	for _, f := range around {
		if f.Kind == loop.Serial && sched.ReducesOver(b, f) && f.Var.Name != t.partLoop {
			sums++
		}
	}
	if sums > 1 {
		return 1
	}
	return mostPace
}

// waits reports whether the products of a tile are done long before the weights that follow the loop over panels are there.
func (k *kernel) waits(block string, panel *expr.Var, t *tiling, size Tile) bool {
	rows := size.Rows * size.Lines
	return rows == 1 || slices.ContainsFunc(k.panels(block, panel), func(a access) bool {
		vector := a.buf.DType.Bytes(t.lanes * int(a.each))
		return float64(rows)/float64(k.core.Units) < waitingShare*k.core.Fetched(float64(vector))
	})
}

// panels lists the loads of an accumulation that follow the loop over panels.
func (k *kernel) panels(acc string, v *expr.Var) (list []access) {
	for _, a := range k.accesses(acc) {
		if stride, linear := a.stride(v); !a.store && linear && stride > 0 {
			list = append(list, a)
		}
	}
	return list
}

// prefetchWay is how tiles best ask for panels, the loop over which is the first of those around the accumulation. To ask for what is
// in a cache takes as much of its rate as to read it.
func (k *kernel) prefetchWay(block string, around []*loop.For, at string) int {
	if k.Resident {
		return prefetchOff
	}
	for _, a := range k.panels(block, around[0].Var) {
		if k.ahead(block, a, at) > 0 && (a.buf.DType.Bytes(k.panelElements(a, around)) > Working(k.core.L2) || !k.repeats(a, around[1:], at)) {
			return prefetchAhead
		}
	}
	return prefetchNext
}

// panelElements is how far an iteration of the first of some loops is from the next in memory, or how many elements it reads where those are fewer: of a part of a panel.
func (k *kernel) panelElements(a access, around []*loop.For) int {
	stride, _ := a.at.Coef(around[0].Var)
	n := int(a.each)
	for _, f := range around[1:] {
		if step, linear := a.stride(f.Var); !linear || step != 0 {
			n *= k.s.Extent(f.Var.Name)
		}
	}
	return min(n, int(stride))
}

// repeats reports whether some loop up to at has the access read again what it has read.
func (k *kernel) repeats(a access, around []*loop.For, at string) bool {
	for _, f := range around {
		if n, linear := a.stride(f.Var); !linear || n == 0 && k.s.Extent(f.Var.Name) > 1 {
			return true
		}
		if f.Var.Name == at {
			break
		}
	}
	return false
}

// ahead is the number of iterations of a loop around the block in which the access reads so much that memory is as fast as it can be;
// 0 where iterations do not follow each other in memory.
func (k *kernel) ahead(block string, a access, at string) int {
	_, around := k.find(block)
	i := slices.IndexFunc(around, func(f *loop.For) bool { return f.Var.Name == at })
	if i < 0 {
		return 0
	}
	read, run := a.each, a.each // elements of an iteration, and those of them that are neighbours
	for _, f := range slices.Backward(around[i+1:]) {
		n, _ := a.at.Coef(f.Var)
		if n != 0 {
			read *= int64(k.s.Extent(f.Var.Name))
		}
		if n == run {
			run *= int64(k.s.Extent(f.Var.Name))
		}
	}
	if next, inside := a.at.Coef(around[i].Var); inside || next < run {
		return 0
	}
	return max(1, aheadBytes/a.buf.DType.Bytes(int(read)))
}

// prefetchEpilogue has a tile ask for the operands of its epilogue, such as a residual, and for the lines it stores to,
// while it accumulates: all are needed at once when the sums are complete, and the next tile would wait for them. What L2 holds takes no longer than
// the requests.
func (k *kernel) prefetchEpilogue(t *tiling, tile string) {
	out, acc := t.out, t.acc
	b, _ := k.find(out)
	a, around := k.find(acc)
	i := slices.IndexFunc(around, func(f *loop.For) bool { return f.Kind == loop.Serial && sched.ReducesOver(a, f) })
	if i < 0 {
		return
	}
	asked := []*loop.Buffer{}
	add := func(buf *loop.Buffer) {
		if buf != a.Body.To && !slices.Contains(asked, buf) && buf.Bytes() > Working(k.core.L2) {
			asked = append(asked, buf)
		}
	}
	expr.Loads(b.Body.Value, func(l *expr.Load) { add(l.From.(*loop.Buffer)) })
	add(b.Body.To)
	if len(asked) == 0 || !k.DecideIf(t.decision("prefetch_epilogue"), k.overlapped(t, tile, asked)) {
		return
	}
	for _, buf := range asked {
		for _, f := range around[i:] { // the outermost whose turns are enough
			if k.try(func() bool { return k.s.PrefetchTile(out, buf.Name, tile, f.Var.Name, mostAtOnce) == nil }) {
				break
			}
		}
	}
}

// overlapped reports whether the sums of a tile take as long as the lines of its epilogue do from memory. Where they take less, memory
// sets the pace, and what is asked for ahead keeps back what the sums read.
func (k *kernel) overlapped(t *tiling, tile string, asked []*loop.Buffer) bool {
	elements, bytes := 1, 0
	for _, n := range k.inside(t.out, tile) {
		elements *= k.s.Extent(n)
	}
	for _, buf := range asked {
		bytes += elements * buf.DType.Size()
	}
	sums := float64(elements) / float64(t.lanes*k.core.Units)
	reduce, _ := k.reducing(t.acc, tile)
	for _, n := range reduce {
		sums *= float64(k.s.Extent(n))
	}
	return sums >= k.core.Fetched(float64(bytes))
}
