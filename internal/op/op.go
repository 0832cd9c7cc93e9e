// Package op says what it means to be an operator. It knows no particular operator, no graph and no target.
package op

import (
	"fmt"
	"math/rand/v2"

	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// A Fusion class says how an operator may join a kernel. The classes are Relay's pattern kinds.
type Fusion uint8

const (
	Opaque      Fusion = iota // never fused
	Elementwise               // output element i needs input elements i only
	Broadcast                 // the same, with broadcasting
	Injective                 // output element needs one element of each input, elsewhere: transpose, concat, pad
	CommReduce                // reduction: sum, max
	OutFusable                // heavy anchor that takes an elementwise epilogue: conv2d, dense
)

func (f Fusion) String() string {
	return [...]string{"opaque", "elementwise", "broadcast", "injective", "comm_reduce", "out_fusable"}[f]
}

// A Layout class says what a blocked or permuted physical layout of operands means to the operator.
type Layout uint8

const (
	Plain    Layout = iota // operands and results lie in plain row-major order
	Same                   // all operands of the result's rank and the results share any one layout
	Channels               // axis 1 may be blocked or moved last; spatial semantics are unchanged
	Free                   // every operand may have any layout: indices are logical
)

func (l Layout) String() string { return [...]string{"plain", "same", "channels", "free"}[l] }

// An Arg is what inference knows of an operand: its type, and its value when that is known at compile time.
type Arg struct {
	types.Tensor
	Value *tensor.Tensor // nil: unknown
}

// A Spec is the one definition of an operator with attributes A. It is target-independent.
type Spec[A any] struct {
	Name   string   // Relay's name where Relay has the operator: "nn.conv2d"
	Doc    string   // starts with the name; the first sentence is its line in docs/ops.md
	Args   []string // operand names, in order; a last name ending in "..." takes any number
	MinIn  int      // least number of operands when the last ones are optional; 0: all are required
	Fusion Fusion
	Layout Layout

	// Infer gives the result types. Errors say what is wrong with the operands, without the operator's name.
	Infer func(a A, in []Arg) ([]types.Tensor, error)
	// Eval computes the results slowly and obviously. It is the oracle every implementation is compared with.
	Eval func(a A, in, out []*tensor.Tensor) error
	// Compute gives the results as tensor expressions; nil when only implementations in package impl can say it.
	Compute func(a A, in []*te.Stage, out []types.Tensor) []*te.Stage
	// Identity reports whether the one result is operand 0, bit for bit, whatever the elements; nil: never. That the types
	// are equal says nothing. Passes drop a node for no other reason.
	Identity func(a A, in []types.Tensor) bool
	// Axes says how a use is computed with its axes in another order, nil where its meaning is bound to the order. Elementwise
	// and broadcasting operators of layout class Same need none: they treat all axes alike.
	Axes func(a A, in []types.Tensor) *Axes
	// Sample gives a random valid use, which drives the tests.
	Sample func(r *rand.Rand) (A, []types.Tensor)
}

// A Def is a Spec with its attribute type erased, as graph nodes hold it.
type Def struct {
	Name, Doc string
	Args      []string
	MinIn     int
	Fusion    Fusion
	Layout    Layout
	Infer     func(a any, in []Arg) ([]types.Tensor, error)
	Eval      func(a any, in, out []*tensor.Tensor) error
	Compute   func(a any, in []*te.Stage, out []types.Tensor) []*te.Stage
	Identity  func(a any, in []types.Tensor) bool
	Axes      func(a any, in []types.Tensor) *Axes // nil: bound to the order of axes
	Sample    func(r *rand.Rand) (any, []types.Tensor)
	// NewAttrs returns a pointer to a zero attribute struct and a function that gives the struct itself, for the parser.
	NewAttrs func() (ptr any, get func() any)
}

// Variadic reports whether the last operand may be repeated.
func (d *Def) Variadic() bool {
	n := len(d.Args)
	return n > 0 && len(d.Args[n-1]) > 3 && d.Args[n-1][len(d.Args[n-1])-3:] == "..."
}

// Define erases s.
func Define[A any](s Spec[A]) *Def {
	d := &Def{Name: s.Name, Doc: s.Doc, Args: s.Args, MinIn: s.MinIn, Fusion: s.Fusion, Layout: s.Layout}
	d.Infer = func(a any, in []Arg) ([]types.Tensor, error) {
		attrs, ok := a.(A)
		if !ok {
			return nil, fmt.Errorf("%s: attributes of type %T", s.Name, a)
		}
		if err := d.arity(len(in)); err != nil {
			return nil, err
		}
		out, err := s.Infer(attrs, in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		for _, t := range out {
			if err := t.Check(); err != nil {
				return nil, fmt.Errorf("%s: result: %w", s.Name, err)
			}
		}
		return out, nil
	}
	if s.Eval != nil {
		d.Eval = func(a any, in, out []*tensor.Tensor) error {
			if err := s.Eval(a.(A), in, out); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			return nil
		}
	}
	if s.Compute != nil {
		d.Compute = func(a any, in []*te.Stage, out []types.Tensor) []*te.Stage { return s.Compute(a.(A), in, out) }
	}
	if s.Identity != nil {
		d.Identity = func(a any, in []types.Tensor) bool { return s.Identity(a.(A), in) }
	}
	switch pointwise := s.Fusion == Elementwise || s.Fusion == Broadcast; {
	case s.Axes != nil:
		d.Axes = func(a any, in []types.Tensor) *Axes { return s.Axes(a.(A), in) }
	case pointwise && s.Layout == Same:
		d.Axes = AllAlike
	}
	if s.Sample != nil {
		d.Sample = func(r *rand.Rand) (any, []types.Tensor) { return s.Sample(r) }
	}
	d.NewAttrs = func() (any, func() any) {
		p := new(A)
		return p, func() any { return *p }
	}
	return d
}

func (d *Def) arity(n int) error {
	least, most := len(d.Args), len(d.Args)
	if d.MinIn > 0 {
		least = d.MinIn
	}
	if d.Variadic() {
		least, most = min(least, len(d.Args)-1), 1<<30
		if d.MinIn > 0 {
			least = d.MinIn
		}
	}
	if n < least || n > most {
		return fmt.Errorf("%s: %s instead of %d", d.Name, spelling.Count(n, "operand"), least)
	}
	return nil
}

// None is the attribute struct of operators without attributes.
type None struct{}
