package tensorflow

import (
	"fmt"
	"strings"
	"testing"

	"lathe/internal/frontend"
)

// branching is a network behind an operator that Lathe does not have, with two ends, of which the second one feeds nothing that a user wants.
var branching = text(input("sound", 4), def("heard", "Listen", "sound"), def("a", "Relu", "heard"),
	ints("axis", nil, 0), def("parts", "Split", "axis a", "num_split: i: 2"), def("sum", "AddV2", "parts parts:1"), def("y", "Neg", "sum"),
	def("loss", "Judge", "y a"), def("told", "Print", "y"))

// TestCut: values become inputs and outputs; what comes before an input is not looked at, nor what no output needs.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		inputs, outputs, given, want string
		of                           map[string][]float64
	}{
		{"heard", "y", "heard float32", "", map[string][]float64{"y": {-4, -6}}},
		{"a:0", "sum", "a float32", "", map[string][]float64{"sum": {4, 6}}},
		{"heard", "parts:1,y", "heard float32", "", map[string][]float64{"parts:1": {3, 4}, "y": {-4, -6}}},
		{"parts,parts:1", "sum", "parts float32,parts:1 float32", "", map[string][]float64{"sum": {2, 4}}},
		{"", "a", "sound float32[4]", "unsupported operator: Listen", nil},
		{"herd", "y", "", `inputs: what the outputs need has no value and no node "herd"; did you mean heard?`, nil},
		{"heard", "z", "", `outputs: the graph has no node "z"`, nil},
		{"heard,heard:0", "y", "", `the value "heard" is given twice`, nil},
		{"y", "a", "", `inputs: what the outputs need has no value and no node "y"`, nil},
		{"parts:2", "y", "", `Split "parts" has no result 2 that is used`, nil},
	} {
		t.Run(c.inputs+" to "+c.outputs, func(t *testing.T) {
			m, err := Read([]byte(branching))
			if err != nil {
				t.Fatal(err)
			}
			names := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) }
			o := frontend.Options{Shapes: map[string][]int{}}
			err = m.Cut(names(c.inputs), names(c.outputs), o)
			if err == nil {
				var given []string
				for _, in := range m.Graph.Inputs {
					given = append(given, in.Name+" "+in.Spelt)
					if !in.Ranked {
						o.Shapes[in.Name] = []int{4}
					}
				}
				if got := strings.Join(given, ","); got != c.given {
					t.Errorf("inputs %s, want %s", got, c.given)
				}
			}
			if len(m.Graph.Inputs) == 2 {
				o.Shapes["parts"], o.Shapes["parts:1"] = []int{2}, []int{2}
			}
			if c.want != "" {
				if err == nil {
					_, err = frontend.Import(m, o)
				}
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			g, err := frontend.Import(m, o)
			if err != nil {
				t.Fatal(err)
			}
			in := upTo(4)
			if len(g.Inputs) == 2 {
				half := upTo(2)
				got := results(t, g, half, half)
				same(t, got, "sum", c.of["sum"]...)
				return
			}
			got := results(t, g, in)
			if len(got) != len(c.of) {
				t.Errorf("outputs %v", got)
			}
			for name, want := range c.of {
				same(t, got, name, want...)
			}
		})
	}
}

// TestNoOutputs: a graph whose outputs are not found can still be cut.
func TestNoOutputs(t *testing.T) {
	m, err := Read([]byte(text(input("x", 2), def("y", "Neg", "x"), def("done", "Print", "y"))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := frontend.Import(m, frontend.Options{}); err == nil || !strings.Contains(err.Error(), "no node is an output") {
		t.Errorf("error %v", err)
	}
	if err := m.Cut(nil, []string{"y"}, frontend.Options{}); err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, results(t, g, upTo(2)), "y", -1, -2)
}

// TestCutTypes: an input that is a value in the middle has the type that the whole network gives it.
func TestCutTypes(t *testing.T) {
	m, err := Read([]byte(text(input("x", 2, 6), ints("shape", []int{2}, 3, 4), def("r", "Reshape", "x shape"), def("i", "Cast", "r", "DstT: type: DT_INT32"),
		def("n", "Neg", "i"), def("unread", "Relu", "x"))))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Cut([]string{"i"}, []string{"n"}, frontend.Options{}); err != nil {
		t.Fatal(err)
	}
	if in := m.Graph.Inputs; len(in) != 1 || fmt.Sprint(in[0].DType, in[0].Dims) != "int32 [{3 } {4 }]" {
		t.Errorf("inputs %+v", in)
	}
	if len(m.Graph.Nodes) != 1 || len(m.Graph.Params) != 0 {
		t.Errorf("%d nodes and %d weights are left", len(m.Graph.Nodes), len(m.Graph.Params))
	}
}
