package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/plan"
	"lathe/internal/spelling"
)

// A kernel is one function of the library: it computes one result of a group, or all results of an extern implementation.
type kernel struct {
	plan.Step
	*lowered
	name string
	ops  []string
}

// A program is a network as kernels.
type program struct {
	aliases *plan.Aliases
	all     []*step // in order
	steps   []*step // those that have something to do
}

// A step is a kernel with its code, which is nil where aliases leave nothing to do.
type step struct {
	*kernel
	*function
	callee string // the kernel whose code it runs: of those with equal code the first
}

// planned are the steps as planning sees them.
func planned(steps []*step) []plan.Step {
	list := make([]plan.Step, len(steps))
	for i, s := range steps {
		list[i] = s.Step
	}
	return list
}

// build lowers, schedules and emits every kernel that has something to do, and of equal ones one.
func build(j *job, n *network) (*program, error) {
	owned := n.boundary().Owned()
	kernels, err := lowerGroups(j, n.graph, owned)
	if err != nil {
		return nil, err
	}
	if err := choicesFit(j.Choices, n, kernels); err != nil {
		return nil, err
	}
	p := &program{}
	for _, k := range kernels {
		p.all = append(p.all, &step{kernel: k})
	}
	p.aliases = plan.FindAliases(n.boundary(), planned(p.all), piecesFor(j.Target))
	for i, s := range p.all {
		if !p.aliases.Nothing[i] {
			p.steps = append(p.steps, s)
		}
	}
	classes, err := schedule(j, p.steps, owned)
	if err != nil {
		return nil, err
	}
	if classes, err = divide(j, p, classes); err != nil {
		return nil, err
	}
	return p, emit(j, p, classes)
}

// lowerGroups makes the kernels of all groups. Groups that differ in nothing that the code depends on share them, unless
// decisions are given for kernels by name.
func lowerGroups(j *job, g *graph.Graph, owned map[*graph.Value]bool) ([]*kernel, error) {
	type equal struct {
		first   *graph.Node
		consts  []*graph.Value
		kernels []*lowered
	}
	classes := map[string]*equal{}
	var distinct []*equal
	of := make([]*equal, len(g.Nodes)) // by node
	consts := make([][]*graph.Value, len(g.Nodes))
	for i, n := range g.Nodes {
		var key string
		if key, consts[i] = groupKey(n, owned); len(j.Choices) > 0 || len(n.Sub) != 1 {
			key = fmt.Sprint(i)
		}
		if classes[key] == nil {
			classes[key] = &equal{first: n, consts: consts[i]}
			distinct = append(distinct, classes[key])
		}
		of[i] = classes[key]
	}
	err := inParallel(j.ctx, j.Workers, len(distinct), func(i int) error {
		e := distinct[i]
		return j.working(e.first, "lower", func() (err error) {
			e.kernels, err = lowerGroup(e.first, j.Target)
			return err
		})
	}, func() {})
	if err != nil {
		return nil, err
	}
	names := map[string]int{}
	var list []*kernel
	for i, n := range g.Nodes {
		e := of[i]
		outer := map[*graph.Value]*graph.Value{} // what stands in n for a value of the first node's sub-graph
		for k, v := range e.first.Sub[0].Inputs {
			outer[v] = n.In[k]
		}
		for k, v := range e.consts {
			outer[v] = consts[i][k]
		}
		for _, l := range e.kernels {
			k := &kernel{lowered: l, Step: plan.Step{Node: n}, ops: operators(n)}
			k.name = kernelName(k.ops, names)
			for _, v := range l.in {
				k.In = append(k.In, outer[v])
			}
			for _, o := range l.outs {
				k.Out = append(k.Out, n.Out[o])
			}
			list = append(list, k)
		}
	}
	return list, nil
}

// groupKey is equal for groups of which one's kernels serve the others: structure, constants that become part of the code, and
// which operands are the caller's, whose memory need not be aligned. consts are the constants in an order that equal groups
// share.
func groupKey(n *graph.Node, owned map[*graph.Value]bool) (key string, consts []*graph.Value) {
	if len(n.Sub) != 1 {
		return "", nil
	}
	hash, consts := graph.HashWithConsts(n.Sub[0], graph.ByType)
	var b strings.Builder
	b.WriteString(hash)
	for _, c := range consts {
		b.WriteString(";")
		if c.Const.Len() == 1 {
			fmt.Fprintf(&b, "%x", c.Const.Data)
		}
	}
	for _, v := range slices.Concat(n.In, n.Out) {
		fmt.Fprintf(&b, ";%t", owned[v])
	}
	return b.String(), consts
}

// kernelName is a name that says what a kernel computes; names counts how often each is used.
func kernelName(ops []string, names map[string]int) string {
	name := "fused_" + strings.ReplaceAll(strings.Join(ops, "_"), ".", "_")
	if len(name) > 80 {
		name = name[:80]
	}
	names[name]++
	if i := names[name]; i > 1 {
		name = fmt.Sprintf("%s_%d", name, i-1)
	}
	return name
}

// choicesFit refuses choices for nodes and kernels that there are not.
func choicesFit(choices map[string]choice.Point, n *network, kernels []*kernel) error {
	names := slices.Sorted(maps.Keys(n.asked))
	for _, name := range names {
		if err := choices[name].Fits(n.asked[name]); err != nil {
			return fmt.Errorf("choices: node %q: %w", name, err)
		}
	}
	for _, k := range kernels {
		names = append(names, k.name)
	}
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("choices: there is no kernel %q, and no node of this name that has decisions%s", name, spelling.Hint(name, names))
		}
	}
	return nil
}
