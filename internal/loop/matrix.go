package loop

import (
	"errors"
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// A MatrixOp is what a nest of matrix loops does with a tile: a matrix of 32-bit elements in a buffer of Tiles scope, whose last two
// indices are its rows and columns. It is one of
//
//	matrix m { matrix n { T[t, m, n] = 0 } }
//	matrix m { matrix n { T[t, m, n] = M[x] } }
//	matrix m { matrix n { matrix k { T[t, m, n] = (T[t, m, n] + dot4(A[a], i, B[b], j)) } } }
//	matrix m { matrix n { M[x] = T[t, m, n] } }
//
// where t is constant after unrolling. A is a matrix of rows m, in which k advances by four neighbouring bytes; B one of rows k, in which
// n advances by four; M one of rows m, in which n advances by one element.
type MatrixOp struct {
	Rows, Columns, Depth int // Depth counts dot products; 0: it is no product
	M, N, K              *expr.Var
	Tile                 *Buffer
	At                   []expr.Expr // the tile's index, without rows and columns
	Product              *expr.Dot   // what is added, nil where nothing is
	Store                *Store      // to M, nil where the tile changes
	Load                 *expr.Load  // from M, nil where the tile does not become that
}

// MatrixOpOf reads a nest of matrix loops.
func MatrixOpOf(f *For) (*MatrixOp, error) {
	op := &MatrixOp{}
	var nest []*For
	s := Stmt(f)
	for {
		g, ok := s.(*For)
		if !ok {
			break
		}
		n, known := expr.IntOf(g.Extent)
		if g.Kind != Matrix || !expr.IsInt(g.Min, 0) || !known || n < 1 || n > maxLanes {
			return nil, fmt.Errorf("%s is no matrix loop from 0 of a constant extent of 1 to %d", g.Var.Name, maxLanes)
		}
		nest = append(nest, g)
		s = g.Body
	}
	store, ok := s.(*Store)
	if !ok || len(nest) < 2 || len(nest) > 3 {
		return nil, errors.New("matrix loops are two or three, around one store")
	}
	extent := func(i int) int { n, _ := expr.IntOf(nest[i].Extent); return int(n) }
	op.M, op.N, op.Rows, op.Columns = nest[0].Var, nest[1].Var, extent(0), extent(1)
	if len(nest) == 3 {
		op.K, op.Depth = nest[2].Var, extent(2)
	}
	if store.To.Scope != Tiles {
		l, ok := store.Value.(*expr.Load)
		if !ok || op.K != nil || !op.tile(l.From, l.Index) || store.To.Scope == Reg {
			return nil, fmt.Errorf("what is stored to %s is no tile", store.To.Name)
		}
		op.Store = store
		return op, nil
	}
	if !op.tile(store.To, store.Index) {
		return nil, fmt.Errorf("the last indices of %s are not %s and %s", store.To.Name, op.M.Name, op.N.Name)
	}
	if op.K == nil {
		if l, ok := store.Value.(*expr.Load); ok && l.DType() == types.I32 {
			if b, ok := l.From.(*Buffer); ok && b.Scope != Tiles && b.Scope != Reg && b.DType == types.I32 {
				op.Load = l
				return op, nil
			}
		}
		if !expr.IsInt(store.Value, 0) {
			return nil, fmt.Errorf("all of %s becomes neither 0 nor what a matrix in memory is", store.To.Name)
		}
		return op, nil
	}
	sum, ok := store.Value.(*expr.Binary)
	if ok {
		op.Product, ok = sum.B.(*expr.Dot)
	}
	if !ok || !IsReduction(store) || sum.Op != expr.OpAdd || op.Product.Width() != expr.DotWidth {
		return nil, fmt.Errorf("what is added to %s is no dot product", store.To.Name)
	}
	return op, nil
}

// tile notes the tile that is accessed, and reports whether it is one, by row m and column n.
func (op *MatrixOp) tile(from expr.Source, index []expr.Expr) bool {
	b, ok := from.(*Buffer)
	last := len(index) - 2
	counts := func(x expr.Expr, v *expr.Var, extent int) bool {
		return x == expr.Expr(v) || extent == 1 && expr.IsInt(x, 0)
	}
	if !ok || b.Scope != Tiles || last < 0 || !counts(index[last], op.M, op.Rows) || !counts(index[last+1], op.N, op.Columns) {
		return false
	}
	op.Tile, op.At = b, index[:last]
	return b.DType == types.I32 && op.Rows <= b.Shape[last] && op.Columns <= b.Shape[last+1]
}
