package llvm

import (
	"fmt"
	"strings"

	"lathe/internal/loop"
)

// A tileRegion is an outermost allocation of tiles, and what the operations in it need of the registers.
type tileRegion struct {
	first    map[*loop.Buffer]int // register of the first tile of a buffer
	operands map[tileShape][]int  // registers for operands of a shape
	shapes   [][2]int             // rows, and bytes of a row, of every register
	config   string               // a constant of the module
}

// A tileShape is rows and bytes of a row of the left or the right operand of products.
type tileShape struct {
	rows, bytes int
	right       bool
}

// regionOf gives registers to the tiles of a region and to the operands of its products: one for each shape, and those that are left to
// right and left operands in turn.
func (e *emitter) regionOf(a *loop.Alloc) *tileRegion {
	set := e.tiles.set
	r := &tileRegion{first: map[*loop.Buffer]int{}, operands: map[tileShape][]int{}}
	take := func(rows, bytes int) int {
		if rows > set.Rows || bytes > set.RowBytes || len(r.shapes) == set.Registers {
			fail("tiles %s: more than %d of %d rows of %d bytes", a.Buffer.Name, set.Registers, set.Rows, set.RowBytes)
		}
		r.shapes = append(r.shapes, [2]int{rows, bytes})
		return len(r.shapes) - 1
	}
	var order [2][]tileShape
	need := func(s tileShape, side int) {
		if r.operands[s] == nil {
			order[side] = append(order[side], s)
			r.operands[s] = []int{}
		}
	}
	loop.Walk(a, func(s loop.Stmt) bool {
		switch s := s.(type) {
		case *loop.Alloc:
			if b := s.Buffer; b.Scope == loop.Tiles {
				rows, columns, n := tileOf(b)
				for i := range n {
					if at := take(rows, columns*b.DType.Size()); i == 0 {
						r.first[b] = at
					}
				}
			}
		case *loop.For:
			if s.Kind != loop.Matrix {
				return true
			}
			op := matrixOpOf(s)
			if op.Product != nil {
				left, right := op.operandShapes()
				need(right, 0)
				need(left, 1)
			}
			return false
		}
		return true
	})
	all := append(order[0], order[1]...)
	for i := 0; len(all) > 0 && (i < len(all) || len(r.shapes) < set.Registers); i++ {
		s := all[i%len(all)]
		r.operands[s] = append(r.operands[s], take(s.rows, s.bytes))
	}
	r.config = fmt.Sprintf("@tiles%d", len(e.tiles.regions))
	var bytes strings.Builder
	for _, b := range set.Configuration(r.shapes) {
		fmt.Fprintf(&bytes, "\\%02X", b)
	}
	for _, same := range e.tiles.regions {
		if fmt.Sprint(same.shapes) == fmt.Sprint(r.shapes) {
			r.config = same.config
			return r
		}
	}
	e.declared = append(e.declared, fmt.Sprintf("%s = private unnamed_addr constant [%d x i8] c\"%s\", align %d", r.config, bytes.Len()/3, bytes.String(), scratchAlign))
	return r
}

// tileRegion emits a region, or the rest of one.
func (e *emitter) tileRegion(s *loop.Alloc, body func()) {
	t := &e.tiles
	r := t.regions[s]
	if t.now != nil {
		body()
		return
	}
	if r == nil {
		fail("tiles %s are in no region", s.Buffer.Name)
	}
	t.now = r
	other := r.config != t.usual.config
	if other {
		e.configure(r)
	}
	t.forget()
	body()
	if other {
		e.configure(t.usual)
	}
	t.now = nil
}
