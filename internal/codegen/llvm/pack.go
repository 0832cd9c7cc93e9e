package llvm

import (
	"cmp"
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/isa"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// A packing is a nest of unrolled loops around a vector loop that stores bytes, of which one loop's vectors lie one after the other in memory.
type packing struct {
	instructions *isa.Pack
	around       []*loop.For // unrolled, outermost first
	along        int         // of around, whose vectors are neighbours
	vector       *loop.For
	store        *loop.Store
	step         step
}

// packed emits a nest of unrolled loops whose vectors of quantised bytes are neighbours in memory four at a time: what four compute is narrowed together and
// stored as one, by two instructions to words, one to bytes and, of several parts of 128 bits, one that orders them. By itself each takes four to be narrowed, and a store.
// Of what is left two are taken together, and a last one alone. It reports false, having emitted nothing, for any other loop.
//
//	unroll i in 0..4 { vector j in 0..8 { y[i, j] = uint8(round(x[i, j]) + 3.0) } }
func (e *emitter) packed(f *loop.For) bool {
	p, ok := e.packingOf(f)
	if !ok {
		return false
	}
	along := p.around[p.along]
	first, _ := expr.IntOf(along.Min)
	n, _ := expr.IntOf(along.Extent)
	for at := int64(0); at < n; {
		size := int64(4)
		for size > n-at {
			size /= 2
		}
		e.packedRun(p, 0, first+at, int(size))
		at += size
	}
	return true
}

// packingOf recognises such a nest.
func (e *emitter) packingOf(f *loop.For) (p packing, ok bool) {
	if e.vec != nil || e.mask != "" || e.target == nil {
		return p, false
	}
	var body loop.Stmt = f
	for p.vector == nil {
		l, isLoop := body.(*loop.For)
		if !isLoop || !constantBounds(l) {
			return p, false
		}
		switch l.Kind {
		case loop.Unrolled:
			p.around = append(p.around, l)
		case loop.Vector:
			p.vector = l
		default:
			return p, false
		}
		body = l.Body
	}
	if p.store, ok = body.(*loop.Store); !ok || p.store.To.Scope == loop.Reg || p.store.To.DType.Bits() != 8 {
		return p, false
	}
	if p.step, ok = stepOf(p.store.Value); !ok || p.step.to != p.store.To.DType || !p.step.fitsWords() {
		return p, false
	}
	lanes, _ := expr.IntOf(p.vector.Extent)
	if p.instructions = e.target.Pack(int(lanes)); p.instructions == nil {
		return p, false
	}
	expr.Loads(p.store.Value, func(l *expr.Load) { ok = ok && l.From != expr.Source(p.store.To) })
	if !ok {
		return p, false
	}
	p.along, ok = e.neighbours(p, lanes)
	return p, ok
}

// fitsWords reports whether words hold the rounded operand of s: its constant is added to them.
func (s step) fitsWords() bool {
	lo, hi := s.to.IntRange()
	least, most := types.I16.IntRange()
	return float64(lo)-s.c >= float64(least) && float64(hi)-s.c <= float64(most)
}

// neighbours finds the loop whose vectors, of so many bytes, lie one after the other, where no two iterations of the nest store the same byte: they change their
// order. The loops' variables are out of scope behind it.
func (e *emitter) neighbours(p packing, lanes int64) (along int, ok bool) {
	type stride struct{ by, n int64 }
	var strides []stride
	for _, l := range append(p.around, p.vector) {
		delete(e.env, l.Var)
		first, _ := expr.IntOf(l.Min)
		n, _ := expr.IntOf(l.Extent)
		e.ranges[l.Var] = arith.Interval{Lo: first, Hi: first + n - 1}
	}
	at := e.flat(p.store.To, p.store.Index)
	along = -1
	for i, l := range append(p.around, p.vector) {
		c, mixed := at.Coef(l.Var)
		n, _ := expr.IntOf(l.Extent)
		if mixed || l == p.vector && c != 1 {
			return 0, false
		}
		if l != p.vector && along < 0 && c == lanes && n > 1 {
			along = i
		}
		strides = append(strides, stride{max(c, -c), n})
	}
	slices.SortFunc(strides, func(a, b stride) int { return cmp.Compare(a.by, b.by) })
	span := int64(1)
	for _, s := range strides {
		if s.n > 1 && s.by < span {
			return 0, false
		}
		span += s.by * (s.n - 1)
	}
	return along, along >= 0
}

// constantBounds reports whether a loop's bounds are numbers.
func constantBounds(f *loop.For) bool {
	_, first := expr.IntOf(f.Min)
	_, n := expr.IntOf(f.Extent)
	return first && n
}

// packedRun emits iterations [first, first + size) of the loop along which vectors are neighbours, in the loops from the i-th on.
func (e *emitter) packedRun(p packing, i int, first int64, size int) {
	if i == p.along {
		i++
	}
	if i < len(p.around) {
		l := p.around[i]
		from, _ := expr.IntOf(l.Min)
		n, _ := expr.IntOf(l.Extent)
		for k := from; k < from+n; k++ {
			e.fix(l.Var, k)
			e.packedRun(p, i+1, first, size)
		}
		return
	}
	along := p.around[p.along].Var
	lo, lanes := e.expr(p.vector.Min), p.instructions.Lanes
	values := make([]value, size)
	for k := range values {
		e.fix(along, first+int64(k))
		e.vector(p.vector.Var, lo, lanes, func() {
			v := e.limited(p.step)
			values[k] = e.callTo(types.I32, "", fmt.Sprintf("lrint.v%di32.v%df32", lanes, lanes), e.splat(v, lanes))
		})
	}
	e.fix(along, first)
	x := &expr.Var{Name: "bytes", Type: p.step.to}
	e.env[x] = values[0]
	if size == 1 {
		e.env[x] = e.cast(p.step.to, e.arith("add", values[0], constInt(int64(p.step.c), types.I32)))
	} else {
		e.env[x] = e.joinedBytes(p, values)
	}
	e.vector(p.vector.Var, lo, size*lanes, func() { e.store(&loop.Store{To: p.store.To, Index: p.store.Index, Value: x}) })
}

// fix gives a variable of an unrolled loop its number.
func (e *emitter) fix(v *expr.Var, i int64) {
	e.bind(v, constInt(i, types.I64))
	e.ranges[v] = arith.Point(i)
}

// joinedBytes is the bytes of two vectors of 32-bit numbers, or of four, one after the other. Each instruction puts what it makes of a part of 128 bits into
// that part, where it stays until the last puts all in order.
func (e *emitter) joinedBytes(p packing, values []value) value {
	lanes := p.instructions.Lanes
	pairwise := func(name string, to types.DType, a, b value) value {
		r := value{t: to, lanes: 2 * a.lanes}
		e.declare(fmt.Sprintf("%s @llvm.%s(%s, %s)", r.typ(), name, a.typ(), b.typ()))
		r.s = e.temp("call %s @llvm.%s(%s, %s)", r.typ(), name, a, b)
		return r
	}
	var words []value
	for k := 0; k < len(values); k += 2 {
		w := pairwise(p.instructions.Words, types.I16, values[k], values[k+1])
		words = append(words, e.arith("add", w, constInt(int64(p.step.c), types.I16)))
	}
	name := p.instructions.Signed
	if p.step.to == types.U8 {
		name = p.instructions.Unsigned
	}
	bytes := pairwise(name, p.step.to, words[0], words[len(words)-1])
	const partLanes = partBits / 32
	parts := lanes / partLanes
	dwords := value{t: types.I32, lanes: lanes, s: e.temp("bitcast %s to <%d x i32>", bytes, lanes)}
	if parts > 1 || len(values) < 4 {
		dwords = e.shuffle(dwords, lanes*len(values)/4, func(i int) int { return i%parts*partLanes + i/parts })
	}
	r := value{t: p.step.to, lanes: lanes * len(values)}
	r.s = e.temp("bitcast %s to %s", dwords, r.typ())
	return r
}
