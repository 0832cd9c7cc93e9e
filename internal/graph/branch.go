package graph

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/op"
	"lathe/internal/types"
)

// If is the structural operator that runs one of its two sub-graphs: the first where its first operand, one truth value, holds. The
// further operands are the inputs of both, and the results the outputs of the one that runs.
var If = &op.Def{
	Name: "if", Doc: "if runs one of two sub-graphs.", Args: []string{"condition", "operands..."}, Fusion: op.Opaque,
	Infer: func(any, []op.Arg) ([]types.Tensor, error) {
		return nil, errors.New("the types of an if are its sub-graphs'")
	},
}

// IsRegion reports whether the sub-graphs of n are bodies: graphs by themselves, which run when and as often as n says.
func (n *Node) IsRegion() bool { return n.Op == Loop || n.Op == If || n.Op == External }

// Bodies are the sub-graphs of a region.
func (n *Node) Bodies() []*Graph {
	if !n.IsRegion() {
		return nil
	}
	return n.Sub
}

// NewIf makes a node that runs yes or no.
func NewIf(yes, no *Graph, in []*Value) (*Node, error) {
	n := &Node{Op: If, In: in, Sub: []*Graph{yes, no}}
	for i, o := range yes.Outputs {
		n.Out = append(n.Out, &Value{Type: o.Type, Def: n, Index: i})
	}
	return n, n.checkIf()
}

// checkIf: operand i + 1 is input i of both sub-graphs, result i their output i. All lie in plain layouts.
func (n *Node) checkIf() error {
	if err := n.wantSubs(2); err != nil {
		return err
	}
	if len(n.In) == 0 || n.In[0].Type.DType != types.Bool || n.In[0].Type.Elements() != 1 {
		return errors.New("no condition of one truth value")
	}
	for _, v := range slices.Concat(n.In, n.Out) {
		if v.Type.Layout != "" {
			return fmt.Errorf("an operand or result has type %s", v.Type)
		}
	}
	for _, s := range n.Sub {
		if err := connect(s, n.In[1:], n.Out); err != nil {
			return err
		}
	}
	return nil
}

// CaptureConstants gives the bodies of a region the constants among its captured operands for their own.
func (n *Node) CaptureConstants() {
	first := 1 // operand that is captured
	if a, ok := n.Attrs.(LoopAttrs); ok {
		first = a.Carried + a.Sequences
	}
	for i := len(n.In) - 1; i >= first; i-- {
		other := func(body *Graph) bool { // a part of it
			return !body.Inputs[i-(len(n.In)-len(body.Inputs))].Type.Equal(n.In[i].Type)
		}
		if !n.In[i].IsConst() || slices.ContainsFunc(n.Sub, other) {
			continue
		}
		for _, body := range n.Sub {
			k := i - (len(n.In) - len(body.Inputs))
			body.Substitute(body.Inputs[k], n.In[i])
			body.Inputs = slices.Delete(body.Inputs, k, k+1)
		}
		n.In = slices.Delete(slices.Clone(n.In), i, i+1)
	}
}

// Substitute makes the nodes and outputs of g read by where they read v.
func (g *Graph) Substitute(v, by *Value) {
	for _, m := range g.Nodes {
		if slices.Contains(m.In, v) {
			m.In = slices.Clone(m.In)
		}
		for i, x := range m.In {
			if x == v {
				m.In[i] = by
			}
		}
	}
	for i, x := range g.Outputs {
		if x == v {
			g.Outputs[i] = by
		}
	}
}
