package tensorflow

import (
	"errors"
	"fmt"

	"lathe/internal/container/wire"
	"lathe/internal/tool/spelling"
)

// A node is a NodeDef (tensorflow/core/framework/node_def.proto).
type node struct {
	name, op string
	in       []string // "node", "node:k" or "^node", a control input; in functions "argument", "node:result:k"
	attrs    []attr
}

// An attr is a name with an AttrValue message, in place.
type attr struct {
	name  string
	value []byte
}

// attr is the value of an attribute, nil where the node does not have it.
func (n *node) attr(name string) []byte {
	for _, a := range n.attrs {
		if a.name == name {
			return a.value
		}
	}
	return nil
}

// A function is a FunctionDef (function.proto).
type function struct {
	name       string
	args, rets []argument
	nodes      []*node
	ret        map[string]string // what each result is, as inputs of nodes are written
}

// An argument is an ArgDef.
type argument struct {
	name string
	typ  dataType
}

// A graphDef is a GraphDef (graph.proto).
type graphDef struct {
	nodes     []*node
	functions map[string]*function
	producer  int // version of TensorFlow's graphs that wrote it
}

// maxNodes bounds the nodes of a file: a small one can hold very many.
const maxNodes = 1 << 18

// A graphReader decodes a graph and counts its nodes.
type graphReader struct{ nodes int }

// readGraph decodes a GraphDef. Attributes and constants point into data.
func readGraph(data []byte) (*graphDef, error) {
	g, r := &graphDef{functions: map[string]*function{}}, &graphReader{}
	producer := int32(0)
	err := wire.Read(data, wire.Fields{
		1: wire.Messages(&g.nodes, r.node),
		2: wire.Message(wire.Fields{1: wire.With(func(msg []byte) error {
			f, err := r.function(msg)
			g.functions[f.name] = f
			return err
		})}),
		4: wire.Message(wire.Fields{1: wire.Int(&producer)}),
	})
	g.producer = int(producer)
	return g, err
}

func (r *graphReader) node(msg []byte) (*node, error) {
	n := &node{}
	err := wire.Read(msg, wire.Fields{
		1: wire.Text(&n.name), 2: wire.Text(&n.op), 3: wire.Texts(&n.in),
		5: wire.Messages(&n.attrs, func(msg []byte) (a attr, err error) {
			err = wire.Read(msg, wire.Fields{1: wire.Text(&a.name), 2: wire.Bytes(&a.value)})
			return a, err
		}),
	})
	r.nodes++
	switch {
	case err != nil:
	case n.name == "" || n.op == "":
		err = errors.New("a node without a name or an operator: it is no graph of TensorFlow")
	case r.nodes > maxNodes:
		err = fmt.Errorf("more than %s", spelling.Count(maxNodes, "node"))
	}
	return n, err
}

func (r *graphReader) function(msg []byte) (*function, error) {
	f := &function{ret: map[string]string{}}
	err := wire.Read(msg, wire.Fields{
		1: wire.Message(wire.Fields{1: wire.Text(&f.name), 2: wire.Messages(&f.args, readArgument), 3: wire.Messages(&f.rets, readArgument)}), // OpDef
		3: wire.Messages(&f.nodes, r.node),
		4: wire.Pairs(f.ret),
	})
	if err == nil && f.name == "" {
		err = errors.New("a function without a name")
	}
	return f, err
}

func readArgument(msg []byte) (a argument, err error) {
	err = wire.Read(msg, wire.Fields{1: wire.Text(&a.name), 3: wire.Int(&a.typ)})
	return a, err
}
