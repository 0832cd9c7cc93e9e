package frontend

import (
	"errors"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// Reads reports whether a node of g, those in its bodies included, reads the value of a name, or g gives it.
func (g *Graph) Reads(name string) bool {
	names := map[string]bool{}
	for _, n := range g.Nodes {
		n.reads(names)
	}
	return names[name] || slices.ContainsFunc(g.Outputs, func(o Info) bool { return o.Name == name })
}

// Stacks joins the slices that the iterations of a loop gave. axes and reversed, where there are any, say along
// which axis and whether the last slice comes first.
func (c *Call) Stacks(stacks [][]*graph.Value, axes []int, reversed []bool) []*graph.Value {
	var out []*graph.Value
	for k, steps := range stacks {
		for _, v := range steps {
			if c.isList(v) {
				compose.Fail("a sequence as a scan output is not supported")
			}
			if !v.Type.Equal(steps[0].Type) {
				compose.Fail("scan output %d is %s in one iteration and %s in another", k, steps[0].Type, v.Type)
			}
		}
		at := 0
		if axes != nil {
			at = Axis(axes[k], steps[0].Type.Rank()+1)
		}
		if reversed != nil && reversed[k] {
			slices.Reverse(steps)
		}
		out = append(out, c.Stack(at, steps...))
	}
	return out
}

// EmptyStacks are the stacked results of a loop without iterations, along axes, where there are any. slice gives one
// of each as the body would, whose types count, for a model need not declare them; where the body can't be converted, the declared
// types do.
func (c *Call) EmptyStacks(infos []Info, axes []int, slice func() []*graph.Value) (out []*graph.Value) {
	var of []types.Tensor
	dropped := errors.New("the body does not run")
	err := c.attempt(func() {
		for _, v := range slice() {
			if c.isList(v) {
				compose.Fail("a sequence as a scan output is not supported")
			}
			of = append(of, v.Type)
		}
		compose.Fail("%w", dropped)
	})
	for k, info := range infos {
		t := info.declared()
		if errors.Is(err, dropped) {
			t = &of[k]
		}
		if t == nil {
			compose.Fail("scan output %q of a loop without iterations has no declared type, and the body gives none: %w", info.Name, err)
		}
		at := 0
		if axes != nil {
			at = Axis(axes[k], t.Rank()+1)
		}
		out = append(out, c.Full(t.DType, 0, slices.Insert(slices.Clone(t.Shape), at, 0)...))
	}
	return out
}

// declared is the type that a model gives a value, with extents of zero where it leaves them open, or nil.
func (v Info) declared() *types.Tensor {
	if v.DType == 0 || !v.Ranked {
		return nil
	}
	t := &types.Tensor{DType: v.DType}
	for _, x := range v.Dims {
		t.Shape = append(t.Shape, max(int(x.Value), 0))
	}
	return t
}
