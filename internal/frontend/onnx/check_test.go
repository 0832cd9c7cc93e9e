package onnx

import (
	"fmt"
	"strings"
	"testing"
)

// order returns the operators of a graph in order.
func order(g *Graph) string {
	var ops []string
	for _, n := range g.Nodes {
		ops = append(ops, n.OpType)
	}
	return strings.Join(ops, " ")
}

func TestSort(t *testing.T) {
	branch := graph("", "r", nodes("Inner late -> r"))
	holder := pb{}.sub(1, node("Holder x -> h", attr("body", AttrGraph).sub(6, branch)))
	for _, c := range []struct {
		want string
		g    pb
	}{
		{"C A B", graph("x", "y", nodes("C x -> y", "A x -> a", "B a -> b"))},
		{"A B C", graph("x", "c", nodes("A x -> a", "B a -> b", "C b -> c"))},
		{"A B C", graph("x", "c", nodes("C b -> c", "B a -> b", "A x -> a"))},
		{"D A B C", graph("x", "c", nodes("D x -> d", "C b d -> c", "B a a -> b", "A x -> a"))},
		{"A Holder", graph("x", "h", holder, nodes("A x -> late"))},
	} {
		if got := order(read(t, model(c.g)).Graph); got != c.want {
			t.Errorf("order %q, want %q", got, c.want)
		}
	}
}

// TestSortLong sorts a chain in reverse, which a recursive sort would not survive at any length.
func TestSortLong(t *testing.T) {
	const n = 20000
	parts := make([]pb, n)
	for i := range n {
		parts[n-1-i] = nodes(fmt.Sprintf("Op v%d -> v%d", i, i+1))
	}
	g := read(t, model(graph("v0", fmt.Sprintf("v%d", n), parts...))).Graph
	for i, node := range g.Nodes {
		if want := fmt.Sprintf("v%d", i); node.Inputs[0] != want {
			t.Fatalf("node %d uses %s, want %s", i, node.Inputs[0], want)
		}
	}
}

// TestScopes accepts what the format allows: outer values in nested graphs, the same names in sibling graphs, and
// names of a nested graph that cover outer ones.
func TestScopes(t *testing.T) {
	inner := graph("i", "o", nodes("F i x -> t", "G t deep -> o"))
	cover := graph("", "o", nodes("G x -> o", "F w -> x")) // its own x, defined late
	body := func(g pb) pb { return attr("body", AttrGraph).sub(6, g) }
	m := read(t, model(graph("x", "y z", pb{}.sub(5, tensor("w", Float, nil, raw(4))),
		nodes("D x _ -> deep _"), pb{}.sub(1, node("Loop x -> y", body(inner))), pb{}.sub(1, node("Loop x -> z", body(cover))))))
	g, err := m.Graph.Nodes[2].Graph("body")
	if err != nil {
		t.Fatal(err)
	}
	if got := order(g); got != "F G" {
		t.Errorf("order of the nested graph %q", got)
	}
	if v := g.Nodes[0].Version; v != 13 {
		t.Errorf("version %d in a nested graph, want 13", v)
	}
}

func TestCheckErrors(t *testing.T) {
	body := func(g pb) pb { return attr("body", AttrGraph).sub(6, g) }
	w := pb{}.sub(5, tensor("w", Float, nil, raw(4)))
	for _, c := range []struct {
		name string
		data pb
		want string
	}{
		{"undefined input", model(graph("x", "y", nodes("Add x q -> y"))), `graph "g": Add (output "y"): input "q" is not defined`},
		{"undefined output", model(graph("x", "y")), `output "y" is not defined`},
		{"nameless output", model(graph("x", "", pb{}.sub(12, pb{}))), "an output has no name"},
		{"nameless input", model(graph("", "", pb{}.sub(11, pb{}))), "an input has no name"},
		{"nameless initializer", model(graph("", "", pb{}.sub(5, tensor("", Float, nil, raw(4))))), "an initializer has no name"},
		{"output twice", model(graph("x", "y", nodes("A x -> y", "B x -> y"))), `B (output "y"): value "y" is defined twice`},
		{"output of an input's name", model(graph("x", "x", nodes("A x -> x"))), `value "x" is defined twice`},
		{"output of an initializer's name", model(graph("x", "w", w, nodes("A x -> w"))), `value "w" is defined twice`},
		{"input twice", model(graph("x x", "x")), `value "x" is defined twice`},
		{"initializer twice", model(graph("", "w", w, w)), `initializer "w" is defined twice`},
		{"cycle", model(graph("x", "c", nodes("Z x -> z", "A x c -> a", "B a -> b", "C b -> c", "D c -> d"))),
			`in a cycle: B (output "b") <- A (output "a") <- C (output "c")`},
		{"self", model(graph("x", "a", nodes("A x a -> a"))), `in a cycle: A (output "a")`},
		{"cycle through a nested graph", model(graph("x", "h", pb{}.sub(1, node("H x -> h", body(graph("", "r", nodes("I h -> r"))))))),
			`in a cycle: H (output "h")`},
		{"inner value from outside", model(graph("x", "t", pb{}.sub(1, node("H x -> h", body(graph("", "t", nodes("I x -> t"))))))),
			`output "t" is not defined`},
		{"undefined in a nested graph", model(graph("x", "h", pb{}.sub(1, node("H x -> h", body(graph("", "t", nodes("I q -> t"))))))),
			`H (output "h"): attribute "body": graph "g": I (output "t"): input "q" is not defined`},
		{"domain", model(graph("x", "y", nodes("com.A x -> y"))), `com.A (output "y"): the opset_import of its domain "com" is missing`},
		{"default domain", pb{}.int(1, 8).sub(8, opset("d", 1)).sub(7, graph("x", "y", nodes("A x -> y"))), "opset_import of ai.onnx is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(c.data, "")
			wantError(t, err, c.want)
		})
	}
}

// TestOldModel reads a file of before operator sets.
func TestOldModel(t *testing.T) {
	m := read(t, pb{}.int(1, 2).sub(7, graph("x", "y", nodes("A x -> y"))))
	if m.Opsets[""] != 1 || m.Graph.Nodes[0].Version != 1 {
		t.Errorf("opsets %v", m.Opsets)
	}
}
