// Package frontend turns models into graphs: what all model formats share. A format is a package below this one with a
// reader, which makes a Graph of a file, and a Table, which says what each operator becomes; this package does the rest:
// shapes of the inputs, names, needed nodes, control flow, limits, and errors that say which node they are about.
package frontend

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Graph is a model, or a body of its control flow: nodes over named values, each value before its uses.
type Graph struct {
	Name            string
	Inputs, Outputs []Info // inputs are those that a caller supplies
	Params          []Param
	Nodes           []*Node
	Values          []Info // what the file says about other values: a hint
	// Program computes the outputs of a model that is code: what its operators are is known when it runs. Nodes then only list what
	// it may apply, and Outputs what is known of the results.
	Program func(c *Call) []Output
}

// An Info gives a value's name and what the file says about its type.
type Info struct {
	Name  string
	Spelt string      // the type as the file has it, for messages and lists
	DType types.DType // of the elements; types.Invalid where the file does not say
	// Assumed: the file says no element type, and the program decides whether DType is right. See TypeError.
	Assumed bool
	// Optional: an input of a program that has a value of its own, and is one only where a shape or a value is given.
	Optional bool
	Err      error  // why the type is not one that graphs have, or nil
	Kind     string // what the value is instead of a tensor, or ""
	Ranked   bool   // the file gives a shape, Dims, which may be that of a scalar
	Dims     []Dim
	Note     string // for the user, where it is an input of what is imported
	Meaning
}

// A Meaning is what a file says of the numbers of an input or output, for those who make and read them.
type Meaning struct {
	Scale     float64 // integers q stand for Scale (q - Zero); 0: for themselves
	Zero      int
	Aliases   []string  // other names of the value
	Labels    []string  // names of the classes along the last axis longer than 1
	Mean, Std []float64 // pixels p from 0 to 255 become (p - Mean) / Std, one number or one for each channel
}

// A Dim is a known extent, or a named or nameless unknown one.
type Dim struct {
	Value int64 // -1 where unknown
	Param string
}

// Known reports whether the extent is given as a number.
func (d Dim) Known() bool { return d.Value >= 0 }

// A Param is a constant of the model. Only those that outputs need are made.
type Param struct {
	Name            string
	Elements, Bytes int64 // in the file
	Value           func(b *compose.Builder) (*graph.Value, error)
}

// Constant is a param whose elements are at hand.
func Constant(name string, t *tensor.Tensor) Param {
	return Param{Name: name, Elements: int64(t.Len()), Bytes: int64(t.Size()), Value: func(*compose.Builder) (*graph.Value, error) { return compose.Const(t), nil }}
}

// A Node is one operator application. An empty name in In or Out is an optional operand or result that is absent.
type Node struct {
	Op, Domain string // operators of a domain "" are the format's own
	Name       string // may be empty
	Version    int    // of the operator, for the rows of the table
	In, Out    []string
	Attrs      Attrs
	Sub        []*Graph // bodies of control flow
}

// Attrs are a node's attributes. Each getter is asked for an attribute that Names has, and returns an error where that is of
// another type.
type Attrs interface {
	Names() []string
	Int(name string) (int64, error)
	Ints(name string) ([]int64, error)
	Float(name string) (float64, error)
	Floats(name string) ([]float64, error)
	Bool(name string) (bool, error)
	Str(name string) (string, error)
	Strs(name string) ([]string, error)
	DType(name string) (types.DType, error)
	Tensor(name string) (*tensor.Tensor, error)
	Graph(name string) (*Graph, error) // one of the node's Sub
}

// Qualified is the operator, with its domain where it has one.
func (n *Node) Qualified() string {
	if n.Domain == "" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// Label names the node in messages: operator and node name, or its first result where the node has no name.
func (n *Node) Label() string {
	switch op := n.Qualified(); {
	case n.Name != "":
		return op + " " + quote(n.Name)
	case len(n.Out) > 0:
		return op + " (output " + quote(n.Out[0]) + ")"
	default:
		return op
	}
}

// Origin is the name that a node's results are known to come from: its own, or operator and first result where it has none.
func (n *Node) Origin() string {
	if n.Name != "" {
		return n.Name
	}
	for _, o := range n.Out {
		if o != "" {
			return n.Op + ":" + o
		}
	}
	return n.Op
}

// needs marks which nodes some output of g depends on, and the names that these nodes and the outputs read.
func (g *Graph) needs() (nodes []bool, names map[string]bool) {
	names = map[string]bool{}
	for _, o := range g.Outputs {
		names[o.Name] = true
	}
	nodes = make([]bool, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		nodes[i] = g.Program != nil
		for _, o := range g.Nodes[i].Out {
			nodes[i] = nodes[i] || o != "" && names[o]
		}
		if nodes[i] {
			g.Nodes[i].reads(names)
		}
	}
	return nodes, names
}

// reads marks the names that the node reads, those read by its bodies included.
func (n *Node) reads(names map[string]bool) {
	for _, in := range n.In {
		names[in] = true
	}
	for _, sub := range n.Sub {
		for _, m := range sub.Nodes {
			m.reads(names)
		}
		for _, o := range sub.Outputs {
			names[o.Name] = true
		}
	}
}

// count is the number of nodes, those of bodies included.
func (g *Graph) count() int {
	n := len(g.Nodes)
	for _, x := range g.Nodes {
		for _, sub := range x.Sub {
			n += sub.count()
		}
	}
	return n
}
