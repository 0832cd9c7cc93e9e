package pass

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/graph"
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
	m.changeRows(s.conv, s.conv.In[0], s.conv.Attrs, order, rows)
	m.inferThrough(s.conv, s.value)
}

// pickRows is the constant v with the given rows of axis 0 and zeros for negative ones, and zeros up to n rows.
func pickRows(v *graph.Value, rows []int, n int) *graph.Value {
	t := tensor.New(v.Const.DType, append([]int{n}, v.Const.Shape[1:]...)...)
	size := v.Const.Size() / v.Const.Shape[0]
	for i, r := range rows {
		if r >= 0 {
			copy(t.Bytes()[i*size:(i+1)*size], v.Const.Bytes()[r*size:])
		}
	}
	return graph.NewConst(v.Name, t)
}

// read makes n, if it reads chosen views, read the sources.
func (m *channelMoves) read(n *graph.Node) {
	if slices.ContainsFunc(n.Out, func(o *graph.Value) bool { return m.views[o] != nil }) {
		return
	}
	for i, v := range n.In {
		if table := m.passed[v]; table != nil && i == 0 && isConv(n.Op) {
			m.lookUp(n, i, v, table)
			continue
		}
		w := m.views[v]
		if w == nil || len(w.refs) == 0 || !slices.Contains(m.sources, m.of[w.refs[0].from]) {
			continue
		}
		parts, table := m.table(w)
		x := m.whole(parts)
		if y := m.passes(n, v); y != nil && !repeats(table) && m.computesAll(n, x.Type.Shape[1], len(table)) {
			m.widen(n, x, table, y)
			m.passed[y] = table
			continue
		}
		m.lookUp(n, i, x, table)
	}
}

// lookUp makes n read the channels of x that table names as its operand i.
func (m *channelMoves) lookUp(n *graph.Node, i int, x *graph.Value, table []int) {
	m.SetOperand(n, i, m.Apply(ops.Take, ops.TakeAttrs{Axis: 1}, x, indexTable(table)))
}

// whole is the concatenation of parts.
func (m *channelMoves) whole(parts []*graph.Value) *graph.Value {
	if len(parts) == 1 {
		return parts[0]
	}
	for _, j := range m.joined {
		if slices.Equal(j[:len(j)-1], parts) {
			return j[len(j)-1]
		}
	}
	v := m.Apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, parts...)
	m.joined = append(m.joined, append(slices.Clone(parts), v))
	return v
}

// computesAll asks whether a depthwise convolution whose operand has so many channels computes all of them, of which so many
// are read. For each a look-up loads lanes one by one where a multiple of it computes whole vectors.
func (m *channelMoves) computesAll(n *graph.Node, channels, read int) bool {
	taken, err := m.decide(n, choice.Whether("all_channels", (channels+m.lanes-1)/m.lanes <= read))
	m.Fail(err)
	return taken == "on"
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
	a := n.Attrs.(ops.ConvAttrs)
	a.Groups = len(rows)
	m.changeRows(n, x, a, rows, len(rows))
	m.inferThrough(n, y)
}

// changeRows makes a convolution compute on x with the given rows of its constants, and zeros up to n rows.
func (m *channelMoves) changeRows(conv *graph.Node, x *graph.Value, attrs any, rows []int, n int) {
	in := []*graph.Value{x}
	for _, w := range conv.In[1:] {
		in = append(in, pickRows(w, rows, n))
	}
	m.Change(conv, conv.Op, attrs, in...)
}

// inferThrough infers the types behind n up to y, which follows by nodes with one reader.
func (m *channelMoves) inferThrough(n *graph.Node, y *graph.Value) {
	for n.Out[0] != y {
		n = m.Reader(n.Out[0])
		m.Infer(n)
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
