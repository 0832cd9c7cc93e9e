package loop

import (
	"errors"
	"fmt"
	"strings"

	"lathe/internal/expr"
	"lathe/internal/types"
)

func (v *verifier) inScope(b *Buffer, index []expr.Expr) error {
	if !v.buffers[b] {
		return fmt.Errorf("buffer %s is not in scope", b.Name)
	}
	if len(index) != len(b.Shape) {
		return fmt.Errorf("%d indices for %s of rank %d", len(index), b.Name, len(b.Shape))
	}
	if b.Scope == Tiles && !v.matrix {
		return fmt.Errorf("tiles %s are used outside of matrix loops", b.Name)
	}
	if v.around[b] {
		if user, used := v.user[b]; used && user != v.parallel {
			return fmt.Errorf("%s buffer %s is used inside a parallel loop and outside of it: %w", b.Scope, b.Name, ErrDivision)
		}
		v.user[b] = v.parallel
	}
	return nil
}

// matrixOp checks the nest of matrix loops that f is the outermost of.
func (v *verifier) matrixOp(f *For) error {
	op, err := MatrixOpOf(f)
	if err != nil {
		return err
	}
	if v.vec != nil {
		return errors.New("matrix loops inside a vector loop")
	}
	for _, x := range op.At {
		if !v.constant(x) {
			return fmt.Errorf("index %s of tiles %s is not constant after unrolling", expr.String(x), op.Tile.Name)
		}
	}
	return nil
}

// prefetch checks a hint: which lines, of memory that other code may have to fetch.
func (v *verifier) prefetch(s *Prefetch) error {
	switch {
	case !v.buffers[s.From]:
		return fmt.Errorf("buffer %s is not in scope", s.From.Name)
	case s.From.Scope != Global:
		return fmt.Errorf("prefetch of %s, which has scope %s", s.From.Name, s.From.Scope)
	case s.Lines < 1 || s.Lines > MaxPrefetch:
		return fmt.Errorf("prefetch of %d lines; 1 to %d can be asked for", s.Lines, MaxPrefetch)
	case v.vec != nil:
		return errors.New("prefetch inside a vector loop")
	}
	return v.typed(s.At, types.I64, "element")
}

// typed checks e and everything in it, and that its type is t.
func (v *verifier) typed(e expr.Expr, t types.DType, what string) error {
	if e == nil {
		return fmt.Errorf("no %s", what)
	}
	if err := v.expr(e); err != nil {
		return err
	}
	if e.DType() != t {
		return fmt.Errorf("%s %s has type %s, not %s", what, expr.String(e), e.DType(), t)
	}
	return nil
}

func (v *verifier) expr(e expr.Expr) error {
	if let, ok := e.(*expr.Let); ok {
		if err := v.expr(let.Value); err != nil {
			return err
		}
		free, err := v.bind(let.Var, binding{lane: v.lane(let.Value), unroll: v.constant(let.Value)})
		if err != nil {
			return err
		}
		defer free()
		if err := v.expr(let.Body); err != nil {
			return err
		}
		return expr.Check(e)
	}
	for _, c := range expr.Children(e) {
		if c == nil {
			return fmt.Errorf("%T lacks an operand", e)
		}
		if err := v.expr(c); err != nil {
			return err
		}
	}
	if err := expr.Check(e); err != nil {
		return fmt.Errorf("%w in %s", err, expr.String(e))
	}
	switch e := e.(type) {
	case *expr.Var:
		if v.vars[e] == nil {
			return fmt.Errorf("variable %s is not in scope", e.Name)
		}
	case *expr.Load:
		b, ok := e.From.(*Buffer)
		if !ok {
			return fmt.Errorf("%s is a load from %T, not from a buffer", expr.String(e), e.From)
		}
		if err := v.inScope(b, e.Index); err != nil {
			return err
		}
		if b.Scope == Reg {
			return v.register(b, e.Index)
		}
	}
	return nil
}

// lane reports whether e may differ between the lanes of the enclosing vector loop.
func (v *verifier) lane(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		if x, ok := x.(*expr.Var); ok && v.vars[x] != nil && v.vars[x].lane {
			found = true
		}
		return !found
	})
	return found
}

// constant reports whether e is constant once loops are unrolled.
func (v *verifier) constant(e expr.Expr) bool {
	is := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Var:
			is = is && v.vars[x] != nil && v.vars[x].unroll
		case *expr.Load:
			is = false
		}
		return is
	})
	return is
}

// register checks the index of a register buffer.
func (v *verifier) register(b *Buffer, index []expr.Expr) error {
	for i, x := range index {
		if v.inBlock(x) || v.constant(x) {
			continue
		}
		if v.vec != nil && v.vecFixed && types.Count(b.Shape[i+1:]) == 1 {
			if rest, ok := withoutLane(x, v.vec); ok && (rest == nil || v.constant(rest)) {
				continue
			}
		}
		return fmt.Errorf("index %s of register buffer %s is not constant after unrolling", expr.String(x), b.Name)
	}
	return nil
}

func (v *verifier) inBlock(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		if x, ok := x.(*expr.Var); ok && v.vars[x] != nil && v.vars[x].inBlock {
			found = true
		}
		return !found
	})
	return found
}

// withoutLane splits a sum into vec and the rest, nil for none. ok means that vec is exactly one summand.
func withoutLane(e expr.Expr, vec *expr.Var) (rest expr.Expr, ok bool) {
	if e == expr.Expr(vec) {
		return nil, true
	}
	b, isBin := e.(*expr.Binary)
	if !isBin || b.Op != expr.OpAdd && b.Op != expr.OpSub {
		return nil, false
	}
	if r, ok := withoutLane(b.A, vec); ok {
		if r == nil {
			return b.B, true
		}
		return &expr.Binary{Op: b.Op, A: r, B: b.B}, true
	}
	if r, ok := withoutLane(b.B, vec); ok && b.Op == expr.OpAdd {
		if r == nil {
			return b.A, true
		}
		return expr.Add(b.A, r), true
	}
	return nil, false
}

// IsReduction reports whether s is X = X op v with op one of + * min max greater & |, the form that lanes may share a target in.
func IsReduction(s *Store) bool {
	b, ok := s.Value.(*expr.Binary)
	if !ok {
		return false
	}
	switch b.Op {
	case expr.OpAdd, expr.OpMul, expr.OpMin, expr.OpMax, expr.OpGreater, expr.OpAnd, expr.OpOr:
	default:
		return false
	}
	old, ok := b.A.(*expr.Load)
	if !ok || old.From != expr.Source(s.To) || len(old.Index) != len(s.Index) {
		return false
	}
	for i, x := range old.Index {
		if x != s.Index[i] && identity(x) != identity(s.Index[i]) {
			return false
		}
	}
	reads := false
	expr.Loads(b.B, func(l *expr.Load) { reads = reads || l.From == expr.Source(s.To) })
	return !reads
}

// identity prints e with the addresses of its variables: equal texts are equal expressions.
func identity(e expr.Expr) string {
	var b strings.Builder
	expr.Print(&b, e, func(v *expr.Var) string { return fmt.Sprintf("%p", v) })
	return b.String()
}
