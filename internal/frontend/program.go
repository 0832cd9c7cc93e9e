package frontend

import (
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// An Output is a result of a program.
type Output struct {
	Name  string
	Value *graph.Value
}

// A TypeError says that an input whose element type the file does not say has to have another one than was assumed: its program
// takes it for an index, for example. The model is imported again with that type.
type TypeError struct {
	Inputs []string
	DType  types.DType
	Reason string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("input %s has to be %s: %s", quoteAll(e.Inputs), e.DType, e.Reason)
}

// program runs the model's program and returns what is known of its outputs.
func (imp *importer) program(g *Graph, e *env) ([]Info, error) {
	c := &Call{importer: imp, Node: &Node{Op: "program", Name: g.Name, Attrs: Values{}}, env: e, read: map[string]bool{}}
	var outputs []Output
	if err := compose.Try(func() { outputs = g.Program(c) }); err != nil {
		return nil, err
	}
	infos := make([]Info, len(outputs))
	for i, o := range outputs {
		infos[i] = Info{Name: o.Name}
		if err := imp.checkOutput(infos[i], o.Value); err != nil {
			return nil, err
		}
		imp.Graph.Outputs = append(imp.Graph.Outputs, imp.output(o.Name, o.Value))
	}
	return infos, nil
}

// Value is what a name stands for, or nil.
func (c *Call) Value(name string) *graph.Value { return c.env.lookup(name) }

// Bind gives a value a name of the model's, as far as it has none.
func (c *Call) Bind(name string, v *graph.Value) { c.bind(c.env, name, v) }

// Spend accounts for one operator of a program, of which there can be as many as nodes are converted.
func (c *Call) Spend() {
	if err := c.opts.Context.Err(); err != nil {
		compose.Fail("%w", err)
	}
	c.tried++
	if c.nodes--; c.nodes < 0 || c.tried > maxTried {
		c.full = true
		compose.Fail("the program applies more than %d operators, which is not supported", maxNodes)
	}
}

// Assumed lists the inputs that v depends on whose element type the file does not say.
func (c *Call) Assumed(v *graph.Value) []string {
	var names []string
	seen := map[*graph.Value]bool{}
	for todo := []*graph.Value{v}; len(todo) > 0; {
		v, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		if v.Def != nil {
			todo = append(todo, v.Def.In...)
		} else if slices.ContainsFunc(c.shapes.real, func(in Info) bool { return in.Name == v.Name && in.Assumed }) {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names
}

// retyped gives inputs the element type that a program needs. It reports whether that changes anything.
func (s *Shapes) retyped(e *TypeError) bool {
	s.real = slices.Clone(s.real)
	changed := false
	for i := range s.real {
		if in := &s.real[i]; in.Assumed && slices.Contains(e.Inputs, in.Name) {
			in.DType, in.Spelt, in.Assumed = e.DType, e.DType.String(), false
			changed = true
		}
	}
	return changed
}
