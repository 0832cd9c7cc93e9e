package bundle

import (
	"encoding/json"
	"fmt"

	"lathe/internal/tool/readjson"
)

// jsonGraph is the shape of mod.json for encoding/json. Metadata and control_deps that TVM may add are ignored.
type jsonGraph struct {
	Nodes      []jsonNode                 `json:"nodes"`
	ArgNodes   []int                      `json:"arg_nodes"`
	Heads      []Entry                    `json:"heads"`
	Attrs      map[string]json.RawMessage `json:"attrs"`
	NodeRowPtr []int                      `json:"node_row_ptr"`
}

type jsonNode struct {
	Op     string            `json:"op"`
	Name   string            `json:"name"`
	Attrs  map[string]string `json:"attrs"`
	Inputs []Entry           `json:"inputs"`
}

// ParseGraph reads and checks mod.json, also one that TVM wrote.
func ParseGraph(b []byte) (*GraphJSON, error) {
	g, err := parseGraph(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", GraphName, err)
	}
	return g, nil
}

func parseGraph(b []byte) (*GraphJSON, error) {
	var j jsonGraph
	if err := readjson.Into(b, &j); err != nil {
		return nil, err
	}
	if j.Nodes == nil && j.NodeRowPtr == nil {
		return nil, errNotGraph
	}
	g := &GraphJSON{ArgNodes: j.ArgNodes, Heads: j.Heads, NodeRowPtr: j.NodeRowPtr}
	for i, n := range j.Nodes {
		call, err := parseCall(&n)
		if err != nil {
			return nil, fmt.Errorf("node %d (%q): %w", i, n.Name, err)
		}
		g.Nodes = append(g.Nodes, GraphNode{Op: n.Op, Name: n.Name, Call: call, Inputs: n.Inputs})
	}
	if err := g.Attrs.parse(j.Attrs); err != nil {
		return nil, fmt.Errorf("attrs: %w", err)
	}
	return g, g.check()
}

// parseCall reads the attributes of a tvm_op; other nodes have no call, whatever attributes they carry.
func parseCall(n *jsonNode) (*GraphCall, error) {
	if n.Op != "tvm_op" {
		return nil, nil
	}
	c := &GraphCall{FuncName: n.Attrs["func_name"], Hash: n.Attrs["hash"]}
	var err error
	if c.NumInputs, err = takeInt(n.Attrs, "num_inputs"); err != nil {
		return nil, err
	}
	if c.NumOutputs, err = takeInt(n.Attrs, "num_outputs"); err != nil {
		return nil, err
	}
	for _, k := range []string{"func_name", "hash", "flatten_data"} {
		delete(n.Attrs, k)
	}
	if len(n.Attrs) > 0 {
		c.Extra = n.Attrs
	}
	return c, nil
}

// parse reads the tagged lists: each value is [tag, list].
func (a *GraphAttrs) parse(attrs map[string]json.RawMessage) error {
	for _, f := range []struct {
		key, tag string
		into     any
	}{
		{"dltype", "list_str", &a.DType},
		{"shape", "list_shape", &a.Shape},
		{"storage_id", "list_int", &a.StorageID},
		{"device_index", "list_int", &a.DeviceIndex},
		{"storage_scope", "list_str", &a.StorageScope},
	} {
		raw, ok := attrs[f.key]
		if !ok {
			continue
		}
		var pair []json.RawMessage
		var tag string
		if err := json.Unmarshal(raw, &pair); err != nil {
			return fmt.Errorf("%s: %w", f.key, readjson.Words(err))
		}
		if len(pair) != 2 || json.Unmarshal(pair[0], &tag) != nil || tag != f.tag {
			return fmt.Errorf("%s: not [%q, list]", f.key, f.tag)
		}
		if err := json.Unmarshal(pair[1], f.into); err != nil {
			return fmt.Errorf("%s: %w", f.key, readjson.Words(err))
		}
	}
	return nil
}
