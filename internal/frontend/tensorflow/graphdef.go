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

// readGraph decodes a GraphDef. Attributes and constants point into data.
func readGraph(data []byte) (*graphDef, error) {
	g := &graphDef{functions: map[string]*function{}}
	count := 0
	err := wire.Each(data, func(x wire.Field) error {
		switch x.Number {
		case 1:
			n, err := readNode(x.Data)
			if err != nil {
				return err
			}
			if count++; count > maxNodes {
				return fmt.Errorf("more than %s", spelling.Count(maxNodes, "node"))
			}
			g.nodes = append(g.nodes, n)
		case 2:
			return wire.Each(x.Data, func(x wire.Field) error {
				if x.Number != 1 {
					return nil
				}
				f, err := readFunction(x.Data, &count)
				if err == nil {
					g.functions[f.name] = f
				}
				return err
			})
		case 4:
			return wire.Each(x.Data, func(x wire.Field) error {
				if x.Number == 1 {
					g.producer = int(int32(x.Bits))
				}
				return nil
			})
		}
		return nil
	})
	return g, err
}

func readNode(msg []byte) (*node, error) {
	n := &node{}
	err := wire.Each(msg, func(x wire.Field) error {
		switch x.Number {
		case 1:
			n.name = string(x.Data)
		case 2:
			n.op = string(x.Data)
		case 3:
			n.in = append(n.in, string(x.Data))
		case 5:
			a := attr{}
			err := wire.Each(x.Data, func(x wire.Field) error {
				switch x.Number {
				case 1:
					a.name = string(x.Data)
				case 2:
					a.value = x.Data
				}
				return nil
			})
			n.attrs = append(n.attrs, a)
			return err
		}
		return nil
	})
	if err == nil && (n.name == "" || n.op == "") {
		err = errors.New("a node without a name or an operator: it is no graph of TensorFlow")
	}
	return n, err
}

func readFunction(msg []byte, count *int) (*function, error) {
	f := &function{ret: map[string]string{}}
	err := wire.Each(msg, func(x wire.Field) error {
		switch x.Number {
		case 1:
			return f.signature(x.Data)
		case 3:
			n, err := readNode(x.Data)
			if *count++; *count > maxNodes {
				return fmt.Errorf("more than %s", spelling.Count(maxNodes, "node"))
			}
			f.nodes = append(f.nodes, n)
			return err
		case 4:
			var key, value string
			err := wire.Each(x.Data, func(x wire.Field) error {
				switch x.Number {
				case 1:
					key = string(x.Data)
				case 2:
					value = string(x.Data)
				}
				return nil
			})
			f.ret[key] = value
			return err
		}
		return nil
	})
	if err == nil && f.name == "" {
		err = errors.New("a function without a name")
	}
	return f, err
}

// signature reads an OpDef.
func (f *function) signature(msg []byte) error {
	return wire.Each(msg, func(x wire.Field) error {
		switch x.Number {
		case 1:
			f.name = string(x.Data)
		case 2, 3:
			a := argument{}
			err := wire.Each(x.Data, func(x wire.Field) error {
				switch x.Number {
				case 1:
					a.name = string(x.Data)
				case 3:
					a.typ = dataType(x.Bits)
				}
				return nil
			})
			if x.Number == 2 {
				f.args = append(f.args, a)
			} else {
				f.rets = append(f.rets, a)
			}
			return err
		}
		return nil
	})
}
