// Package loop is the loop IR: how a kernel computes. A function is a tree of loops over blocks and stores.
//
// Vectorised and unrolled loops stay loops: their kind is a promise that the verifier checks and a demand on code
// generation, and the interpreter runs them like any other. Every node's meaning is therefore that of the plain
// sequential program. Indices are physical: buffers know shapes, and no logical layout.
package loop

import (
	"lathe/internal/expr"
	"lathe/internal/types"
)

// A Func is one kernel. Params are the buffers it is given, in call order: inputs, constants, then outputs.
type Func struct {
	Name   string
	Params []*Buffer
	Body   Stmt
}

// A Buffer is a rectangular piece of memory, dense and row-major: element (i...) lies at the sum of i*Strides() elements from its base.
// A buffer in Reg scope has no address: after unrolling each of its indices is constant, with at most one vector axis,
// the last, of stride 1. One in Tiles scope has none either, and only MatrixOps use it.
type Buffer struct {
	Name  string
	DType types.DType
	Shape []int
	Scope Scope
	// Align is the alignment of the base in bytes; 0 means that of the element type.
	Align int
	// Most is what the magnitude of an integer in it does not exceed; 0 means that of the element type.
	Most int
}

// A Scope says where a buffer lives.
type Scope uint8

const (
	Global Scope = iota // shared by all workers: parameters and the workspace
	Worker              // scratch of one worker, static size
	Reg                 // vector registers
	Tiles               // registers of matrices: the last two axes are one of them
)

func (s Scope) String() string { return [...]string{"global", "worker", "reg", "tiles"}[s] }

func (b *Buffer) Label() string     { return b.Name }
func (b *Buffer) Elem() types.DType { return b.DType }

// Bytes is the extent of b in memory.
func (b *Buffer) Bytes() int { return b.DType.Bytes(types.Count(b.Shape)) }

// PerLine is the number of elements in a cache line.
func (b *Buffer) PerLine() int {
	if b.DType.IsNibble() {
		return 2 * LineBytes
	}
	return LineBytes / b.DType.Size()
}

// Strides returns the distances, in elements, between neighbours along each axis of b.
func (b *Buffer) Strides() []int { return types.RowMajor(b.Shape) }

// A Stmt is one of Seq, For, If, Store, Prefetch, Let, Alloc and Block, as a pointer.
type Stmt interface{ isStmt() }

// A Seq runs its statements in order.
type Seq struct{ List []Stmt }

// A For runs Body with Var = Min, Min+1, ..., Min+Extent-1. A negative extent runs nothing.
type For struct {
	Var         *expr.Var
	Min, Extent expr.Expr
	Kind        Kind
	Body        Stmt
}

// A Kind says how a loop is executed.
type Kind uint8

const (
	Serial   Kind = iota
	Parallel      // iterations are divided among workers in contiguous runs; they write disjoint elements
	Vector        // constant extent; all iterations at once, one lane each
	Unrolled      // constant extent; the body is emitted once per iteration
	Jammed        // the same, of iterations that do not depend on each other: their instructions lie between each other's
	Matrix        // one of a nest that is an operation on tiles, see MatrixOp
)

func (k Kind) String() string {
	return [...]string{"for", "parallel", "vector", "unroll", "jam", "matrix"}[k]
}

// Copied reports whether the body is emitted once per iteration, in which the variable is a constant.
func (k Kind) Copied() bool { return k == Unrolled || k == Jammed }

// An If runs Then where Cond holds and Else, which may be nil, elsewhere.
type If struct {
	Cond       expr.Expr
	Then, Else Stmt
}

// A Store writes one element. Value has the buffer's Compute type (Bool for Bool) and is narrowed to its element type:
// floats round to nearest even, integers wrap.
type Store struct {
	To    *Buffer
	Index []expr.Expr
	Value expr.Expr
}

// A Prefetch asks for Lines cache lines of From, from the one on that holds element At, to be brought into the L2 cache, or near, into
// L1, for stores if Write is set. It computes nothing, and the lines may lie outside the buffer.
type Prefetch struct {
	From  *Buffer
	At    expr.Expr
	Lines int
	Near  bool
	Write bool
}

const (
	LineBytes   = 64 // size of a cache line
	MaxPrefetch = 64 // lines that one Prefetch may ask for: more than a core has in flight
	// MaxStride is the largest distance between the elements of a vector's lanes at which code loads whole vectors and picks them
	// out. It loads a vector for each element of the distance, so that from here on every lane loads its own as cheaply.
	MaxStride = 4
	// NibbleLanes is the distance of a vector's lanes of elements of 4 bits at which they are the same digit of neighbouring words of 32
	// bits: one load serves as many vectors.
	NibbleLanes = 8
)

// A Let binds Var within Body.
type Let struct {
	Var   *expr.Var
	Value expr.Expr
	Body  Stmt
}

// An Alloc gives Body a buffer of Worker or Reg scope. Its elements are undefined until stored.
type Alloc struct {
	Buffer *Buffer
	Body   Stmt
}

// A Block is the computation of one element of a stage, as long as the schedule may still move it: Body with each
// iteration variable bound to an expression of the surrounding loops. Init runs where all reduction variables are at
// their first value, before Body. Where is a condition on the iteration variables; nothing runs where it fails.
// lower_blocks replaces blocks by plain statements.
type Block struct {
	Name  string
	Iters []Iter
	Where expr.Expr // nil: always
	Init  *Store    // nil: no reduction
	Body  *Store
}

// An Iter is an iteration variable of a block with its domain [0, Extent).
type Iter struct {
	Var     *expr.Var
	Extent  int
	Reduce  bool
	Binding expr.Expr
}

// Bindings are what iteration variables stand for.
func (b *Block) Bindings() map[*expr.Var]expr.Expr {
	bind := make(map[*expr.Var]expr.Expr, len(b.Iters))
	for _, it := range b.Iters {
		bind[it.Var] = it.Binding
	}
	return bind
}

func (*Seq) isStmt()      {}
func (*For) isStmt()      {}
func (*If) isStmt()       {}
func (*Store) isStmt()    {}
func (*Prefetch) isStmt() {}
func (*Let) isStmt()      {}
func (*Alloc) isStmt()    {}
func (*Block) isStmt()    {}
