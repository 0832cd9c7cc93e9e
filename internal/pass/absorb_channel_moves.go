package pass

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// absorbChannelMoves lets convolutions read the channels they need from where they were computed, through a table,
// instead of moving them there: shuffles, splits and concatenations that do not fall on whole blocks of channels cost
// nothing then. The channels of a producer that are last read together lie together, in whole blocks.
//
//	y = conv(slice(shuffle(concatenate(a, b))))   →   y = conv(take(concatenate(a', b'), table))
//
// The concatenation is of whole blocks, which the memory plan makes free, and the look-up is part of the convolution.
func absorbChannelMoves(c *Context) error {
	m := &channelMoves{Rewriter: rewrite.New(c.Graph), decide: c.decide, g: c.Graph, lanes: c.Target.Lanes(32), views: channelViews{}, place: map[*graph.Node]int{}, passed: map[*graph.Value][]int{}}
	if len(c.Layouts) > 0 || m.lanes < 2 || !slices.ContainsFunc(c.Graph.Nodes, func(n *graph.Node) bool { return isConv(n.Op) }) {
		return nil
	}
	for i, n := range c.Graph.Nodes {
		m.place[n] = i
		m.views.add(n)
	}
	m.choose()
	if len(m.sources) == 0 {
		return nil
	}
	for _, s := range m.sources {
		if s.conv != nil {
			m.pack(s)
		}
	}
	m.Walk(m.read)
	return m.Finish()
}

type channelMoves struct {
	*rewrite.Rewriter
	g       *graph.Graph
	lanes   int
	views   channelViews
	place   map[*graph.Node]int
	sources []*channelSource
	of      map[*graph.Value]*channelSource
	joined  [][]*graph.Value       // operands of the concatenations made so far, and their result
	passed  map[*graph.Value][]int // results of depthwise convolutions of whole sources: where the channels lie

	decide func(*graph.Node, choice.Decision) (string, error)
}

// A channelSource is a value whose channels are read through views.
type channelSource struct {
	value *graph.Value
	// conv computes the value, with elementwise nodes behind it, and may do so in any order of channels; nil: it may not.
	conv  *graph.Node
	last  []int // by channel: the place of the last node that reads it
	at    []int // by channel: where it lies
	group *moveGroup
}

// A moveGroup is all sources and readers that views connect: they are rewritten together or not at all.
type moveGroup struct {
	parent  *moveGroup
	moves   bool // some channels change their place within blocks
	refused bool // some reader or source must have its channels as they are
	read    bool // by a convolution
}

func (g *moveGroup) root() *moveGroup {
	for g.parent != nil {
		g = g.parent
	}
	return g
}

// choose finds the sources whose readers gain.
func (m *channelMoves) choose() {
	m.of = map[*graph.Value]*channelSource{}
	var order []*channelSource
	for _, n := range m.g.Nodes {
		for _, o := range n.Out {
			w := m.views[o]
			if w == nil {
				continue
			}
			g := &moveGroup{moves: !m.aligned(w)}
			for _, r := range w.refs {
				s := m.of[r.from]
				if s == nil {
					s = m.source(r.from)
					m.of[r.from] = s
					order = append(order, s)
				}
				if h := s.group.root(); h != g {
					h.parent = g
					g.moves, g.refused, g.read = g.moves || h.moves, g.refused || h.refused, g.read || h.read
				}
			}
			m.readers(o, w, g)
		}
	}
	for _, s := range order {
		if g := s.group.root(); g.moves && g.read && !g.refused {
			m.sources = append(m.sources, s)
		}
	}
	slices.SortStableFunc(m.sources, func(a, b *channelSource) int { return m.placeOf(a) - m.placeOf(b) })
}

func (m *channelMoves) placeOf(s *channelSource) int {
	if s.value.Def == nil {
		return -1
	}
	return m.place[s.value.Def]
}

// readers looks at what reads the view w of v.
func (m *channelMoves) readers(v *graph.Value, w *channelView, g *moveGroup) {
	if m.IsOutput(v) {
		g.refused = true
	}
	for _, n := range m.Users(v) {
		switch {
		case slices.ContainsFunc(n.Out, func(o *graph.Value) bool { return m.views[o] != nil }):
			continue
		case len(w.dims) == 1 && (readsAnyOrder(n, v) || m.passes(n, v) != nil):
			g.read = true
		default: // it would gather channels element by element
			g.refused = true
		}
		for _, r := range w.refs {
			s := m.of[r.from]
			s.last[r.index] = max(s.last[r.index], m.place[n])
		}
	}
}

// readsAnyOrder reports whether n is a 1x1 convolution over all channels of v, which takes them from anywhere. With more
// taps a look-up is needed for each, and other algorithms want the channels in blocks.
func readsAnyOrder(n *graph.Node, v *graph.Value) bool {
	return isConv(n.Op) && n.In[0] == v && n.In[1] != v && n.Attrs.(ops.ConvAttrs).Groups == 1 && types.Count(n.In[1].Type.Shape[2:]) == 1
}

// passes returns the result of a depthwise convolution n of v, or of elementwise nodes behind it, when that is read by
// convolutions in any order only: the order of channels may pass through. nil: it may not.
func (m *channelMoves) passes(n *graph.Node, v *graph.Value) *graph.Value {
	if !isConv(n.Op) || n.In[0] != v {
		return nil
	}
	channels := v.Type.Shape[1]
	if a := n.Attrs.(ops.ConvAttrs); a.Groups != channels || n.Out[0].Type.Shape[1] != channels || !constOperands(n.In[1:]) {
		return nil
	}
	for {
		y := n.Out[0]
		users := m.Users(y)
		if m.IsOutput(y) || m.views[y] != nil {
			return nil
		}
		if len(users) == 1 && users[0].Op.Fusion == op.Elementwise && len(users[0].In) == 1 {
			n = users[0]
			continue
		}
		if slices.ContainsFunc(users, func(r *graph.Node) bool { return !readsAnyOrder(r, y) }) {
			return nil
		}
		return y
	}
}

func constOperands(in []*graph.Value) bool {
	return !slices.ContainsFunc(in, func(v *graph.Value) bool { return !v.IsConst() })
}

// aligned reports whether a view takes whole blocks of channels in their order.
func (m *channelMoves) aligned(w *channelView) bool {
	for i, r := range w.refs {
		if r.index%m.lanes != i%m.lanes || i%m.lanes > 0 && (w.refs[i-1].from != r.from || w.refs[i-1].index != r.index-1) {
			return false
		}
	}
	return len(w.refs)%m.lanes == 0
}

// source looks at where v comes from.
func (m *channelMoves) source(v *graph.Value) *channelSource {
	n := v.Type.Shape[1]
	s := &channelSource{value: v, last: make([]int, n), at: make([]int, n), group: &moveGroup{}}
	for i := range s.at {
		s.at[i] = i
	}
	onlyMoved := !m.IsOutput(v) && !slices.ContainsFunc(m.Users(v), func(n *graph.Node) bool {
		return !slices.ContainsFunc(n.Out, func(o *graph.Value) bool { return m.views[o] != nil })
	})
	p := v.Def
	for onlyMoved && p != nil && p.Op.Fusion == op.Elementwise && len(p.In) == 1 && m.Reader(p.In[0]) != nil {
		p = p.In[0].Def
	}
	if onlyMoved && p != nil && isConv(p.Op) && p.Attrs.(ops.ConvAttrs).Groups == 1 && constOperands(p.In[1:]) {
		s.conv = p
	} else if n%m.lanes != 0 {
		s.group.refused = true
	}
	return s
}
