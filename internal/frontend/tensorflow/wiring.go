package tensorflow

import (
	"slices"

	"lathe/internal/frontend"
)

// A wiring is a body with what makes each of its values.
type wiring struct {
	*frontend.Graph
	makers map[string]*frontend.Node
	params map[string]bool
	inputs map[string]int
}

func wired(g *frontend.Graph) *wiring {
	w := &wiring{Graph: g, makers: map[string]*frontend.Node{}, params: map[string]bool{}, inputs: map[string]int{}}
	for _, n := range g.Nodes {
		for _, o := range n.Out {
			w.makers[o] = n
		}
	}
	for _, p := range g.Params {
		w.params[p.Name] = true
	}
	for i, in := range g.Inputs {
		w.inputs[in.Name] = i
	}
	return w
}

// input is the number of the input of a name, or -1.
func (w *wiring) input(name string) int {
	if i, ok := w.inputs[name]; ok {
		return i
	}
	return -1
}

// origin is the value that one of a name is a copy of.
func (w *wiring) origin(name string) string {
	for range len(w.Nodes) + 1 {
		n := w.makers[name]
		if n == nil || n.Op != "Identity" || len(n.In) == 0 {
			break
		}
		name = n.In[0]
	}
	return name
}

// producer is the node that makes a value, behind copies, or nil.
func (w *wiring) producer(name string) *frontend.Node { return w.makers[w.origin(name)] }

// needs are the inputs, and the names of values outside, that a value depends on.
func (w *wiring) needs(name string) (free []string) {
	seen := map[string]bool{}
	for todo := []string{name}; len(todo) > 0; {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if x == "" || seen[x] {
			continue
		}
		seen[x] = true
		switch n := w.makers[x]; {
		case n != nil:
			todo = append(todo, n.In...)
			for _, sub := range n.Sub {
				inner := wired(sub)
				for _, o := range sub.Outputs {
					for _, f := range inner.needs(o.Name) {
						if inner.input(f) < 0 {
							todo = append(todo, f)
						}
					}
				}
			}
		case !w.params[x]:
			free = append(free, x)
		}
	}
	return free
}

// readers is how often values are read that are one of a name or copies of it, results of the body included, but for results that are
// only copied in.
func (w *wiring) readers(name string) int {
	n := 0
	for _, m := range w.Nodes {
		if m.Op == "Identity" {
			continue
		}
		for _, in := range m.In {
			if w.origin(in) == name {
				n++
			}
		}
		for _, sub := range m.Sub {
			if slices.ContainsFunc(wired(sub).free(), func(x string) bool { return w.origin(x) == name }) {
				n++
			}
		}
	}
	for _, o := range w.Outputs {
		if w.origin(o.Name) == name {
			n++
		}
	}
	return n
}

// free are all names that a body reads from outside.
func (w *wiring) free() (list []string) {
	for _, o := range w.Outputs {
		for _, f := range w.needs(o.Name) {
			if w.input(f) < 0 {
				list = append(list, f)
			}
		}
	}
	return list
}
