package compile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lathe/internal/choice"
	csource "lathe/internal/codegen/c"
	"lathe/internal/codegen/llvm"
	"lathe/internal/expr"
	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/looppass"
	"lathe/internal/lower"
	"lathe/internal/ops"
	"lathe/internal/pipeline"
	"lathe/internal/spelling"
	"lathe/internal/target"
	"lathe/internal/te"
	"lathe/internal/types"
)

// A kernel is one function of the library: it computes one result of a group, or all results of an extern implementation.
type kernel struct {
	name   string
	node   *graph.Node
	in     []*graph.Value // operands in the order of the function's parameters; constants included
	outs   []*graph.Value // results; their parameters follow those of the operands
	ops    []string
	low    *lower.Kernel
	plan   *impl.Plan
	code   llvm.Kernel
	source csource.Function // in place of code, for C source
	symbol string
	serial bool // worker 0 does all of it
	nop    bool // its results lie where they should without it
	dump   *kernelDump
}

// makeKernels lowers, schedules and emits every group.
func (c *compiler) makeKernels() error {
	lowered := make([][]*kernel, len(c.graph.Nodes))
	err := inParallel(c.ctx, c.Workers, len(lowered), func(i int) error {
		return c.working(c.graph.Nodes[i], "lower", func() (err error) {
			lowered[i], err = groupKernels(c.graph.Nodes[i], c.Target)
			return err
		})
	}, func() {})
	if err != nil {
		return err
	}
	names := map[string]int{}
	for _, ks := range lowered {
		for _, k := range ks {
			name := "fused_" + strings.ReplaceAll(strings.Join(k.ops, "_"), ".", "_")
			if len(name) > 80 {
				name = name[:80]
			}
			names[name]++
			if i := names[name]; i > 1 {
				name = fmt.Sprintf("%s_%d", name, i-1)
			}
			k.name = name
			c.kernels = append(c.kernels, k)
		}
	}
	if err := c.choicesFit(); err != nil {
		return err
	}
	boundary := c.userValues()
	done := 0
	workers := c.Workers
	if c.IR != nil && len(c.PrintBefore)+len(c.PrintAfter) > 0 {
		workers = 1 // what is printed comes in order
	}
	err = inParallel(c.ctx, workers, len(c.kernels), func(i int) error {
		k := c.kernels[i]
		k.dump = &kernelDump{Debug: &c.Debug, kernel: k.name}
		return k.failed(c.working(nil, "schedule", func() error { return k.schedule(c.Target, boundary, c.Choices[k.name]) }))
	}, func() {})
	if err != nil {
		return err
	}
	if err := c.divide(); err != nil {
		return err
	}
	err = inParallel(c.ctx, workers, len(c.kernels), func(i int) error {
		k := c.kernels[i]
		return k.failed(c.working(nil, "build", func() error { return c.build(k) }))
	}, func() { done++; c.progress("kernels", done, len(c.kernels)) })
	if err == nil && c.Debug.stopsLoops() {
		err = c.Debug.stopped()
	}
	return err
}

// choicesFit refuses choices for kernels that there are not.
func (c *compiler) choicesFit() error {
	var names []string
	for _, k := range c.kernels {
		names = append(names, k.name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Choices)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("choices: there is no kernel %q%s", name, spelling.Hint(name, names))
		}
	}
	return nil
}

// working does a piece of work of a phase, on the kernels of a node unless that is nil. A panic is an error that names the node.
func (c *compiler) working(n *graph.Node, phase string, f func() error) error {
	err := fault.Guard(func() error { c.begin(phase); return f() })
	if caught := (*fault.Error)(nil); n != nil && errors.As(err, &caught) {
		return nodeError(n, opNames(n), err)
	}
	return err
}

// opNames lists the operators of a node.
func opNames(n *graph.Node) string {
	if len(n.Sub) != 1 {
		return n.Op.Name
	}
	var names []string
	for _, m := range n.Sub[0].Nodes {
		names = append(names, m.Op.Name)
	}
	return strings.Join(names, "+")
}

// userValues are the values whose memory the caller owns: it need not be aligned.
func (c *compiler) userValues() map[*graph.Value]bool {
	m := map[*graph.Value]bool{}
	for _, v := range c.graph.Inputs {
		m[v] = true
	}
	for _, v := range c.graph.Outputs {
		m[v] = true
	}
	return m
}

// failed names the kernel's nodes in an error.
func (k *kernel) failed(err error) error {
	if err == nil {
		return nil
	}
	return nodeError(k.node, strings.Join(k.ops, "+"), err)
}

func nodeError(n *graph.Node, what string, err error) error {
	if len(n.Origin) > 0 {
		return fmt.Errorf("node %q (%s): %w", strings.Join(n.Origin, "+"), what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// groupKernels makes the kernels of a group: one by loops of its own where there is such an implementation, else one per
// result from tensor expressions.
func groupKernels(n *graph.Node, t *target.Target) ([]*kernel, error) {
	if len(n.Sub) != 1 {
		return nil, nodeError(n, n.Op.Name, errors.New("the operator is not supported by the compiler yet"))
	}
	if ks, ok, err := externKernels(n); ok || err != nil {
		return ks, err
	}
	if ks, ok, err := anchoredKernels(n, t); ok || err != nil {
		return ks, err
	}
	g, err := stagesOf(n, nil)
	if err != nil {
		return nil, err
	}
	var ks []*kernel
	for i, o := range n.Sub[0].Outputs {
		if n.Out[i].Type.Elements() == 0 {
			continue
		}
		low := lower.Lower("kernel", g.stages[o], lower.Options{Value: scalarConst(g.values)})
		k := &kernel{node: n, outs: n.Out[i : i+1], ops: g.ops, low: low}
		for _, p := range low.Params[:len(low.Params)-1] {
			k.in = append(k.in, g.values[p.Name])
		}
		ks = append(ks, k)
	}
	return ks, nil
}

// A computation is a group as tensor expressions.
type computation struct {
	stages map[*graph.Value]*te.Stage
	values map[string]*graph.Value // inputs by name: lowering replaces stages, not their names
	ops    []string
}

// stagesOf writes the computation of a group as tensor expressions. The result of node given, which may be nil, is an
// input then, of its name in anchorResult.
func stagesOf(n *graph.Node, given *graph.Node) (*computation, error) {
	sub := n.Sub[0]
	g := &computation{stages: map[*graph.Value]*te.Stage{}, values: map[string]*graph.Value{}}
	input := func(v, outer *graph.Value) *te.Stage {
		if g.stages[v] == nil {
			s := te.Input(bufferName(v, len(g.values)), v.Type)
			g.stages[v], g.values[s.Name] = s, outer
		}
		return g.stages[v]
	}
	for i, v := range sub.Inputs {
		input(v, n.In[i])
	}
	strip := stripOf(sub)
	for _, m := range sub.Nodes {
		g.ops = append(g.ops, m.Op.Name)
		if m == given {
			g.stages[m.Out[0]] = te.Input(anchorResult, m.Out[0].Type)
			continue
		}
		if m.Op.Compute == nil {
			return nil, nodeError(m, m.Op.Name, errors.New("the operator is not supported by the compiler yet"))
		}
		in := make([]*te.Stage, len(m.In))
		for i, v := range m.In {
			if v.IsConst() {
				in[i] = input(v, v)
			} else {
				in[i] = g.stages[v]
			}
		}
		out := make([]types.Tensor, len(m.Out))
		for i, v := range m.Out {
			out[i] = v.Type
		}
		for i, s := range m.Op.Compute(m.Attrs, in, out) {
			if s.Body == nil { // handed on as it is
				from := s
				s = te.Compute(m.Op.Name, out[i], func(x []expr.Expr) expr.Expr { return from.At(x...) })
			}
			s.Type = out[i]
			if m.Out[i] == strip {
				s.Tag = lower.Strips
			}
			g.stages[m.Out[i]] = s
		}
	}
	return g, nil
}

// stripOf is the value of a group that FuseStrips joined which is to be computed strip by strip: what a convolution or a
// pooling reads through windows and nodes of the group before it compute. nil in other groups.
func stripOf(sub *graph.Graph) *graph.Value {
	made := map[*graph.Value]bool{} // depends on a convolution
	for _, m := range sub.Nodes {
		switch m.Op {
		case ops.Conv2d, ops.MaxPool2d:
			if made[m.In[0]] {
				return m.In[0]
			}
		}
		if m.Op == ops.Conv2d || slices.ContainsFunc(m.In, func(v *graph.Value) bool { return made[v] }) {
			made[m.Out[0]] = true
		}
	}
	return nil
}

// bufferName is a readable name for a kernel parameter that does not depend on the model's names, so that equal kernels
// have equal texts.
func bufferName(v *graph.Value, i int) string {
	if v.IsConst() {
		return fmt.Sprintf("c%d", i)
	}
	return fmt.Sprintf("x%d", i)
}

// scalarConst gives the value of constants of one element, which become part of the code.
func scalarConst(values map[string]*graph.Value) func(*te.Stage) (expr.Expr, bool) {
	return func(s *te.Stage) (expr.Expr, bool) {
		v := values[s.Name]
		if s.Body != nil || v == nil || !v.IsConst() || v.Const.Len() != 1 {
			return nil, false
		}
		t := s.Type.DType.Compute()
		if t.IsFloat() {
			return &expr.Float{V: v.Const.Float(0), Type: t}, true
		}
		return &expr.Int{V: v.Const.Int(0), Type: t}, true
	}
}

// params are the values that k's function is called with, in the order of its parameters.
func (k *kernel) params() []*graph.Value { return slices.Concat(k.in, k.outs) }

// schedule chooses k's schedule, up to its division among workers. point holds the decisions that are given.
func (k *kernel) schedule(t *target.Target, user map[*graph.Value]bool, point choice.Point) error {
	f := k.low.Func
	for i, v := range k.params() {
		if user[v] {
			f.Params[i].Align = 0
		}
	}
	if k.plan == nil {
		plan, err := impl.Choose(k.low, t, point)
		if err != nil {
			return err
		}
		k.plan = plan
	}
	for _, name := range slices.Sorted(maps.Keys(point)) {
		if _, asked := k.plan.Taken[name]; !asked {
			known := slices.Sorted(maps.Keys(k.plan.Taken))
			return fmt.Errorf("choices: kernel %s, scheduled by rule %s, has no decision %q (choose from %s)%s", k.name, k.plan.Rule, name,
				cmp.Or(strings.Join(known, ", "), "none: this rule leaves nothing open"), spelling.Hint(name, known))
		}
	}
	return k.dump.loop("lowered", f)
}

// build takes a scheduled k through the loop passes and writes its code. Where what becomes of its loops cannot be divided
// as planned, one worker runs it.
func (c *compiler) build(k *kernel) error {
	err := c.lowerLoops(k)
	if errors.Is(err, loop.ErrDivision) && k.plan.Undivide() {
		err = c.lowerLoops(k)
	}
	if err != nil || k.dump.stopsLoops() {
		return err
	}
	f := k.plan.Schedule.Func
	if c.Target.Arch == target.CSource {
		k.source, err = csource.Emit(f, csource.SymbolMark)
		return err
	}
	k.serial = !loop.Divided(f.Body)
	code, err := llvm.Emit(f, llvm.Options{Symbol: symbolMark, VectorBits: c.Target.VectorBits, Target: c.Target, FlushDenormals: c.Denormals == DenormalsFlush})
	k.code = code
	return err
}

// lowerLoops runs the loop passes on k's schedule.
func (c *compiler) lowerLoops(k *kernel) error {
	f := k.plan.Schedule.Func
	dumped := k.dump.loop("schedule", f)
	err := pipeline.Run(looppass.Table, f, pipeline.Options[*loop.Func]{
		StopAt: k.dump.Stop,
		Verify: func(f *loop.Func) error { return loop.Verify(f, loop.NoBlocks) },
		Before: func(name string, f *loop.Func) { c.printIR("before", c.PrintBefore, name, f) },
		After: func(name string, f *loop.Func, _ time.Duration) {
			c.printIR("after", c.PrintAfter, name, f)
			dumped = errors.Join(dumped, k.dump.loop(name, f))
		},
	})
	if err != nil {
		return fmt.Errorf("%w\nschedule:\n%s", err, k.plan.Schedule)
	}
	return dumped
}

// symbolMark stands for the function's name while texts are compared.
const symbolMark = "LATHE_KERNEL"
