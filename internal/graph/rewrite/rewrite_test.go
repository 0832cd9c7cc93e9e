package rewrite

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
)

// TestEdits: random edits that keep what a network computes. After each, readers are those that the nodes say, every node
// that is left has a reader, and operands come first; in the end the graph is right and computes the same.
func TestEdits(t *testing.T) {
	edits := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 61))
		g := graphtest.New(r)
		g.DeadCode()
		in := graphtest.Inputs(r, g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		w := New(g)
		w.Walk(func(n *graph.Node) {
			switch r.IntN(7) {
			case 0: // the same computed again, elsewhere
				if r.IntN(2) == 0 {
					w.Behind(n)
				}
				w.Replace(n.Out[0], w.Apply(n.Op, n.Attrs, n.In...))
			case 1: // a copy of an operand
				i := r.IntN(len(n.In))
				w.SetOperand(n, i, w.Apply(ops.Copy, op.None{}, n.In[i]))
			case 2: // in place
				w.Change(n, ops.Copy, op.None{}, w.Apply(n.Op, n.Attrs, n.In...))
			case 3: // a copy of an output
				w.AtEnd()
				if w.IsOutput(n.Out[0]) {
					w.ReplaceOutput(n.Out[0], w.Apply(ops.Copy, op.None{}, n.Out[0]))
				}
			case 4: // a group with what it alone reads
				nodes := []*graph.Node{n}
				if p := n.In[0].Def; p != nil && w.Reader(n.In[0]) == n && len(p.Out) == 1 {
					nodes = []*graph.Node{p, n}
				}
				w.Fuse(nodes...)
			case 5: // copies of an operand, and back
				v := n.In[0]
				w.SetOperand(n, 0, w.Apply(ops.Copy, op.None{}, w.Apply(ops.Copy, op.None{}, v)))
				w.SetOperand(n, 0, v)
			default:
				return
			}
			edits++
			if err := consistent(w); err != "" {
				t.Fatalf("seed %d, at %s: %s\n%s", seed, n.Op.Name, err, before)
			}
		})
		if err := w.Finish(); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, before)
		}
		if err := graph.Verify(g); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
		got, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !slices.Equal(got[i].Bytes(), want[i].Bytes()) {
				t.Fatalf("seed %d: output %d differs\n%s\n%s", seed, i, before, g)
			}
		}
	}
	if edits < 300 {
		t.Errorf("only %d edits", edits)
	}
}

// consistent says what of r does not fit its nodes.
func consistent(r *Rewriter) string {
	made := map[*graph.Value]bool{}
	list := &graph.Graph{}
	for e := r.order.Front(); e != nil; e = e.Next() {
		n := e.Value.(*graph.Node)
		list.Nodes = append(list.Nodes, n)
		for _, v := range n.In {
			if v.Def != nil && !made[v] {
				return n.Op.Name + " reads what is computed later, or nowhere"
			}
		}
		for _, v := range n.Out {
			made[v] = true
		}
	}
	users := list.Users()
	for v, want := range users {
		if !sameNodes(want, r.Users(v)) {
			return "the readers of " + v.Name + " are wrong"
		}
	}
	for v, got := range r.users {
		if len(got) != len(users[v]) {
			return "something has readers that are gone"
		}
	}
	for _, n := range list.Nodes {
		if !slices.ContainsFunc(n.Out, func(v *graph.Value) bool { return len(users[v]) > 0 || r.IsOutput(v) }) {
			return n.Op.Name + " is not erased"
		}
	}
	return ""
}

func sameNodes(a, b []*graph.Node) bool {
	b = slices.Clone(b)
	for _, n := range a {
		i := slices.Index(b, n)
		if i < 0 {
			return false
		}
		b = slices.Delete(b, i, i+1)
	}
	return len(b) == 0
}

// chain is x → exp → tanh → y, with origins Exp_0 and Tanh_0.
func chain(t *testing.T) (g *graph.Graph, exp, tanh *graph.Node) {
	t.Helper()
	g = &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, 4))
	exp, err := g.Apply(ops.Exp, op.None{}, x)
	if err != nil {
		t.Fatal(err)
	}
	if tanh, err = g.Apply(ops.Tanh, op.None{}, exp.Out[0]); err != nil {
		t.Fatal(err)
	}
	exp.Out[0].Name, exp.Origin = "e", []string{"Exp_0"}
	tanh.Out[0].Name, tanh.Origin = "y", []string{"Tanh_0"}
	g.Outputs = []*graph.Value{tanh.Out[0]}
	return g, exp, tanh
}

// TestNamesAndOrigins holds the rules of both: what is added stems from the node that is visited, a value without a name
// takes the one that it replaces, an output keeps its own.
func TestNamesAndOrigins(t *testing.T) {
	for _, c := range []struct {
		name string
		rule Rule
		want string
	}{
		{"replaced", func(r *Rewriter, n *graph.Node) {
			if n.Op == ops.Exp {
				r.Replace(n.Out[0], r.Apply(ops.Sigmoid, op.None{}, n.In[0]))
			}
		}, `%e: float32[4] = sigmoid(%x) origin "Exp_0"
  %y: float32[4] = tanh(%e) origin "Tanh_0"`},
		{"output", func(r *Rewriter, n *graph.Node) {
			if n.Op == ops.Tanh {
				r.Replace(n.Out[0], n.In[0])
			}
		}, `%y: float32[4] = exp(%x) origin "Exp_0"`},
		{"merged", func(r *Rewriter, n *graph.Node) {
			if n.Op == ops.Tanh {
				r.Merge(n, n.In[0].Def)
			}
		}, `%y: float32[4] = exp(%x) origin "Exp_0", "Tanh_0"`},
		{"from several", func(r *Rewriter, n *graph.Node) {
			if n.Op == ops.Tanh {
				r.From(n.In[0].Def, n)
				r.Replace(n.Out[0], r.Apply(ops.Sigmoid, op.None{}, n.In[0].Def.In[0]))
			}
		}, `%y: float32[4] = sigmoid(%x) origin "Exp_0", "Tanh_0"`},
		{"behind what is erased", func(r *Rewriter, n *graph.Node) {
			if n.Op == ops.Tanh {
				r.Replace(n.Out[0], n.In[0])
				r.Replace(n.In[0], r.Apply(ops.Sigmoid, op.None{}, n.In[0].Def.In[0]))
			}
		}, `%y: float32[4] = sigmoid(%x) origin "Tanh_0"`},
		{"output behind", func(r *Rewriter, n *graph.Node) {
			if n.Op == ops.Tanh {
				r.AtEnd()
				r.ReplaceOutput(n.Out[0], r.Apply(ops.Copy, op.None{}, n.Out[0]))
			}
		}, `%e: float32[4] = exp(%x) origin "Exp_0"
  %0: float32[4] = tanh(%e) origin "Tanh_0"
  %y: float32[4] = copy(%0) origin "Tanh_0"`},
	} {
		g, _, _ := chain(t)
		if err := Walk(g, c.rule); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := graph.Verify(g); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if want := "graph main(%x: float32[4]) {\n  " + c.want + "\n  return %y\n}\n"; g.String() != want {
			t.Errorf("%s:\n%s\ninstead of\n%s", c.name, g, want)
		}
	}
}

// TestFuse: a group of groups is one group of all their nodes, with the operands of both.
func TestFuse(t *testing.T) {
	g, exp, tanh := chain(t)
	r := New(g)
	last := r.Fuse(r.Fuse(exp), r.Fuse(tanh))
	if err := r.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := graph.Verify(g); err != nil {
		t.Fatalf("%v\n%s", err, g)
	}
	if len(g.Nodes) != 1 || g.Nodes[0] != last || len(last.Sub[0].Nodes) != 2 || g.Outputs[0] != last.Out[0] || last.Out[0].Name != "y" || last.Sub[0].Outputs[0].Name != "y" ||
		!slices.Equal(last.Origin, []string{"Exp_0", "Tanh_0"}) {
		t.Errorf("%s", g)
	}
}

// TestErrors: the first error ends a walk and says which node of the model it is about.
func TestErrors(t *testing.T) {
	for name, rule := range map[string]Rule{
		"types": func(r *Rewriter, n *graph.Node) {
			r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{5}}, n.In[0])
		},
		"a change": func(r *Rewriter, n *graph.Node) {
			r.Change(n, ops.Reshape, ops.ReshapeAttrs{NewShape: []int{5}}, n.In[0])
		},
		"another type": func(r *Rewriter, n *graph.Node) {
			r.Replace(n.Out[0], r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{2, 2}}, n.In[0]))
		},
		"failed": func(r *Rewriter, n *graph.Node) {
			r.Fail(nil)
			r.Fail(errors.New("first"))
			r.Fail(errors.New("second"))
		},
	} {
		g, _, _ := chain(t)
		visits := 0
		err := Walk(g, func(r *Rewriter, n *graph.Node) { visits++; rule(r, n) })
		if err == nil || !strings.HasPrefix(err.Error(), `node ["Exp_0"]: `) || strings.Contains(err.Error(), "second") || visits != 1 {
			t.Errorf("%s: %v after %d visits", name, err, visits)
		}
	}
}
