package fuzz

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/types"
)

// Minimise makes the model of a finding smaller while it stays one of the same kind, by trying again with parts left out.
// again checks a file. What does not import stays as it is.
func Minimise(file []byte, tries int, again func(file []byte) bool) []byte {
	var g *graph.Graph
	if guard("", func() (err error) { g, err = Load(file); return err }) != nil {
		return file
	}
	best := file
	if !try(g.Clone(), again, &best) { // the import, written again, is no finding: one of the file, not of the graph
		return file
	}
	for changed := true; changed && tries > 0; {
		changed = false
		for _, smaller := range reductions {
			for i := 0; tries > 0; i++ {
				c := g.Clone()
				more, ok := smaller(c, i)
				if !more {
					break
				}
				if !ok {
					continue
				}
				tidy(c)
				if tries--; size(c) < size(g) && graph.Verify(c) == nil && try(c, again, &best) {
					g, changed = c, true
					i--
				}
			}
		}
	}
	return best
}

func try(g *graph.Graph, again func([]byte) bool, best *[]byte) bool {
	file, err := write(g)
	if err != nil || !again(file) {
		return false
	}
	*best = file
	return true
}

// size is what gets smaller: nodes first, then outputs, inputs and elements.
func size(g *graph.Graph) int {
	n := 1_000_000*len(g.Nodes) + 100_000*len(g.Outputs) + 10_000*len(g.Inputs)
	for _, v := range g.Inputs {
		n += min(v.Type.Elements(), 1000)
	}
	return n
}

// tidy removes what no output needs, inputs included.
func tidy(g *graph.Graph) {
	g.DeadCode()
	users := g.Users()
	g.Inputs = slices.DeleteFunc(g.Inputs, func(v *graph.Value) bool { return len(users[v]) == 0 && !slices.Contains(g.Outputs, v) })
}

// reductions change a graph in the i-th way. more is false when there is no such way, ok when it does not apply.
var reductions = []func(g *graph.Graph, i int) (more, ok bool){oneOutput, earlierOutput, cutOff, skipNode, shrinkInput}

func oneOutput(g *graph.Graph, i int) (more, ok bool) {
	if i >= len(g.Outputs) {
		return false, false
	}
	ok = len(g.Outputs) > 1
	g.Outputs = g.Outputs[i : i+1]
	return true, ok
}

// earlierOutput ends the graph at a node.
func earlierOutput(g *graph.Graph, i int) (more, ok bool) {
	if i >= len(g.Nodes) {
		return false, false
	}
	g.Outputs = nil
	for k, v := range g.Nodes[i].Out {
		if v.Name == "" {
			v.Name = "out" + string(rune('0'+k))
		}
		g.Outputs = append(g.Outputs, v)
	}
	return true, true
}

// cutOff makes the results of a node inputs.
func cutOff(g *graph.Graph, i int) (more, ok bool) {
	if i >= len(g.Nodes) {
		return false, false
	}
	n := g.Nodes[len(g.Nodes)-1-i]
	for _, v := range n.Out {
		if slices.Contains(g.Outputs, v) {
			return true, false
		}
		w := g.Input(freeName(g), v.Type)
		r := rewrite.New(g)
		r.Replace(v, w)
		if r.Finish() != nil {
			return true, false
		}
	}
	return true, true
}

func freeName(g *graph.Graph) string {
	for k := 0; ; k++ {
		name := "cut" + string(rune('a'+k%26)) + string(rune('a'+k/26))
		if !slices.ContainsFunc(g.Inputs, func(v *graph.Value) bool { return v.Name == name }) {
			return name
		}
	}
}

// skipNode lets the readers of a node read its operand of the same type.
func skipNode(g *graph.Graph, i int) (more, ok bool) {
	if i >= len(g.Nodes) {
		return false, false
	}
	n := g.Nodes[i]
	if len(n.Out) != 1 {
		return true, false
	}
	for _, v := range n.In {
		if v.Type.Equal(n.Out[0].Type) && v.Const == nil {
			r := rewrite.New(g)
			r.Replace(n.Out[0], v)
			return true, r.Finish() == nil
		}
	}
	return true, false
}

// shrinkInput makes an extent of an input smaller and infers all types again.
func shrinkInput(g *graph.Graph, i int) (more, ok bool) {
	for _, v := range g.Inputs {
		for k, n := range v.Type.Shape {
			for _, to := range []int{1, 2, n / 2, n - 1} {
				if i--; i >= 0 {
					continue
				}
				if to < 1 || to >= n {
					return true, false
				}
				shape := slices.Clone(v.Type.Shape)
				shape[k] = to
				v.Type = types.Of(v.Type.DType, shape...)
				for _, m := range g.Nodes {
					if m.Infer() != nil {
						return true, false
					}
				}
				return true, true
			}
		}
	}
	return false, false
}
