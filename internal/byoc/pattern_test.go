package byoc

import (
	"fmt"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/target"
)

const network = `graph main(%x: float32[1,1,4,4], %r: float32[1,1,4,4]) {
	@w = float32[1,1,1,1]{2}
	%0 = nn.conv2d(%x, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "conv"
	%1 = add(%r, %0) origin "sum" %2 = nn.relu(%1) origin "relu"
	%3 = nn.conv2d(%2, %r) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "computed"
	%4 = nn.conv2d(%2, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "read twice"
	%5 = nn.relu(%4) origin "relu of it" %6 = add(%4, %5) origin "twice"
	return %3, %6 }`

// TestFind: a pattern finds whole composites, whichever way operands of a sum stand, and none whose inner results others read.
func TestFind(t *testing.T) {
	conv := Op("nn.conv2d", Any(), Const())
	for _, c := range []struct {
		name string
		root *Match
		want string
	}{
		{"longest", Op("add", conv, Any()).Optional("nn.relu"), "[conv+sum conv+sum+relu]"},
		{"optional", conv.Optional("nn.relu"), "[conv read twice]"},
		{"either", Either(Op("sigmoid"), OneOf([]string{"add", "nn.relu"})), "[sum relu relu of it twice]"},
		{"all operands", Op("nn.conv2d", Any(), Any(), Any()), "[]"},
		{"whatever", Any(), "[]"},
	} {
		g, err := graph.Parse(network, ops.Lookup, nil)
		if err != nil {
			t.Fatal(err)
		}
		position := map[*graph.Node]int{}
		for i, n := range g.Nodes {
			position[n] = i
		}
		var found []string
		for _, n := range g.Nodes {
			name := ""
			for _, m := range (Pattern{Name: c.name, Root: c.root}).Find(n, position, g.Users(), g.Outputs) {
				name += "+" + m.Origin[0]
			}
			if name != "" {
				found = append(found, name[1:])
			}
		}
		if got := fmt.Sprint(found); got != c.want {
			t.Errorf("%s: found %s instead of %s", c.name, got, c.want)
		}
	}
}

// TestChoose: generators of a target are found by name or alias, with options that the table has; others are refused by name.
func TestChoose(t *testing.T) {
	none := func(*graph.Node, Options) error { return nil }
	list := List{
		{Name: "dnnl", Options: []target.OptionInfo{{Name: "select", Type: target.Text}}, Supports: none},
		{Name: "vitis-ai", Options: []target.OptionInfo{{Name: "dpu", Type: target.Text}, {Name: "fast", Type: target.Switch}}, Supports: none,
			Aliases: []Alias{{"dpuczdx8g-zcu104", Options{{Name: "dpu", Value: "DPUCZDX8G-zcu104"}}}},
			Fits: func(t *target.Target, o Options) error {
				if t.Kind == "c" {
					return fmt.Errorf("target c has no runtime")
				}
				return nil
			}},
	}
	for _, c := range []struct{ text, want string }{
		{"llvm", "[]"},
		{"dnnl -select=all, llvm", "[dnnl[{select all}]]"},
		{"DPUCZDX8G-zcu104 -fast, dnnl, llvm", "[vitis-ai[{fast 1} {dpu DPUCZDX8G-zcu104}] dnnl[]]"},
		{"dpuczdx8g-zcu104 -dpu=x, llvm", "[vitis-ai[{dpu x}]]"},
		{"dpuczdx8g-zcu104, vitis-ai, llvm", "vitis-ai is given twice"},
		{"ethos-u, llvm", "external code generator ethos-u is not supported (there are: dnnl, vitis-ai, dpuczdx8g-zcu104)"},
		{"dnl, llvm", `unknown external code generator "dnl"; did you mean dnnl?`},
		{"quantum, llvm", `unknown external code generator "quantum" (there are: dnnl, vitis-ai, dpuczdx8g-zcu104)`},
		{"dnnl -sel=1, llvm", "unknown option -sel of dnnl"},
		{"vitis-ai, c", "vitis-ai: target c has no runtime"},
	} {
		spec, err := target.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		to := &target.Target{Kind: spec.Kind, Generators: spec.Generators}
		var got []string
		chosen, err := list.Choose(to, nil)
		for _, g := range chosen {
			got = append(got, fmt.Sprint(g.Name, []target.Option(g.Given)))
		}
		text := fmt.Sprint(got)
		if err != nil {
			text = err.Error()
		}
		if err == nil && text != c.want || err != nil && !strings.Contains(text, c.want) {
			t.Errorf("%s: %s instead of %s", c.text, text, c.want)
		}
	}
}
