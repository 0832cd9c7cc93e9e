package compile

import (
	"fmt"
	"io"
	"strings"

	"lathe/internal/bundle"
	csource "lathe/internal/codegen/c"
	"lathe/internal/plan"
	"lathe/internal/spelling"
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
	index, scratch, stack := map[string]int{}, 0, 0
	for _, s := range p.steps {
		i, ok := index[s.callee]
		if !ok {
			i = len(f.Kernels)
			index[s.callee] = i
			f.Kernels = append(f.Kernels, csource.Kernel{Name: s.name, Function: s.source, Comment: []string{s.sourceComment()}})
		}
		nodes := strings.Join(s.Node.Origin, ", ")
		f.Kernels[i].Comment = append(f.Kernels[i].Comment, "from "+nodes)
		scratch, stack = max(scratch, s.source.ScratchBytes()), max(stack, s.source.Stack)
		f.Calls = append(f.Calls, csource.Call{Kernel: i, Comment: nodes, Args: sourcePlaces(s.kernel, mem), Scratch: mem.Workspace})
	}
	f.Workspace = mem.Workspace + scratch
	f.Head = []string{
		fmt.Sprintf("%s, compiled by lathe %s for target %q at -O%d.", j.Source.File, j.Version, j.Target, j.Level),
		"SHA-256 of the model: " + j.Source.SHA256,
		fmt.Sprintf("Memory: %d bytes of constants, %d of workspace, no heap; the stack holds %d bytes of arrays and some scalars.", weights, f.Workspace, stack),
		fmt.Sprintf("%s, %.0f arithmetic operations a run.", spelling.Count(len(f.Calls), "step"), n.flops),
	}
	return f, nil
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

// sourcePlaces are the operands of a kernel.
func sourcePlaces(k *kernel, mem *plan.Plan) []csource.Place {
	kinds := map[plan.PlaceKind]csource.PlaceKind{
		plan.Workspace: csource.Workspace, plan.Input: csource.Input, plan.Output: csource.Output, plan.Constant: csource.WeightOf, plan.Symbol: csource.Symbol,
	}
	var places []csource.Place
	for i, v := range k.Values() {
		at := mem.Places[v]
		places = append(places, csource.Place{Kind: kinds[at.Kind], Index: at.Index + at.Offset, DType: v.Type.DType, Const: i < len(k.In)})
	}
	return places
}
