package impl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/choice"
	"lathe/internal/loop"
	"lathe/internal/op"
	"lathe/internal/sched"
	"lathe/internal/target"
	"lathe/internal/types"
)

// An Extern is an operator's implementation as loops of its own, for what tensor expressions cannot say: an order of
// updates, a selection, bounds that depend on data.
type Extern struct {
	// Build makes the kernel: its parameters are the operands, then the results. Parallel loops stand outermost, workers write
	// disjoint elements, and nothing one worker wrote is read by another. No input value makes it touch memory outside of its
	// parameters and scratch.
	Build   func(c Call) (*Plan, error)
	Blocked bool // Build serves some blocked layouts, of which it gives nil for others; else layouts are plain
	OverTE  bool // it is preferred to the operator's tensor expressions
}

// A Call is an operator and its operands, of which a kernel is made as loops of its own. Who makes it asks for its decisions.
type Call struct {
	Attrs   any
	In, Out []types.Tensor // operands and results
	Target  *target.Target
	*asker
}

// Plan is the kernel as loops of its own that take so many scalar operations.
func (c Call) Plan(f *loop.Func, work float64) *Plan {
	return c.plan("extern", strings.TrimSuffix("loops of its own, "+c.why(0), ", "), f, work, Scattered)
}

// plan is a kernel as loops of its own, with the rule that stands for them, and why they are so, for people.
func (c Call) plan(rule, why string, f *loop.Func, work float64, home int) *Plan {
	return &Plan{Schedule: sched.New(f), Rule: rule, Why: why, Asked: c.log.Asked, Taken: c.log.Taken, Home: home, Flops: work, small: work < ParallelWork}
}

func (all Algorithms) extern(d *op.Def) (e Extern, ok bool) {
	for _, a := range all {
		if e, ok = a.Externs[d]; ok {
			break
		}
	}
	return e, ok
}

// Extern makes the kernel of an operator that has an extern implementation, nil when its tensor expressions are to be used.
// chooser, which may be nil, decides what it names.
func (all Algorithms) Extern(d *op.Def, c Call, chooser choice.Chooser) (*Plan, error) {
	e, ok := all.extern(d)
	if !ok {
		return nil, nil
	}
	if err := all.Accepts(d, c.In, c.Out); err != nil {
		return nil, err
	}
	if !e.Blocked && (isBlocked(c.In, c.Out) || d.Compute != nil && !e.OverTE) {
		return nil, nil
	}
	c.asker = &asker{log: &choice.Log{Chooser: chooser}}
	p, err := e.Build(c)
	return p, cmp.Or(err, c.err)
}

// WantsPlain reports whether the kernel of an operator is loops of its own over plain layouts: they read no other, or its
// tensor expressions, which do, take longer.
func (all Algorithms) WantsPlain(d *op.Def) bool {
	e, ok := all.extern(d)
	return ok && !e.Blocked && (d.Compute == nil || e.OverTE)
}

// Accepts reports whether there is a kernel for these layouts of operands and results. Tensor expressions have logical
// indices and read any.
func (all Algorithms) Accepts(d *op.Def, in, out []types.Tensor) error {
	if isBlocked(in, out) && d.Compute == nil && all.WantsPlain(d) {
		return fmt.Errorf("operands %v and results %v must have plain layouts", in, out)
	}
	return nil
}

func isBlocked(in, out []types.Tensor) bool {
	return slices.ContainsFunc(slices.Concat(in, out), func(t types.Tensor) bool { return t.Layout != "" })
}

// HasExtern reports whether an operator has an implementation outside te.
func (all Algorithms) HasExtern(d *op.Def) bool {
	_, ok := all.extern(d)
	return ok
}
