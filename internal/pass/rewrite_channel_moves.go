package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// pack makes the producer of s compute channels that are last read together side by side, and whole blocks of them.
func (m *channelMoves) pack(s *channelSource) {
	order := make([]int, len(s.at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.last[b] - s.last[a] })
	for i, ch := range order {
		s.at[ch] = i
	}
	rows := (len(order) + m.lanes - 1) / m.lanes * m.lanes
	for i, w := range s.conv.In[1:] {
		s.conv.In[1+i] = pickRows(w, order, rows)
	}
	m.inferThrough(s.conv, s.value)
}

// pickRows is the constant v with the given rows of axis 0 and zeros for negative ones, and zeros up to n rows.
func pickRows(v *graph.Value, rows []int, n int) *graph.Value {
	t := tensor.New(v.Const.DType, append([]int{n}, v.Const.Shape[1:]...)...)
	size := len(v.Const.Data) / v.Const.Shape[0]
	for i, r := range rows {
		if r >= 0 {
			copy(t.Data[i*size:(i+1)*size], v.Const.Data[r*size:])
		}
	}
	return graph.NewConst(v.Name, t)
}

// mostIdle bounds how many channels a depthwise convolution computes for one that is read.
const mostIdle = 8

// rewrite makes the readers of the chosen views read the sources.
func (m *channelMoves) rewrite() {
	chosen := map[*graph.Value]bool{}
	for _, s := range m.sources {
		chosen[s.value] = true
	}
	var nodes []*graph.Node
	add := func(d *op.Def, attrs any, origin []string, in ...*graph.Value) *graph.Value {
		n := &graph.Node{Op: d, Attrs: attrs, In: in, Origin: origin}
		if err := n.Infer(); err != nil {
			panic(err)
		}
		nodes = append(nodes, n)
		return n.Out[0]
	}
	var joined [][]*graph.Value // operands of the concatenations made so far, and their result
	whole := func(parts []*graph.Value, origin []string) *graph.Value {
		if len(parts) == 1 {
			return parts[0]
		}
		for _, j := range joined {
			if slices.Equal(j[:len(j)-1], parts) {
				return j[len(j)-1]
			}
		}
		v := add(ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, origin, parts...)
		joined = append(joined, append(slices.Clone(parts), v))
		return v
	}
	passed := map[*graph.Value][]int{} // results of depthwise convolutions of whole sources: where the channels lie
	for _, n := range m.g.Nodes {
		moves := slices.ContainsFunc(n.Out, func(o *graph.Value) bool { return m.views[o] != nil })
		for i, v := range n.In {
			if table := passed[v]; table != nil && i == 0 && isConv(n.Op) {
				n.In[i] = add(ops.Take, ops.TakeAttrs{Axis: 1}, n.Origin, v, indexTable(table))
				continue
			}
			w := m.views[v]
			if w == nil || moves || len(w.refs) == 0 || !chosen[w.refs[0].from] {
				continue
			}
			parts, table := m.table(w)
			x := whole(parts, n.Origin)
			if y := m.passes(n, v); y != nil && x.Type.Shape[1] <= mostIdle*len(table) && !repeats(table) {
				m.widen(n, x, table, y)
				passed[y] = table
				continue
			}
			n.In[i] = add(ops.Take, ops.TakeAttrs{Axis: 1}, n.Origin, x, indexTable(table))
		}
		nodes = append(nodes, n)
	}
	m.g.Nodes = nodes
}

// repeats reports whether a table names a place twice, for which a depthwise convolution has two sets of weights.
func repeats(table []int) bool {
	sorted := slices.Sorted(slices.Values(table))
	return len(slices.Compact(sorted)) < len(table)
}

// widen makes the depthwise convolution n, whose channel i is at table[i] of x, compute all of x; y is the result of
// the elementwise nodes behind it.
func (m *channelMoves) widen(n *graph.Node, x *graph.Value, table []int, y *graph.Value) {
	rows := make([]int, x.Type.Shape[1])
	for i := range rows {
		rows[i] = -1
	}
	for i, at := range table {
		rows[at] = i
	}
	n.In[0] = x
	for i, w := range n.In[1:] {
		n.In[1+i] = pickRows(w, rows, len(rows))
	}
	a := n.Attrs.(ops.ConvAttrs)
	a.Groups = len(rows)
	n.Attrs = a
	m.inferThrough(n, y)
}

// inferThrough infers the types from n's result to y, which follows by nodes with one reader.
func (m *channelMoves) inferThrough(n *graph.Node, y *graph.Value) {
	for ; ; n = m.users[n.Out[0]][0] {
		if err := n.Infer(); err != nil {
			panic(err)
		}
		if n.Out[0] == y {
			return
		}
	}
}

// table lists the sources of a view in the order they are computed, and the place of each channel in their
// concatenation.
func (m *channelMoves) table(w *channelView) (parts []*graph.Value, table []int) {
	start := map[*graph.Value]int{}
	for _, r := range w.refs {
		if _, ok := start[r.from]; !ok {
			start[r.from] = 0
			parts = append(parts, r.from)
		}
	}
	slices.SortFunc(parts, func(a, b *graph.Value) int { return m.placeOf(m.of[a]) - m.placeOf(m.of[b]) })
	end := 0
	for _, p := range parts {
		start[p] = end
		end += p.Type.Shape[1]
	}
	for _, r := range w.refs {
		table = append(table, start[r.from]+m.of[r.from].at[r.index])
	}
	return parts, table
}

// indexTable is a table as a constant, unsigned where it fits: the kernel need not ask for negative indices.
func indexTable(table []int) *graph.Value {
	dt := types.U16
	if slices.Max(table) > 1<<16-1 {
		dt = types.I32
	}
	t := tensor.New(dt, len(table))
	for i, at := range table {
		t.SetInt(i, int64(at))
	}
	return graph.NewConst("", t)
}
