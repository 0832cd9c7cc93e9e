// Package onnx reads ONNX models: the reading half decodes and checks model and tensor files, the table half says what
// each ONNX operator becomes in the graph.
//
// The reader maps files and keeps large tensors where they are: Tensor.Data points into the mapping. It checks form
// (sizes, names, order, references), not meaning: whether an operator exists, and its types and shapes, is the table's
// business. Malformed input gives an error, never a panic, and memory stays proportional to the size of the file.
package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"lathe/internal/frontend"
)

// A Model is a decoded ModelProto. Tensor bytes may live in files that it maps, so they are valid until Close.
type Model struct {
	IRVersion       int64
	Producer        string
	ProducerVersion string
	Domain          string
	ModelVersion    int64
	Opsets          map[string]int // operator domain ("" is ai.onnx) to version
	Graph           *Graph
	Functions       []*Function // local functions; none after Expand
	Metadata        []Entry

	files *fileSet
}

// External lists the paths of the files of external data that have been read so far.
func (m *Model) External() []string {
	var list []string
	for name := range m.files.byName {
		list = append(list, filepath.Join(m.files.dir, name))
	}
	slices.Sort(list)
	return list
}

// An Entry is one StringStringEntryProto, in file order.
type Entry struct{ Key, Value string }

// A Graph is a decoded GraphProto. Nodes are in topological order.
type Graph struct {
	Name               string
	Nodes              []*Node
	Initializers       []*Tensor
	SparseInitializers []*SparseTensor
	Inputs, Outputs    []ValueInfo
	ValueInfo          []ValueInfo
}

// RealInputs returns the inputs that a caller has to supply: those without an initializer of the same name. Before IR
// version 4 every initializer had to be listed as an input; from 4 on such an input is a constant with the right to
// be overridden, a right that compiled models do not keep.
func (g *Graph) RealInputs() []ValueInfo {
	constant := make(map[string]bool, len(g.Initializers)+len(g.SparseInitializers))
	for _, t := range g.Initializers {
		constant[t.Name] = true
	}
	for _, t := range g.SparseInitializers {
		constant[t.Name()] = true
	}
	var in []ValueInfo
	for _, v := range g.Inputs {
		if !constant[v.Name] {
			in = append(in, v)
		}
	}
	return in
}

// A Node is one operator application. An empty name in Inputs or Outputs is an optional operand that is absent.
type Node struct {
	Name, OpType string
	Domain       string // "" is ai.onnx
	Overload     string
	Version      int // opset version of Domain that this node is written in; 0 for calls of local functions
	Inputs       []string
	Outputs      []string
	Attrs        []Attr
}

// Label names the node in messages: operator and node name, or its first output where the node has no name.
func (n *Node) Label() string {
	switch op := n.Qualified(); {
	case n.Name != "":
		return fmt.Sprintf("%s %q", op, n.Name)
	case len(n.Outputs) > 0:
		return fmt.Sprintf("%s (output %q)", op, n.Outputs[0])
	default:
		return op
	}
}

// Qualified is the operator, with its domain where that is not ai.onnx.
func (n *Node) Qualified() string {
	if n.Domain == "" {
		return n.OpType
	}
	return n.Domain + "." + n.OpType
}

// Bodies are the graphs that the node has as attributes.
func (n *Node) Bodies() []*Graph {
	var list []*Graph
	for i := range n.Attrs {
		list = append(list, n.Attrs[i].graphs()...)
	}
	return list
}

// A Function is a decoded FunctionProto: a node type defined by the model itself.
type Function struct {
	Name, Domain, Overload string
	Inputs, Outputs        []string
	Attributes             []string // parameters without a default value
	Defaults               []Attr   // parameters with one
	Nodes                  []*Node
	Opsets                 map[string]int
}

// A SparseTensor is a decoded SparseTensorProto in coordinate form: Values is [nnz], Indices is [nnz] of linear
// indices or [nnz, rank].
type SparseTensor struct {
	Values, Indices *Tensor
	Dims            []int
}

// Name is the name of the values, which by the format is the name of the whole.
func (s *SparseTensor) Name() string { return s.Values.Name }

// ReadFile maps and decodes the model at path, with its external data, and checks it. The caller owes it a Close.
func ReadFile(path string) (*Model, error) {
	data, err := mapPath(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	m, err := Read(data, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, errors.Join(err, frontend.Unmap(data)))
	}
	m.files.maps = append(m.files.maps, data)
	return m, nil
}

// Read decodes and checks a model held in memory. Tensors point into data, which must stay unchanged while the model
// is in use. External data is looked for in the folder dir; an empty dir means that there is none.
func Read(data []byte, dir string) (*Model, error) {
	if what := identify(data); what != "" {
		return nil, fmt.Errorf("not an ONNX model: %s", what)
	}
	d := &decoder{room: newRoom(len(data)), files: &fileSet{dir: dir}}
	m, err := d.model(data)
	if err == nil {
		err = check(m, d.room)
	}
	if err != nil {
		return nil, errors.Join(err, d.files.close())
	}
	m.files = d.files
	return m, nil
}

// Close unmaps the files behind the model. Tensor.Data of its tensors must not be read afterwards.
func (m *Model) Close() error {
	if m.files == nil {
		return nil
	}
	return m.files.close()
}

// mapPath maps a model file and names the ways in which that commonly fails.
func mapPath(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, frontend.Cause(err)
	}
	if info.IsDir() {
		return nil, errors.New(DescribeFolder(path))
	}
	return frontend.Map(path)
}
