package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
)

// mergeCompilerRegions joins the regions of one generator of which one reads what the other computes, unless a path from one to the
// other leads through anything else: a region runs in one piece.
func mergeCompilerRegions(c *Context) error {
	if c.nested || len(c.Codegens) == 0 {
		return nil
	}
	m := newMerging(c.Graph)
	for changed := true; changed; { // what stood between two sets may be part of one by then
		changed = false
		for _, n := range c.Graph.Nodes {
			for _, v := range n.In {
				if v.Def != nil && sameCompiler(v.Def, n) {
					changed = m.join(v.Def, n) || changed
				}
			}
		}
	}
	r := rewrite.New(c.Graph)
	for _, n := range slices.Clone(c.Graph.Nodes) {
		if members := m.members[n]; len(members) > 1 {
			r.Enclose(graph.External, n.Attrs, members...)
		}
	}
	return r.Finish()
}

func sameCompiler(a, b *graph.Node) bool {
	x, ok := a.Attrs.(graph.ExternalAttrs)
	y, too := b.Attrs.(graph.ExternalAttrs)
	return ok && too && x.Compiler == y.Compiler
}

// A merging is a graph some of whose nodes are taken for one. A set of nodes goes by the one that members has it under.
type merging struct {
	users   map[*graph.Value][]*graph.Node
	of      map[*graph.Node]*graph.Node
	members map[*graph.Node][]*graph.Node
}

func newMerging(g *graph.Graph) *merging {
	m := &merging{users: g.Users(), of: map[*graph.Node]*graph.Node{}, members: map[*graph.Node][]*graph.Node{}}
	for _, n := range g.Nodes {
		m.of[n], m.members[n] = n, []*graph.Node{n}
	}
	return m
}

// join takes the sets of two nodes for one, of which the second reads the first, unless that makes a cycle. It reports
// whether it did.
func (m *merging) join(from, to *graph.Node) bool {
	a, b := m.of[from], m.of[to]
	if a == b || m.around(a, b) {
		return false
	}
	for _, n := range m.members[b] {
		m.of[n] = a
	}
	m.members[a] = append(m.members[a], m.members[b]...)
	delete(m.members, b)
	return true
}

// around reports whether a path leads from set a to set b through others. There is none back, for a set that b reads cannot read b.
func (m *merging) around(a, b *graph.Node) bool {
	seen := map[*graph.Node]bool{a: true}
	var reaches func(set *graph.Node) bool
	reaches = func(set *graph.Node) bool {
		for _, n := range m.members[set] {
			for _, o := range n.Out {
				for _, u := range m.users[o] {
					next := m.of[u]
					if next == b && set != a {
						return true
					}
					if next != b && !seen[next] {
						seen[next] = true
						if reaches(next) {
							return true
						}
					}
				}
			}
		}
		return false
	}
	return reaches(a)
}
