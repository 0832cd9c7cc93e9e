package matrix

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/types"
)

// prefetch asks during a step of one of so many blocks for its share of the next panel: a network's weights come from beyond L2.
func (p *product) prefetch(panel expr.Expr, b block, s stage, blocks int, step []expr.Expr) loop.Stmt {
	bytes := p.weights.Strides()[0]
	lines := (bytes/loop.LineBytes + blocks*p.steps - 1) / (blocks * p.steps)
	each := p.steps / p.sumParts
	before := expr.Add(expr.Mul(s.part, expr.Index((blocks-1)*each)), expr.Mul(b.number, expr.Index(each))) // steps of other blocks
	share := expr.Add(before, p.number(step))
	at := expr.Add(expr.Mul(expr.Add(panel, expr.Index(1)), expr.Index(bytes)), expr.Mul(share, expr.Index(lines*loop.LineBytes)))
	return &loop.Prefetch{From: p.weights, At: at, Lines: min(lines, loop.MaxPrefetch)}
}

// prefetchEpilogue asks during a step of a block for its share of the lines that the rest of the group reads and
// stores: all are needed at once when the sums are complete, and nothing would be multiplied meanwhile.
func (p *product) prefetchEpilogue(panel expr.Expr, b block, step []expr.Expr) loop.Stmt {
	rows := b.rows()
	each := (rows + p.steps - 1) / p.steps
	var list []loop.Stmt
	for i := range each {
		r := expr.Add(expr.Mul(p.number(step), expr.Index(each)), expr.Index(i))
		ask := p.result(expr.Add(b.first, r), func(place func(column expr.Expr) []expr.Expr) loop.Stmt {
			var asked []loop.Stmt
			for _, a := range p.epilogue(place(expr.Mul(panel, expr.Index(p.panel*p.lanes)))) {
				bytes := a.buf.DType.Bytes(p.panel * p.lanes)
				asked = append(asked, &loop.Prefetch{From: a.buf, At: a.flat(), Lines: (bytes + loop.LineBytes - 1) / loop.LineBytes, Write: a.stored})
			}
			return build.Do(asked...)
		})
		if each*p.steps > rows {
			ask = build.When(expr.LT(r, expr.Index(rows)), ask)
		}
		list = append(list, ask)
	}
	return build.Do(list...)
}

// A touched element is read or stored by the rest of the group.
type touched struct {
	buf    *loop.Buffer
	index  []expr.Expr
	stored bool
}

// flat is the number of the element in its buffer.
func (t touched) flat() expr.Expr {
	at := expr.Expr(expr.Index(0))
	for i, stride := range t.buf.Strides() {
		at = expr.Add(at, expr.Mul(t.index[i], expr.Index(stride)))
	}
	return at
}

// epilogue is what the rest of the group stores at an index, and what it reads for that of tensors that are no smaller.
func (p *product) epilogue(index []expr.Expr) []touched {
	s := p.Finish(expr.Const(types.I32, 0), index...).(*loop.Store)
	list := []touched{{s.To, s.Index, true}}
	expr.Loads(s.Value, func(l *expr.Load) {
		buf := l.From.(*loop.Buffer)
		known := slices.ContainsFunc(list, func(t touched) bool { return t.buf == buf })
		if !known && buf.Bytes() >= s.To.Bytes() {
			list = append(list, touched{buf, l.Index, false})
		}
	})
	return list
}

// touches is what the rest of the group stores and reads, at the first element.
func (p *product) touches() []touched {
	return p.epilogue(slices.Repeat([]expr.Expr{expr.Index(0)}, len(p.Result().Shape)))
}

// covered reports whether the sums of a tile take as long as what comes of its epilogue from beyond L2. Where they take less, memory sets
// the pace, and lines that are asked for ahead keep back what the sums read.
func (p *product) covered() bool {
	set, bytes := p.Target.Tiles(), 0
	for _, t := range p.touches() {
		if t.buf.Bytes() > impl.Working(p.Target.L2) {
			bytes += t.buf.DType.Bytes(p.tileRows * p.lanes)
		}
	}
	core := impl.Core{Target: p.Target}
	return bytes > 0 && float64(p.steps*set.ProductCycles) >= core.Fetched(float64(bytes))
}
