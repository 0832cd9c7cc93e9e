package compile

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/plan"
)

// params are the constants of a package, which are packed while they are written.
func params(j *job, n *network, mem *plan.Plan) []bundle.Param {
	names := map[string]bool{}
	for _, v := range n.graph.Inputs {
		names[v.Name] = true
	}
	params := make([]bundle.Param, len(mem.Constants))
	for i, v := range mem.Constants {
		params[i] = bundle.Param{
			Name: uniqueName(names, v.Name, "p"+strconv.Itoa(i)), DType: v.Type.DType.String(), Shape: v.Type.Dims(),
			Write: func(w io.Writer) error {
				return fault.Guard(func() error { return writePacked(w, v.Const, v.Type.Layout, j.Workers) })
			},
		}
	}
	return params
}

// pack makes the parts of a package beside its code: packed weights, mod.json and the manifest.
func pack(j *job, n *network, p *program, mem *plan.Plan, params []bundle.Param) (*bundle.Contents, error) {
	m := manifest(j, n, p, mem)
	for _, q := range params {
		m.Params = append(m.Params, q.Name)
	}
	contents := &bundle.Contents{Params: params, Graph: graphJSON(j, n, p, params, mem), Manifest: m}
	if m.External, contents.External = n.externals(p, mem); m.External != nil {
		m.Format = bundle.ExternalFormatVersion
	}
	return contents, nil
}

// loops is the kernels' loop IR.
func (p *program) loops() string {
	var b strings.Builder
	for _, s := range p.kernels() {
		fmt.Fprintf(&b, "// %s: %s, %s; from %s\n%s\n", s.name, s.plan.Rule, s.plan.Why, strings.Join(s.Node.Origin, ", "), s.plan.Schedule.Func)
	}
	return b.String()
}

func uniqueName(taken map[string]bool, name, fallback string) string {
	if name == "" || strings.HasPrefix(name, "__pad.") {
		name = fallback
	}
	n := name
	for i := 1; taken[n]; i++ {
		n = fmt.Sprintf("%s.%d", name, i)
	}
	taken[n] = true
	return n
}

// manifest is lathe.json.
func manifest(j *job, n *network, p *program, mem *plan.Plan) *bundle.Manifest {
	m := &bundle.Manifest{
		Format: bundle.FormatVersion, ABI: bundle.ABIVersion, Lathe: j.Version, Module: j.Module,
		Target: bundle.Target{String: j.Target.String(), Triple: j.Target.Triple, CPU: j.Target.CPU, Features: j.Target.Features},
		Options: map[string]string{
			"opt-level": strconv.Itoa(j.Level), "disabled-pass": strings.Join(j.Disabled, ","), "desired-layout": strings.Join(j.Layouts, ","),
			"denormals": string(j.Denormals),
		},
		Source: j.Source, Workspace: mem.Workspace, FLOPs: int64(n.flops),
	}
	if len(j.LayoutOps) > 0 {
		m.Options["desired-layout-ops"] = strings.Join(j.LayoutOps, ",")
	}
	if j.NoFallback {
		m.Options["external-fallback"] = "false"
	}
	for _, s := range p.kernels() {
		m.Scratch = max(m.Scratch, s.code.Scratch)
	}
	for _, s := range p.steps {
		m.Steps = append(m.Steps, s.describe())
	}
	m.MaxWorkers = usefulWorkers(m, j.Target, mem.Meetings())
	info := func(v *graph.Value, said map[string]bundle.Meaning) bundle.TensorInfo {
		return bundle.TensorInfo{Name: v.Name, DType: v.Type.DType.String(), Shape: v.Type.Shape, Meaning: said[v.Name]}
	}
	for _, v := range n.graph.Inputs {
		m.Inputs = append(m.Inputs, info(v, j.Inputs))
	}
	for i, v := range n.outputs() {
		out := info(v, j.Outputs)
		out.Symbols = n.symbols[i]
		m.Outputs = append(m.Outputs, out)
	}
	m.Taps, m.Notes = n.taps, n.notes()
	m.Symbols = len(n.graph.Outputs) - len(n.outputs())
	return m
}

// graphJSON is mod.json: inputs, constants and kernels in TVM's form, which graph viewers open and which has no loops.
func graphJSON(j *job, n *network, p *program, params []bundle.Param, mem *plan.Plan) *bundle.GraphJSON {
	g := &bundle.GraphJSON{}
	entryOf := map[*graph.Value]bundle.Entry{}
	add := func(node bundle.GraphNode, results ...*graph.Value) {
		g.NodeRowPtr = append(g.NodeRowPtr, len(g.Attrs.DType))
		for i, v := range results {
			entryOf[v] = bundle.Entry{Node: len(g.Nodes), Index: i}
			g.Attrs.DType = append(g.Attrs.DType, v.Type.DType.String())
			g.Attrs.Shape = append(g.Attrs.Shape, v.Type.Dims())
			g.Attrs.StorageID = append(g.Attrs.StorageID, len(g.Attrs.StorageID))
		}
		g.Nodes = append(g.Nodes, node)
	}
	arg := func(v *graph.Value, name string) {
		g.ArgNodes = append(g.ArgNodes, len(g.Nodes))
		add(bundle.GraphNode{Op: "null", Name: name}, v)
	}
	for _, v := range n.graph.Inputs {
		arg(v, v.Name)
	}
	for i, v := range mem.Constants {
		arg(v, params[i].Name)
	}
	for v, at := range mem.Places {
		if at.Kind == plan.Constant {
			entryOf[v] = entryOf[mem.Constants[at.Index]]
		}
	}
	var steps func(p *program)
	steps = func(p *program) {
		for _, s := range p.all {
			for k, body := range slices.Backward(s.Node.Bodies()) { // one iteration is shown, and both branches, of which the first gives the results
				for i, v := range body.Inputs {
					entryOf[v] = entryOf[s.In[i+len(s.In)-len(body.Inputs)]]
				}
				steps(s.bodies[k])
				for i := range s.Out {
					entryOf[s.Out[i]] = entryOf[body.Outputs[min(i, len(body.Outputs)-1)]]
				}
			}
			if s.bodies != nil {
				continue
			}
			name := "__nop"
			if s.function != nil {
				name = j.symbol(s.callee)
			}
			node := bundle.GraphNode{Op: "tvm_op", Name: s.name, Call: &bundle.GraphCall{FuncName: name, NumInputs: len(s.In), NumOutputs: len(s.Out)}}
			for _, v := range s.In {
				node.Inputs = append(node.Inputs, entryOf[v])
			}
			add(node, s.Out...)
		}
	}
	steps(p)
	for _, o := range n.outputs() {
		if _, ok := entryOf[o]; !ok { // it has no elements, so that no kernel writes it
			add(bundle.GraphNode{Op: "tvm_op", Name: o.Name, Call: &bundle.GraphCall{FuncName: "__nop", NumOutputs: 1}}, o)
		}
	}
	g.NodeRowPtr = append(g.NodeRowPtr, len(g.Attrs.DType))
	for _, o := range n.outputs() {
		g.Heads = append(g.Heads, entryOf[o])
	}
	return g
}
