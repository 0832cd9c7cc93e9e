package pass

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/byoc"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// TestCutKernels: a generator that wants whole kernels gets all nodes of one or none, whatever it takes of a chain and wherever kernels end;
// composites are opened where kernels are asked for.
func TestCutKernels(t *testing.T) {
	operators := []string{"nn.relu", "exp", "tanh", "sigmoid"}
	regions, refused := 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 63))
		text, kernels, of := "graph main(%x: float32[1,1,4,4]) {\n@w = float32[1,1,1,1]{2}\n", [][]string{nil}, map[string]string{}
		value := "%x"
		for i := range 3 + r.IntN(8) {
			name, operator, operands := fmt.Sprint("n", i), operators[r.IntN(len(operators))], value
			if r.IntN(3) == 0 {
				operator, operands = "nn.conv2d", value+", @w"
			}
			value = fmt.Sprint("%", i)
			attrs := ""
			if operator == "nn.conv2d" {
				attrs = " {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}"
			}
			text += fmt.Sprintf("%s = %s(%s)%s origin %q\n", value, operator, operands, attrs, name)
			if r.IntN(2) == 0 && len(kernels[len(kernels)-1]) > 0 {
				kernels = append(kernels, nil)
			}
			kernels[len(kernels)-1] = append(kernels[len(kernels)-1], name)
			of[name] = operator
		}
		g, err := graph.Parse(text+"return "+value+" }", ops.Lookup, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		takes := []string{"nn.conv2d"}
		for _, o := range operators {
			if r.IntN(2) == 0 {
				takes = append(takes, o)
			}
		}
		gen := taker("some", takes...)
		gen.Whole = func(byoc.Options) bool { return true }
		c := &Context{Graph: g, Target: machine, Level: 3, Codegens: []byoc.Chosen{gen}}
		c.Kernels = func(g *graph.Graph) ([][]string, error) {
			if slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return n.Op == graph.Composite }) {
				t.Errorf("seed %d: a composite\n%s", seed, g)
			}
			return kernels, nil
		}
		for _, p := range Table {
			if p.Name == "MergeComposite" || p.Name == "AnnotateTarget" {
				if err := p.Run(c); err != nil {
					t.Fatal(err)
				}
			}
		}
		outside := map[string]bool{}
		for _, n := range g.Nodes {
			for _, name := range n.Origin {
				outside[name] = outside[name] || n.Op != graph.External
			}
		}
		for _, kernel := range kernels {
			left := slices.ContainsFunc(kernel, func(name string) bool { return outside[name] })
			if left && slices.ContainsFunc(kernel, func(name string) bool { return !outside[name] }) {
				t.Errorf("seed %d: of the kernel of %s a part is taken\n%s", seed, strings.Join(kernel, ", "), g)
			}
			if left {
				refused++
			} else {
				regions++
			}
		}
	}
	if regions < 20 || refused < 20 {
		t.Errorf("%d kernels are taken and %d are left: too few of one", regions, refused)
	}
}
