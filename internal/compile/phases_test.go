package compile

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	csource "lathe/internal/codegen/c"
	"lathe/internal/codegen/llvm"
	"lathe/internal/expr"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/lower"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/plan"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/toolchain"
	"lathe/internal/types"
)

func jobFor(t *testing.T, target, format string) *job {
	t.Helper()
	j, err := newJob(context.Background(), Options{Target: targettest.Resolve(t, target), Level: 3, Module: "m", Format: format, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// grouped adds a group of one operator to g.
func grouped(t *testing.T, g *graph.Graph, d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	t.Helper()
	sub := &graph.Graph{}
	var inside, outer []*graph.Value
	for _, v := range in {
		if v.IsConst() {
			inside = append(inside, v)
			continue
		}
		inside = append(inside, sub.Input("", v.Type))
		outer = append(outer, v)
	}
	sub.Outputs = apply(t, sub, d, attrs, inside...).Out
	n := graph.NewGroup(sub, outer)
	g.Nodes = append(g.Nodes, n)
	return n.Out[0]
}

func scalar(x float32) *graph.Value { return graph.NewConst("", tensor.Scalar(x)) }

// chainOf is a network of groups: a product with each constant in turn.
func chainOf(t *testing.T, consts ...*graph.Value) *network {
	g := &graph.Graph{Name: "main"}
	v := g.Input("x", types.Of(types.F32, 64, 64))
	for _, c := range consts {
		v = grouped(t, g, ops.Multiply, op.None{}, v, c)
	}
	v.Name = "y"
	g.Outputs = []*graph.Value{v}
	return &network{graph: g, symbols: make([][]int, 1)}
}

// TestOptimize: an input that is an output has a copy, and the nodes are groups in the end.
func TestOptimize(t *testing.T) {
	g := &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, 8))
	y := apply(t, g, ops.Relu, op.None{}, x)
	g.Outputs = []*graph.Value{x, y.Out[0]}
	n, err := optimize(jobFor(t, "llvm", ""), g)
	if err != nil {
		t.Fatal(err)
	}
	if len(n.graph.Nodes) != 2 || len(n.outputs()) != 2 || n.outputs()[0] == x || n.flops != 8 {
		t.Errorf("%g operations in\n%s", n.flops, n.graph)
	}
	for _, m := range n.graph.Nodes {
		if len(m.Sub) != 1 {
			t.Errorf("%s is no group", m.Op.Name)
		}
	}
}

// TestEqualKernels: groups share a kernel unless their code differs, by a constant that is part of it or by the alignment of
// the caller's memory; each has its own operands.
func TestEqualKernels(t *testing.T) {
	vector := func() *graph.Value { return graph.NewConst("", tensor.New(types.F32, 64)) }
	a, b, c := vector(), vector(), vector()
	for _, test := range []struct {
		name   string
		consts []*graph.Value
		want   string // the first kernel that each shares its code with
	}{
		{"weights", []*graph.Value{a, b, a, c, b}, "0 1 1 1 4"},
		{"scalars", []*graph.Value{scalar(1), scalar(2), scalar(3), scalar(2), scalar(2)}, "0 1 2 1 4"},
		{"shapes", []*graph.Value{a, b, graph.NewConst("", tensor.New(types.F32, 64, 1)), c, b}, "0 1 2 1 4"},
	} {
		for _, choices := range []map[string]choice.Point{nil, {"fused_multiply": {}}} {
			j := jobFor(t, "llvm -mcpu=x86-64-v3", "")
			j.Choices = choices
			n := chainOf(t, test.consts...)
			ks, err := lowerGroups(j, n.graph, n.boundary().Owned())
			if err != nil {
				t.Fatal(err)
			}
			var shared []string
			for i, k := range ks {
				first := slices.IndexFunc(ks, func(l *kernel) bool { return l.lowered == k.lowered })
				shared = append(shared, fmt.Sprint(first))
				if len(choices) > 0 && first != i {
					t.Errorf("%s: kernels share a schedule though decisions are given by name", test.name)
				}
				want := []*graph.Value{n.graph.Inputs[0], test.consts[i]}
				if i > 0 {
					want[0] = ks[i-1].Out[0]
				}
				if test.consts[i].Const.Len() == 1 {
					want = want[:1]
				}
				if !slices.Equal(k.In, want) {
					t.Errorf("%s: kernel %d has other operands than its group", test.name, i)
				}
			}
			if got := strings.Join(shared, " "); len(choices) == 0 && got != test.want {
				t.Errorf("%s: kernels are those of %s, want %s", test.name, got, test.want)
			}
		}
	}
}

// TestEqualScales: layers that differ in the number by which a computed number is multiplied, as dynamic quantisation's do, are one kernel.
func TestEqualScales(t *testing.T) {
	var kernels []*lowered
	for _, number := range []float32{0.25, 0.75} {
		g, err := graph.Parse(fmt.Sprintf(`graph main(%%x: float32[4,64], %%s: float32[]) {
			@number = float32[]{%g} %%0 = nn.relu(%%x) %%1 = multiply(%%s, @number) %%y = multiply(%%0, %%1) return %%y }`, number), ops.Lookup, nil)
		if err != nil {
			t.Fatal(err)
		}
		group := graph.NewGroup(g, g.Inputs)
		ks, err := lowerGroup(group, jobFor(t, "llvm -mcpu=x86-64-v3", "").Target, false)
		if err != nil {
			t.Fatal(err)
		}
		kernels = append(kernels, ks...)
	}
	a, b := kernels[0].Kernel, kernels[1].Kernel
	if len(kernels) != 2 || a.Func.String() != b.Func.String() {
		t.Errorf("two kernels:\n%s\n%s", a.Func, b.Func)
	}
	if in := kernels[1].in; len(in) != 3 || in[2].Value() == nil || in[2].Value().Float(0) != 0.75 {
		t.Errorf("the second kernel does not read its number: %d operands", len(in))
	}
}

// TestEqualCode: what equal kernels share is what each would have by itself, its division among workers included, which depends
// on what wrote the operands.
func TestEqualCode(t *testing.T) {
	make := func() *network {
		g := &graph.Graph{Name: "main"}
		w := graph.NewConst("", tensor.New(types.F32, 3, 64, 512))
		a := g.Input("x", types.Of(types.F32, 3, 64, 512))
		b := grouped(t, g, ops.Transpose, ops.TransposeAttrs{Axes: []int{1, 0, 2}}, g.Input("y", types.Of(types.F32, 64, 3, 512)))
		for range 4 {
			a = grouped(t, g, ops.Add, op.None{}, grouped(t, g, ops.Multiply, op.None{}, a, w), b)
			b = grouped(t, g, ops.Softmax, ops.SoftmaxAttrs{Axis: 2}, grouped(t, g, ops.Multiply, op.None{}, b, w))
		}
		g.Outputs = []*graph.Value{grouped(t, g, ops.Add, op.None{}, a, b)}
		return &network{graph: g, symbols: [][]int{nil}}
	}
	for _, target := range []string{"llvm -mcpu=x86-64-v3", "c"} {
		texts := func(choices map[string]choice.Point) (list []string, classes int) {
			j := jobFor(t, target, "")
			j.Choices = choices
			p, err := build(j, make())
			if err != nil {
				t.Fatal(err)
			}
			seen := map[*function]bool{}
			for _, s := range p.steps {
				seen[s.function] = true
				list = append(list, s.callee+"\n"+s.text())
			}
			return list, len(seen)
		}
		together, few := texts(nil)
		apart, all := texts(map[string]choice.Point{"fused_add": {}})
		if !slices.Equal(together, apart) {
			t.Errorf("%s: kernels that share their code have other code", target)
		}
		if few >= all || all != len(apart) {
			t.Errorf("%s: %d functions are built for equal kernels, %d apart", target, few, all)
		}
	}
}

// TestBuildDropsAliases: what has nothing to do is neither scheduled nor emitted, and keeps its place in the list.
func TestBuildDropsAliases(t *testing.T) {
	g := &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, 16, 16))
	a := grouped(t, g, ops.Relu, op.None{}, x)
	r := grouped(t, g, ops.Reshape, ops.ReshapeAttrs{NewShape: []int{256}}, a)
	g.Outputs = []*graph.Value{grouped(t, g, ops.Relu, op.None{}, r)}
	p, err := build(jobFor(t, "llvm", ""), &network{graph: g, symbols: make([][]int, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.all) != 3 || len(p.steps) != 2 || p.all[1].function != nil || p.all[1].name != "fused_reshape" {
		t.Errorf("%d kernels, %d steps", len(p.all), len(p.steps))
	}
}

// byHand is a program of one kernel, x + w, that no phase made, and the plan of its memory.
func byHand(t *testing.T) (n *network, p *program, mem *plan.Plan) {
	w := graph.NewConst("w", tensor.Of([]int{2}, []float32{1, 2}))
	g := &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, 2))
	y := grouped(t, g, ops.Add, op.None{}, x, w)
	y.Name, g.Outputs = "y", []*graph.Value{y}
	a, b := te.Input("a", x.Type), te.Input("b", x.Type)
	low := lower.Lower("kernel", te.Compute("y", x.Type, func(i []expr.Expr) expr.Expr { return expr.Add(a.At(i...), b.At(i...)) }), lower.Options{})
	s := &step{
		kernel: &kernel{
			Step: plan.Step{Node: g.Nodes[0], In: []*graph.Value{x, w}, Out: []*graph.Value{y}}, name: "sum", ops: []string{"add"},
			lowered: &lowered{Kernel: low},
		},
		function: &function{
			scheduled: &scheduled{plan: &impl.Plan{Rule: "hand"}, dump: &kernelDump{Debug: &Debug{}}},
			code:      llvm.Kernel{Text: "define hidden void @" + symbolMark + "(ptr %a, ptr %b, ptr %y, ptr %s, i64 %w, i64 %ws) {\n  ret void\n}\n", Scratch: 128},
			source:    csource.Function{},
		},
		callee: "sum",
	}
	p = &program{aliases: &plan.Aliases{Nothing: make([]bool, 1)}, all: []*step{s}, steps: []*step{s}}
	mem = &plan.Plan{Workspace: 64, Constants: []*graph.Value{w}, Barriers: make([]bool, 1), Joined: make([]bool, 1), Places: map[*graph.Value]plan.Place{
		x: {Kind: plan.Input}, w: {Kind: plan.Constant}, y: {Kind: plan.Output},
	}}
	return &network{graph: g, symbols: make([][]int, 1), flops: 2}, p, mem
}

func TestPlace(t *testing.T) {
	n, p, _ := byHand(t)
	mem, err := place(jobFor(t, "llvm", ""), n, p)
	if err != nil || mem.Workspace != 0 || len(mem.Constants) != 1 || mem.Bytes() != 24 {
		t.Errorf("%+v, %v", mem, err)
	}
}

func TestPack(t *testing.T) {
	n, p, mem := byHand(t)
	j := jobFor(t, "llvm", "")
	c, err := pack(j, n, p, mem, params(j, n, mem))
	if err != nil {
		t.Fatal(err)
	}
	m := c.Manifest
	if m.Workspace != 64 || m.Scratch != 128 || m.FLOPs != 2 || len(m.Steps) != 1 || m.Steps[0].Rule != "hand" || !slices.Equal(m.Params, []string{"w"}) {
		t.Errorf("manifest %+v", m)
	}
	if want := []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}; len(c.Params) != 1 || !bytes.Equal(dataOf(t, c.Params[0]), want) {
		t.Errorf("weights %v", c.Params)
	}
	if c.Graph.Nodes[2].Call.FuncName != "lathe_m_sum" {
		t.Errorf("kernel %+v in mod.json", c.Graph.Nodes[2])
	}
}

// dataOf is what would be written of a constant.
func dataOf(t *testing.T, p bundle.Param) []byte {
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGenerate(t *testing.T) {
	_, p, mem := byHand(t)
	c, err := generate(jobFor(t, "llvm", ""), p, mem)
	if err != nil {
		t.Fatal(err)
	}
	if texts := c.texts(); len(texts) != 2 || !strings.Contains(texts[0], "@lathe_m_sum(") || !strings.Contains(texts[1], "call void @lathe_m_sum(") {
		t.Errorf("texts %q", texts)
	}
	undefined, err := toolchain.Undefined(c.objects)
	if err != nil || len(undefined) > 0 {
		t.Errorf("undefined symbols %q, %v", undefined, err)
	}
}

// TestJoin gives code and parts that belong to no model to each way to join them.
func TestJoin(t *testing.T) {
	parts := func() bundle.Contents {
		return bundle.Contents{
			Manifest: &bundle.Manifest{Module: "m", Params: []string{"w"}, Inputs: []bundle.TensorInfo{{Name: "x", DType: "float32", Shape: []int{2}}}},
			Graph:    &bundle.GraphJSON{NodeRowPtr: []int{0}},
			Params:   []bundle.Param{{Name: "w", DType: "int8", Shape: []int{3}, Data: []byte{1, 2, 3}}},
		}
	}
	for format, join := range map[string]func(*job, *code, bundle.Contents) (*bundle.Contents, error){"so": link, "tar": archive, "wasm": linkWasm} {
		target := "llvm"
		if format == "wasm" {
			target = "wasm32"
		}
		j := jobFor(t, target, format)
		m, err := toolchain.Open(toolchain.For(j.Target))
		if err != nil {
			t.Fatal(err)
		}
		c := &code{machine: m}
		o, err := c.compile("define i32 @lathe_m_run(ptr %c, i32 %w, i32 %n, i32 %f, i32 %l) {\n  ret i32 0\n}\n", passes)
		if err != nil {
			t.Fatal(err)
		}
		c.objects = []toolchain.Object{o}
		given := parts()
		got, err := join(j, c, given)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if given.Manifest.Digests != nil || given.Manifest.MaxWorkers != 0 || len(c.objects) != 1 {
			t.Errorf("%s: what it was given is changed", format)
		}
		switch format {
		case "so":
			f, err := elf.NewFile(bytes.NewReader(got.Library))
			if err != nil {
				t.Fatal(err)
			}
			symbols, err := f.DynamicSymbols()
			if err != nil || !slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == "lathe_m_run" }) || len(got.Manifest.Digests) == 0 {
				t.Errorf("symbols %v, %v", symbols, err)
			}
		case "tar":
			if len(got.Objects) != 3 || !got.Complete {
				t.Errorf("%d objects", len(got.Objects))
			}
		case "wasm":
			if !bytes.HasPrefix(got.Library, []byte("\x00asm")) || got.Manifest.MaxWorkers != 1 {
				t.Errorf("no WebAssembly module of one worker: %d bytes", len(got.Library))
			}
		}
	}
}

func TestSource(t *testing.T) {
	n, p, mem := byHand(t)
	p.steps[0].source = csource.Function{Text: "static void " + csource.SymbolMark + "(void) {}\n"}
	c, err := source(jobFor(t, "c", ""), n, p, mem)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Files) != 2 || c.Files[0].Suffix != ".c" || c.Files[1].Suffix != ".h" || c.Manifest.Workspace != 64 {
		t.Errorf("%d files, workspace of %d bytes", len(c.Files), c.Manifest.Workspace)
	}
}
