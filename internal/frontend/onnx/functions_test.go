package onnx

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestExpandOfficial expands functions that ONNX's own package wrote: one calls the other from within a graph that
// uses the caller's input, and an attribute passes through both.
func TestExpandOfficial(t *testing.T) {
	m, err := ReadFile(filepath.Join("testdata", "reader", "official.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := Expand(m); err != nil {
		t.Fatal(err)
	}
	want := `["a"] = Add:15 ["x" "w"] "add"
["b"] = If:15 ["cond"] "pick/choose" else_branch={
  ["pick/r"] = Neg:15 ["a"] "pick/Neg"
} -> pick/r then_branch={
  ["pick/Leak2/t"] = LeakyRelu:15 ["a"] "pick/Leak2/LeakyRelu" alpha=0.25
  ["pick/r_1"] = LeakyRelu:15 ["pick/Leak2/t"] "pick/Leak2/LeakyRelu" alpha=0.25
} -> pick/r_1
`
	first, rest, _ := strings.Cut(graphText(m.Graph), `["d"]`)
	if first != want {
		t.Errorf("got\n%swant\n%s", first, want)
	}
	if strings.Count(rest, "alpha=0.5") != 2 || !strings.Contains(rest, `["pick2/Leak2/t"]`) {
		t.Errorf("second call:\n%s", rest)
	}
	recheck(t, m)
}

// recheck runs the static checks on an expanded model.
func recheck(t *testing.T, m *Model) {
	t.Helper()
	for _, domain := range []string{"local", "f"} {
		delete(m.Opsets, domain)
	}
	if err := check(m, newRoom(1<<20)); err != nil {
		t.Errorf("after expansion: %v\n%s", err, graphText(m.Graph))
	}
	if len(m.Functions) > 0 {
		t.Errorf("%d functions left", len(m.Functions))
	}
}

// wireFunction builds a FunctionProto "f.name" with opset 13.
func wireFunction(name, inputs, outputs string, body pb, parts ...pb) pb {
	m := pb{}.str(1, name).str(4, strings.Fields(inputs)...).str(5, strings.Fields(outputs)...).str(10, "f").sub(9, wireOpset("", 13))
	for rest := (scanner{rest: body}); rest.next(); {
		m = m.sub(7, rest.data)
	}
	return pb{}.sub(25, wireJoin(append([]pb{m}, parts...)...))
}

func TestExpand(t *testing.T) {
	ref := func(name, parameter string) pb { return wireAttr(name, AttrInt).str(21, parameter) }
	give := func(name string, v int64) pb { return wireAttr(name, AttrInt).int(3, v) }
	withAttrs := pb{}.sub(1, wireNode("Op x -> y", ref("axis", "a"), ref("keep", "k")))
	for _, c := range []struct {
		name string
		data pb
		want string
	}{
		{"names are unique", wireModel(wireGraph("x", "z f.Fn/t", wireNodes("Relu x -> Fn/t", "f.Fn x -> y", "f.Fn y -> z", "R x -> f.Fn/t")),
			wireFunction("Fn", "x", "y", wireNodes("A x -> t", "B t -> y"))), `["Fn/t"] = Relu:13 ["x"] ""
["Fn/t_1"] = A:13 ["x"] "Fn/A"
["y"] = B:13 ["Fn/t_1"] "Fn/B"
["Fn/t_2"] = A:13 ["y"] "Fn/A"
["z"] = B:13 ["Fn/t_2"] "Fn/B"
["f.Fn/t"] = R:13 ["x"] ""
`},
		{"operands left out", wireModel(wireGraph("x", "z", wireNodes("f.Fn x _ -> _ z")), wireFunction("Fn", "a b c", "y z", wireNodes("A a b c -> y z"))),
			`["Fn/y" "z"] = A:13 ["x" "" ""] "Fn/A"
`},
		{"an input handed on", wireModel(wireGraph("x", "y z", wireNodes("f.Fn x -> y z")), wireFunction("Fn", "a", "a a", nil)),
			`["y"] = Identity:13 ["x"] "Fn/y"
["z"] = Identity:13 ["x"] "Fn/z"
`},
		{"attributes", wireModel(wireGraph("x", "y", pb{}.sub(1, wireNode("f.Fn x -> y", give("a", 5)))), wireFunction("Fn", "x", "y", withAttrs, pb{}.str(6, "a"))),
			`["y"] = Op:13 ["x"] "Fn/Op" axis=5
`},
		{"default attributes", wireModel(wireGraph("x", "y", wireNodes("f.Fn x -> y")), wireFunction("Fn", "x", "y", withAttrs, pb{}.sub(11, give("a", 1)), pb{}.sub(11, give("k", 0)))),
			`["y"] = Op:13 ["x"] "Fn/Op" axis=1 keep=0
`},
		{"calls", wireModel(wireGraph("x", "y", wireNodes("f.Out x -> y")), wireFunction("In", "x", "y", wireNodes("A x -> y")),
			wireFunction("Out", "x", "y", wireNodes("f.In x -> t", "f.In t -> y"))),
			`["Out/t"] = A:13 ["x"] "Out/In/A"
["y"] = A:13 ["Out/t"] "Out/In/A"
`},
		{"body out of order", wireModel(wireGraph("x", "y", wireNodes("f.Fn x -> y")), wireFunction("Fn", "x", "y", wireNodes("B t -> y", "A x -> t"))),
			`["Fn/t"] = A:13 ["x"] "Fn/A"
["y"] = B:13 ["Fn/t"] "Fn/B"
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mustRead(t, c.data)
			if err := Expand(m); err != nil {
				t.Fatal(err)
			}
			if got := graphText(m.Graph); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			recheck(t, m)
		})
	}
}

// TestExpandGraphs expands bodies with graphs that define initializers and inputs, cover names, and are passed in.
func TestExpandGraphs(t *testing.T) {
	inner := wireGraph("i", "o", wireNodes("A i x k -> x2", "B x2 -> o"), pb{}.sub(5, wireTensor("k", Float, nil, wireRaw(4))))
	cover := wireGraph("x", "x")
	passed := wireGraph("", "p", wireNodes("f.Neg outer -> p"))
	body := wireJoin(pb{}.sub(1, wireNode("Loop x -> l", wireAttr("body", AttrGraph).sub(6, inner), wireAttr("other", AttrGraph).sub(6, cover))),
		pb{}.sub(1, wireNode("If l -> y", wireAttr("then_branch", AttrGraph).str(21, "g"))))
	call := wireNode("f.Fn x -> y", wireAttr("g", AttrGraph).sub(6, passed))
	m := mustRead(t, wireModel(wireGraph("x", "y", wireNodes("Id x -> outer"), pb{}.sub(1, call)),
		wireFunction("Fn", "x", "y", body), wireFunction("Neg", "x", "y", wireNodes("Sub x -> y"))))
	if err := Expand(m); err != nil {
		t.Fatal(err)
	}
	want := `["outer"] = Id:13 ["x"] ""
["Fn/l"] = Loop:13 ["x"] "Fn/Loop" body={
  ["Fn/x2"] = A:13 ["Fn/i" "x" "Fn/k"] "Fn/A"
  ["Fn/o"] = B:13 ["Fn/x2"] "Fn/B"
} -> Fn/o other={
} -> Fn/x
["y"] = If:13 ["Fn/l"] "Fn/If" then_branch={
  ["p"] = Sub:13 ["outer"] "Neg/Sub"
} -> p
`
	if got := graphText(m.Graph); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	recheck(t, m)
}

func TestExpandErrors(t *testing.T) {
	use := func(spec string, functions ...pb) pb {
		return wireModel(wireGraph("x", "y", wireNodes(spec)), functions...)
	}
	within := pb{}.sub(1, wireNode("If x -> y", wireAttr("b", AttrGraph).sub(6, wireGraph("", "r", wireNodes("f.A x -> r")))))
	bomb := []pb{wireFunction("F0", "x", "y", wireNodes("A x -> y"))}
	for i := range 60 {
		bomb = append(bomb, wireFunction(fmt.Sprintf("F%d", i+1), "x", "y", wireNodes(fmt.Sprintf("f.F%d x -> t", i), fmt.Sprintf("f.F%d t -> y", i))))
	}
	chain := []pb{wireFunction("F0", "x", "y", wireNodes("A x -> y"))}
	for i := range maxCalls + 1 {
		chain = append(chain, wireFunction(fmt.Sprintf("F%d", i+1), "x", "y", wireNodes(fmt.Sprintf("f.F%d x -> y", i))))
	}
	for _, c := range []struct {
		name string
		data pb
		want string
	}{
		{"recursion", use("f.A x -> y", wireFunction("A", "x", "y", wireNodes("f.B x -> y")), wireFunction("B", "x", "y", wireNodes("f.A x -> y"))), "A -> B -> A"},
		{"recursion in a graph", use("f.A x -> y", wireFunction("A", "x", "y", within)), "A -> A"},
		{"unused recursion", use("R x -> y", wireFunction("A", "x", "y", within)), "A -> A"},
		{"too many operands", use("f.A x x -> y", wireFunction("A", "x", "y", wireNodes("N x -> y"))), "the call has 2 inputs and 1 output, the function 1 and 1"},
		{"a missing input handed on", use("f.A _ -> y", wireFunction("A", "x", "x", nil)), `its output "y" is the input "x" that the call leaves out`},
		{"attribute type", wireModel(wireGraph("x", "y", pb{}.sub(1, wireNode("f.A x -> y", wireAttr("p", AttrFloat).float(2, 1)))),
			wireFunction("A", "x", "y", pb{}.sub(1, wireNode("N x -> y", wireAttr("a", AttrInt).str(21, "p"))))), `"a" is of type int, its parameter "p" of type float`},
		{"exponential", use("f.F60 x -> y", bomb...), "more nodes than fit into memory"},
		{"deep", use(fmt.Sprintf("f.F%d x -> y", maxCalls+1), chain...), "deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := expand(mustRead(t, c.data), 16<<20)
			wantError(t, err, c.want)
		})
	}
	for _, c := range []struct {
		name string
		data pb
		want string
	}{
		{"twice", use("f.A x -> y", wireFunction("A", "x", "y", wireNodes("N x -> y")), wireFunction("A", "x", "y", nil)), "defined twice"},
		{"undefined value", use("f.A x -> y", wireFunction("A", "x", "y", wireNodes("N q -> y"))), `function "A": N (output "y"): input "q" is not defined`},
		{"undefined output", use("f.A x -> y", wireFunction("A", "x", "y", nil)), `function "A": output "y" is not defined`},
		{"domain", use("f.A x -> y", wireFunction("A", "x", "y", wireNodes("d.N x -> y"))), `domain "d" is missing`},
		{"no name", use("R x -> y", pb{}.sub(25, nil)), "function 0: it has no name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(c.data, "")
			wantError(t, err, c.want)
		})
	}
}
