package impl

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/op"
	"lathe/internal/types"
)

// An extern is an operator's implementation as loops of its own, for what tensor expressions cannot say: an order of
// updates, a selection, bounds that depend on data.
type extern struct {
	// build makes the kernel: its parameters are the operands, then the results, in plain layout. Parallel loops stand
	// outermost, workers write disjoint elements, and nothing one worker wrote is read by another. No input value makes
	// it touch memory outside of its parameters and scratch.
	build func(attrs any, in, out []types.Tensor) (*loop.Func, error)
	// blocked, in place of build, makes the kernel for some layouts; ok is false for others.
	blocked func(attrs any, in, out []types.Tensor) (f *loop.Func, ok bool, err error)
	// overTE prefers it to the operator's tensor expressions where layouts are plain.
	overTE bool
}

// externs lists the implementations by operator.
var externs = map[string]extern{
	"argwhere":     {build: argWhere},
	"compress":     {build: compress},
	"cumprod":      {build: cumulative(expr.OpMul, 1), overTE: true},
	"cumsum":       {build: cumulative(expr.OpAdd, 0), overTE: true},
	"dynamic.pack": {build: dynamicPack},
	"nn.contrib_conv2d_winograd_input_transform": {blocked: winogradInput},
	"nn.max_unpool":                        {build: maxUnpool},
	"scatter_elements":                     {build: scatterElements},
	"scatter_nd":                           {build: scatterND},
	"topk":                                 {build: topK},
	"vision.all_class_non_max_suppression": {build: allClassNMS},

	"vision.roi_align": {build: roiAlign},
	"vision.roi_pool":  {build: roiPool},
}

// Extern makes the kernel of an operator that has an extern implementation; ok is false when its tensor expressions are
// to be used.
func Extern(d *op.Def, attrs any, in, out []types.Tensor) (f *loop.Func, ok bool, err error) {
	e, ok := externs[d.Name]
	if !ok {
		return nil, false, nil
	}
	if e.blocked != nil {
		return e.blocked(attrs, in, out)
	}
	if err := Accepts(d, in, out); err != nil {
		return nil, false, err
	}
	if slices.ContainsFunc(slices.Concat(in, out), func(t types.Tensor) bool { return t.Layout != "" }) {
		return nil, false, nil
	}
	if d.Compute != nil && !e.overTE {
		return nil, false, nil
	}
	f, err = e.build(attrs, in, out)
	return f, err == nil, err
}

// WantsPlain reports whether the kernel of an operator is loops of its own over plain layouts: they read no other, or its
// tensor expressions, which do, take longer.
func WantsPlain(d *op.Def) bool {
	e, ok := externs[d.Name]
	return ok && e.build != nil && (d.Compute == nil || e.overTE)
}

// Accepts reports whether there is a kernel for these layouts of operands and results. Tensor expressions have logical
// indices and read any.
func Accepts(d *op.Def, in, out []types.Tensor) error {
	blocked := slices.ContainsFunc(slices.Concat(in, out), func(t types.Tensor) bool { return t.Layout != "" })
	if blocked && d.Compute == nil && WantsPlain(d) {
		return fmt.Errorf("operands %v and results %v must have plain layouts", in, out)
	}
	return nil
}

// HasExtern reports whether an operator has an implementation outside te.
func HasExtern(d *op.Def) bool {
	_, ok := externs[d.Name]
	return ok
}

// Implemented reports whether kernels can be made of an operator.
func Implemented(d *op.Def) bool {
	return HasExtern(d) || d.Compute != nil
}
