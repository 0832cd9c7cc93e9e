package byoc

import (
	"maps"
	"slices"

	"lathe/internal/graph"
)

// A Pattern finds composites: nodes that a generator takes for one.
type Pattern struct {
	Name string // without the generator's: conv2d_relu makes composites NAME.conv2d_relu
	Root *Match
	// Check refuses nodes that fit Root, which are in the graph's order; nil: none.
	Check func(nodes []*graph.Node) error
}

// A Match describes a value by the nodes that compute it, as a pattern of Relay does. The nil Match fits any value.
type Match struct {
	ops      []string // of the node that computes it
	args     []*Match // of its first operands
	constant bool
	either   []*Match // of which the first that fits counts
}

// Any fits every value.
func Any() *Match { return nil }

// Const fits constants.
func Const() *Match { return &Match{constant: true} }

// Op fits results of an operator whose first operands fit args. Two operands of an operator that commutes may stand either way.
func Op(name string, args ...*Match) *Match { return OneOf([]string{name}, args...) }

// OneOf is Op for any of the operators.
func OneOf(names []string, args ...*Match) *Match { return &Match{ops: names, args: args} }

// Either fits what one of the matches does, the first that does.
func Either(matches ...*Match) *Match { return &Match{either: matches} }

// Optional fits what an operator makes of what m fits, and what m fits by itself.
func (m *Match) Optional(names ...string) *Match { return Either(OneOf(names, m), m) }

// commutes lists operators whose two operands may change places.
var commutes = []string{"add", "multiply", "maximum", "minimum"}

// Find returns the nodes of a composite whose result is n's, in the graph's order; nil where n is none, or where another node or the
// graph's caller reads what lies between the nodes. position is a node's place in the graph, users are the readers of values, and
// outputs what the graph returns.
func (p Pattern) Find(n *graph.Node, position map[*graph.Node]int, users map[*graph.Value][]*graph.Node, outputs []*graph.Value) []*graph.Node {
	if len(n.Out) != 1 {
		return nil
	}
	found := map[*graph.Node]bool{}
	if !p.Root.fits(n.Out[0], found) || !found[n] {
		return nil
	}
	for m := range found {
		if m == n {
			continue
		}
		for _, o := range m.Out {
			if slices.Contains(outputs, o) || slices.ContainsFunc(users[o], func(u *graph.Node) bool { return !found[u] }) {
				return nil
			}
		}
	}
	nodes := slices.SortedFunc(maps.Keys(found), func(a, b *graph.Node) int { return position[a] - position[b] })
	return nodes
}

// fits adds to found the nodes by which v fits m, and none where it does not.
func (m *Match) fits(v *graph.Value, found map[*graph.Node]bool) bool {
	switch {
	case m == nil:
		return true
	case m.constant:
		return v.IsConst()
	case m.either != nil:
		return slices.ContainsFunc(m.either, func(e *Match) bool { return e.fits(v, found) })
	}
	n := v.Def
	if n == nil || len(n.Out) != 1 || !slices.Contains(m.ops, n.Op.Name) || len(n.In) < len(m.args) {
		return false
	}
	orders := [][]*Match{m.args}
	if len(m.args) == 2 && slices.Contains(commutes, n.Op.Name) {
		orders = append(orders, []*Match{m.args[1], m.args[0]})
	}
	for _, args := range orders {
		inner, all := map[*graph.Node]bool{n: true}, true
		for i, arg := range args {
			all = all && arg.fits(n.In[i], inner)
		}
		if all {
			maps.Copy(found, inner)
			return true
		}
	}
	return false
}
