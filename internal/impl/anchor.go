package impl

import (
	"cmp"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/op"
)

// An Anchor is the heavy operator of a group that has an implementation as loops of its own, and the pointwise rest of
// the group, which those loops compute on each element before they store it.
type Anchor struct {
	Call
	Rest  *lower.Kernel // what the group computes from the result; its axes are apart
	From  string        // the parameter of Rest that stands for the result
	Point choice.Point  // what was decided for the operator
	Why   string        // and why, for people
}

func (all Algorithms) anchor(d *op.Def) func(Anchor) (*Plan, error) {
	for _, a := range all {
		if f := a.Anchors[d]; f != nil {
			return f
		}
	}
	return nil
}

// HasAnchor reports whether groups around an operator may have an implementation as loops of its own.
func (all Algorithms) HasAnchor(d *op.Def) bool { return all.anchor(d) != nil }

// Anchored makes the kernel of a group around an operator that HasAnchor, nil when it has to be computed by the operator's
// tensor expressions. chooser, which may be nil, decides what it names.
func (all Algorithms) Anchored(d *op.Def, a Anchor, chooser choice.Chooser) (*Plan, error) {
	if !a.pointwise() {
		return nil, nil
	}
	a.asker = &asker{log: &choice.Log{Chooser: chooser}}
	p, err := all.anchor(d)(a)
	return p, cmp.Or(err, a.err)
}

// Plan is the kernel as loops of its own, whose parameters are the anchor's operands, then those of Rest without the anchor's
// result, which take so many scalar operations. what says for people how it computes, and home is the period by which workers
// write the result.
func (a Anchor) Plan(rule, what string, f *loop.Func, work float64, home int) *Plan {
	return a.plan(rule, what+", "+a.why(0)+"; "+a.Why, f, work, home)
}

// pointwise reports whether every element of the group's result needs the element of the anchor's result that lies at
// its place only.
func (a Anchor) pointwise() bool {
	if len(a.Rest.Stages) != 1 {
		return false
	}
	b := a.block()
	out := b.Body.To
	same := true
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		if from := l.From.(*loop.Buffer); from.Name == a.From {
			same = same && slices.Equal(from.Shape, out.Shape)
			for i, x := range l.Index {
				same = same && (out.Shape[i] == 1 || arith.Equal(x, b.Body.Index[i]))
			}
		}
	})
	return same
}

// block is the computation of one element.
func (a Anchor) block() (b *loop.Block) {
	loop.Walk(a.Rest.Func.Body, func(s loop.Stmt) bool {
		if x, ok := s.(*loop.Block); ok {
			b = x
		}
		return b == nil
	})
	return b
}

// Result is what the group's result is stored to.
func (a Anchor) Result() *loop.Buffer { return a.block().Body.To }

// Transcendental reports whether the rest of the group has a function that takes some twenty instructions or more.
func (a Anchor) Transcendental() bool { return transcendental(a.block().Body.Value) }

// Stores reports whether the group's result is stored plainly and has the given shape.
func (a Anchor) Stores(shape []int) bool { return slices.Equal(a.Result().Shape, shape) }

// Finish stores the element of the group's result at a physical index whose value after the anchor is v.
func (a Anchor) Finish(v expr.Expr, index ...expr.Expr) loop.Stmt {
	b := a.block()
	m := map[*expr.Var]expr.Expr{}
	for i, it := range b.Iters {
		m[it.Var] = index[i]
	}
	s := loop.Subst(b.Body, m).(*loop.Store)
	s.Value = expr.Rewrite(s.Value, func(e expr.Expr) expr.Expr {
		if l, ok := e.(*expr.Load); ok && l.From.Label() == a.From {
			return v
		}
		return e
	})
	return s
}

// Function is the kernel with the operands' buffers.
func (a Anchor) Function(body loop.Stmt, operands ...*loop.Buffer) *loop.Func {
	params := operands
	for _, p := range a.Rest.Func.Params {
		if p.Name != a.From {
			params = append(params, p)
		}
	}
	return &loop.Func{Name: a.Rest.Func.Name, Params: params, Body: body}
}
