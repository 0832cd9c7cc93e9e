package loop

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// maxLanes is the greatest extent of a vector loop.
const maxLanes = 64

// A Check is an optional demand on top of those that always hold.
type Check uint8

// NoBlocks demands that lower_blocks has run.
const NoBlocks Check = 1

// Verify reports the first place where f breaks a rule of the loop IR:
//
//   - Variables and buffers are bound once, used within what binds them, and every expression has the types it needs;
//     each access has an index per dimension.
//   - Parallel loops stand below Lets, Allocs, Seqs, parallel loops and serial loops of constant bounds only. A serial
//     loop around one is run by every worker without meeting the others, so all work in it is divided: it holds no
//     statement outside of a parallel loop. Scratch that is allocated around a parallel loop is used by it alone:
//     workers do not see each other's scratch.
//   - Vector loops have constant extents of 1 to 64 and contain no vector loop, no Alloc, and no loop whose bounds
//     depend on the lane. A store in one depends on the lane in its index, or is a reduction X = X op v with op one of
//   - * min max & |.
//   - Unrolled and jammed loops have constant extents.
//   - A matrix loop is the outermost of a MatrixOp, outside of vector loops, or inside it. The tile is constant after unrolling, and
//     buffers of Tiles scope are used in no other way.
//   - A Prefetch names global memory, 1 to 64 lines of it, and stands outside vector loops.
//   - Indices of Reg buffers are made of constants, variables of unrolled and jammed loops and, in the last axis of several elements with coefficient
//     1, the variable of the vector loop.
//
// The rules on stores and Reg indices do not apply inside blocks, which the schedule still moves.
func Verify(f *Func, checks ...Check) error {
	v := &verifier{
		noBlocks: slices.Contains(checks, NoBlocks),
		vars:     map[*expr.Var]*binding{}, buffers: map[*Buffer]bool{}, bound: map[any]bool{},
	}
	if err := v.function(f); err != nil {
		return fmt.Errorf("loop: function %s: %w", f.Name, err)
	}
	return nil
}

// A binding is what is known of a variable in scope.
type binding struct {
	lane    bool // differs between the lanes of the enclosing vector loop
	unroll  bool // constant after unrolling
	inBlock bool // iteration variable of a block
}

type verifier struct {
	noBlocks bool
	vars     map[*expr.Var]*binding
	buffers  map[*Buffer]bool
	bound    map[any]bool // loop variables, let variables and buffers ever bound
	vec      *expr.Var    // variable of the enclosing vector loop
	vecFixed bool         // its first value is constant after unrolling
	matrix   bool         // in a matrix loop
	serial   bool         // below something that no parallel loop may stand in
	shared   bool         // in a serial loop that every worker runs, outside of parallel loops
	parallel *For         // outermost enclosing parallel loop
	user     map[*Buffer]*For
	around   map[*Buffer]bool // scratch allocated outside parallel loops
}

func (v *verifier) function(f *Func) error {
	v.user, v.around = map[*Buffer]*For{}, map[*Buffer]bool{}
	for _, b := range f.Params {
		if err := v.buffer(b); err != nil {
			return fmt.Errorf("parameter %s: %w", b.Name, err)
		}
		if b.Scope != Global {
			return fmt.Errorf("parameter %s has scope %s", b.Name, b.Scope)
		}
	}
	if f.Body == nil {
		return errors.New("no body")
	}
	return v.stmt(f.Body)
}

// buffer checks the declaration of b and puts it in scope.
func (v *verifier) buffer(b *Buffer) error {
	if b.DType < types.Bool || b.DType > types.U4 {
		return errors.New("no element type")
	}
	if v.bound[b] {
		return errors.New("declared twice")
	}
	for _, n := range b.Shape {
		if n < 0 {
			return fmt.Errorf("shape %v", b.Shape)
		}
	}
	if b.Align < 0 || b.Align&(b.Align-1) != 0 {
		return fmt.Errorf("alignment %d is no power of two", b.Align)
	}
	if b.Most < 0 || b.Most > 0 && b.DType.IsFloat() {
		return fmt.Errorf("atmost %d of %s", b.Most, b.DType)
	}
	v.bound[b], v.buffers[b] = true, true
	return nil
}

// bind puts x in scope and returns what takes it out.
func (v *verifier) bind(x *expr.Var, b binding) (func(), error) {
	if v.vars[x] != nil {
		return nil, fmt.Errorf("%s is bound inside its own scope", x.Name)
	}
	v.vars[x] = &b
	return func() { delete(v.vars, x) }, nil
}

// bindOnce is bind for variables that statements bind: one pointer must not serve two loops.
func (v *verifier) bindOnce(x *expr.Var, b binding) (func(), error) {
	if v.bound[x] {
		return nil, fmt.Errorf("%s is bound twice", x.Name)
	}
	v.bound[x] = true
	return v.bind(x, b)
}

func (v *verifier) stmt(s Stmt) error {
	switch s := s.(type) {
	case *Seq:
		for _, t := range s.List {
			if err := v.stmt(t); err != nil {
				return err
			}
		}
		return nil
	case *For:
		return v.loop(s)
	case *Let:
		return v.let(s)
	case *Alloc:
		return v.alloc(s)
	case *If:
		if err := v.typed(s.Cond, types.Bool, "condition"); err != nil {
			return at(s, err)
		}
		if v.shared {
			return at(s, errUndivided)
		}
		return v.nested(func() error {
			if err := v.stmt(s.Then); err != nil || s.Else == nil {
				return err
			}
			return v.stmt(s.Else)
		})
	case *Store:
		if v.shared {
			return at(s, errUndivided)
		}
		if err := v.store(s); err != nil {
			return at(s, err)
		}
		return nil
	case *Prefetch:
		if err := v.prefetch(s); err != nil {
			return at(s, err)
		}
		return nil
	case *Block:
		if err := v.computation(s); err != nil {
			return at(s, err)
		}
		return nil
	}
	return fmt.Errorf("no statement: %T", s)
}

// ErrDivision is wrapped by the errors of functions that workers could not divide the way they say.
var ErrDivision = errors.New("workers cannot divide it")

var errUndivided = fmt.Errorf("a statement that is not divided, beside a parallel loop in a serial loop: %w", ErrDivision)

// nested runs f below a statement that no parallel loop may stand in.
func (v *verifier) nested(f func() error) error {
	old := v.serial
	v.serial = true
	err := f()
	v.serial = old
	return err
}

func (v *verifier) let(s *Let) error {
	if err := v.typed(s.Value, s.Var.Type, "value"); err != nil {
		return at(s, err)
	}
	if err := expr.Check(s.Var); err != nil {
		return at(s, err)
	}
	free, err := v.bindOnce(s.Var, binding{lane: v.lane(s.Value), unroll: v.constant(s.Value)})
	if err != nil {
		return at(s, err)
	}
	defer free()
	return v.stmt(s.Body)
}

func (v *verifier) alloc(s *Alloc) error {
	b := s.Buffer
	if err := v.buffer(b); err != nil {
		return at(s, err)
	}
	defer delete(v.buffers, b)
	if b.Scope == Global {
		return at(s, errors.New("allocation in global scope: only parameters are global"))
	}
	if v.vec != nil {
		return at(s, errors.New("allocation inside a vector loop"))
	}
	v.around[b] = v.parallel == nil
	return v.stmt(s.Body)
}

func (v *verifier) loop(f *For) error {
	if f.Var.Type != types.I64 {
		return at(f, fmt.Errorf("the loop variable has type %s", f.Var.Type))
	}
	for _, e := range []expr.Expr{f.Min, f.Extent} {
		if err := v.typed(e, types.I64, "bound"); err != nil {
			return at(f, err)
		}
		if v.lane(e) {
			return at(f, fmt.Errorf("bounds depend on the lane of vector loop %s", v.vec.Name))
		}
	}
	n, known := expr.IntOf(f.Extent)
	b := binding{}
	switch f.Kind {
	case Parallel:
		if v.serial {
			return at(f, fmt.Errorf("a parallel loop inside something else than lets, allocations, parallel loops and serial loops of constant bounds: %w", ErrDivision))
		}
		if v.parallel == nil {
			shared := v.shared
			v.parallel, v.shared = f, false
			defer func() { v.parallel, v.shared = nil, shared }()
		}
	case Vector:
		if !known || n < 1 || n > maxLanes {
			return at(f, fmt.Errorf("a vector loop needs a constant extent of 1 to %d", maxLanes))
		}
		if v.vec != nil {
			return at(f, fmt.Errorf("a vector loop inside vector loop %s", v.vec.Name))
		}
		v.vec, v.vecFixed = f.Var, v.constant(f.Min)
		defer func() { v.vec = nil }()
		b.lane = true
	case Unrolled, Jammed:
		if !known {
			return at(f, fmt.Errorf("loop of kind %s needs a constant extent", f.Kind))
		}
		b.unroll = v.constant(f.Min)
	case Matrix:
		if !v.matrix {
			if err := v.matrixOp(f); err != nil {
				return at(f, err)
			}
			v.matrix = true
			defer func() { v.matrix = false }()
		}
	case Serial:
	default:
		return at(f, fmt.Errorf("no kind of loop: %d", f.Kind))
	}
	free, err := v.bindOnce(f.Var, b)
	if err != nil {
		return at(f, err)
	}
	defer free()
	if f.Kind == Parallel {
		return v.stmt(f.Body)
	}
	if _, constant := expr.IntOf(f.Min); f.Kind == Serial && known && constant && !v.serial && v.parallel == nil && Divided(f.Body) {
		shared := v.shared
		v.shared = true
		defer func() { v.shared = shared }()
		return v.stmt(f.Body)
	}
	if v.shared {
		return at(f, errUndivided)
	}
	return v.nested(func() error { return v.stmt(f.Body) })
}

func (v *verifier) computation(b *Block) error {
	if v.noBlocks {
		return errors.New("a block after lower_blocks")
	}
	for _, it := range b.Iters {
		if err := v.typed(it.Binding, types.I64, "binding"); err != nil {
			return err
		}
	}
	for _, it := range b.Iters {
		if it.Var.Type != types.I64 || it.Extent < 0 {
			return fmt.Errorf("iteration variable %s of type %s and extent %d", it.Var.Name, it.Var.Type, it.Extent)
		}
		free, err := v.bind(it.Var, binding{inBlock: true})
		if err != nil {
			return err
		}
		defer free()
	}
	if b.Where != nil {
		if err := v.typed(b.Where, types.Bool, "condition"); err != nil {
			return err
		}
	}
	if b.Init != nil {
		if err := v.access(b.Init); err != nil {
			return err
		}
	}
	if b.Body == nil {
		return errors.New("no body")
	}
	return v.access(b.Body)
}

// access checks what holds for stores inside and outside of blocks.
func (v *verifier) access(s *Store) error {
	if err := v.inScope(s.To, s.Index); err != nil {
		return err
	}
	if s.To.DType.IsNibble() {
		return fmt.Errorf("store to %s, of which two elements share a byte", s.To.Name)
	}
	for _, x := range s.Index {
		if err := v.typed(x, types.I64, "index"); err != nil {
			return err
		}
	}
	return v.typed(s.Value, s.To.DType.Compute(), "value")
}

func (v *verifier) store(s *Store) error {
	if err := v.access(s); err != nil {
		return err
	}
	if s.To.Scope == Reg {
		if err := v.register(s.To, s.Index); err != nil {
			return err
		}
	}
	if v.vec != nil && !slices.ContainsFunc(s.Index, v.lane) && !IsReduction(s) {
		return fmt.Errorf("all lanes of vector loop %s store the same element, and it is no reduction", v.vec.Name)
	}
	return nil
}

// at adds the statement to an error: a loop's, condition's or scope's first line, anything else in full.
func at(s Stmt, err error) error {
	text := StmtString(s)
	if _, isBlock := s.(*Block); !isBlock {
		text, _, _ = strings.Cut(text, "\n")
	}
	return fmt.Errorf("%w, in:\n  %s", err, strings.ReplaceAll(text, "\n", "\n  "))
}
