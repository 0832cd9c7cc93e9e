// Package graph is the graph IR, Relay's level: a typed dataflow graph of operators. It knows no operator by name except
// its own structural ones (Group, If, Loop).
package graph

import (
	"fmt"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// A Graph computes Outputs from Inputs. Nodes are in topological order. A sub-graph (the body of a group or a branch) may
// only use its own values: what it needs from outside are its Inputs.
type Graph struct {
	Name    string
	Inputs  []*Value
	Outputs []*Value
	Nodes   []*Node
}

// A Value is one tensor: a graph input, a constant, or a node's result.
type Value struct {
	Name  string // unique in its graph; from the model where it has one
	Type  types.Tensor
	Def   *Node // nil for inputs and constants
	Index int   // which of Def's results
	// Const holds a constant's elements, in plain order whatever Type.Layout, which is where kernels will find them.
	Const *tensor.Tensor
	// Known is the value of a small result that does not depend on inputs, found during inference: shape arithmetic.
	Known *tensor.Tensor
}

// A Node applies Op to In. Structural nodes hold sub-graphs.
type Node struct {
	Op    *op.Def
	Attrs any
	In    []*Value
	Out   []*Value
	Sub   []*Graph
	Impl  Impl
	// Why says for people why a pass computes the node this way and not another; nothing depends on it.
	Why string
	// Origin names the nodes of the model this one came from.
	Origin []string
}

// An Impl is how a node is to be computed: the name of an implementation, and what was decided for it. The zero Impl leaves
// all of it open. A Point is never changed in place: nodes share it.
type Impl struct {
	Name  string
	Point choice.Point
	Of    string // the name under which decisions were asked for; nothing that is computed depends on it
}

// IsConst reports whether v's elements are known: a constant.
func (v *Value) IsConst() bool { return v.Const != nil }

// Value returns the elements of a constant or of a known result, or nil.
func (v *Value) Value() *tensor.Tensor {
	if v.Const != nil {
		return v.Const
	}
	return v.Known
}

// Input adds a graph input.
func (g *Graph) Input(name string, t types.Tensor) *Value {
	v := &Value{Name: name, Type: t}
	g.Inputs = append(g.Inputs, v)
	return v
}

// NewConst makes a constant. Constants belong to no graph: they are reachable from the nodes that use them.
func NewConst(name string, t *tensor.Tensor) *Value {
	return &Value{Name: name, Type: t.Type(), Const: t}
}

// knownLimit is the greatest number of elements that inference evaluates: more than any shape, less than any weight.
// knownWork is the greatest number of steps: a pooling of one element can have a window of a billion.
const (
	knownLimit = 1024
	knownWork  = 1 << 16
)

// Apply appends a node, inferring the types of its results and, for small ones, their values.
func (g *Graph) Apply(d *op.Def, attrs any, in ...*Value) (*Node, error) {
	n := &Node{Op: d, Attrs: attrs, In: in}
	if err := n.Infer(); err != nil {
		return nil, err
	}
	g.Nodes = append(g.Nodes, n)
	return n, nil
}

// maxRank is the greatest number of axes of a tensor, as packages have them.
const maxRank = 64

func tooManyAxes(t types.Tensor) error {
	return fmt.Errorf("a tensor of %s; there may be %d", spelling.Count(len(t.Shape), "dimension"), maxRank)
}

// Infer computes n's result types from its operands, making or updating n.Out, and propagates known values.
func (n *Node) Infer() error {
	args := make([]op.Arg, len(n.In))
	known := true
	for i, v := range n.In {
		if len(v.Type.Shape) > maxRank {
			return tooManyAxes(v.Type)
		}
		args[i] = op.Arg{Tensor: v.Type.With(""), Value: v.Value()}
		known = known && args[i].Value != nil && args[i].Value.Len() <= knownLimit
	}
	outs, err := n.Op.Infer(n.Attrs, args)
	if err != nil {
		return err
	}
	if n.Out == nil {
		for i := range outs {
			n.Out = append(n.Out, &Value{Def: n, Index: i})
		}
	}
	if len(n.Out) != len(outs) {
		return fmt.Errorf("%s: %s instead of %d", n.Op.Name, spelling.Count(len(n.Out), "result"), len(outs))
	}
	vals := make([]*tensor.Tensor, len(outs))
	for i, t := range outs {
		if len(t.Shape) > maxRank {
			return tooManyAxes(t)
		}
		if t.Layout == "" { // the operator leaves the layout open: it stays as chosen before
			t.Layout = n.Out[i].Type.Layout
		}
		n.Out[i].Type, n.Out[i].Known = t, nil
		known = known && t.Elements() <= knownLimit
		if known {
			vals[i] = tensor.NewOf(t)
		}
	}
	if !known || n.Op.Eval == nil || n.Work() > knownWork {
		return nil
	}
	ins := make([]*tensor.Tensor, len(n.In))
	for i, a := range args {
		ins[i] = a.Value
	}
	if err := n.Op.Eval(n.Attrs, ins, vals); err != nil {
		return nil // an operator without a value here has one at run time, or fails there with its own message
	}
	for i, v := range vals {
		n.Out[i].Known = v
	}
	return nil
}

// Work is about how many steps the reference evaluation of n takes.
func (n *Node) Work() float64 {
	in, out := make([]types.Tensor, len(n.In)), make([]types.Tensor, len(n.Out))
	for i, v := range n.In {
		in[i] = v.Type.With("")
	}
	for i, v := range n.Out {
		out[i] = v.Type.With("")
	}
	return n.Op.Work(n.Attrs, in, out)
}

// Identity reports whether n's one result is operand 0 as it is: the operator declares that the elements are, and both
// lie in memory alike.
func (n *Node) Identity() bool {
	if n.Op.Identity == nil || len(n.In) == 0 || len(n.Out) != 1 || !n.In[0].Type.Equal(n.Out[0].Type) {
		return false
	}
	in := make([]types.Tensor, len(n.In))
	for i, v := range n.In {
		in[i] = v.Type
	}
	return n.Op.Identity(n.Attrs, in)
}

// Users maps every value to the nodes that read it, in graph order; a node that reads it twice is there twice.
// Graph outputs are not users.
func (g *Graph) Users() map[*Value][]*Node {
	users := map[*Value][]*Node{}
	for _, n := range g.Nodes {
		for _, v := range n.In {
			users[v] = append(users[v], n)
		}
	}
	return users
}

// DeadCode removes nodes no output needs and reports how many.
func (g *Graph) DeadCode() int {
	live := map[*Node]bool{}
	for _, o := range g.Outputs {
		if o.Def != nil {
			live[o.Def] = true
		}
	}
	for _, n := range slices.Backward(g.Nodes) {
		if live[n] {
			for _, v := range n.In {
				if v.Def != nil {
					live[v.Def] = true
				}
			}
		}
	}
	before := len(g.Nodes)
	g.Nodes = slices.DeleteFunc(g.Nodes, func(n *Node) bool { return !live[n] })
	return before - len(g.Nodes)
}

// Constants returns the constants g's nodes and outputs use, each once, in order of first use. Sub-graphs come with their node.
func (g *Graph) Constants() []*Value {
	var list []*Value
	seen := map[*Value]bool{}
	add := func(v *Value) {
		if v.Const != nil && !seen[v] {
			seen[v] = true
			list = append(list, v)
		}
	}
	for _, n := range g.Nodes {
		for _, v := range n.In {
			add(v)
		}
		for _, s := range n.Sub {
			for _, v := range s.Constants() {
				add(v)
			}
		}
	}
	for _, v := range g.Outputs {
		add(v)
	}
	return list
}
