package llvm

import (
	"fmt"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/isa"
	"lathe/internal/loop"
)

// tiles are the registers of matrices: which buffers and operands they hold. The emitter names them itself, for LLVM knows neither that one
// configuration serves many loops nor which operand to load again. Without such registers set is nil, and matrix loops are plain ones.
type tiles struct {
	set     *isa.Tiles
	regions map[*loop.Alloc]*tileRegion
	usual   *tileRegion // whose configuration holds outside of regions
	now     *tileRegion // that is being emitted
	held    []string    // what each register holds of an operand; "": nothing
	used    []int       // when it was used last
	clock   int
}

// forget is called where a register may not hold any more what memory does, or the way to here is not known.
func (t *tiles) forget() { clear(t.held) }

// beginTiles configures the registers for the first region of the function.
func (e *emitter) beginTiles(s loop.Stmt) {
	if e.target == nil || e.target.Tiles() == nil {
		return
	}
	t := &e.tiles
	*t = tiles{set: e.target.Tiles(), regions: map[*loop.Alloc]*tileRegion{}}
	t.held, t.used = make([]string, t.set.Registers), make([]int, t.set.Registers)
	loop.Walk(s, func(s loop.Stmt) bool {
		a, ok := s.(*loop.Alloc)
		if !ok || a.Buffer.Scope != loop.Tiles {
			return true
		}
		t.regions[a] = e.regionOf(a)
		if t.usual == nil {
			t.usual = t.regions[a]
			e.configure(t.usual)
		}
		return false
	})
}

// endTiles gives the registers back: the system need not save what they held.
func (e *emitter) endTiles() {
	if e.tiles.usual != nil {
		e.tileCall(e.tiles.set.Release, "", "")
	}
}

func (e *emitter) configure(r *tileRegion) { e.tileCall(e.tiles.set.Configure, "ptr", r.config) }

// tileCall calls an intrinsic whose operands have the given types, of which those of the i8 are numbers of registers.
func (e *emitter) tileCall(name, types string, operands ...string) {
	var list []string
	for i, t := range strings.Fields(types) {
		list = append(list, t+" "+operands[i])
	}
	e.declare(fmt.Sprintf("void @llvm.%s(%s)", name, strings.Join(strings.Fields(types), ", ")))
	e.effect("call void @llvm.%s(%s)", name, strings.Join(list, ", "))
}

// tileOf is the rows and columns of a tile of a buffer, and how many it has.
func tileOf(b *loop.Buffer) (rows, columns, n int) {
	last := len(b.Shape) - 2
	n = 1
	for _, d := range b.Shape[:last] {
		n *= d
	}
	return b.Shape[last], b.Shape[last+1], n
}

// A matrixOp is an operation on whole tiles.
type matrixOp struct{ *loop.MatrixOp }

func matrixOpOf(f *loop.For) matrixOp {
	op, err := loop.MatrixOpOf(f)
	if err != nil {
		fail("%v", err)
	}
	if rows, columns, _ := tileOf(op.Tile); rows != op.Rows || columns != op.Columns {
		fail("an operation on a part of a tile of %s", op.Tile.Name)
	}
	return matrixOp{op}
}

// operandShapes are those of a product's operands.
func (op matrixOp) operandShapes() (left, right tileShape) {
	return tileShape{op.Rows, op.Depth * expr.DotWidth, false}, tileShape{op.Depth, op.Columns * expr.DotWidth, true}
}

// matrixOp emits an operation on tiles.
func (e *emitter) matrixOp(f *loop.For) {
	op, t := matrixOpOf(f), &e.tiles
	if t.now == nil {
		fail("matrix loops outside of the tiles' allocation")
	}
	for v, n := range map[*expr.Var]int{op.M: op.Rows, op.N: op.Columns, op.K: op.Depth} {
		if v != nil {
			e.ranges[v] = arith.Span(n)
		}
	}
	tile := fmt.Sprint(e.tileNumber(op))
	switch {
	case op.Store != nil:
		ptr, stride := e.matrix(op.Store.To, op.Store.Index, op.M, op.N, 1, nil)
		e.tileCall(t.set.Store, "i8 ptr i64", tile, ptr(), stride)
		t.forget()
	case op.Load != nil:
		ptr, stride := e.matrix(op.Load.From.(*loop.Buffer), op.Load.Index, op.M, op.N, 1, nil)
		e.tileCall(t.set.Load, "i8 ptr i64", tile, ptr(), stride)
	case op.Product == nil:
		e.tileCall(t.set.Zero, "i8", tile)
	default:
		d := op.Product
		left, right := op.operandShapes()
		a := e.operand(left, d.A, op.M, op.K, op.N)
		b := e.operand(right, d.B, op.K, op.N, op.M)
		e.tileCall(e.tileProduct(d), "i8 i8 i8", tile, a, b)
	}
}

// tileNumber is the register of the tile that an operation changes or stores.
func (e *emitter) tileNumber(op matrixOp) int {
	at, n := 0, 1
	for i := len(op.At) - 1; i >= 0; i-- {
		x := e.expr(op.At[i])
		if !x.known || x.i < 0 || x.i >= int64(op.Tile.Shape[i]) {
			fail("a tile of %s that is not known", op.Tile.Name)
		}
		at += int(x.i) * n
		n *= op.Tile.Shape[i]
	}
	return e.tiles.now.first[op.Tile] + at
}

// tileProduct is the intrinsic for the types of a product's operands.
func (e *emitter) tileProduct(d *expr.Dot) string {
	for _, p := range e.tiles.set.Products {
		if p.A == d.A.From.Elem().String() && p.B == d.B.From.Elem().String() {
			return p.Name
		}
	}
	fail("no product of tiles of %s and %s", d.A.From.Elem(), d.B.From.Elem())
	return ""
}

// operand is the register with an operand of a product, which is loaded unless one holds it.
func (e *emitter) operand(s tileShape, l *expr.Load, row, column, other *expr.Var) string {
	t := &e.tiles
	b := l.From.(*loop.Buffer)
	var key string
	ptr, stride := e.matrix(b, l.Index, row, column, expr.DotWidth, &key)
	if e.reads(l.Index, other) {
		fail("an operand from %s differs along %s", b.Name, other.Name)
	}
	key += " " + stride
	t.clock++
	oldest := -1
	for _, i := range t.now.operands[s] {
		if t.held[i] == key {
			t.used[i] = t.clock
			return fmt.Sprint(i)
		}
		if oldest < 0 || t.used[i] < t.used[oldest] {
			oldest = i
		}
	}
	e.tileCall(t.set.Load, "i8 ptr i64", fmt.Sprint(oldest), ptr(), stride)
	t.held[oldest], t.used[oldest] = key, t.clock
	return fmt.Sprint(oldest)
}

func (e *emitter) reads(index []expr.Expr, v *expr.Var) bool {
	for _, x := range index {
		if expr.Uses(x, v) {
			return true
		}
	}
	return false
}

// matrix is where a matrix in memory begins, and the bytes from a row to the next. Its columns are so many elements apart, and next to each
// other. key, if it is not nil, becomes a text that equal places share.
func (e *emitter) matrix(b *loop.Buffer, index []expr.Expr, row, column *expr.Var, apart int64, key *string) (ptr func() string, stride string) {
	if e.bufs[b] == nil {
		fail("buffer %s is not in scope", b.Name)
	}
	l := e.flat(b, index)
	rows, inRow := l.Coef(row)
	columns, inColumn := l.Coef(column)
	if inRow || inColumn || columns != apart && !e.ranges.Of(column).Single() {
		fail("%s is no matrix along %s and %s", b.Name, row.Name, column.Name)
	}
	l = l.Without(row).Without(column)
	if key != nil {
		var text strings.Builder
		fmt.Fprintf(&text, "%s %d", e.bufs[b].ptr, l.Const)
		for _, x := range l.Terms {
			fmt.Fprintf(&text, " + %d ", x.Coef)
			expr.Print(&text, x.Atom, func(v *expr.Var) string { return e.env[v].s })
		}
		*key = text.String()
	}
	return func() string { p, _ := e.address(b, e.place(l)); return p }, fmt.Sprint(rows * int64(b.DType.Size()))
}
