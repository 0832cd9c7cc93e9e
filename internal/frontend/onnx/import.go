package onnx

import (
	"context"
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
)

// Options say what a model leaves open.
type Options struct {
	// Shapes gives inputs the shape to compile for, in place of what the model says.
	Shapes map[string][]int
	// Sizes gives names in the declared shapes, or expressions over names, a size.
	Sizes map[string]int
	// Values fixes inputs to a value: they become constants. Parameters of operators, such as axes and shapes, that a
	// model takes as inputs have to be fixed. A number of rank 0 fills the input's shape.
	Values map[string]*tensor.Tensor
	// LoopBound is how many slices the stacked results of a loop have at most whose end depends on data; 0: as the model says, or 1024.
	LoopBound int
	// Context ends an import; nil: nothing does.
	Context context.Context
	// Notes is called with one line for the user each; nil drops them.
	Notes func(string)
	// Control is told what becomes of each If, Loop and Scan, those in bodies included; nil drops it.
	Control func(node, operator, becomes string)
}

// Import turns a model into a graph, whose inputs and outputs have the model's names. It expands the model's local
// functions. Constants point into the model, which must stay open as long as the graph is in use.
//
// Dimensions that neither model nor options give are 1, with a note. Only what outputs need is converted.
func Import(m *Model, o Options) (*graph.Graph, error) {
	if err := Expand(m); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
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
	if v := m.Opsets[""]; v > newestOpset {
		o.Notes(fmt.Sprintf("the model is written in opset %d of ai.onnx, and opset %d is the newest that Lathe knows: operators are read as of then", v, newestOpset))
	}
	if u := unsupported(m.Graph, false); len(u) > 0 {
		return nil, fmt.Errorf("onnx: %w", &UnsupportedError{u})
	}
	shapes, err := ShapesOf(m, o)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if o.Values, err = convertValues(o.Values, shapes); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	imp, err := converted(m, o, shapes, false)
	if err != nil && imp.regions > 0 { // what comes behind a loop may ask for values that only its iterations, one by one, show
		if again, failed := converted(m, o, shapes, true); failed == nil {
			imp, err = again, nil
		}
	}
	for _, tell := range imp.told {
		tell()
	}
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", imp.withSizes(err))
	}
	if note := imp.shapes.Note(); note != "" {
		o.Notes(note)
	}
	return imp.Graph, nil
}

// converted is all of a model as a graph.
func converted(m *Model, o Options, shapes *Shapes, unroll bool) (*importer, error) {
	imp := &importer{
		Builder: compose.NewBuilder(m.Graph.Name),
		rows:    byOperator, opts: o, lists: map[*graph.Value][]*graph.Value{}, taken: map[string]bool{}, uses: map[string]int{},
		nodes: maxNodes, shapes: shapes, unroll: unroll,
	}
	if err := imp.graph(m.Graph); err != nil {
		return imp, err
	}
	imp.Graph.DeadCode()
	if err := imp.checkExtents(m.Graph.Outputs); err != nil {
		return imp, err
	}
	return imp, graph.Verify(imp.Graph)
}

// newestOpset is the version of ai.onnx up to which the table has been compared with the operators' history; the
// conformance tests hold cases of all versions up to it.
const newestOpset = 28

// maxNodes bounds how many nodes are converted, those of every iteration of a loop counted: a small file can ask for any
// number.
const maxNodes = 100_000

// maxTried bounds how many are converted in all: attempts to unroll, which fail, nest.
const maxTried = 4 * maxNodes

// An importer turns one model into one graph. Sub-graphs of control flow are inlined into it.
type importer struct {
	*compose.Builder
	rows    index // the converters of control flow use it, so that the table must not be used directly
	opts    Options
	shapes  *Shapes                         // of the inputs
	lists   map[*graph.Value][]*graph.Value // elements of the values that stand for sequences
	taken   map[string]bool                 // names of values
	uses    map[string]int                  // the number to try next for a name that is taken
	nodes   int                             // model nodes that may still be converted
	tried   int                             // model nodes that were, those of attempts that failed included
	full    bool                            // no more may be converted in the attempt to unroll that is being made
	unrolls int                             // attempts within each other
	depth   int                             // of nested sub-graphs
	unroll  bool                            // loops do not stay loops
	regions int                             // loops that did
	told    []func()                        // what is to be said of the conversion

	dynamic dynamics
}

// note is a line for the user.
func (imp *importer) note(text string) {
	imp.told = append(imp.told, func() { imp.opts.Notes(text) })
}

// An env maps the names of one model graph to values; names it does not have are those of the graph around it.
type env struct {
	around *env
	values map[string]*graph.Value
}

func (e *env) lookup(name string) *graph.Value {
	for ; e != nil; e = e.around {
		if v, ok := e.values[name]; ok {
			return v
		}
	}
	return nil
}

// graph imports the main graph.
func (imp *importer) graph(g *Graph) error {
	e := &env{values: map[string]*graph.Value{}}
	if err := imp.inputs(g, e); err != nil {
		return err
	}
	if err := imp.body(g, e); err != nil {
		return err
	}
	for _, o := range g.Outputs {
		v := e.lookup(o.Name)
		if err := imp.checkOutput(o, v); err != nil {
			return err
		}
		imp.Graph.Outputs = append(imp.Graph.Outputs, imp.output(o.Name, v))
	}
	return nil
}

func (imp *importer) checkOutput(o ValueInfo, v *graph.Value) error {
	switch {
	case imp.isList(v):
		return fmt.Errorf("output %q is a sequence or an empty optional, which is not supported as an output", o.Name)
	case o.Kind == KindTensor && o.Elem != 0:
		want, err := dtypeFor(o.Elem)
		if err != nil {
			return fmt.Errorf("output %q: %w", o.Name, err)
		}
		if v.Type.DType != want {
			return fmt.Errorf("output %q is declared as %s, its operator gives %s", o.Name, want, v.Type.DType)
		}
	}
	return nil
}

// output makes v a graph output of that name: a value of its own that no other output is.
func (imp *importer) output(name string, v *graph.Value) *graph.Value {
	if v.Def == nil || slices.Contains(imp.Graph.Outputs, v) {
		imp.Origin = []string{name}
		n, err := imp.Graph.Apply(ops.Copy, noAttrs, v)
		if err != nil {
			panic("onnx: copy of an output: " + err.Error())
		}
		n.Origin = imp.Origin
		v = n.Out[0]
	}
	v.Name = name
	return v
}

// body converts initializers and the nodes that outputs need.
func (imp *importer) body(g *Graph, e *env) error {
	if err := imp.initializers(g, e); err != nil {
		return err
	}
	needed := neededNodes(g)
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

// neededNodes marks the nodes that some output of g depends on.
func neededNodes(g *Graph) []bool {
	wanted := map[string]bool{}
	for _, o := range g.Outputs {
		wanted[o.Name] = true
	}
	needed := make([]bool, len(g.Nodes))
	for i, n := range slices.Backward(g.Nodes) {
		if !slices.ContainsFunc(n.Outputs, func(o string) bool { return o != "" && wanted[o] }) {
			continue
		}
		needed[i] = true
		wantOperands(n, wanted)
	}
	return needed
}

// wantOperands marks the names a node reads, those read by its sub-graphs included.
func wantOperands(n *Node, wanted map[string]bool) {
	for _, in := range n.Inputs {
		wanted[in] = true
	}
	for i := range n.Attrs {
		for _, sub := range n.Attrs[i].graphs() {
			for _, m := range sub.Nodes {
				wantOperands(m, wanted)
			}
			for _, o := range sub.Outputs {
				wanted[o.Name] = true
			}
		}
	}
}

func (imp *importer) initializers(g *Graph, e *env) error {
	for _, t := range g.Initializers {
		v, err := constantOf(t)
		if err != nil {
			return fmt.Errorf("initializer %q: %w", t.Name, err)
		}
		imp.bind(e, t.Name, v)
	}
	for _, s := range g.SparseInitializers {
		var v *graph.Value
		err := compose.Try(func() { v = imp.dense(s) })
		if err != nil {
			return fmt.Errorf("initializer %q: %w", s.Name(), err)
		}
		imp.bind(e, s.Name(), v)
	}
	return nil
}

// bind gives a value its name in the model. In the graph it keeps the first name it gets; where another value has that
// name, as in unrolled loops, a number follows.
func (imp *importer) bind(e *env, name string, v *graph.Value) {
	if name == "" {
		return
	}
	e.values[name] = v
	if v.Name == "" && !imp.isList(v) {
		v.Name = imp.fresh(name)
	}
}

func (imp *importer) fresh(name string) string {
	got := name
	for imp.taken[got] {
		imp.uses[name]++
		got = fmt.Sprintf("%s:%d", name, imp.uses[name])
	}
	imp.taken[got] = true
	return got
}

// convert applies the row of the table for n.
func (imp *importer) convert(n *Node, e *env) error {
	r := imp.rows.find(n)
	if r == nil {
		return &UnsupportedError{[]Missing{{Op: n.Qualified(), Nodes: 1, First: n.describeFirst()}}}
	}
	c := &call{importer: imp, env: e, node: n, read: map[string]bool{}}
	for _, name := range n.Inputs {
		var v *graph.Value
		if name != "" {
			v = e.lookup(name)
		}
		c.in = append(c.in, v)
	}
	if err := imp.checkDynamic(n, c.in); err != nil {
		return err
	}
	imp.Origin = []string{n.describeFirst()}
	return compose.Try(func() {
		out := r.convert(c)
		c.checkRead()
		if len(out) < len(n.Outputs) {
			for _, name := range n.Outputs[len(out):] {
				if name != "" {
					compose.Fail("output %q (number %d) is not supported", name, len(out))
				}
			}
		}
		for i, name := range n.Outputs {
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

// describeFirst is the node's name, or operator and first output where it has none.
func (n *Node) describeFirst() string {
	if n.Name != "" {
		return n.Name
	}
	for _, o := range n.Outputs {
		if o != "" {
			return n.OpType + ":" + o
		}
	}
	return n.OpType
}

// isList reports whether v stands for a sequence or an empty optional instead of a tensor.
func (imp *importer) isList(v *graph.Value) bool {
	_, ok := imp.lists[v]
	return ok
}

// list makes a value that stands for a sequence, which exists during the import only.
func (imp *importer) list(elements []*graph.Value) *graph.Value {
	v := &graph.Value{}
	imp.lists[v] = elements
	return v
}
