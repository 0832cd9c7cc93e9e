package tensorflow

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"lathe/internal/container/wire"
	"lathe/internal/frontend"
	"lathe/internal/types"
)

// A builder makes the driver's graphs of a file.
type builder struct {
	*graphDef
	values   map[string]*constant       // of variables, by the names of their nodes
	weights  frontend.Weights           // what was asked for
	missing  *frontend.NoWeightsError   // why there is no checkpoint, or nil
	guessed  bool                       // some values of variables are made up
	bodyOf   map[string]*frontend.Graph // of functions
	sizes    map[string]int             // nodes of a function, those it calls counted
	building map[string]bool
}

func newBuilder(g *graphDef) *builder {
	return &builder{graphDef: g, values: map[string]*constant{}, bodyOf: map[string]*frontend.Graph{}, sizes: map[string]int{}, building: map[string]bool{}}
}

// bodyAttrs are the attributes that name functions which a node runs.
var bodyAttrs = []string{"f", "then_branch", "else_branch", "cond", "body"}

// callers are operators that run functions, and what they are called in the table.
var callers = map[string]string{
	"PartitionedCall": "PartitionedCall", "StatefulPartitionedCall": "PartitionedCall", "TPUPartitionedCall": "PartitionedCall",
	"If": "If", "StatelessIf": "If", "While": "While", "StatelessWhile": "While", "Case": "Case", "StatelessCase": "Case",
}

// branchOf is the body of branch i of a Case.
func branchOf(i int) string { return fmt.Sprintf("branches:%d", i) }

// maxExpanded bounds the nodes of functions, each counted where it is called: few functions can call each other very often.
const maxExpanded = 1 << 20

// bodies are the graphs of the functions that a node runs, and its operator in the table.
func (b *builder) bodies(n *node) (op string, bodies map[string]*frontend.Graph, err error) {
	if f := b.functions[n.op]; f != nil { // a call by the function's name
		g, err := b.body(f.name)
		return "PartitionedCall", map[string]*frontend.Graph{"f": g}, err
	}
	op, ok := callers[n.op]
	if !ok {
		return n.op, nil, nil
	}
	bodies = map[string]*frontend.Graph{}
	for _, name := range bodyAttrs {
		if f := n.function(name); f != "" {
			if bodies[name], err = b.body(f); err != nil {
				return op, nil, err
			}
		}
	}
	if op == "Case" {
		err = attributes{node: n}.items("branches", 9, func(x wire.Field) error {
			g, err := b.body(nameOf(x.Data))
			bodies[branchOf(len(bodies))] = g
			return err
		})
	}
	return op, bodies, err
}

// body is the graph of a function.
func (b *builder) body(name string) (*frontend.Graph, error) {
	if g := b.bodyOf[name]; g != nil {
		return g, nil
	}
	f := b.functions[name]
	switch {
	case f == nil:
		return nil, fmt.Errorf("there is no function %.200q", name)
	case b.building[name]:
		return nil, fmt.Errorf("function %q calls itself, which is not supported", name)
	case len(b.building) >= maxDepth:
		return nil, fmt.Errorf("functions call each other more than %d deep", maxDepth)
	}
	b.building[name] = true
	defer delete(b.building, name)
	l, err := b.newLevel(f.nodes)
	if err != nil {
		return nil, fmt.Errorf("function %q: %w", name, err)
	}
	var inputs []frontend.Info
	var given []ref
	for _, a := range f.args {
		if l.vertices[a.name] != nil {
			return nil, fmt.Errorf("function %q: a node has the name of argument %q", name, a.name)
		}
		inputs, given = append(inputs, frontend.Info{Name: a.name}), append(given, ref{node: a.name})
	}
	var outputs []ref
	for _, r := range f.rets {
		x, err := l.refer(f.ret[r.name])
		if err != nil {
			return nil, fmt.Errorf("function %q: result %q: %w", name, r.name, err)
		}
		outputs = append(outputs, x)
	}
	g, err := l.graph(name, inputs, given, outputs)
	if err != nil {
		return nil, fmt.Errorf("function %q: %w", name, err)
	}
	size := 0
	for _, n := range g.Nodes {
		size++
		for _, sub := range n.Sub {
			size += 1 + b.sizes[sub.Name]
		}
	}
	if size > maxExpanded {
		return nil, errors.New("its functions call each other more often than in any sensible model: damaged or made to harm")
	}
	b.bodyOf[name], b.sizes[name] = g, size
	return g, nil
}

// unfit are operators that give no output of a network: they store, train, check, or begin one.
var unfit = map[string]bool{
	"NoOp": true, "Const": true, "HostConst": true, "Placeholder": true, "PlaceholderV2": true, "PlaceholderWithDefault": true, "Assert": true, "SaveV2": true, "Save": true, "SaveSlices": true,
	"RestoreV2": true, "Restore": true, "RestoreSlice": true, "MergeV2Checkpoints": true, "ShardedFilename": true, "VarHandleOp": true, "VariableV2": true, "Variable": true,
	"ReadVariableOp": true, "VarIsInitializedOp": true, "IsVariableInitialized": true, "Switch": true, "Exit": true, "Print": true, "BroadcastGradientArgs": true,
	"ScalarSummary": true, "HistogramSummary": true, "MergeSummary": true, "ImageSummary": true, "StringJoin": true, "CheckNumerics": true, "NextIteration": true, "Enter": true,
	"TensorSummary": true, "AudioSummary": true, "QueueDequeueManyV2": true, "InitializeTableV2": true, "WriteFile": true, "ControlTrigger": true,
}

// stores are what the names of operators that change variables begin with.
var stores = []string{"Assign", "Apply", "ResourceApply", "Sparse", "ResourceSparse", "Scatter", "Queue", "Resource"}

// found are the outputs of a graph that does not say what they are: what no node reads.
func (l *level) found() []ref {
	read := map[string]bool{}
	for _, v := range l.order {
		for _, x := range v.data {
			read[x.node] = read[x.node] || !v.trains()
		}
		for _, name := range v.control { // it runs before v, for what it does
			read[name] = read[name] || v.op != "NoOp"
		}
	}
	var out []ref
	for _, v := range l.order {
		if read[v.name] || unfit[v.op] || v.trains() {
			continue
		}
		n := 1
		if allResults[v.op] {
			n = len(resultNames[v.op])
		}
		for _, name := range []string{"num_split", "num"} {
			if k, err := (attributes{node: v.node}).Int(name); err == nil && v.isOp("Split", "SplitV", "Unpack") {
				n = min(max(n, int(k)), maxResults)
			}
		}
		for k := range n {
			out = append(out, ref{v.name, k})
		}
	}
	return out
}

// trains reports whether a node is one of those that only training needs.
func (v *vertex) trains() bool {
	if v.op != "SparseToDense" && slices.ContainsFunc(stores, func(p string) bool {
		return strings.HasPrefix(v.op, p) && v.op != "ResourceGather" && v.op != "ScatterNd"
	}) {
		return true
	}
	return strings.HasPrefix(v.name, "gradients/") || strings.HasPrefix(v.name, "save/") || strings.Contains(v.name, "/gradients/")
}

// variable is the value of a variable, which a checkpoint holds. Where there is none, it is made up.
func (b *builder) variable(n *node, name string) (frontend.Param, error) {
	if c := b.values[n.name]; c != nil {
		return c.param(name), nil
	}
	if b.missing == nil {
		return frontend.Param{}, fmt.Errorf("variable %q has no value: the checkpoint has none for it", n.name)
	}
	s, err := n.shape("shape")
	if err != nil {
		return frontend.Param{}, err
	}
	typ := types.Tensor{Shape: []int{}}
	if typ.DType, err = n.dataType("dtype").dtype(); err != nil || !s.known || slices.ContainsFunc(s.dims, func(d int64) bool { return d < 0 || d > math.MaxInt32 }) {
		return frontend.Param{}, fmt.Errorf("variable %q has no value, since the checkpoint is missing (--weights names one), and the graph does not say of which type and shape one could be made up", n.name)
	}
	for _, d := range s.dims {
		typ.Shape = append(typ.Shape, int(d))
	}
	b.guessed = true
	return frontend.MadeUp(name, typ), nil
}
