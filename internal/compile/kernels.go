package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/plan"
	"lathe/internal/tool/spelling"
)

// A kernel is one function of the library: it computes one result of a group, or all results of an extern implementation. A region
// is the kernels of its bodies.
type kernel struct {
	plan.Step
	*lowered
	name    string
	key     string // equal for kernels that are computed alike, in whatever network
	ops     []string
	record  choice.Point // of tuning, by which it is compiled; nil: none
	foreign bool         // it was accepted in another network
	unfit   string       // why a record was dropped
	inside  [][]*kernel  // of a region's bodies, none where nothing in them has elements
}

// A program is a network, or the body of a region, as kernels.
type program struct {
	aliases *plan.Aliases
	all     []*step // in order
	steps   []*step // those that have something to do
}

// A step is a kernel with its code, which is nil where aliases leave nothing to do, or a region.
type step struct {
	*kernel
	*function
	callee string     // the kernel whose code it runs: of those with equal code the first
	bodies []*program // of a region
}

// kernels are the steps of p that are no regions, those of regions included.
func (p *program) kernels() []*step { return p.kernelsBut(func(*step) bool { return false }) }

// tunable are those that are not in regions of external code generators.
func (p *program) tunable() []*step {
	return p.kernelsBut(func(s *step) bool { return s.Node.Op == graph.External })
}

// kernelsBut are the kernels but those in regions that are left out.
func (p *program) kernelsBut(out func(region *step) bool) (list []*step) {
	for _, s := range p.steps {
		if s.bodies != nil && out(s) {
			continue
		}
		for _, b := range s.bodies {
			list = append(list, b.kernelsBut(out)...)
		}
		if s.bodies == nil {
			list = append(list, s)
		}
	}
	return list
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
	bodiesOwn(n.graph, owned)
	kernels, err := lowerGroups(j, n.graph, owned)
	if err != nil {
		return nil, err
	}
	if err := choicesFit(j.Choices, n, kernels); err != nil {
		return nil, err
	}
	p := newProgram(n.boundary(), kernels, piecesFor(j.Target))
	j.Tuned.find(j, p)
	classes, err := schedule(j, p.kernels(), owned)
	if err != nil {
		return nil, err
	}
	if classes, err = divide(j, p, classes); err != nil {
		return nil, err
	}
	return p, emit(j, p, classes)
}

// bodiesOwn adds what lies where the operands and results of regions do: a slice of a sequence is aligned like its elements.
func bodiesOwn(g *graph.Graph, owned map[*graph.Value]bool) {
	for _, n := range g.Nodes {
		for _, body := range n.Bodies() {
			maps.Copy(owned, boundaryOf(body).Owned())
			bodiesOwn(body, owned)
		}
	}
}

func boundaryOf(body *graph.Graph) plan.Boundary {
	return plan.Boundary{Inputs: body.Inputs, Outputs: body.Outputs}
}

// newProgram finds what of kernels has something to do.
func newProgram(b plan.Boundary, kernels []*kernel, rule plan.Pieces) *program {
	p := &program{}
	for _, k := range kernels {
		s := &step{kernel: k}
		for i, body := range k.Node.Bodies() {
			own := boundaryOf(body)
			b := newProgram(own, k.inside[i], rule)
			s.bodies = append(s.bodies, b)
			k.Bodies = append(k.Bodies, &plan.Body{Boundary: own, Steps: planned(b.steps), Aliases: b.aliases})
		}
		p.all = append(p.all, s)
	}
	p.aliases = plan.FindAliases(b, planned(p.all), rule)
	for i, s := range p.all {
		if !p.aliases.Nothing[i] && (s.bodies == nil || hollow(s.Node) || slices.ContainsFunc(s.bodies, func(b *program) bool { return len(b.steps) > 0 })) {
			p.steps = append(p.steps, s)
		}
	}
	return p
}

// lowerGroups makes the kernels of all groups, those in regions included. Groups that differ in nothing that the code depends on share
// them, unless decisions are given for kernels by name.
func lowerGroups(j *job, g *graph.Graph, owned map[*graph.Value]bool) ([]*kernel, error) {
	l := &loweredGroups{of: map[*graph.Node]*equalGroups{}, keys: map[*graph.Node]string{}, consts: map[*graph.Node][]*graph.Value{}, names: map[string]int{}}
	classes := map[string]*equalGroups{}
	var distinct []*equalGroups
	stay := map[*graph.Node]bool{}
	residents(g, max(j.Target.L2, j.Target.L3), false, stay)
	for i, n := range groupsIn(g) {
		var key string
		key, l.consts[n] = groupKey(n, owned)
		key += sevenBitKey(j.Target, l.consts[n])
		if stay[n] {
			key += ";resident"
		}
		if l.keys[n] = key; len(j.Choices) > 0 || len(n.Sub) != 1 {
			key = fmt.Sprint(i)
		}
		if classes[key] == nil {
			classes[key] = &equalGroups{first: n}
			distinct = append(distinct, classes[key])
		}
		l.of[n] = classes[key]
	}
	err := inParallel(j.ctx, j.Workers, len(distinct), func(i int) error {
		e := distinct[i]
		return j.working(e.first, "lower", func() (err error) {
			e.kernels, err = lowerGroup(e.first, j.Target, stay[e.first])
			return err
		})
	}, func() {})
	if err != nil {
		return nil, err
	}
	return l.kernels(g), nil
}

// groupsIn lists the nodes of a graph that become kernels, those in regions included.
func groupsIn(g *graph.Graph) (list []*graph.Node) {
	for _, n := range g.Nodes {
		for _, body := range n.Bodies() {
			list = append(list, groupsIn(body)...)
		}
		if !n.IsRegion() {
			list = append(list, n)
		}
	}
	return list
}

// residents adds the groups in bodies of loops that together read no more than stays in a cache until the next iteration. A network itself
// runs once in a while, and finds nothing there.
func residents(g *graph.Graph, cache int, within bool, stay map[*graph.Node]bool) {
	for _, n := range g.Nodes {
		if within && !n.IsRegion() {
			stay[n] = true
		}
		for _, body := range n.Bodies() {
			residents(body, cache, within || n.Op == graph.Loop && touched(body) <= impl.Crowded(cache), stay)
		}
	}
}

// touched is how many bytes the groups of a graph read and write, those in regions included.
func touched(g *graph.Graph) (bytes int) {
	for _, n := range groupsIn(g) {
		consts := []*graph.Value{}
		if len(n.Sub) == 1 {
			_, consts = graph.HashWithConsts(n.Sub[0], graph.ByType)
		}
		for _, v := range slices.Concat(n.In, n.Out, consts) {
			bytes += v.Type.Bytes()
		}
	}
	return bytes
}

// equalGroups have equal kernels.
type equalGroups struct {
	first   *graph.Node
	kernels []*lowered
}

// loweredGroups are the kernels of groups.
type loweredGroups struct {
	of     map[*graph.Node]*equalGroups
	keys   map[*graph.Node]string
	consts map[*graph.Node][]*graph.Value // in an order that equal groups share
	names  map[string]int                 // how often each is used
}

// kernels are those of g in order.
func (l *loweredGroups) kernels(g *graph.Graph) (list []*kernel) {
	for _, n := range g.Nodes {
		if n.IsRegion() {
			k := &kernel{Step: plan.Step{Node: n, In: n.In, Out: n.Out}}
			for _, body := range n.Sub {
				inside := l.kernels(body)
				k.inside = append(k.inside, inside)
				for _, m := range inside {
					k.ops = append(k.ops, m.ops...)
				}
			}
			k.name = kernelName([]string{n.Op.Name}, l.names)
			list = append(list, k)
			continue
		}
		e := l.of[n]
		outer := map[*graph.Value]*graph.Value{} // what stands in n for a value of the first node's sub-graph
		for k, v := range e.first.Sub[0].Inputs {
			outer[v] = n.In[k]
		}
		for k, v := range l.consts[e.first] {
			outer[v] = l.consts[n][k]
		}
		for _, low := range e.kernels {
			k := &kernel{lowered: low, Step: plan.Step{Node: n}, ops: operators(n), key: kernelKey(l.keys[n], low.outs)}
			k.name = kernelName(k.ops, l.names)
			for _, v := range low.in {
				k.In = append(k.In, outer[v])
			}
			for _, o := range low.outs {
				k.Out = append(k.Out, n.Out[o])
			}
			list = append(list, k)
		}
	}
	return list
}

// groupKey is equal for groups of which one's kernels serve the others: structure, constants that become part of the code, and
// which operands are the caller's, whose memory need not be aligned. consts are the constants in an order that equal groups
// share.
func groupKey(n *graph.Node, owned map[*graph.Value]bool) (key string, consts []*graph.Value) {
	if len(n.Sub) != 1 {
		return "", nil
	}
	hash, consts := graph.HashWithConsts(n.Sub[0], graph.ByType, impl.Settled...)
	var b strings.Builder
	b.WriteString(hash)
	for _, c := range consts {
		b.WriteString(";")
		if c.Const.Len() == 1 {
			fmt.Fprintf(&b, "%x", c.Const.Bytes())
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
	var add func(list []*kernel)
	add = func(list []*kernel) {
		for _, k := range list {
			if !k.Node.IsRegion() {
				names = append(names, k.name)
			}
			for _, inside := range k.inside {
				add(inside)
			}
		}
	}
	add(kernels)
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("choices: there is no kernel %q, and no node of this name that has decisions%s", name, spelling.Hint(name, names))
		}
	}
	return nil
}
