package torch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// maxProgram bounds the JSON of a program.
const maxProgram = 256 << 20

// readExport makes a model of an archive of torch.export, of the form that PyTorch writes from 2.8 on or of the one before.
func readExport(a *archive) (*frontend.Model, error) {
	file := "serialized_exported_program.json"
	if !a.has(file) {
		at := slices.IndexFunc(a.names, func(name string) bool { return strings.HasPrefix(name, "models/") && strings.HasSuffix(name, ".json") })
		if at < 0 {
			if a.hasFolder("data/aotinductor/") {
				return nil, errors.New("the archive holds machine code that AOTInductor made, and no program: export the module with torch.export.save")
			}
			return nil, errors.New("the archive has no models/NAME.json: it holds no program")
		}
		file = a.names[at]
	}
	text, err := a.read(file)
	if err != nil {
		return nil, err
	}
	if len(text) > maxProgram {
		return nil, fmt.Errorf("%s: %d bytes; up to %d are read", file, len(text), maxProgram)
	}
	var p exported
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	weights, err := exportWeights(a, strings.TrimSuffix(strings.TrimPrefix(file, "models/"), ".json"))
	if err != nil {
		return nil, err
	}
	r := &exportReader{program: &p, weights: weights, constants: map[string]*stored{}, buffers: map[string]string{}}
	g, err := r.graph()
	if err != nil {
		return nil, err
	}
	return &frontend.Model{Graph: g, Set: r.options.set, About: frontend.About{Form: fmt.Sprintf("torch.export %d.%d", p.Version.Major, p.Version.Minor), Producer: strings.TrimSpace("pytorch " + p.Torch)}}, nil
}

// An exportReader makes the neutral graph.
type exportReader struct {
	program   *exported
	weights   map[string]*stored
	constants map[string]*stored // by the name of the value
	inputs    []frontend.Info
	results   []string          // names of the user's outputs
	buffers   map[string]string // names of values by those of buffers
	mutations []mutation
	options   options
}

// A mutation is a value that a buffer has in the next run.
type mutation struct {
	Arg    exportName `json:"arg"`
	Buffer string     `json:"buffer_name"`
}

func (r *exportReader) graph() (*frontend.Graph, error) {
	if err := r.inputSpecs(); err != nil {
		return nil, err
	}
	if err := r.outputSpecs(); err != nil {
		return nil, err
	}
	var outputs []frontend.Info
	for _, name := range r.results {
		outputs = append(outputs, r.info(name))
	}
	var nodes []*frontend.Node
	for i := range r.program.Module.Graph.Nodes {
		n := &r.program.Module.Graph.Nodes[i]
		if op, idle := operatorOf(n.Target); !idle {
			nodes = append(nodes, &frontend.Node{Op: op, Name: n.path(), Attrs: frontend.Values{}})
		}
	}
	var params []frontend.Param
	for name, s := range r.constants {
		n := types.Count(s.shape)
		params = append(params, frontend.Param{Name: name, Elements: int64(n), Bytes: int64(n * s.dtype.Size())})
	}
	slices.SortFunc(params, func(a, b frontend.Param) int { return strings.Compare(a.Name, b.Name) })
	return &frontend.Graph{Name: "torch", Inputs: r.inputs, Outputs: outputs, Nodes: nodes, Params: params, Program: r.run}, nil
}

// inputSpecs tells the inputs of the graph apart: weights by name, and those that a caller gives.
func (r *exportReader) inputSpecs() error {
	for _, spec := range r.program.Module.Signature.Inputs {
		for kind, raw := range spec {
			var s struct {
				Arg       json.RawMessage `json:"arg"`
				Parameter string          `json:"parameter_name"`
				Buffer    string          `json:"buffer_name"`
				Constant  string          `json:"tensor_constant_name"`
			}
			if err := json.Unmarshal(raw, &s); err != nil {
				return fmt.Errorf("the signature: %w", err)
			}
			switch kind {
			case "parameter", "buffer", "tensor_constant":
				var arg exportName
				if err := json.Unmarshal(s.Arg, &arg); err != nil {
					return fmt.Errorf("the signature: %w", err)
				}
				name := s.Parameter + s.Buffer + s.Constant
				w := r.weights[name]
				if w == nil {
					return fmt.Errorf("the archive has no weight %q", name)
				}
				r.constants[arg.Name] = w
				if kind == "buffer" {
					r.buffers[name] = arg.Name
				}
			case "user_input":
				var arg map[string]json.RawMessage
				if err := json.Unmarshal(s.Arg, &arg); err != nil {
					return fmt.Errorf("the signature: %w", err)
				}
				if raw, ok := arg["as_tensor"]; ok {
					var name exportName
					if err := json.Unmarshal(raw, &name); err != nil {
						return fmt.Errorf("the signature: %w", err)
					}
					r.inputs = append(r.inputs, r.info(name.Name))
				}
			}
		}
	}
	return nil
}

// outputSpecs lists the outputs of the user; what is written back to buffers is state.
func (r *exportReader) outputSpecs() error {
	for _, spec := range r.program.Module.Signature.Outputs {
		if raw, ok := spec["buffer_mutation"]; ok {
			var m mutation
			if err := json.Unmarshal(raw, &m); err != nil {
				return fmt.Errorf("the signature: %w", err)
			}
			r.mutations = append(r.mutations, m)
		}
		raw, ok := spec["user_output"]
		if !ok {
			continue
		}
		var s struct {
			Arg map[string]json.RawMessage `json:"arg"`
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return fmt.Errorf("the signature: %w", err)
		}
		if raw, ok := s.Arg["as_tensor"]; ok {
			var name exportName
			if err := json.Unmarshal(raw, &name); err != nil {
				return fmt.Errorf("the signature: %w", err)
			}
			r.results = append(r.results, name.Name)
		}
	}
	if len(r.results) == 0 {
		return errors.New("the program gives no tensor")
	}
	return nil
}

// info is what the program says about a value: sizes that it leaves open have names, or are expressions over names.
func (r *exportReader) info(name string) frontend.Info {
	t, ok := r.program.Module.Graph.Tensors[name]
	if !ok {
		return frontend.Info{Name: name, Spelt: "?"}
	}
	in := frontend.Info{Name: name, Ranked: true}
	if in.DType, in.Err = exportDType(t.DType); in.Err == nil {
		in.Spelt = in.DType.String()
	}
	for _, s := range t.Sizes {
		switch {
		case s.Int != nil && *s.Int >= 0 && *s.Int <= types.MaxElements:
			in.Dims = append(in.Dims, frontend.Dim{Value: *s.Int})
		case s.Expr != nil:
			in.Dims = append(in.Dims, frontend.Dim{Value: -1, Param: s.Expr.Text})
		default:
			in.Dims = append(in.Dims, frontend.Dim{Value: -1})
		}
	}
	return in
}

// path is the module that a node comes from.
func (n *exportNode) path() string {
	stack := strings.Split(n.Metadata["nn_module_stack"], ";")
	parts := strings.Split(stack[len(stack)-1], ",")
	if len(parts) > 1 {
		return strings.TrimPrefix(parts[1], "L['self'].")
	}
	return ""
}

// pythonOperators are the functions of Python's operators and of sizes.
var pythonOperators = map[string]string{"mod": "remainder", "truediv": "div", "and_": "__and__", "or_": "__or__", "not_": "__not__", "getitem": "__getitem__", "sym_float": "float", "sym_int": "int", "sym_not": "__not__"}

// operatorOf is the operator of a target, torch.ops.aten.add.Tensor being add; idle ones do nothing.
func operatorOf(target string) (name string, idle bool) {
	name = target
	if rest, ok := strings.CutPrefix(target, "torch.ops."); ok {
		parts := strings.Split(rest, ".")
		if len(parts) > 2 {
			parts = parts[:2]
		}
		name = strings.TrimPrefix(strings.Join(parts, "."), "aten.")
	} else if at := strings.LastIndexByte(target, '.'); at >= 0 {
		name = target[at+1:]
		if to, ok := pythonOperators[name]; ok {
			name = to
		}
	}
	return name, strings.HasPrefix(name, "_assert") || strings.HasPrefix(name, "sym_constrain_range") || name == "_functional_assert_async"
}

// A scope holds the values of a graph by name.
type scope map[string]value

// run applies the nodes one after the other.
func (r *exportReader) run(call *frontend.Call) (outputs []frontend.Output) {
	m := &machine{Call: call, table: newTable(), uses: r.uses}
	m.guard(func() {
		s := scope{}
		consts := map[*stored]*graph.Value{}
		for name, w := range r.constants {
			if consts[w] == nil {
				consts[w] = constOf(w)
			}
			s[name] = &tensor{v: consts[w], strided: !w.contiguous()}
		}
		for _, in := range r.inputs {
			s[in.Name] = m.fresh(m.Value(in.Name))
		}
		for _, b := range r.mutations {
			if t, ok := s[r.buffers[b.Buffer]].(*tensor); ok && r.options.states {
				s[r.buffers[b.Buffer]] = &tensor{v: m.Graph.Input(b.Buffer, m.get(t).Type)}
			}
		}
		m.nodes(&r.program.Module.Graph, s, 0)
		if len(r.mutations) > 0 && !r.options.states {
			m.Note("what the model keeps from run to run (buffers) starts at its saved value in each (--state io makes it inputs and outputs)")
		}
		for _, name := range r.results {
			t, ok := s[name].(*tensor)
			if !ok {
				fail("output %q has no value", name)
			}
			if slices.ContainsFunc(outputs, func(o frontend.Output) bool { return o.Name == name }) || m.Value(name) != nil {
				name += "_out"
			}
			outputs = append(outputs, frontend.Output{Name: name, Value: m.get(t)})
		}
		for _, b := range r.mutations {
			if t, ok := s[b.Arg.Name].(*tensor); ok && r.options.states {
				outputs = append(outputs, frontend.Output{Name: b.Buffer + ":next", Value: m.get(t)})
			}
		}
	})
	return outputs
}

// uses lists the operators of the program.
func (r *exportReader) uses() (list []use) {
	for i := range r.program.Module.Graph.Nodes {
		n := &r.program.Module.Graph.Nodes[i]
		op, _ := operatorOf(n.Target)
		at := slices.IndexFunc(list, func(u use) bool { return u.name == op })
		if at < 0 {
			at = len(list)
			list = append(list, use{name: op, first: n.path()})
		}
		list[at].count++
	}
	return list
}
