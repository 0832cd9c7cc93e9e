package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"lathe/internal/tool/spelling"
)

// GraphJSON is mod.json, TVM's graph-executor JSON. An entry is one output of a node; entries are numbered in node order,
// and the lists in Attrs have one element per entry.
type GraphJSON struct {
	Nodes      []GraphNode
	ArgNodes   []int   // indices of the "null" nodes: inputs and parameters
	Heads      []Entry // outputs of the model
	Attrs      GraphAttrs
	NodeRowPtr []int // entries before each node, and their total: len(Nodes)+1 values
}

// GraphNode is an input or parameter (Op "null") or a call of a kernel (Op "tvm_op").
type GraphNode struct {
	Op     string
	Name   string
	Call   *GraphCall // of a tvm_op, nil otherwise
	Inputs []Entry
}

// GraphCall holds the attributes of a tvm_op. mod.json has them as strings.
type GraphCall struct {
	FuncName   string // "__nop" is an alias such as reshape
	NumInputs  int
	NumOutputs int
	Hash       string
	Extra      map[string]string
}

// Entry names an output of a node.
type Entry struct {
	Node, Index, Version int
}

// GraphAttrs describes every entry.
type GraphAttrs struct {
	DType        []string
	Shape        [][]int
	StorageID    []int
	DeviceIndex  []int    // absent when nil
	StorageScope []string // absent when nil
}

func (n *GraphNode) outputs() int {
	if n.Call != nil {
		return n.Call.NumOutputs
	}
	return 1
}

// Marshal checks g and returns mod.json in TVM's order of keys, one node a line.
func (g *GraphJSON) Marshal() ([]byte, error) {
	if err := g.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", GraphName, err)
	}
	b := []byte("{\n  \"nodes\": [")
	for i := range g.Nodes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, "\n    "...)
		b = g.Nodes[i].appendJSON(b)
	}
	b = append(b, "\n  ],\n  \"arg_nodes\": "...)
	b = appendJSON(b, nonNil(g.ArgNodes))
	b = append(b, ",\n  \"heads\": "...)
	b = appendJSON(b, nonNil(g.Heads))
	b = append(b, ",\n  \"attrs\": {"...)
	b = g.Attrs.appendJSON(b)
	b = append(b, "\n  },\n  \"node_row_ptr\": "...)
	b = appendJSON(b, g.NodeRowPtr)
	return append(b, "\n}\n"...), nil
}

// appendJSON appends the compact form of a value whose type cannot fail to marshal.
func appendJSON(b []byte, v any) []byte {
	var w bytes.Buffer
	e := json.NewEncoder(&w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("bundle: %v", err))
	}
	return append(b, bytes.TrimSuffix(w.Bytes(), []byte("\n"))...)
}

// nonNil keeps an empty list from being written as null, which TVM's reader refuses.
func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (n *GraphNode) appendJSON(b []byte) []byte {
	b = append(b, `{"op": `...)
	b = appendJSON(b, n.Op)
	b = append(b, `, "name": `...)
	b = appendJSON(b, n.Name)
	if c := n.Call; c != nil {
		b = append(b, `, "attrs": {"func_name": `...)
		b = appendJSON(b, c.FuncName)
		b = fmt.Appendf(b, `, "num_inputs": "%d", "num_outputs": "%d", "flatten_data": "0"`, c.NumInputs, c.NumOutputs)
		if c.Hash != "" {
			b = append(b, `, "hash": `...)
			b = appendJSON(b, c.Hash)
		}
		for _, k := range slices.Sorted(maps.Keys(c.Extra)) {
			b = append(b, ", "...)
			b = appendJSON(b, k)
			b = append(b, ": "...)
			b = appendJSON(b, c.Extra[k])
		}
		b = append(b, '}')
	}
	b = append(b, `, "inputs": `...)
	b = appendJSON(b, nonNil(n.Inputs))
	return append(b, '}')
}

func (a *GraphAttrs) appendJSON(b []byte) []byte {
	shapes := make([][]int, len(a.Shape))
	for i, s := range a.Shape {
		shapes[i] = nonNil(s)
	}
	sep := "\n"
	for _, f := range []struct {
		key, tag string
		list     any
		absent   bool
	}{
		{"dltype", "list_str", nonNil(a.DType), false},
		{"shape", "list_shape", shapes, false},
		{"storage_id", "list_int", nonNil(a.StorageID), false},
		{"device_index", "list_int", a.DeviceIndex, a.DeviceIndex == nil},
		{"storage_scope", "list_str", a.StorageScope, a.StorageScope == nil},
	} {
		if f.absent {
			continue
		}
		b = fmt.Appendf(b, "%s    %q: [%q, ", sep, f.key, f.tag)
		b = appendJSON(b, f.list)
		b = append(b, ']')
		sep = ",\n"
	}
	return b
}

// MarshalJSON writes TVM's triple [node, index, version].
func (e Entry) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d,%d,%d]", e.Node, e.Index, e.Version), nil
}

// UnmarshalJSON reads a pair or triple; the version may be missing.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var v []int
	if err := json.Unmarshal(b, &v); err != nil || len(v) != 2 && len(v) != 3 {
		return fmt.Errorf("entry %s is not [node, index, version]", b)
	}
	e.Node, e.Index = v[0], v[1]
	if len(v) == 3 {
		e.Version = v[2]
	}
	return nil
}

// check compares all indices and lengths.
func (g *GraphJSON) check() error {
	if len(g.NodeRowPtr) != len(g.Nodes)+1 {
		return fmt.Errorf("node_row_ptr has %s for %s", spelling.Count(len(g.NodeRowPtr), "value"), spelling.Count(len(g.Nodes), "node"))
	}
	entries := 0
	for i := range g.Nodes {
		if g.NodeRowPtr[i] != entries {
			return fmt.Errorf("node_row_ptr[%d] is %d instead of %d", i, g.NodeRowPtr[i], entries)
		}
		n := &g.Nodes[i]
		if err := g.checkNode(i, n); err != nil {
			return fmt.Errorf("node %d (%q): %w", i, n.Name, err)
		}
		entries += n.outputs()
	}
	if last := g.NodeRowPtr[len(g.Nodes)]; last != entries {
		return fmt.Errorf("node_row_ptr ends with %d instead of %d", last, entries)
	}
	for _, a := range g.ArgNodes {
		if a < 0 || a >= len(g.Nodes) || g.Nodes[a].Op != "null" {
			return fmt.Errorf("arg_nodes names node %d, which is not an input", a)
		}
	}
	for _, h := range g.Heads {
		if err := g.checkEntry(h, len(g.Nodes)); err != nil {
			return fmt.Errorf("heads: %w", err)
		}
	}
	return g.Attrs.check(entries)
}

// maxOutputs bounds what one node may claim, so that entry numbers stay small.
const maxOutputs = 1 << 20

func (g *GraphJSON) checkNode(i int, n *GraphNode) error {
	switch {
	case n.Op == "null" && n.Call == nil:
	case n.Op == "tvm_op" && n.Call != nil:
		if n.Call.NumInputs != len(n.Inputs) {
			return fmt.Errorf("num_inputs %d for %s", n.Call.NumInputs, spelling.Count(len(n.Inputs), "input"))
		}
		if n.Call.NumOutputs < 0 || n.Call.NumOutputs > maxOutputs {
			return fmt.Errorf("num_outputs %d", n.Call.NumOutputs)
		}
	default:
		return fmt.Errorf("op %q (attributes: %t) is neither null nor tvm_op", n.Op, n.Call != nil)
	}
	for _, e := range n.Inputs {
		if err := g.checkEntry(e, i); err != nil {
			return err
		}
	}
	return nil
}

// checkEntry accepts outputs of nodes before limit.
func (g *GraphJSON) checkEntry(e Entry, limit int) error {
	if e.Node < 0 || e.Node >= limit {
		return fmt.Errorf("entry refers to node %d, outside 0..%d", e.Node, limit-1)
	}
	if n := g.Nodes[e.Node].outputs(); e.Index < 0 || e.Index >= n {
		return fmt.Errorf("entry refers to output %d of %d of node %d", e.Index, n, e.Node)
	}
	return nil
}

func (a *GraphAttrs) check(entries int) error {
	for _, l := range []struct {
		key string
		n   int
		opt bool
	}{
		{"dltype", len(a.DType), false},
		{"shape", len(a.Shape), false},
		{"storage_id", len(a.StorageID), false},
		{"device_index", len(a.DeviceIndex), a.DeviceIndex == nil},
		{"storage_scope", len(a.StorageScope), a.StorageScope == nil},
	} {
		if !l.opt && l.n != entries {
			return fmt.Errorf("attrs: %s has %s for %s", l.key, spelling.Count(l.n, "value"), spelling.Count(entries, "entry"))
		}
	}
	return nil
}

// takeInt removes a key from attributes and reads its number.
func takeInt(attrs map[string]string, key string) (int, error) {
	s, ok := attrs[key]
	if !ok {
		return 0, fmt.Errorf("attribute %s is missing", key)
	}
	delete(attrs, key)
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("attribute %s is %q, not a number", key, s)
	}
	return n, nil
}

var errNotGraph = errors.New("not a graph-executor JSON")
