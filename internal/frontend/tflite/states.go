package tflite

import (
	"cmp"
	"fmt"

	"lathe/internal/frontend"
)

// Variables of the main graph hold states. Operators that keep one in a variable tensor give its next value behind their other results, and
// resources are read and assigned by operators of their own. Behind such an operator the variable has another name, so that operators that
// follow see its next value. A run starts at the first values, or, with states as inputs and outputs, where the caller says.

// updated are the operators that keep states in operands, by the places of these. Their rows give the next values in this order behind the other
// results.
var updated = map[string][]int{
	"LSTM": {lstmState, lstmCell}, "UNIDIRECTIONAL_SEQUENCE_LSTM": {lstmState, lstmCell}, "BIDIRECTIONAL_SEQUENCE_LSTM": {35, 36, 37, 38},
	"RNN": {4}, "UNIDIRECTIONAL_SEQUENCE_RNN": {4}, "BIDIRECTIONAL_SEQUENCE_RNN": {4, 8}, "SVDF": {4},
}

// A state is one variable.
type state struct {
	name string
	now  string      // the name of its value at the present operator, "" before it has one
	of   *tensorInfo // its type; nil before a resource is read or assigned
	uses int
}

type states struct {
	n         *neutralizer
	taken     map[string]bool // names of values
	tensors   map[*tensorInfo]*state
	resources map[string]*state
	handles   map[*tensorInfo]*state
	order     []*state
	inlined   []frontend.Param // of graphs that run once
	first     []frontend.Param // values at which resources start that nothing is assigned to
}

// main is the first graph, whose variables hold states.
func (n *neutralizer) main() *frontend.Graph {
	g := n.graph(0)
	s := newStates(n, n.model.graphs[0])
	g.Nodes = s.follow(g.Nodes, n.model.graphs[0])
	s.join(g)
	return g
}

func newStates(n *neutralizer, g *subgraph) *states {
	s := &states{n: n, taken: map[string]bool{}, tensors: map[*tensorInfo]*state{}, resources: map[string]*state{}, handles: map[*tensorInfo]*state{}}
	for _, x := range g.tensors {
		s.taken[x.name] = true
	}
	return s
}

func (s *states) fresh(name string) string {
	got := name
	for i := 1; s.taken[got]; i++ {
		got = fmt.Sprintf("%s#%d", name, i)
	}
	s.taken[got] = true
	return got
}

// follow is the nodes of a graph, in which variables have names that change as their values do.
func (s *states) follow(nodes []*frontend.Node, g *subgraph) []*frontend.Node {
	var out []*frontend.Node
	for k, o := range g.operators {
		node := nodes[k]
		out = append(out, node)
		for i, x := range o.in {
			if v := s.tensors[x]; v != nil {
				node.In[i] = v.now
			}
		}
		switch o.name {
		case "CALL_ONCE":
			out = append(out[:len(out)-1], s.once(o)...)
		case "VAR_HANDLE":
			s.handle(o)
		case "READ_VARIABLE":
			if v := s.operand(o, 0); v != nil && len(o.out) == 1 && o.out[0] != nil {
				s.read(v, o.out[0])
				node.In = []string{v.now}
			}
		case "ASSIGN_VARIABLE":
			if v := s.operand(o, 0); v != nil && len(o.in) == 2 && o.in[1] != nil {
				v.of = cmp.Or(v.of, o.in[1])
				node.In, node.Out = node.In[1:], []string{s.next(v)}
			}
		}
		for _, i := range updated[o.name] {
			if i < len(o.in) && o.in[i] != nil && o.in[i].variable {
				node.Out = append(node.Out, s.next(s.tensor(o.in[i])))
			} else if i < len(o.in) {
				node.Out = append(node.Out, "")
			}
		}
	}
	return out
}

// tensor is the state in a variable tensor.
func (s *states) tensor(x *tensorInfo) *state {
	v := s.tensors[x]
	if v == nil {
		v = &state{name: x.name, now: x.name, of: x}
		s.tensors[x] = v
		s.order = append(s.order, v)
	}
	return v
}

// next names the value behind an operator.
func (s *states) next(v *state) string {
	v.uses++
	v.now = s.fresh(fmt.Sprintf("%s:%d", v.name, v.uses))
	return v.now
}

func (s *states) handle(o *operator) {
	if len(o.out) != 1 || o.out[0] == nil {
		return
	}
	f := schema[o.name]
	key := o.options.str(f["container"].slot) + "/" + o.options.str(f["shared_name"].slot)
	v := s.resources[key]
	if v == nil {
		v = &state{name: s.fresh(o.options.str(f["shared_name"].slot))}
		s.resources[key] = v
		s.order = append(s.order, v)
	}
	s.handles[o.out[0]] = v
}

func (s *states) operand(o *operator, i int) *state {
	if i >= len(o.in) {
		return nil
	}
	return s.handles[o.in[i]]
}

// read gives a resource that has no value yet the type of what is read of it, and real 0.
func (s *states) read(v *state, x *tensorInfo) {
	v.of = cmp.Or(v.of, x)
	if v.now != "" {
		return
	}
	v.now = v.name
	zero := *x
	zero.data = nil
	s.first = append(s.first, frontend.Param{Name: v.name, Value: zero.constant})
}

// once is the nodes of a graph that runs before the first run. Its values get names that the main graph does not have.
func (s *states) once(o *operator) []*frontend.Node {
	bodies := o.bodies()
	g := s.n.model.graphs[bodies[0]]
	neutral := s.n.graph(bodies[0])
	names := map[string]string{"": ""}
	for _, x := range g.tensors {
		names[x.name] = s.fresh(x.name)
	}
	renamed := func(list []string) []string {
		out := make([]string, len(list))
		for i, name := range list {
			out[i] = names[name]
		}
		return out
	}
	for _, p := range neutral.Params {
		p.Name = names[p.Name]
		s.inlined = append(s.inlined, p)
	}
	var nodes []*frontend.Node
	for _, node := range neutral.Nodes {
		copied := *node
		copied.In, copied.Out = renamed(node.In), renamed(node.Out)
		nodes = append(nodes, &copied)
	}
	nodes = s.follow(nodes, g)
	if s.n.options.states {
		for _, v := range s.order {
			v.now = v.name // what the caller says
		}
	}
	return nodes
}

// join adds to the main graph what states need: the values at which resources start, and inputs and outputs where the user asked for them.
func (s *states) join(g *frontend.Graph) {
	g.Params = append(append(g.Params, s.inlined...), s.first...)
	if !s.n.options.states {
		return
	}
	for _, v := range s.order {
		if v.of == nil {
			continue
		}
		s.exchange(g, v)
	}
}

// exchange makes a state an input and an output.
func (s *states) exchange(g *frontend.Graph, v *state) {
	in := v.of.info(v.name)
	in.Meaning = v.of.meaning(nil, 0, nil)
	g.Inputs = append(g.Inputs, in)
	kept := g.Params[:0]
	for _, p := range g.Params {
		if p.Name != v.name {
			kept = append(kept, p)
		}
	}
	g.Params = kept
	out := v.of.info(s.fresh(v.name + ":next"))
	out.Meaning = in.Meaning
	read := &operator{name: "READ_VARIABLE"}
	g.Nodes = append(g.Nodes, &frontend.Node{Op: read.name, Version: 1, In: []string{v.now}, Out: []string{out.Name}, Attrs: attributes{read, s.n.graphs, s.n.options}})
	g.Outputs = append(g.Outputs, out)
}
