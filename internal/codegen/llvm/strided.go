package llvm

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// strided loads a vector whose lanes are a constant distance apart, backwards or forwards, as contiguous vectors of which
// it takes the lanes. Nothing is read outside the first and the last element unless at, the index of all lanes, shows that
// it lies in the buffer: taps of one window then read the same vectors and take other lanes. Under a mask whose lanes are known it is the
// first and the last element of those.
func (e *emitter) strided(b *loop.Buffer, p place, at arith.Linear) (value, bool) {
	n, step := e.lanes, int(abs(p.coef))
	if step > min(loop.MaxStride, max(1, n/2)) {
		return value{}, false
	}
	if e.mask != "" {
		places := make([]int, n)
		for i := range places {
			places[i] = i * int(p.coef)
		}
		return e.gatherActive(b, p, places)
	}
	low, high := 0, (n-1)*step // of the elements that are loaded, from the lowest lane's on
	if p.coef < 0 {
		p.off -= int64(high)
	}
	span := at.Range(e.ranges)
	if before := int(p.off - int64(step)*arith.FloorDiv(p.off, int64(step))); span.Lo >= int64(before) {
		low = -before
	}
	if end := low + n*step - 1; end > high && span.Hi+int64(end-high) < int64(types.Count(b.Shape)) {
		high = end
	}
	places := make([]int, n)
	for i := range places {
		places[i] = i * step
		if p.coef < 0 {
			places[i] = (n - 1 - i) * step
		}
	}
	return e.gather(b, p, low, high, places), true
}

// patterned loads a vector whose lanes are constant distances apart, near each other and in any order, as those of an enlarged
// image are, which are each several times the same: contiguous vectors from the lowest to the highest, of which it takes the lanes.
func (e *emitter) patterned(b *loop.Buffer, at arith.Linear) (value, bool) {
	if e.vec == nil || !e.vecBase.known {
		return value{}, false
	}
	whole := at.Expr()
	lane := func(i int) arith.Linear {
		x := &expr.Int{V: e.vecBase.i + int64(i), Type: e.vec.Type}
		return arith.LinearOf(e.ranges.Simplify(expr.Subst(whole, map[*expr.Var]expr.Expr{e.vec: x})))
	}
	first := lane(0)
	places := make([]int, e.lanes)
	for i := range places {
		d := lane(i).Sub(first)
		if len(d.Terms) > 0 || d.Const != int64(int(d.Const)) {
			return value{}, false
		}
		places[i] = int(d.Const)
	}
	low, high := slices.Min(places), slices.Max(places)
	p := e.place(first)
	if high-low >= 2*e.lanes || high == low || !p.ok || p.coef != 0 {
		return value{}, false
	}
	if e.mask != "" {
		return e.gatherActive(b, p, places)
	}
	return e.gather(b, p, low, high, places), true
}

// gatherActive gathers the elements of the lanes that the mask is known to have. The others get some of those, too.
func (e *emitter) gatherActive(b *loop.Buffer, p place, places []int) (value, bool) {
	low, high := math.MaxInt, math.MinInt
	for i, active := range e.active {
		if active {
			low, high = min(low, places[i]), max(high, places[i])
		}
	}
	if low > high {
		return value{}, false
	}
	inside := make([]int, len(places))
	for i, at := range places {
		inside[i] = min(max(at, low), high)
	}
	p.coef = 0
	return e.gather(b, p, low, high, inside), true
}

// gather loads the elements from low to high, counted from p, as contiguous vectors, and makes a vector of those at the places.
func (e *emitter) gather(b *loop.Buffer, p place, low, high int, places []int) value {
	n, have := len(places), high-low+1
	width := 1 << bits.Len(uint(n-1)) // of a contiguous load
	for width > have {
		width /= 2
	}
	var chunks []chunk
	for from := 0; from < have; from += width {
		c := chunk{at: low + min(from, have-width)}
		q := p
		q.off += int64(c.at)
		ptr, align := e.address(b, q)
		c.v = value{t: b.DType, lanes: width, s: e.temp("load %s, ptr %s, align %d", memType(b.DType, width), ptr, align)}
		chunks = append(chunks, c)
	}
	return e.widen(value{t: b.DType, lanes: n, s: e.pick(memType(b.DType, width), memType(b.DType, 0), width, chunks, places)})
}

// A chunk is a vector of consecutive elements, the first of which is at.
type chunk struct {
	at int
	v  value
}

// pick makes a vector of the elements at the given places out of the chunks that hold them, two at a time.
func (e *emitter) pick(typ, element string, width int, chunks []chunk, places []int) string {
	n := len(places)
	from := make([]int, n) // the chunk that an element is taken from
	for i, at := range places {
		for from[i] < len(chunks)-1 && chunks[from[i]].at+width <= at {
			from[i]++
		}
	}
	result := ""
	for c := 0; c < len(chunks); c += 2 {
		other := min(c+1, len(chunks)-1)
		some := false
		index := make([]string, n)
		for i, at := range places {
			switch from[i] {
			case c:
				index[i], some = fmt.Sprintf("i32 %d", at-chunks[c].at), true
			case other:
				index[i], some = fmt.Sprintf("i32 %d", width+at-chunks[other].at), true
			default:
				index[i] = "i32 poison"
			}
		}
		if !some {
			continue
		}
		part := e.temp("shufflevector %s %s, %s %s, <%d x i32> <%s>", typ, chunks[c].v.s, typ, chunks[other].v.s, n, strings.Join(index, ", "))
		if result == "" {
			result = part
			continue
		}
		for i := range places {
			index[i] = fmt.Sprintf("i32 %d", i)
			if from[i] == c || from[i] == other {
				index[i] = fmt.Sprintf("i32 %d", n+i)
			}
		}
		whole := fmt.Sprintf("<%d x %s>", n, element)
		result = e.temp("shufflevector %s %s, %s %s, <%d x i32> <%s>", whole, result, whole, part, n, strings.Join(index, ", "))
	}
	return result
}
