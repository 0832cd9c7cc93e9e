package graph

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/op"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// Loop is the structural operator that runs its sub-graph, the body, a number of times.
//
//	operands           inputs of the body        outputs of the body   results
//	carried: first     what came before          what comes next       what came last
//	sequences          the iteration's slice
//	captured           the same in each
//	                                             a slice               stacked: all slices
//	                                                                   how often it ran, of one with While
//
// Slices are along axis 0, which they do not have themselves. A captured operand is any tensor that the body reads. Of a loop that
// ends early the slices that are left are zero.
//
// A loop in parts runs once for each part of the rows of what it computes, apart from the others: inputs and outputs of its body have a part of an
// axis that has none but of one element before it, so that a part's bytes lie together. Carried values and outputs are all parted; sequences and captured
// operands are, or every part reads all of them.
var Loop = &op.Def{
	Name: "loop", Doc: "loop runs a sub-graph again and again.", Args: []string{"operands..."}, Fusion: op.Opaque,
	Infer: func(any, []op.Arg) ([]types.Tensor, error) {
		return nil, errors.New("a loop's types are its sub-graph's")
	},
	NewAttrs: func() (any, func() any) {
		p := new(LoopAttrs)
		return p, func() any { return *p }
	},
}

// LoopAttrs says how often a loop runs and what its operands are: carried values, then sequences, then captured values.
type LoopAttrs struct {
	Trips     int // at least 1
	Carried   int
	Sequences int
	Reverse   bool // from the last slice to the first
	// While says that the first carried value, a truth value, is whether there is another iteration, and Trips how many there are at
	// most; 0: any number, where there are no slices.
	While bool
	// Strict says that a run ends with an error where there would be more iterations than Trips.
	Strict bool
	Parts  int // 2 or more: the loop runs in so many parts
}

// CountType is the type of the result that says how often a loop with While ran.
var CountType = types.Of(types.I64)

// Few is the number of iterations of all parts where it is known, and 1 where it is not: what sums count with.
func (a LoopAttrs) Few() int {
	if a.While {
		return 1
	}
	return a.Trips * max(1, a.Parts)
}

// Part is what an input or output of the body, of type inside, is of one outside of the loop, or of each of its slices: the axis that is parted, or -1 where each part
// has all of it.
func (a LoopAttrs) Part(outside, inside types.Tensor, sliced bool) (axis int, ok bool) {
	if sliced {
		if outside.Rank() == 0 || outside.Shape[0] != a.Trips {
			return 0, false
		}
		outside.Shape = outside.Shape[1:]
	}
	if outside.Equal(inside) {
		return -1, true
	}
	if a.Parts < 2 || outside.DType != inside.DType || outside.DType.IsNibble() || outside.Layout != inside.Layout || outside.Rank() != inside.Rank() {
		return 0, false
	}
	for axis, n := range outside.Shape {
		if m := inside.Shape[axis]; m != n {
			return axis, m > 0 && m*a.Parts == n && slices.Equal(outside.Shape[axis+1:], inside.Shape[axis+1:])
		}
		if n != 1 {
			break
		}
	}
	return 0, false
}

// Stacked is the number of results that are slices, of so many results in all.
func (a LoopAttrs) Stacked(results int) int {
	if a.While {
		results--
	}
	return results - a.Carried
}

// Slice is the place of the slice that iteration i reads and writes.
func (a LoopAttrs) Slice(i int) int {
	if a.Reverse {
		return a.Trips - 1 - i
	}
	return i
}

// NewLoop makes a node that runs body.
func NewLoop(body *Graph, a LoopAttrs, in []*Value) (*Node, error) {
	n := &Node{Op: Loop, Attrs: a, In: in, Sub: []*Graph{body}}
	for i, o := range body.Outputs {
		t := o.Type
		if i >= a.Carried {
			t = stackOf(t, a.Trips)
		}
		n.Out = append(n.Out, &Value{Type: t, Def: n, Index: i})
	}
	if a.While {
		n.Out = append(n.Out, &Value{Type: CountType, Def: n, Index: len(n.Out)})
	}
	return n, n.checkLoop()
}

// stackOf is the type of a sequence of so many slices.
func stackOf(t types.Tensor, trips int) types.Tensor {
	return types.Of(t.DType, append([]int{trips}, t.Shape...)...)
}

// checkLoop holds operands, results and body to the table of Loop. All lie in plain layouts.
func (n *Node) checkLoop() error {
	if err := n.wantSubs(1); err != nil {
		return err
	}
	a, ok := n.Attrs.(LoopAttrs)
	body, results := n.Sub[0], n.Out
	if ok && a.While && len(results) > 0 {
		if last := results[len(results)-1]; !last.Type.Equal(CountType) {
			return fmt.Errorf("the last result, how often the loop ran, has type %s", last.Type)
		}
		results = results[:len(results)-1]
	}
	endless := a.While && a.Trips == 0 && a.Sequences == 0 && len(results) == a.Carried
	switch {
	case ok && (a.Parts < 0 || a.Parts == 1 || a.Parts > 1 && a.While):
		return fmt.Errorf("no loop runs in parts by attributes %+v", n.Attrs)
	case !ok || a.Trips < 1 && !endless || a.Carried < 0 || a.Sequences < 0 || a.While && a.Carried < 1 || a.Strict && (!a.While || a.Trips == 0):
		return fmt.Errorf("no loop has attributes %+v", n.Attrs)
	case len(n.In) < a.Carried+a.Sequences:
		return fmt.Errorf("%s for %d carried and %s", spelling.Count(len(n.In), "operand"), a.Carried, spelling.Count(a.Sequences, "sequence"))
	case len(body.Inputs) != len(n.In):
		return fmt.Errorf("%s, but the body has %s", spelling.Count(len(n.In), "operand"), spelling.Count(len(body.Inputs), "input"))
	case a.While && (n.In[0].Type.DType != types.Bool || n.In[0].Type.Elements() != 1):
		return fmt.Errorf("whether there is another iteration has type %s", n.In[0].Type)
	case len(body.Outputs) != len(results) || len(results) < a.Carried:
		return fmt.Errorf("%s, but the body has %s, of which %d are carried", spelling.Count(len(results), "result"), spelling.Count(len(body.Outputs), "output"), a.Carried)
	}
	fits := func(outside, inside types.Tensor, sliced, parted bool) bool {
		axis, ok := a.Part(outside, inside, sliced)
		return ok && outside.Layout == "" && (a.Parts < 2 || !parted || axis >= 0)
	}
	for i, v := range n.In {
		if inside := body.Inputs[i].Type; !fits(v.Type, inside, i >= a.Carried && i < a.Carried+a.Sequences, i < a.Carried) {
			return fmt.Errorf("operand %d has type %s, input %d of the body %s", i, v.Type, i, inside)
		}
	}
	for i, v := range results {
		if err := v.Type.Check(); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
		if inside := body.Outputs[i].Type; !fits(v.Type, inside, i >= a.Carried, true) || i < a.Carried && !v.Type.Equal(n.In[i].Type) {
			return fmt.Errorf("result %d has type %s, output %d of the body %s", i, v.Type, i, inside)
		}
	}
	return nil
}
