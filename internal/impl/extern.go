package impl

import (
	"fmt"
	"slices"

	"lathe/internal/loop"
	"lathe/internal/op"
	"lathe/internal/types"
)

// An Extern is an operator's implementation as loops of its own, for what tensor expressions cannot say: an order of
// updates, a selection, bounds that depend on data.
type Extern struct {
	// Build makes the kernel: its parameters are the operands, then the results, in plain layout. Parallel loops stand
	// outermost, workers write disjoint elements, and nothing one worker wrote is read by another. No input value makes
	// it touch memory outside of its parameters and scratch.
	Build func(attrs any, in, out []types.Tensor) (*loop.Func, error)
	// Blocked, in place of Build, makes the kernel for some layouts; ok is false for others.
	Blocked func(attrs any, in, out []types.Tensor) (f *loop.Func, ok bool, err error)
	// OverTE prefers it to the operator's tensor expressions where layouts are plain.
	OverTE bool
}

func (all Algorithms) extern(d *op.Def) (e Extern, ok bool) {
	for _, a := range all {
		if e, ok = a.Externs[d]; ok {
			break
		}
	}
	return e, ok
}

// Extern makes the kernel of an operator that has an extern implementation; ok is false when its tensor expressions are
// to be used.
func (all Algorithms) Extern(d *op.Def, attrs any, in, out []types.Tensor) (f *loop.Func, ok bool, err error) {
	e, ok := all.extern(d)
	if !ok {
		return nil, false, nil
	}
	if e.Blocked != nil {
		return e.Blocked(attrs, in, out)
	}
	if err := all.Accepts(d, in, out); err != nil {
		return nil, false, err
	}
	if isBlocked(in, out) || d.Compute != nil && !e.OverTE {
		return nil, false, nil
	}
	f, err = e.Build(attrs, in, out)
	return f, err == nil, err
}

// WantsPlain reports whether the kernel of an operator is loops of its own over plain layouts: they read no other, or its
// tensor expressions, which do, take longer.
func (all Algorithms) WantsPlain(d *op.Def) bool {
	e, ok := all.extern(d)
	return ok && e.Build != nil && (d.Compute == nil || e.OverTE)
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

// Implemented reports whether kernels can be made of an operator.
func (all Algorithms) Implemented(d *op.Def) bool { return all.HasExtern(d) || d.Compute != nil }
