package compile

import (
	"fmt"
	"io"
	"strings"

	"lathe/internal/bundle"
	csource "lathe/internal/codegen/c"
	"lathe/internal/graph"
	"lathe/internal/plan"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// source makes the files NAME.c and NAME.h of target c.
func source(j *job, n *network, p *program, mem *plan.Plan) (*bundle.Contents, error) {
	f, err := sourceFile(j, n, p, mem)
	if err != nil {
		return nil, err
	}
	m := manifest(j, n, p, mem)
	m.Workspace = f.Workspace
	return &bundle.Contents{Manifest: m, Files: []bundle.File{
		{Suffix: ".c", Write: func(w io.Writer) error { return f.Write(w) }},
		{Suffix: ".h", Write: func(w io.Writer) error { return f.WriteHeader(w) }},
	}}, nil
}

// sourceFile describes the network for package codegen/c. Equal kernels are one function.
func sourceFile(j *job, n *network, p *program, mem *plan.Plan) (*csource.File, error) {
	f := &csource.File{Module: j.Module}
	for _, v := range n.graph.Inputs {
		f.Inputs = append(f.Inputs, csource.Tensor{Name: v.Name, DType: v.Type.DType, Shape: v.Type.Shape})
	}
	for i, v := range n.outputs() {
		f.Outputs = append(f.Outputs, csource.Tensor{Name: v.Name, DType: v.Type.DType, Shape: v.Type.Shape, Extents: n.symbols[i]})
	}
	for _, v := range n.graph.Outputs[len(n.outputs()):] {
		f.Symbols = append(f.Symbols, v.Name)
	}
	f.Weights = make([]csource.Weight, len(mem.Constants))
	weights := 0
	for i, v := range mem.Constants {
		t, name := v.Type, v.Name
		if name == "" {
			name = fmt.Sprintf("constant%d", i)
		}
		f.Weights[i] = csource.Weight{Name: name, Comment: fmt.Sprintf("%s: %s", name, t), DType: t.DType}
		weights += t.Bytes()
	}
	err := inParallel(j.ctx, j.Workers, len(mem.Constants), func(i int) error {
		v := mem.Constants[i]
		f.Weights[i].Data = packed(v.Const, v.Type.Layout)
		return nil
	}, func() {})
	if err != nil {
		return nil, err
	}
	w := &sourceWriter{File: f, index: map[string]int{}, workspace: mem.Workspace, regions: n.regions}
	f.Calls = w.calls(p, mem, 0)
	f.Workspace = mem.Workspace + w.scratch
	f.Head = []string{
		fmt.Sprintf("%s, compiled by lathe %s for target %q at -O%d.", j.Source.File, j.Version, j.Target, j.Level),
		"SHA-256 of the model: " + j.Source.SHA256,
		fmt.Sprintf("Memory: %d bytes of constants, %d of workspace, no heap; the stack holds %d bytes of arrays and some scalars.", weights, f.Workspace, w.stack),
		fmt.Sprintf("%s, %.0f arithmetic operations a run.", spelling.Count(len(f.Calls), "step"), n.flops),
	}
	return f, nil
}

// A sourceWriter collects kernels and their calls.
type sourceWriter struct {
	*csource.File
	index          map[string]int // of kernels, by name
	workspace      int            // behind which scratch lies
	scratch, stack int            // bytes
	regions        map[string]external
}

// calls are the steps of p, whose workspace begins at base.
func (w *sourceWriter) calls(p *program, mem *plan.Plan, base int) (list []csource.Call) {
	for k, s := range p.steps {
		nodes := strings.Join(s.Node.Origin, ", ")
		if hollow(s.Node) {
			list = append(list, w.region(s, mem, base, nodes))
			continue
		}
		if s.bodies != nil {
			call := csource.Call{Comment: nodes}
			if b := mem.Branches[k]; b != nil {
				call.Loop, call.Else = w.loop(s, 0, b.Ways[0], base), w.loop(s, 1, b.Ways[1], base)
				call.Condition = sourcePlace(b.Condition, base)
				call.Condition.DType, call.Condition.Const = types.Bool, true
			} else {
				call.Loop = w.loop(s, 0, mem.Loops[k], base)
			}
			list = append(list, call)
			continue
		}
		i, ok := w.index[s.callee]
		if !ok {
			i = len(w.Kernels)
			w.index[s.callee] = i
			w.Kernels = append(w.Kernels, csource.Kernel{Name: s.name, Function: s.source, Comment: []string{s.sourceComment()}})
		}
		w.Kernels[i].Comment = append(w.Kernels[i].Comment, "from "+nodes)
		w.scratch, w.stack = max(w.scratch, s.source.ScratchBytes()), max(w.stack, s.source.Stack)
		call := csource.Call{Kernel: i, Comment: nodes, Scratch: w.workspace}
		for i, v := range s.Values() {
			at := sourcePlace(mem.Places[v], base)
			at.DType, at.Const = v.Type.DType, i < len(s.In)
			call.Args = append(call.Args, at)
		}
		list = append(list, call)
	}
	return list
}

// region is the call of what an external code generator wrote.
func (w *sourceWriter) region(s *step, mem *plan.Plan, base int, nodes string) csource.Call {
	a := s.Node.Attrs.(graph.ExternalAttrs)
	r := &csource.Region{Symbol: a.Symbol, Comment: "by external code generator " + a.Compiler + ": " + nodes, Text: string(w.regions[a.Symbol].module.Bytes)}
	w.Regions = append(w.Regions, *r)
	places := func(values []*graph.Value, read bool) (list []csource.Place) {
		for _, v := range values {
			at := sourcePlace(mem.Places[v], base)
			at.DType, at.Const = v.Type.DType, read
			list = append(list, at)
		}
		return list
	}
	return csource.Call{Region: r, In: places(s.In, true), Out: places(s.Out, false), Comment: nodes}
}

// loop is a body of a region, in a workspace that begins at base.
func (w *sourceWriter) loop(s *step, k int, at *plan.Loop, base int) *csource.Loop {
	body := s.Node.Sub[k]
	l := &csource.Loop{
		Trips:  at.Trips,
		Inputs: bounds(at.Inputs, body.Inputs, "read", base), Outputs: bounds(at.Outputs, body.Outputs, "written", base),
		Calls: w.calls(s.bodies[k], at.Body, base+at.Offset),
	}
	if at.While == nil {
		return l
	}
	l.While = &csource.While{Strict: at.While.Strict, Count: sourcePlace(at.While.Count, base)}
	l.While.Count.DType = types.I64
	for i, v := range body.Outputs {
		l.While.Elements = append(l.While.Elements, v.Type.Elements())
		if i < len(at.While.Results) {
			p := sourcePlace(at.While.Results[i], base)
			p.DType = v.Type.DType
			l.While.Results = append(l.While.Results, p)
		}
	}
	return l
}

// bounds are where the inputs or outputs of a body lie, in a workspace that begins at base.
func bounds(list []plan.Bound, values []*graph.Value, name string, base int) (b []csource.Bound) {
	for i, p := range list {
		b = append(b, csource.Bound{
			Name: name, DType: values[i].Type.DType, Offset: p.Offset, Step: p.Step,
			First: sourcePlace(p.First, base), Even: sourcePlace(p.Even, base), Odd: sourcePlace(p.Odd, base),
		})
	}
	return b
}

// sourceComment says what a kernel computes.
func (k *kernel) sourceComment() string {
	var in, out []string
	for _, v := range k.In {
		t := v.Type.String()
		if v.IsConst() {
			t = "const " + t
		}
		in = append(in, t)
	}
	for _, v := range k.Out {
		out = append(out, v.Type.String())
	}
	return fmt.Sprintf("%s: %s -> %s", strings.Join(k.ops, " + "), strings.Join(in, ", "), strings.Join(out, ", "))
}

// sourcePlace is a place in a workspace that begins at base.
func sourcePlace(at plan.Place, base int) csource.Place {
	kinds := [...]csource.PlaceKind{
		plan.Workspace: csource.Workspace, plan.Input: csource.Input, plan.Output: csource.Output, plan.Constant: csource.WeightOf, plan.Symbol: csource.Symbol,
	}
	if at.Kind != plan.Workspace {
		base = 0
	}
	return csource.Place{Kind: kinds[at.Kind], Index: at.Index + at.Offset + base}
}
