package torch

import (
	"fmt"
	"slices"

	"lathe/internal/container/pickle"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// readScript makes a model of an archive of TorchScript.
func readScript(a *archive) (*frontend.Model, error) {
	c, err := readCode(a)
	if err != nil {
		return nil, err
	}
	root, ok := c.model.Func.(pickle.Global)
	if !ok {
		return nil, fmt.Errorf("data.pkl holds an object that no class makes")
	}
	k := c.class(root.String())
	if k == nil {
		return nil, fmt.Errorf("the code of the model's class %s is not in the archive", root)
	}
	forward := k.methods["forward"]
	if forward == nil {
		return nil, fmt.Errorf("the model's class %s has no method forward: it was saved without a program", root)
	}
	var inputs []frontend.Info
	for i, p := range forward.params {
		if i > 0 { // behind self
			inputs = append(inputs, inputsOf(p, usesOf(forward, p.name))...)
		}
	}
	var applied []*frontend.Node
	for _, u := range c.uses() {
		for range u.count {
			applied = append(applied, &frontend.Node{Op: u.name, Name: u.first, Attrs: frontend.Values{}})
		}
	}
	g := &frontend.Graph{Name: "torch", Inputs: inputs, Outputs: declaredOutputs(forward.gives), Nodes: applied, Params: c.parameters(),
		Program: func(call *frontend.Call) []frontend.Output { return c.run(call, forward) }}
	return &frontend.Model{Graph: g, Set: c.options.set, About: frontend.About{Form: fmt.Sprintf("TorchScript %d", c.version), Producer: "pytorch"}}, nil
}

// declaredOutputs are those that the type of forward's result tells of.
func declaredOutputs(gives expression) []frontend.Info {
	n := 1
	if at, ok := gives.(*indexExpr); ok && dotted(at.of) == "Tuple" {
		if t, ok := at.at.(*tupleExpr); ok {
			n = len(t.items)
		}
	}
	var list []frontend.Info
	for i := range n {
		list = append(list, frontend.Info{Name: outputName(i), Spelt: "Tensor"})
	}
	return list
}

func outputName(i int) string { return fmt.Sprintf("output%d", i) }

// run interprets the method forward, a second time where states are inputs: which there are the first time tells.
func (c *code) run(call *frontend.Call, forward *function) []frontend.Output {
	s := &states{io: c.options.states}
	outputs := c.interpret(call, forward, s)
	if s.io && s.found() {
		outputs = c.interpret(call, forward, s)
	}
	return outputs
}

func (c *code) interpret(call *frontend.Call, forward *function, s *states) (outputs []frontend.Output) {
	m := &machine{Call: call, code: c, table: newTable(), uses: c.uses}
	consts := map[string]*graph.Value{}
	m.constants = &loader{machine: m, folder: "constants", made: map[any]value{}, consts: consts}
	m.guard(func() {
		model := &loader{machine: m, folder: "data", made: map[any]value{}, consts: consts, states: s}
		self, ok := model.load(c.model, "").(*object)
		if !ok {
			fail("data.pkl holds no module")
		}
		var args []value
		var names []string
		for i, p := range forward.params {
			if i == 0 {
				continue
			}
			if v, ok := m.argument(p, usesOf(forward, p.name)); ok {
				args, names = append(args, v), append(names, p.name)
			}
		}
		m.place.path = ""
		result := m.call(forward, self, args, names)
		m.outputs(result, &outputs, "", 0)
		m.changed(s, &outputs)
		if len(outputs) == 0 {
			fail("forward gives no tensor")
		}
	})
	return outputs
}

// maxOutputs bounds the outputs of a program.
const maxOutputs = 1 << 10

// outputs lists the tensors of a result: by number, by the key of a dictionary.
func (m *machine) outputs(v value, out *[]frontend.Output, name string, depth int) {
	if depth > 20 {
		fail("results are nested too deep")
	}
	add := func(g *graph.Value) {
		if len(*out) == maxOutputs {
			fail("forward gives more than %d tensors, which is not supported", maxOutputs)
		}
		if name == "" {
			name = outputName(len(*out))
		}
		for slices.ContainsFunc(*out, func(o frontend.Output) bool { return o.Name == name }) {
			name += "_"
		}
		*out = append(*out, frontend.Output{Name: name, Value: g})
	}
	switch x := v.(type) {
	case *tensor:
		if x.quant != nil {
			add(m.dequantized(x))
			return
		}
		add(m.get(x))
	case bool, int64, float64:
		add(literal(x))
	case *dict:
		for i, k := range x.keys {
			m.outputs(x.values[i], out, join(name, text(k, 1)), depth+1)
		}
	case nil, string:
	case *object:
		fail("forward gives %s, which is not supported as a result", kind(v))
	default:
		parts, ok := items(v)
		if !ok {
			fail("forward gives %s, which is not supported as a result", kind(v))
		}
		for _, p := range parts {
			m.outputs(p, out, "", depth+1)
		}
	}
}

// parameters lists the tensors of the model, for lists.
func (c *code) parameters() []frontend.Param {
	var list []frontend.Param
	seen, left := map[any]bool{}, maxSteps // tuples can hold each other many times over
	var visit func(v any, path string, depth int)
	visit = func(v any, path string, depth int) {
		if left--; depth > maxObjects || left < 0 {
			return
		}
		switch x := v.(type) {
		case pickle.Tuple:
			for i, y := range x {
				visit(y, fmt.Sprintf("%s.%d", path, i), depth+1)
			}
		case *pickle.List:
			if !seen[x] {
				seen[x] = true
				for i, y := range x.Items {
					visit(y, fmt.Sprintf("%s.%d", path, i), depth+1)
				}
			}
		case *pickle.Dict:
			if !seen[x] {
				seen[x] = true
				for i, k := range x.Keys {
					visit(x.Values[i], join(path, fmt.Sprint(k)), depth+1)
				}
			}
		case *pickle.Object:
			if seen[x] {
				return
			}
			seen[x] = true
			if isTensor(x) {
				if t, err := storedTensor(x, func(key string) ([]byte, error) { return c.archive.read("data/" + key) }); err == nil {
					n := types.Count(t.shape)
					list = append(list, frontend.Param{Name: path, Elements: int64(n), Bytes: int64(n * t.dtype.Size())})
				}
				return
			}
			for _, y := range x.Args {
				visit(y, path, depth+1)
			}
			visit(x.State, path, depth+1)
		}
	}
	visit(c.model, "", 0)
	return list
}
