package compile

import (
	"fmt"
	"io"
	"strings"

	"lathe/internal/bundle"
	csource "lathe/internal/codegen/c"
)

// source makes the files NAME.c and NAME.h of target c.
func (c *compiler) source() error {
	f, err := c.sourceFile()
	if err != nil {
		return err
	}
	c.res.Contents.Files = []bundle.File{
		{Suffix: ".c", Write: func(w io.Writer) error { return f.Write(w) }},
		{Suffix: ".h", Write: func(w io.Writer) error { return f.WriteHeader(w) }},
	}
	c.res.Contents.Manifest = c.manifest()
	c.res.Contents.Manifest.Workspace = f.Workspace
	c.keepKernels()
	return nil
}

// sourceFile describes the network for package codegen/c. Equal kernels are one function.
func (c *compiler) sourceFile() (*csource.File, error) {
	f := &csource.File{Module: c.Module}
	for _, v := range c.graph.Inputs {
		f.Inputs = append(f.Inputs, csource.Tensor{Name: v.Name, DType: v.Type.DType, Shape: v.Type.Shape})
	}
	for i, v := range c.outputs() {
		f.Outputs = append(f.Outputs, csource.Tensor{Name: v.Name, DType: v.Type.DType, Shape: v.Type.Shape, Extents: c.symbols[i]})
	}
	for _, v := range c.graph.Outputs[len(c.outputs()):] {
		f.Symbols = append(f.Symbols, v.Name)
	}
	f.Weights = make([]csource.Weight, len(c.consts))
	weights := 0
	for i, k := range c.consts {
		t := k.value.Type
		name := k.value.Name
		if name == "" {
			name = fmt.Sprintf("constant%d", i)
		}
		f.Weights[i] = csource.Weight{Name: name, Comment: fmt.Sprintf("%s: %s", name, t), DType: t.DType}
		weights += t.Bytes()
	}
	err := inParallel(c.ctx, c.Workers, len(c.consts), func(i int) error {
		v := c.consts[i].value
		f.Weights[i].Data = packed(v.Const, v.Type.Layout)
		return nil
	}, func() {})
	if err != nil {
		return nil, err
	}
	index, scratch, stack := map[string]int{}, 0, 0
	for _, k := range c.kernels {
		i, ok := index[k.source.Text]
		if !ok {
			i = len(f.Kernels)
			index[k.source.Text] = i
			k.symbol = k.name
			f.Kernels = append(f.Kernels, csource.Kernel{Name: k.name, Function: k.source, Comment: []string{k.sourceComment()}})
		}
		nodes := strings.Join(k.node.Origin, ", ")
		f.Kernels[i].Comment = append(f.Kernels[i].Comment, "from "+nodes)
		scratch, stack = max(scratch, k.source.ScratchBytes()), max(stack, k.source.Stack)
		f.Calls = append(f.Calls, csource.Call{Kernel: i, Comment: nodes, Args: c.sourcePlaces(k), Scratch: c.plan.workspace})
	}
	f.Workspace = c.plan.workspace + scratch
	f.Head = []string{
		fmt.Sprintf("%s, compiled by lathe %s for target %q at -O%d.", c.Source.File, c.Version, c.Target, c.Level),
		"SHA-256 of the model: " + c.Source.SHA256,
		fmt.Sprintf("Memory: %d bytes of constants, %d of workspace, no heap; the stack holds %d bytes of arrays and some scalars.", weights, f.Workspace, stack),
		fmt.Sprintf("%d steps, %.0f arithmetic operations a run.", len(f.Calls), c.flops),
	}
	return f, nil
}

// sourceComment says what a kernel computes.
func (k *kernel) sourceComment() string {
	var in, out []string
	for _, v := range k.in {
		t := v.Type.String()
		if v.IsConst() {
			t = "const " + t
		}
		in = append(in, t)
	}
	for _, v := range k.outs {
		out = append(out, v.Type.String())
	}
	return fmt.Sprintf("%s: %s -> %s", strings.Join(k.ops, " + "), strings.Join(in, ", "), strings.Join(out, ", "))
}

// sourcePlaces are the operands of a kernel.
func (c *compiler) sourcePlaces(k *kernel) []csource.Place {
	kinds := map[placeKind]csource.PlaceKind{
		inWorkspace: csource.Workspace, isInput: csource.Input, isOutput: csource.Output, isConst: csource.WeightOf, isSymbol: csource.Symbol,
	}
	var places []csource.Place
	for i, v := range k.params() {
		p := c.plan.at[v]
		to := csource.Place{Kind: kinds[p.kind], Index: p.index, DType: v.Type.DType, Const: i < len(k.in)}
		if p.kind == inWorkspace {
			to.Index = p.offset
		}
		places = append(places, to)
	}
	return places
}
