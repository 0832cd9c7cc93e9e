package onnx

import (
	"fmt"
	"strings"
	"testing"
)

// opOrder returns the operators of a graph in order.
func opOrder(g *Graph) string {
	var ops []string
	for _, n := range g.Nodes {
		ops = append(ops, n.OpType)
	}
	return strings.Join(ops, " ")
}

func TestSort(t *testing.T) {
	branch := wireGraph("", "r", wireNodes("Inner late -> r"))
	holder := pb{}.sub(1, wireNode("Holder x -> h", wireAttr("body", AttrGraph).sub(6, branch)))
	for _, c := range []struct {
		want string
		g    pb
	}{
		{"C A B", wireGraph("x", "y", wireNodes("C x -> y", "A x -> a", "B a -> b"))},
		{"A B C", wireGraph("x", "c", wireNodes("A x -> a", "B a -> b", "C b -> c"))},
		{"A B C", wireGraph("x", "c", wireNodes("C b -> c", "B a -> b", "A x -> a"))},
		{"D A B C", wireGraph("x", "c", wireNodes("D x -> d", "C b d -> c", "B a a -> b", "A x -> a"))},
		{"A Holder", wireGraph("x", "h", holder, wireNodes("A x -> late"))},
	} {
		if got := opOrder(mustRead(t, wireModel(c.g)).Graph); got != c.want {
			t.Errorf("order %q, want %q", got, c.want)
		}
	}
}

// TestSortLong sorts a chain in reverse, which a recursive sort would not survive at any length.
func TestSortLong(t *testing.T) {
	const n = 20000
	parts := make([]pb, n)
	for i := range n {
		parts[n-1-i] = wireNodes(fmt.Sprintf("Op v%d -> v%d", i, i+1))
	}
	g := mustRead(t, wireModel(wireGraph("v0", fmt.Sprintf("v%d", n), parts...))).Graph
	for i, node := range g.Nodes {
		if want := fmt.Sprintf("v%d", i); node.Inputs[0] != want {
			t.Fatalf("node %d uses %s, want %s", i, node.Inputs[0], want)
		}
	}
}

// TestScopes accepts what the format allows: outer values in nested graphs, the same names in sibling graphs, and
// names of a nested graph that cover outer ones.
func TestScopes(t *testing.T) {
	inner := wireGraph("i", "o", wireNodes("F i x -> t", "G t deep -> o"))
	cover := wireGraph("", "o", wireNodes("G x -> o", "F w -> x")) // its own x, defined late
	body := func(g pb) pb { return wireAttr("body", AttrGraph).sub(6, g) }
	m := mustRead(t, wireModel(wireGraph("x", "y z", pb{}.sub(5, wireTensor("w", Float, nil, wireRaw(4))),
		wireNodes("D x _ -> deep _"), pb{}.sub(1, wireNode("Loop x -> y", body(inner))), pb{}.sub(1, wireNode("Loop x -> z", body(cover))))))
	g, err := m.Graph.Nodes[2].Graph("body")
	if err != nil {
		t.Fatal(err)
	}
	if got := opOrder(g); got != "F G" {
		t.Errorf("order of the nested graph %q", got)
	}
	if v := g.Nodes[0].Version; v != 13 {
		t.Errorf("version %d in a nested graph, want 13", v)
	}
}

func TestCheckErrors(t *testing.T) {
	body := func(g pb) pb { return wireAttr("body", AttrGraph).sub(6, g) }
	w := pb{}.sub(5, wireTensor("w", Float, nil, wireRaw(4)))
	for _, c := range []struct {
		name string
		data pb
		want string
	}{
		{"undefined input", wireModel(wireGraph("x", "y", wireNodes("Add x q -> y"))), `graph "g": Add (output "y"): input "q" is not defined`},
		{"undefined output", wireModel(wireGraph("x", "y")), `output "y" is not defined`},
		{"nameless output", wireModel(wireGraph("x", "", pb{}.sub(12, pb{}))), "an output has no name"},
		{"nameless input", wireModel(wireGraph("", "", pb{}.sub(11, pb{}))), "an input has no name"},
		{"nameless initializer", wireModel(wireGraph("", "", pb{}.sub(5, wireTensor("", Float, nil, wireRaw(4))))), "an initializer has no name"},
		{"output twice", wireModel(wireGraph("x", "y", wireNodes("A x -> y", "B x -> y"))), `B (output "y"): value "y" is defined twice`},
		{"output of an input's name", wireModel(wireGraph("x", "x", wireNodes("A x -> x"))), `value "x" is defined twice`},
		{"output of an initializer's name", wireModel(wireGraph("x", "w", w, wireNodes("A x -> w"))), `value "w" is defined twice`},
		{"input twice", wireModel(wireGraph("x x", "x")), `value "x" is defined twice`},
		{"initializer twice", wireModel(wireGraph("", "w", w, w)), `initializer "w" is defined twice`},
		{"cycle", wireModel(wireGraph("x", "c", wireNodes("Z x -> z", "A x c -> a", "B a -> b", "C b -> c", "D c -> d"))),
			`in a cycle: B (output "b") <- A (output "a") <- C (output "c")`},
		{"self", wireModel(wireGraph("x", "a", wireNodes("A x a -> a"))), `in a cycle: A (output "a")`},
		{"cycle through a nested graph", wireModel(wireGraph("x", "h", pb{}.sub(1, wireNode("H x -> h", body(wireGraph("", "r", wireNodes("I h -> r"))))))),
			`in a cycle: H (output "h")`},
		{"inner value from outside", wireModel(wireGraph("x", "t", pb{}.sub(1, wireNode("H x -> h", body(wireGraph("", "t", wireNodes("I x -> t"))))))),
			`output "t" is not defined`},
		{"undefined in a nested graph", wireModel(wireGraph("x", "h", pb{}.sub(1, wireNode("H x -> h", body(wireGraph("", "t", wireNodes("I q -> t"))))))),
			`H (output "h"): attribute "body": graph "g": I (output "t"): input "q" is not defined`},
		{"domain", wireModel(wireGraph("x", "y", wireNodes("com.A x -> y"))), `com.A (output "y"): the opset_import of its domain "com" is missing`},
		{"default domain", pb{}.int(1, 8).sub(8, wireOpset("d", 1)).sub(7, wireGraph("x", "y", wireNodes("A x -> y"))), "opset_import of ai.onnx is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(c.data, "")
			wantError(t, err, c.want)
		})
	}
}

// TestOldModel reads a file of before operator sets.
func TestOldModel(t *testing.T) {
	m := mustRead(t, pb{}.int(1, 2).sub(7, wireGraph("x", "y", wireNodes("A x -> y"))))
	if m.Opsets[""] != 1 || m.Graph.Nodes[0].Version != 1 {
		t.Errorf("opsets %v", m.Opsets)
	}
}
