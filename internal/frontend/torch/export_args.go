package torch

import (
	"encoding/json"
	"fmt"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/types"
)

func constOf(w *stored) *graph.Value { return compose.Const(w.tensor()) }

// maxGraphs bounds how deep graphs nest in arguments.
const maxGraphs = 50

// nodes applies the nodes of a graph.
func (m *machine) nodes(g *exportGraph, s scope, depth int) {
	if depth > maxGraphs {
		fail("graphs are nested more than %d deep", maxGraphs)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		m.step()
		name, idle := operatorOf(n.Target)
		m.place.path, m.place.op = n.path(), "torch."+name
		if idle {
			continue
		}
		var args []value
		var names []string
		for _, in := range n.Inputs {
			args, names = append(args, m.exportArg(in.Arg, s, depth)), append(names, in.Name)
		}
		s.assign(n, m.target(name, args, names, depth))
	}
}

// A subgraph is a graph as an argument, with the values around it.
type subgraph struct {
	graph *exportGraph
	scope scope
}

// graphOperators take graphs as arguments.
var graphOperators = []string{"higher_order.wrap_with_set_grad_enabled", "higher_order.wrap_with_autocast", "higher_order.cond"}

// target applies an operator, or runs the graphs that are its arguments.
func (m *machine) target(name string, args []value, names []string, depth int) value {
	switch name {
	case "higher_order.wrap_with_set_grad_enabled", "higher_order.wrap_with_autocast":
		for i, a := range args {
			if g, ok := a.(*subgraph); ok {
				return m.body(g, args[i+1:], depth)
			}
		}
		fail("it has no graph")
	case "higher_order.cond":
		return m.cond(args, depth)
	}
	if f := m.table.builtins[name]; f != nil { // their arguments have no names
		if v, ok := f(m, args); ok {
			return v
		}
	}
	return m.operator(name, args, names)
}

// body runs a graph on arguments; its results are a tuple.
func (m *machine) body(g *subgraph, args []value, depth int) value {
	if len(args) < len(g.graph.Inputs) {
		fail("a graph of %d inputs gets %d", len(g.graph.Inputs), len(args))
	}
	s := scope{}
	for i, in := range g.graph.Inputs {
		s[nameIn(in)] = args[i]
	}
	m.nodes(g.graph, s, depth+1)
	var out tuple
	for _, o := range g.graph.Outputs {
		out = append(out, m.exportArg(o, s, depth))
	}
	return out
}

// cond runs one of two graphs.
func (m *machine) cond(args []value, depth int) value {
	if len(args) < 4 {
		fail("it has %d arguments", len(args))
	}
	yes, ok1 := args[1].(*subgraph)
	no, ok2 := args[2].(*subgraph)
	if !ok1 || !ok2 {
		fail("its branches are no graphs")
	}
	operands := m.unpack(args[3])
	holds, known := m.truth(args[0])
	if known && holds {
		return m.body(yes, operands, depth)
	} else if known {
		return m.body(no, operands, depth)
	}
	var build func(next func() *graph.Value) value
	way := func(g *subgraph) func() []*graph.Value {
		return func() (out []*graph.Value) {
			m.inRegion(func() { build = m.flatten(m.body(g, operands, depth), &out, 0) })
			return out
		}
	}
	region := m.region
	results := m.Either(m.Cast(m.get(args[0].(*tensor)), types.Bool), way(yes), way(no))
	m.region = region
	return build(func() *graph.Value {
		v := results[0]
		results = results[1:]
		return v
	})
}

// nameIn is the name in an argument that refers to a value, or "".
func nameIn(arg map[string]json.RawMessage) string {
	for _, raw := range arg {
		var n struct {
			Name string `json:"name"`
			As   string `json:"as_name"`
		}
		if json.Unmarshal(raw, &n) == nil && n.Name+n.As != "" {
			return n.Name + n.As
		}
	}
	return ""
}

// assign binds the results of a node to its outputs' names.
func (s scope) assign(n *exportNode, v value) {
	if len(n.Outputs) == 1 {
		if raw, ok := n.Outputs[0]["as_tensors"]; ok {
			var names []exportName
			if json.Unmarshal(raw, &names) == nil {
				parts, _ := items(v)
				for i, name := range names {
					if i < len(parts) {
						s[name.Name] = parts[i]
					}
				}
			}
			return
		}
		if parts, ok := v.(tuple); ok && len(parts) > 0 {
			v = parts[0]
		}
		s[nameIn(n.Outputs[0])] = v
		return
	}
	parts, ok := items(v)
	for i, o := range n.Outputs {
		if name := nameIn(o); name != "" && ok && i < len(parts) {
			s[name] = parts[i]
		}
	}
}

// exportArg is an argument as a value.
func (m *machine) exportArg(arg map[string]json.RawMessage, s scope, depth int) value {
	for kind, raw := range arg {
		v, err := m.decode(kind, raw, s, depth)
		if err != nil {
			fail("an argument %s: %w", kind, err)
		}
		return v
	}
	return nil
}

// lookup is the value of a name.
func (s scope) lookup(name string) value {
	v, ok := s[name]
	if !ok {
		fail("%q has no value", name)
	}
	return v
}

func (m *machine) decode(kind string, raw json.RawMessage, s scope, depth int) (value, error) {
	switch kind {
	case "as_none":
		return nil, nil
	case "as_tensor", "as_custom_obj":
		var n exportName
		err := json.Unmarshal(raw, &n)
		if err != nil {
			return nil, err
		}
		return s.lookup(n.Name), nil
	case "as_tensors":
		var names []exportName
		if err := json.Unmarshal(raw, &names); err != nil {
			return nil, err
		}
		var all []value
		for _, n := range names {
			all = append(all, s.lookup(n.Name))
		}
		return m.newList(all), nil
	case "as_int", "as_scalar_type", "as_memory_format", "as_layout":
		var n int64
		err := json.Unmarshal(raw, &n)
		if kind == "as_scalar_type" && err == nil {
			d, err := exportDType(int(n))
			if err != nil {
				return nil, err
			}
			return scalarType(d), nil
		}
		return n, err
	case "as_float":
		return decodeFloat(raw)
	case "as_bool":
		var b bool
		err := json.Unmarshal(raw, &b)
		return b, err
	case "as_string":
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err
	case "as_device":
		return "cpu", nil
	case "as_sym_int", "as_sym_bool", "as_sym_float":
		var inner map[string]json.RawMessage
		if err := json.Unmarshal(raw, &inner); err != nil {
			return nil, err
		}
		if raw, ok := inner["as_name"]; ok {
			var name string
			err := json.Unmarshal(raw, &name)
			if err != nil {
				return nil, err
			}
			return s.lookup(name), nil
		}
		return m.exportArg(inner, s, depth), nil
	case "as_graph":
		var g struct {
			Graph exportGraph `json:"graph"`
		}
		err := json.Unmarshal(raw, &g)
		return &subgraph{&g.Graph, s}, err
	}
	one, ok := listKinds[kind]
	if !ok {
		return nil, fmt.Errorf("it is not supported")
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var all []value
	for _, item := range list {
		var v value
		var err error
		if one == "" {
			var inner map[string]json.RawMessage
			if err = json.Unmarshal(item, &inner); err == nil {
				v = m.exportArg(inner, s, depth)
			}
		} else {
			v, err = m.decode(one, item, s, depth)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return m.newList(all), nil
}

// listKinds are the kinds of lists, with that of their items; "" where each says its own.
var listKinds = map[string]string{"as_ints": "as_int", "as_floats": "as_float", "as_bools": "as_bool", "as_strings": "as_string", "as_sym_ints": "as_sym_int", "as_sym_bools": "as_sym_bool",
	"as_sym_floats": "as_sym_float", "as_optional_tensors": "", "as_nested_tensors": "as_tensors"}

// decodeFloat reads a float, which is a text where JSON has no number for it.
func decodeFloat(raw json.RawMessage) (value, error) {
	var f float64
	if err := json.Unmarshal(raw, &f); err == nil {
		return f, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	return parseNumber(text, types.F64), nil
}
