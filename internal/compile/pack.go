package compile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/graph"
)

// A constant is a tensor of mod.params, in the layout its kernels read.
type constant struct {
	value *graph.Value
	name  string
}

// pack makes the parts of the package: packed weights, mod.json and the manifest.
func (c *compiler) pack() error {
	names := map[string]bool{}
	for _, v := range c.graph.Inputs {
		names[v.Name] = true
	}
	params := make([]bundle.Param, len(c.consts))
	for i, k := range c.consts {
		k.name = uniqueName(names, k.value.Name, "p"+strconv.Itoa(i))
	}
	err := inParallel(c.ctx, c.Workers, len(c.consts), func(i int) error {
		v := c.consts[i].value
		params[i] = bundle.Param{Name: c.consts[i].name, DType: v.Type.DType.String(), Shape: v.Type.Dims(), Data: packed(v.Const, v.Type.Layout)}
		return nil
	}, func() {})
	if err != nil {
		return err
	}
	c.res.Contents.Params = params
	c.res.Contents.Graph = c.graphJSON()
	c.res.Contents.Manifest = c.manifest()
	for _, p := range params {
		c.res.Contents.Manifest.Params = append(c.res.Contents.Manifest.Params, p.Name)
	}
	c.keepKernels()
	return nil
}

// keepKernels keeps the kernels' loop IR where it is asked for.
func (c *compiler) keepKernels() {
	if !slices.Contains(c.Code, "tir") {
		return
	}
	var b strings.Builder
	for _, k := range c.kernels {
		fmt.Fprintf(&b, "// %s: %s, %s; from %s\n%s\n", k.name, k.plan.Rule, k.plan.Why, strings.Join(k.node.Origin, ", "), k.plan.Schedule.Func)
	}
	c.res.Code["tir"] = b.String()
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
func (c *compiler) manifest() *bundle.Manifest {
	m := &bundle.Manifest{
		Format: bundle.FormatVersion, ABI: bundle.ABIVersion, Lathe: c.Version, Module: c.Module,
		Target: bundle.Target{String: c.Target.String(), Triple: c.Target.Triple, CPU: c.Target.CPU, Features: c.Target.Features},
		Options: map[string]string{
			"opt-level": strconv.Itoa(c.Level), "disabled-pass": strings.Join(c.Disabled, ","), "desired-layout": strings.Join(c.Layouts, ","),
			"denormals": string(c.Denormals),
		},
		Source: c.Source, Workspace: c.plan.workspace, Notes: c.res.Notes, FLOPs: int64(c.flops),
	}
	for _, k := range c.kernels {
		m.Scratch = max(m.Scratch, k.code.Scratch)
		m.Steps = append(m.Steps, k.step())
	}
	m.MaxWorkers = c.usefulWorkers(m)
	info := func(v *graph.Value) bundle.TensorInfo {
		return bundle.TensorInfo{Name: v.Name, DType: v.Type.DType.String(), Shape: v.Type.Shape}
	}
	for _, v := range c.graph.Inputs {
		m.Inputs = append(m.Inputs, info(v))
	}
	for i, v := range c.outputs() {
		out := info(v)
		out.Symbols = c.symbols[i]
		m.Outputs = append(m.Outputs, out)
	}
	m.Symbols = len(c.graph.Outputs) - len(c.outputs())
	return m
}

// graphJSON is mod.json: inputs, constants and kernels in TVM's form, which graph viewers open.
func (c *compiler) graphJSON() *bundle.GraphJSON {
	g := &bundle.GraphJSON{}
	entryOf := map[*graph.Value]bundle.Entry{}
	add := func(n bundle.GraphNode, results ...*graph.Value) {
		g.NodeRowPtr = append(g.NodeRowPtr, len(g.Attrs.DType))
		for i, v := range results {
			entryOf[v] = bundle.Entry{Node: len(g.Nodes), Index: i}
			g.Attrs.DType = append(g.Attrs.DType, v.Type.DType.String())
			g.Attrs.Shape = append(g.Attrs.Shape, v.Type.Dims())
			g.Attrs.StorageID = append(g.Attrs.StorageID, len(g.Attrs.StorageID))
		}
		g.Nodes = append(g.Nodes, n)
	}
	arg := func(v *graph.Value, name string) {
		g.ArgNodes = append(g.ArgNodes, len(g.Nodes))
		add(bundle.GraphNode{Op: "null", Name: name}, v)
	}
	for _, v := range c.graph.Inputs {
		arg(v, v.Name)
	}
	for _, k := range c.consts {
		arg(k.value, k.name)
	}
	for _, k := range c.all {
		name := k.symbol
		if k.nop {
			name = "__nop"
		}
		n := bundle.GraphNode{Op: "tvm_op", Name: k.name, Call: &bundle.GraphCall{FuncName: name, NumInputs: len(k.in), NumOutputs: len(k.outs)}}
		for _, v := range k.in {
			n.Inputs = append(n.Inputs, entryOf[v])
		}
		add(n, k.outs...)
	}
	for _, o := range c.outputs() {
		if _, ok := entryOf[o]; !ok { // it has no elements, so that no kernel writes it
			add(bundle.GraphNode{Op: "tvm_op", Name: o.Name, Call: &bundle.GraphCall{FuncName: "__nop", NumOutputs: 1}}, o)
		}
	}
	g.NodeRowPtr = append(g.NodeRowPtr, len(g.Attrs.DType))
	for _, o := range c.outputs() {
		g.Heads = append(g.Heads, entryOf[o])
	}
	return g
}
