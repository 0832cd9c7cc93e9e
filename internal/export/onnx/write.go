package onnx

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Options say how a graph is written.
type Options struct {
	Producer string    // name of the program, in the file
	Opset    int       // least version of ai.onnx; the file's is this or the oldest, from 18 on, that has all operators
	Standard bool      // only operators of ai.onnx; a product with transposed operands is com.microsoft's FusedMatMul elsewhere
	QDQ      bool      // weights in blocks are DequantizeLinear in front of a product; else com.microsoft's MatMulNBits where that can have them
	External *External // takes large weights, which a file of more than 2 GB needs; nil: they are in the file
}

// leastOpset is the oldest version written: from it on all reductions have their axes as an operand.
const leastOpset = 18

// Write writes g as an ONNX file, whose import gives g again: the same operators, constants, names and shapes. Operators
// that ONNX says with several come back as those. Layouts, which say nothing of what is computed, are left out. Groups
// are written as the nodes in them.
func Write(w io.Writer, g *graph.Graph, o Options) error {
	m, err := Convert(g, o)
	if err != nil {
		return err
	}
	return m.Write(w, o.External)
}

// Convert is the model that Write writes.
func Convert(g *graph.Graph, o Options) (*Model, error) {
	main := &Graph{Name: cmp.Or(g.Name, "main")}
	w := &writer{
		options: o, main: main, out: main, opsets: map[string]int{"": max(o.Opset, leastOpset)},
		names: map[*graph.Value]string{}, made: map[*graph.Value]bool{}, taken: map[string]bool{}, uses: map[string]int{}, nodeNames: map[string]int{}, shared: map[string]string{},
	}
	if x, err := compose.ExtentsOf(g); err == nil {
		w.extents = x
	}
	if err := w.graph(g); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return &Model{Producer: o.Producer, Opsets: w.opsets, Graph: main}, nil
}

// A writer turns one graph into one model.
type writer struct {
	options   Options
	main      *Graph // has all constants
	out       *Graph // that nodes are added to
	opsets    map[string]int
	extents   compose.Extents // of values whose extents depend on data
	names     map[*graph.Value]string
	made      map[*graph.Value]bool // constants that are initializers
	taken     map[string]bool
	uses      map[string]int
	nodeNames map[string]int
	shared    map[string]string // name of each constant made here, by type and bytes
	absorbed  map[*graph.Node]bool
	users     map[*graph.Value][]*graph.Node
}

func (w *writer) graph(g *graph.Graph) error {
	for _, v := range g.Inputs {
		w.name(v)
		w.out.Inputs = append(w.out.Inputs, Value{Name: w.names[v], DType: v.Type.DType, Dims: Dims(v.Type.Shape...)})
	}
	var copies []func()
	for _, v := range g.Outputs {
		o := Value{Name: v.Name, DType: v.Type.DType, Dims: w.dims(v)}
		if again := w.names[v] != ""; again || v.Def == nil {
			o.Name = w.fresh(cmp.Or(v.Name, "output"))
			copies = append(copies, func() { w.emit("", "Identity", []string{w.name(v)}, []string{o.Name}) })
		} else {
			o.Name = w.name(v)
		}
		w.out.Outputs = append(w.out.Outputs, o)
	}
	// The names of the model come before those made here.
	for _, n := range g.Nodes {
		for _, v := range slices.Concat(n.In, n.Out) {
			if v.Name != "" {
				w.reserve(v)
			}
		}
	}
	if err := w.body(g); err != nil {
		return err
	}
	for _, c := range copies {
		c()
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			if !slices.Contains(g.Outputs, v) && w.written(v) {
				w.out.Values = append(w.out.Values, Value{Name: w.names[v], DType: v.Type.DType, Dims: w.dims(v)})
			}
		}
	}
	return nil
}

// written reports whether v, a node's result, stands in the file.
func (w *writer) written(v *graph.Value) bool {
	return w.names[v] != "" && !w.absorbed[v.Def]
}

// dims is v's shape, open where an extent depends on data.
func (w *writer) dims(v *graph.Value) []Dim {
	d := Dims(v.Type.Shape...)
	for k, count := range w.extents[v] {
		if count != nil {
			d[k].Size = -1
		}
	}
	return d
}

// body writes the nodes of a graph or of a group's sub-graph.
func (w *writer) body(g *graph.Graph) error {
	outerUsers, outerAbsorbed := w.users, w.absorbed
	w.users, w.absorbed = g.Users(), map[*graph.Node]bool{}
	for _, v := range g.Outputs {
		w.users[v] = append(w.users[v], nil)
	}
	for _, n := range slices.Backward(g.Nodes) {
		w.absorb(n)
	}
	for _, n := range g.Nodes {
		if w.absorbed[n] {
			continue
		}
		write := w.node
		switch n.Op {
		case graph.Group, graph.Composite, graph.External:
			write = w.group
		case graph.Loop:
			write = w.loop
		case graph.If:
			write = w.branch
		}
		err := write(n)
		if err != nil {
			return fmt.Errorf("node %q (%s): %w", strings.Join(n.Origin, "+"), n.Op.Name, err)
		}
	}
	if outerAbsorbed != nil {
		w.users, w.absorbed = outerUsers, outerAbsorbed
	}
	return nil
}

// absorb notes the nodes before n that are written with n. Readers are seen before what they read.
func (w *writer) absorb(n *graph.Node) {
	switch n.Op {
	case ops.Requantize:
		if q := quantizedBefore(n, w.users); q != nil {
			for _, m := range q.nodes() {
				w.absorbed[m] = true
			}
		}
	case ops.OneHot:
		if onOff(n) == nil {
			return
		}
		for _, v := range n.In[1:] {
			for ; v.Def != nil && len(w.users[v]) == 1 && v != onOff(n); v = v.Def.In[0] {
				w.absorbed[v.Def] = true
			}
		}
	case ops.Dense:
		if d := w.dequantisedWeights(n); d != nil {
			w.absorbed[d] = true
		}
	case ops.QnnMatmul:
		if zero := n.In[1]; len(w.users[zero]) == 1 && rowList(zero) != nil {
			w.absorbed[zero.Def] = true
		}
	case ops.ArgWhere:
		w.absorbed[n] = len(w.users[n.Out[1]]) == 0 && !slices.ContainsFunc(w.users[n.Out[0]], func(u *graph.Node) bool { return !isTranspose2(u) })
	}
}

// group writes the nodes of a group; its operands and results are values of the graph around.
func (w *writer) group(n *graph.Node) error {
	sub := n.Sub[0]
	for i, v := range sub.Inputs {
		w.names[v] = w.name(n.In[i])
	}
	var copies [][2]string
	for i, v := range sub.Outputs {
		if w.names[v] != "" || v.Def == nil {
			copies = append(copies, [2]string{w.name(v), w.name(n.Out[i])})
		} else {
			w.names[v] = w.name(n.Out[i])
		}
	}
	if err := w.body(sub); err != nil {
		return err
	}
	for _, c := range copies {
		w.emit("", "Identity", []string{c[0]}, []string{c[1]})
	}
	return nil
}

func (w *writer) node(n *graph.Node) error {
	write := byOperator[n.Op]
	if write == nil || len(n.Sub) > 0 {
		return fmt.Errorf("the operator cannot be written as ONNX")
	}
	return compose.Try(func() { write(&call{writer: w, n: n}) })
}

// name is v's name in the file, in which a constant stands from then on.
func (w *writer) name(v *graph.Value) string {
	s := w.reserve(v)
	if v.Const != nil && !w.made[v] {
		w.made[v] = true
		w.main.Initializers = append(w.main.Initializers, Initializer{s, v.Const})
	}
	return s
}

// reserve gives v its name.
func (w *writer) reserve(v *graph.Value) string {
	if s := w.names[v]; s != "" {
		return s
	}
	base := v.Name
	if base == "" && v.Def != nil {
		base = v.Def.Op.Name[strings.LastIndexByte(v.Def.Op.Name, '.')+1:]
	}
	s := w.fresh(cmp.Or(base, "const"))
	w.names[v] = s
	return s
}

// fresh is a name that is not taken: base, or base with a number.
func (w *writer) fresh(base string) string {
	s := base
	for w.taken[s] {
		w.uses[base]++
		s = fmt.Sprintf("%s_%d", base, w.uses[base])
	}
	w.taken[s] = true
	return s
}

// nodeName is origin, with a number behind where a node has that name already: other engines refuse two of one.
func (w *writer) nodeName(origin string) string {
	name := origin
	for k := w.nodeNames[origin]; name != "" && w.nodeNames[name] > 0; k++ {
		name = fmt.Sprintf("%s_%d", origin, k)
	}
	w.nodeNames[origin]++
	if name != origin {
		w.nodeNames[name]++
	}
	return name
}

// emit appends a node, named by its origin.
func (w *writer) emit(origin, op string, in, out []string, attrs ...Attr) {
	name := w.nodeName(origin)
	for len(in) > 0 && in[len(in)-1] == "" {
		in = in[:len(in)-1]
	}
	attrs = slices.DeleteFunc(attrs, func(a Attr) bool { return a.Name == "" })
	domain := ""
	if i := strings.LastIndexByte(op, '.'); i >= 0 {
		domain, op = op[:i], op[i+1:]
		w.opsets[domain] = max(w.opsets[domain], 1)
	} else {
		w.need(since[op])
	}
	w.out.Nodes = append(w.out.Nodes, &Node{Name: name, Op: op, Domain: domain, In: in, Out: out, Attrs: attrs})
}

// need raises the version of ai.onnx to one that has what a node uses.
func (w *writer) need(opset int) { w.opsets[""] = max(w.opsets[""], opset) }

// constant is the name of an initializer with t's type and elements.
func (w *writer) constant(t *tensor.Tensor) string {
	key := t.Type().String() + string(t.Bytes())
	if w.shared[key] == "" {
		w.shared[key] = w.fresh("const")
		w.main.Initializers = append(w.main.Initializers, Initializer{w.shared[key], t})
	}
	return w.shared[key]
}

// intList is the name of a one-dimensional int64 constant.
func (w *writer) intList(v ...int) string { return w.constant(compose.Ints(v...).Const) }

// number is the name of a constant of rank 0.
func (w *writer) number(d types.DType, v float64) string {
	return w.constant(compose.Number(d, v).Const)
}
