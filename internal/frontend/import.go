package frontend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
)

// Import turns a model into a graph, whose inputs and outputs have the model's names. Constants point into the model, which
// must stay open as long as the graph is in use.
//
// Dimensions that neither model nor options give are 1, with a note. Only what outputs need is converted.
func Import(m *Model, o Options) (*graph.Graph, error) {
	g, err := importModel(m, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Format, err)
	}
	return g, nil
}

func importModel(m *Model, o Options) (*graph.Graph, error) {
	if m.Err != nil {
		return nil, m.Err
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	if o.Notes == nil {
		o.Notes = func(string) {}
	}
	if o.Control == nil {
		o.Control = func(string, string, string) {}
	}
	o.Notes = once(o.Notes)
	for _, note := range m.Notes {
		o.Notes(note)
	}
	for _, in := range m.Graph.Inputs {
		if in.Note != "" {
			o.Notes(in.Note)
		}
	}
	if m.Graph.Program == nil {
		if u := m.Table.unsupported(m.Graph, false); len(u) > 0 {
			return nil, &UnsupportedError{u}
		}
	}
	shapes, err := ShapesOf(m.Graph, o)
	if err != nil {
		return nil, err
	}
	given := o.Values
	if o.Values, err = convertValues(given, shapes); err != nil {
		return nil, err
	}
	imp, err := converted(m, o, shapes, false)
	for e, ok := errors.AsType[*TypeError](err); ok && shapes.retyped(e); e, ok = errors.AsType[*TypeError](err) {
		if o.Values, err = convertValues(given, shapes); err != nil {
			return nil, err
		}
		o.Notes(e.Error())
		imp, err = converted(m, o, shapes, false)
	}
	if err != nil && imp.regions > 0 { // what comes behind a loop may ask for values that only its iterations, one by one, show
		if again, failed := converted(m, o, shapes, true); failed == nil {
			imp, err = again, nil
		}
	}
	for _, tell := range imp.told {
		tell()
	}
	if err != nil {
		return nil, shapes.explain(err)
	}
	if note := shapes.Note(); note != "" {
		o.Notes(note)
	}
	return imp.Graph, nil
}

// once drops notes that were told.
func once(tell func(string)) func(string) {
	told := map[string]bool{}
	return func(note string) {
		if !told[note] {
			told[note] = true
			tell(note)
		}
	}
}

// converted is all of a model as a graph.
func converted(m *Model, o Options, shapes *Shapes, unroll bool) (*importer, error) {
	imp := &importer{
		Builder: compose.NewBuilder(m.Graph.Name), table: m.Table, opts: o, shapes: shapes, unroll: unroll, nodes: maxNodes,
		lists: map[*graph.Value][]*graph.Value{}, taken: map[string]bool{}, uses: map[string]int{},
	}
	outputs, err := imp.graph(m.Graph)
	if err != nil {
		return imp, err
	}
	imp.Graph.DeadCode()
	if err := imp.checkExtents(outputs); err != nil {
		return imp, err
	}
	return imp, graph.Verify(imp.Graph)
}

// maxNodes bounds how many nodes are converted, those of every iteration of a loop counted: a small file can ask for any
// number.
const maxNodes = 100_000

// maxTried bounds how many are converted in all: attempts to unroll, which fail, nest.
const maxTried = 4 * maxNodes

// An importer turns one model into one graph. Bodies of control flow are inlined into it.
type importer struct {
	*compose.Builder
	table   *Table
	opts    Options
	shapes  *Shapes                         // of the inputs
	lists   map[*graph.Value][]*graph.Value // elements of the values that stand for sequences
	taken   map[string]bool                 // names of values
	uses    map[string]int                  // the number to try next for a name that is taken
	nodes   int                             // model nodes that may still be converted
	tried   int                             // model nodes that were, those of attempts that failed included
	full    bool                            // no more may be converted in the attempt to unroll that is being made
	unrolls int                             // attempts within each other
	depth   int                             // of nested bodies
	unroll  bool                            // loops do not stay loops
	regions int                             // loops that did
	told    []func()                        // what is to be said of the conversion

	dynamic dynamics
}

// note is a line for the user.
func (imp *importer) note(text string) {
	imp.told = append(imp.told, func() { imp.opts.Notes(text) })
}

// graph imports the main graph and returns what the model says about its outputs.
func (imp *importer) graph(g *Graph) ([]Info, error) {
	e := &env{values: map[string]*graph.Value{}}
	if err := imp.inputs(e); err != nil {
		return nil, err
	}
	if g.Program != nil {
		return imp.program(g, e)
	}
	if err := imp.body(g, e); err != nil {
		return nil, err
	}
	for _, o := range g.Outputs {
		v := e.lookup(o.Name)
		if err := imp.checkOutput(o, v); err != nil {
			return nil, err
		}
		imp.Graph.Outputs = append(imp.Graph.Outputs, imp.output(o.Name, v))
	}
	return g.Outputs, nil
}

func (imp *importer) checkOutput(o Info, v *graph.Value) error {
	switch {
	case v == nil:
		return fmt.Errorf("output %q has no value", o.Name)
	case imp.isList(v):
		return fmt.Errorf("output %q is a sequence or an empty optional, which is not supported as an output", o.Name)
	case o.Kind == "" && o.Err != nil:
		return fmt.Errorf("output %q: %w", o.Name, o.Err)
	case o.Kind == "" && o.DType != 0 && v.Type.DType != o.DType:
		return fmt.Errorf("output %q is declared as %s, its operator gives %s", o.Name, o.DType, v.Type.DType)
	}
	return nil
}

// output makes v a graph output of that name: a value of its own that no other output is.
func (imp *importer) output(name string, v *graph.Value) *graph.Value {
	if v.Def == nil || slices.Contains(imp.Graph.Outputs, v) {
		imp.Origin = []string{name}
		n, err := imp.Graph.Apply(ops.Copy, op.None{}, v)
		if err != nil {
			panic("frontend: copy of an output: " + err.Error())
		}
		n.Origin = imp.Origin
		v = n.Out[0]
	}
	v.Name = name
	return v
}

// body converts the constants and nodes that outputs need.
func (imp *importer) body(g *Graph, e *env) error {
	needed, names := g.needs()
	for _, p := range g.Params {
		if !names[p.Name] {
			continue
		}
		v, err := p.Value(imp.Builder)
		if err != nil {
			return err
		}
		imp.bind(e, p.Name, v)
	}
	for i, n := range g.Nodes {
		if !needed[i] {
			continue
		}
		if err := imp.opts.Context.Err(); err != nil {
			return err
		}
		imp.tried++
		if imp.nodes--; imp.nodes < 0 || imp.tried > maxTried {
			imp.full = true
			return fmt.Errorf("the model's loops unroll to more than %s, which is not supported", spelling.Count(maxNodes, "node"))
		}
		if err := imp.convert(n, e); err != nil {
			return &NodeError{n.Qualified(), n.Label(), err}
		}
	}
	return nil
}

// convert applies the row of the table for n.
func (imp *importer) convert(n *Node, e *env) error {
	r := imp.table.Find(n)
	if r == nil {
		return &UnsupportedError{[]Missing{{Op: n.Qualified(), Nodes: 1, First: n.Origin()}}}
	}
	in := make([]*graph.Value, len(n.In))
	for i, name := range n.In {
		if name != "" {
			in[i] = e.lookup(name)
		}
	}
	if err := imp.checkDynamic(n, in); err != nil {
		return err
	}
	c := &Call{importer: imp, Node: n, In: in, env: e, read: map[string]bool{}}
	imp.Origin = []string{n.Origin()}
	return compose.Try(func() {
		out := r.Convert(c)
		c.checkRead()
		if len(out) < len(n.Out) {
			for _, name := range n.Out[len(out):] {
				if name != "" {
					compose.Fail("output %q (number %d) is not supported", name, len(out))
				}
			}
		}
		for i, name := range n.Out {
			if name == "" {
				continue
			}
			if out[i] == nil {
				compose.Fail("output %q (number %d) is not supported", name, i)
			}
			imp.bind(e, name, out[i])
		}
	})
}

// isList reports whether v stands for a sequence or an empty optional instead of a tensor.
func (imp *importer) isList(v *graph.Value) bool {
	_, ok := imp.lists[v]
	return ok
}
