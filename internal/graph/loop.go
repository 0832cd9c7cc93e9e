package graph

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/op"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// Loop is the structural operator that runs its sub-graph, the body, a known number of times.
//
//	operands           inputs of the body        outputs of the body   results
//	carried: first     what came before          what comes next       what came last
//	sequences          the iteration's slice
//	captured           the same in each
//	                                             a slice               stacked: all slices
//
// Slices are along axis 0, which they do not have themselves. A captured operand is any tensor that the body reads.
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
	return n, n.checkLoop()
}

// stackOf is the type of a sequence of so many slices.
func stackOf(t types.Tensor, trips int) types.Tensor {
	return types.Of(t.DType, append([]int{trips}, t.Shape...)...)
}

// CaptureConstants gives the body of a loop the constants among its captured operands for its own.
func (n *Node) CaptureConstants() {
	a, body := n.Attrs.(LoopAttrs), n.Sub[0]
	own := map[*Value]*Value{}
	for i := len(n.In) - 1; i >= a.Carried+a.Sequences; i-- {
		if n.In[i].IsConst() {
			own[body.Inputs[i]] = n.In[i]
			n.In, body.Inputs = slices.Delete(slices.Clone(n.In), i, i+1), slices.Delete(body.Inputs, i, i+1)
		}
	}
	for _, m := range body.Nodes {
		for i, v := range m.In {
			if c := own[v]; c != nil {
				m.In[i] = c
			}
		}
	}
	for i, v := range body.Outputs {
		if c := own[v]; c != nil {
			body.Outputs[i] = c
		}
	}
}

// checkLoop holds operands, results and body to the table of Loop. All lie in plain layouts.
func (n *Node) checkLoop() error {
	if err := n.wantSubs(1); err != nil {
		return err
	}
	a, ok := n.Attrs.(LoopAttrs)
	body := n.Sub[0]
	switch {
	case !ok || a.Trips < 1 || a.Carried < 0 || a.Sequences < 0:
		return fmt.Errorf("no loop has attributes %+v", n.Attrs)
	case len(n.In) < a.Carried+a.Sequences:
		return fmt.Errorf("%s for %d carried and %s", spelling.Count(len(n.In), "operand"), a.Carried, spelling.Count(a.Sequences, "sequence"))
	case len(body.Inputs) != len(n.In):
		return fmt.Errorf("%s, but the body has %s", spelling.Count(len(n.In), "operand"), spelling.Count(len(body.Inputs), "input"))
	case len(body.Outputs) != len(n.Out) || len(n.Out) < a.Carried:
		return fmt.Errorf("%s, but the body has %s, of which %d are carried", spelling.Count(len(n.Out), "result"), spelling.Count(len(body.Outputs), "output"), a.Carried)
	}
	fits := func(outside, inside types.Tensor, slice bool) bool {
		if slice {
			inside = stackOf(inside, a.Trips)
		}
		return outside.Equal(inside) && outside.Layout == ""
	}
	for i, v := range n.In {
		if inside := body.Inputs[i].Type; !fits(v.Type, inside, i >= a.Carried && i < a.Carried+a.Sequences) {
			return fmt.Errorf("operand %d has type %s, input %d of the body %s", i, v.Type, i, inside)
		}
	}
	for i, v := range n.Out {
		if err := v.Type.Check(); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
		if inside := body.Outputs[i].Type; !fits(v.Type, inside, i >= a.Carried) || i < a.Carried && !v.Type.Equal(n.In[i].Type) {
			return fmt.Errorf("result %d has type %s, output %d of the body %s", i, v.Type, i, inside)
		}
	}
	return nil
}
