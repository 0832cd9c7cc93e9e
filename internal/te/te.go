// Package te is the tensor-expression language: what is computed, element by element, and nothing about how.
//
// A stage gives the value of every element of a tensor as an expression over the stage's axes. Indices are logical:
// where an element lies in memory is the business of the tensor's layout. Stages form a DAG through the loads in their
// bodies.
package te

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// A Stage defines one tensor. With Body nil it is an input. Otherwise element (Axes...) is
//
//	Combine over all values of the Reduce axes of Body,
//
// or Body itself when there are no Reduce axes. Body's type is the Compute type of Type.DType, except that a comparison
// gives Bool; it is narrowed when stored.
type Stage struct {
	Name    string
	Type    types.Tensor
	Axes    []*expr.Var // one per logical dimension
	Reduce  []Axis
	Combine Combiner
	Body    expr.Expr
	// Tag is Convolution, or the part of a fused computation that the stage is; most are empty.
	Tag string
	// Panel is the number of vectors of a panel, of a reduction one of whose operands lies in panels; 0: none does.
	Panel int
}

// Convolution is the tag of the sum of a convolution.
const Convolution = "conv"

// An Axis is a reduction axis: Var runs over [0, Extent).
type Axis struct {
	Var    *expr.Var
	Extent int
}

// A Combiner folds the values of a reduction. Order is free: floats may be reassociated.
type Combiner uint8

const (
	None Combiner = iota
	Sum
	Prod
	Max
	Min
	Any     // logical or, on Bool
	All     // logical and, on Bool
	Greater // Max of floats where NaN shows anyhow: any of a line that has one
)

var combiners = [...]struct {
	name string
	op   expr.Op
}{{"none", 0}, {"sum", expr.OpAdd}, {"prod", expr.OpMul}, {"max", expr.OpMax}, {"min", expr.OpMin}, {"any", expr.OpOr}, {"all", expr.OpAnd}, {"greater", expr.OpGreater}}

func (c Combiner) String() string { return combiners[c].name }

// Op is the binary operator that folds two values.
func (c Combiner) Op() expr.Op { return combiners[c].op }

// Identity is the value that changes nothing: the result of an empty reduction.
func (c Combiner) Identity(t types.DType) expr.Expr {
	e, ok := expr.Identity(c.Op(), t)
	if !ok || c == None {
		panic(fmt.Sprintf("te: identity of %s over %s", c, t))
	}
	return e
}

// Label makes a Stage an expr.Source.
func (s *Stage) Label() string { return s.Name }

// Elem makes a Stage an expr.Source.
func (s *Stage) Elem() types.DType { return s.Type.DType }

// At loads an element of s.
func (s *Stage) At(index ...expr.Expr) expr.Expr {
	if len(index) != len(s.Type.Shape) {
		panic(fmt.Sprintf("te: %d indices into %s %s", len(index), s.Name, s.Type))
	}
	return &expr.Load{From: s, Index: index}
}

// Input is a tensor that comes from outside.
func Input(name string, t types.Tensor) *Stage { return &Stage{Name: name, Type: t} }

// Compute defines a tensor pointwise.
func Compute(name string, t types.Tensor, f func(i []expr.Expr) expr.Expr) *Stage {
	s := &Stage{Name: name, Type: t}
	s.Axes = axes(len(t.Shape))
	s.Body = f(exprs(s.Axes))
	return s
}

// Fold defines a tensor by a reduction over axes of the given extents.
func Fold(name string, t types.Tensor, c Combiner, extents []int, f func(i, r []expr.Expr) expr.Expr) *Stage {
	s := &Stage{Name: name, Type: t, Combine: c}
	s.Axes = axes(len(t.Shape))
	rs := make([]expr.Expr, len(extents))
	for i, n := range extents {
		v := expr.NewVar(fmt.Sprintf("r%d", i))
		s.Reduce = append(s.Reduce, Axis{v, n})
		rs[i] = v
	}
	s.Body = f(exprs(s.Axes), rs)
	return s
}

func axes(n int) []*expr.Var {
	vs := make([]*expr.Var, n)
	for i := range vs {
		vs[i] = expr.NewVar(fmt.Sprintf("i%d", i))
	}
	return vs
}

func exprs(vs []*expr.Var) []expr.Expr {
	es := make([]expr.Expr, len(vs))
	for i, v := range vs {
		es[i] = v
	}
	return es
}

// Order returns the stages that outs need, inputs included, producers first.
func Order(outs ...*Stage) []*Stage {
	var order []*Stage
	seen := map[*Stage]bool{}
	var visit func(s *Stage)
	visit = func(s *Stage) {
		if seen[s] {
			return
		}
		seen[s] = true
		if s.Body != nil {
			expr.Loads(s.Body, func(l *expr.Load) { visit(l.From.(*Stage)) })
		}
		order = append(order, s)
	}
	for _, o := range outs {
		visit(o)
	}
	return order
}
