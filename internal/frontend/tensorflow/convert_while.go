package tensorflow

import (
	"errors"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A whileLoop is a While being converted. Loops of TensorFlow carry everything that they read: what never changes is read from
// outside instead, and what counts the iterations, so that its values are known for each, is a table by their number. A list that each iteration
// writes one element of is what the iterations stack.
type whileLoop struct {
	*call
	condition, body *wiring
	carried         values
	next            []string           // names of what the body gives
	stays           []bool             // carried values that never change
	counts          []bool             // carried values that are the same in every run
	tables          [][]*tensor.Tensor // of those that count: before each iteration, and behind the last
	stacks          []*stack
	trips           int // -1: unknown
}

// A stack is a list of which iteration i writes element order[i].
type stack struct {
	item  string
	order []int
}

func while(c *call) values {
	w := &whileLoop{call: c, condition: wired(c.Body("cond")), body: wired(c.Body("body")), carried: c.In, trips: -1}
	n := len(w.carried)
	if len(w.condition.Outputs) != 1 || len(w.body.Outputs) != n || len(w.body.Inputs) != n || len(w.condition.Inputs) != n {
		compose.Fail("the body gives %d results of %d, the condition %d", len(w.body.Outputs), n, len(w.condition.Outputs))
	}
	w.stays, w.counts, w.stacks, w.tables = make([]bool, n), make([]bool, n), make([]*stack, n), make([][]*tensor.Tensor, n)
	for k, o := range w.body.Outputs {
		w.next = append(w.next, o.Name)
		w.stays[k] = w.body.origin(o.Name) == w.body.Inputs[k].Name
	}
	w.count()
	if w.trips >= 0 {
		w.findStacks()
	}
	return w.run()
}

// count finds the carried values that count, and how often the loop runs where its condition depends on these alone.
func (w *whileLoop) count() {
	for k, v := range w.carried {
		w.counts[k] = !w.stays[k] && v != nil && v.Value() != nil && v.Value().Len() <= maxCounter
	}
	known := func(g *wiring, name string) bool {
		for _, free := range g.needs(name) {
			if k := g.input(free); k >= 0 {
				v := w.carried[k]
				if !w.counts[k] && !(w.stays[k] && v != nil && v.Value() != nil) {
					return false
				}
			} else if v := w.Outer(free); v == nil || v.Value() == nil {
				return false
			}
		}
		return true
	}
	for again := true; again; {
		again = false
		for k := range w.carried {
			if w.counts[k] && !known(w.body, w.next[k]) {
				w.counts[k], again = false, true
			}
		}
	}
	if known(w.condition, w.condition.Outputs[0].Name) {
		w.simulate()
	}
	if w.trips < 0 {
		clear(w.counts)
	}
}

const (
	maxCounter = 64      // elements of a value that counts
	maxCounted = 1 << 13 // iterations of a loop whose values are counted
)

var errCounted = errors.New("counting only")

// simulate runs the condition and what counts, until the condition is false or something is not known after all.
func (w *whileLoop) simulate() {
	body := *w.body.Graph
	body.Outputs = nil
	var counters []int
	for k, c := range w.counts {
		if c {
			counters, body.Outputs = append(counters, k), append(body.Outputs, w.body.Outputs[k])
		}
	}
	now := slices.Clone(w.carried)
	trips := 0
	for ; trips <= maxCounted; trips++ {
		goes := w.known(w.condition.Graph, now)
		if goes == nil || goes[0].Len() != 1 {
			return
		}
		for _, k := range counters {
			w.tables[k] = append(w.tables[k], now[k].Value())
		}
		if goes[0].Int(0) == 0 {
			w.trips = trips
			return
		}
		next := w.known(&body, now)
		if next == nil {
			return
		}
		for i, k := range counters {
			now[k] = compose.Const(next[i])
		}
	}
}

// known are the outputs of a body for values, nil where one is not known. The graph stays as it is.
func (w *whileLoop) known(g *frontend.Graph, in values) (out []*tensor.Tensor) {
	_ = w.Attempt(func() {
		for _, v := range w.Inline(g, in) {
			if v.Value() == nil {
				out = nil
				break
			}
			out = append(out, v.Value())
		}
		compose.Fail("%w", errCounted)
	})
	if len(out) != len(g.Outputs) {
		return nil
	}
	return out
}

// findStacks finds the lists of which each iteration writes the element of its own, and that nothing in the loop reads.
func (w *whileLoop) findStacks() {
	for k, v := range w.carried {
		if w.stays[k] || w.counts[k] || v == nil || w.trips == 0 {
			continue
		}
		n := w.body.producer(w.next[k])
		if n == nil || !writes[n.Op] {
			continue
		}
		list, index, item := n.In[0], n.In[1], n.In[2]
		if n.Op == "TensorArrayWriteV3" {
			list = n.In[3]
		}
		name := w.body.Inputs[k].Name
		at := w.body.input(w.body.origin(index))
		if w.body.origin(list) != name || at < 0 || !w.counts[at] || w.body.readers(name) != 1 || w.condition.readers(w.condition.Inputs[k].Name) != 0 {
			continue
		}
		s := &stack{item: item, order: make([]int, w.trips)}
		seen := make([]bool, w.trips)
		ok := w.length(v) == w.trips
		for i := range s.order {
			t := w.tables[at][i]
			if ok = ok && t.Len() == 1 && t.Int(0) >= 0 && t.Int(0) < int64(w.trips) && !seen[t.Int(0)]; !ok {
				break
			}
			s.order[i], seen[t.Int(0)] = int(t.Int(0)), true
		}
		if ok {
			w.stacks[k] = s
		}
	}
}

// run makes the loop, of what is left to carry.
func (w *whileLoop) run() values {
	body := *w.body.Graph
	body.Outputs = nil
	var moved, stacked []int // carried values, those that are stacked
	var infos []frontend.Info
	var before values
	for k, v := range w.carried {
		switch {
		case w.stays[k] || w.counts[k]:
		case w.stacks[k] != nil:
			stacked, infos = append(stacked, k), append(infos, frontend.Info{Name: w.stacks[k].item})
		default:
			moved, before = append(moved, k), append(before, v)
		}
	}
	for _, k := range moved {
		body.Outputs = append(body.Outputs, w.body.Outputs[k])
	}
	body.Outputs = append(body.Outputs, infos...)
	operands := func(i *graph.Value, now values) values {
		in := slices.Clone(w.carried)
		for k := range in {
			if w.counts[k] {
				in[k] = w.counter(k, i)
			}
		}
		for i, k := range moved {
			in[k] = now[i]
		}
		return in
	}
	l := frontend.Loop{Carried: before, Slices: infos}
	goes := compose.Number(types.Bool, 1)
	if w.trips >= 0 {
		l.Trips = compose.Number(types.I64, float64(w.trips))
	} else {
		l.Condition = w.truth(w.Inline(w.condition.Graph, operands(nil, before))[0])
	}
	l.Body = func(in []*graph.Value) []*graph.Value {
		out := w.Inline(&body, operands(in[0], in[2:]))
		if w.trips < 0 {
			goes = w.truth(w.Inline(w.condition.Graph, operands(nil, out[:len(moved)]))[0])
		}
		return append(values{goes}, out...)
	}
	result := w.RunLoop(l)
	out := slices.Clone(w.carried)
	for i, k := range moved {
		out[k] = result[i]
	}
	for i, k := range stacked {
		out[k] = w.ordered(result[len(moved)+i], w.stacks[k].order)
	}
	for k := range out {
		if w.counts[k] {
			out[k] = compose.Const(w.tables[k][w.trips])
		}
	}
	return out
}

// counter is a value that counts in iteration i.
func (w *whileLoop) counter(k int, i *graph.Value) *graph.Value {
	list := w.tables[k][:w.trips]
	if t := i.Value(); t != nil {
		return compose.Const(w.tables[k][min(max(int(t.Int(0)), 0), w.trips)])
	}
	numbers := list[0].DType.IsInt() && list[0].Len() == 1
	for at, t := range list {
		numbers = numbers && t.Int(0) == int64(at)
	}
	if numbers {
		return w.Reshape(w.Cast(i, list[0].DType), list[0].Shape...)
	}
	all := w.Zeros(list[0].DType, append([]int{len(list)}, list[0].Shape...)...)
	for at, t := range list {
		copy(all.Bytes()[at*t.Size():], t.Bytes())
	}
	return w.Apply(ops.Take, ops.TakeAttrs{}, compose.Const(all), w.Reshape(i))
}

// ordered brings the slices of iterations to the places that they wrote.
func (w *whileLoop) ordered(x *graph.Value, order []int) *graph.Value {
	back := make([]int, len(order))
	for i, at := range order {
		back[at] = i
	}
	if slices.IsSorted(back) {
		return x
	}
	return w.Apply(ops.Take, ops.TakeAttrs{}, x, compose.Ints(back...))
}
