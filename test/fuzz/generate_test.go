package fuzz

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	frontend "lathe/internal/frontend/onnx"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
)

// TestSourcesCoverOperators makes cases twice: they are the same, import, and reach all operators.
func TestSourcesCoverOperators(t *testing.T) {
	s, err := NewSources(nil)
	if err != nil {
		t.Fatal(err)
	}
	graphOps, fileOps, imported := map[string]int{}, map[string]int{}, 0
	const cases = 1500
	for seed := range uint64(cases) {
		c, err := s.Make(seed)
		if err == errNothing {
			continue
		}
		if err != nil {
			t.Fatalf("case %d (%s): %v", seed, c.Name, err)
		}
		if seed < 100 {
			if again, _ := s.Make(seed); !bytes.Equal(again.File, c.File) {
				t.Fatalf("case %d (%s) is another one the second time", seed, c.Name)
			}
		}
		m, err := frontend.Read(c.File, "")
		if err != nil {
			t.Fatalf("case %d (%s): %v", seed, c.Name, err)
		}
		for _, n := range m.Graph.Nodes {
			fileOps[n.OpType]++
		}
		g, err := frontend.Import(m, frontend.Options{})
		if err != nil {
			continue
		}
		imported++
		for _, n := range g.Nodes {
			graphOps[n.Op.Name]++
		}
	}
	if imported < cases*9/10 {
		t.Errorf("only %d of %d cases import", imported, cases)
	}
	for _, d := range ops.All {
		if graphOps[d.Name] == 0 && !strings.Contains(d.Name, "winograd") && d != ops.DynamicPack && d != ops.LayoutTransform && !slices.Contains(written, d) {
			t.Errorf("no case has %s", d.Name)
		}
	}
	if len(fileOps) < 150 {
		t.Errorf("the cases have %d operators of ONNX", len(fileOps))
	}
}

// written are operators that files spell with others, which come back as those.
var written = []*op.Def{ops.NotEqual, ops.Repeat, ops.Reverse, ops.Trunc, ops.FloorDivide, ops.Expm1, ops.Log1p, ops.Atan2, ops.L2Normalize, ops.Copy, ops.Requantize, ops.QnnLookup, ops.Rsqrt, ops.DepthToSpaceND}

// TestMutantsDiffer damages a file: taken apart and put together without change it is the same, and most mutants are others.
func TestMutantsDiffer(t *testing.T) {
	file, err := write(graphtest.Mixed(rand.New(rand.NewPCG(5, 5))))
	if err != nil {
		t.Fatal(err)
	}
	m, err := parseMessage(file, modelKind)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.encode(), file) {
		t.Error("a file taken apart and put together is another one")
	}
	others := map[string]bool{}
	for seed := range uint64(200) {
		c := m.clone()
		mutate(rand.New(rand.NewPCG(seed, 1)), c)
		others[string(c.encode())] = true
	}
	if !bytes.Equal(m.encode(), file) || len(others) < 100 {
		t.Errorf("%d mutants of 200 differ", len(others))
	}
}

// TestMinimise leaves of a network the operator that matters.
func TestMinimise(t *testing.T) {
	for seed := range uint64(10) {
		g := graphtest.Mixed(rand.New(rand.NewPCG(seed, 6)))
		want := g.Outputs[0].Def.Op.Name
		file, err := write(g)
		if err != nil {
			t.Fatal(err)
		}
		has := func(file []byte) bool {
			g, err := Load(file)
			return err == nil && slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return n.Op.Name == want })
		}
		if !has(file) {
			continue // an operator that files spell with others
		}
		small, err := Load(Minimise(file, 300, has))
		if err != nil || len(small.Nodes) > 2 { // one_hot comes with what takes its values apart
			t.Errorf("seed %d: of %s are left: %v\n%s", seed, want, err, small)
		}
	}
}

// TestCompare tells roundings from differences: of an unstable element anything is right, of others little.
func TestCompare(t *testing.T) {
	g := &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, 4))
	for _, d := range []*op.Def{ops.Exp, ops.Round, ops.Asin} {
		n, err := g.Apply(d, op.None{}, x)
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name = d.Name
		g.Outputs = append(g.Outputs, n.Out[0])
	}
	want, err := Refer(g, []*tensor.Tensor{tensor.Of([]int{4}, []float32{0.5, 1.3, 2.7, 1.0000001})}, false)
	if err != nil {
		t.Fatal(err)
	}
	try := func(output, element int, by float64) bool {
		got := make([]*tensor.Tensor, len(want.Outs))
		for i, o := range want.Outs {
			got[i] = tensor.Over(o.DType, o.Shape, bytes.Clone(o.Bytes()))
		}
		got[output].SetFloat(element, finite(got[output].Float(element))+by)
		return want.Compare(got) == nil
	}
	for _, c := range []struct {
		output, element int
		by              float64
		right           bool
	}{{0, 1, 1e-6, true}, {0, 1, 1e-2, false}, {1, 0, 1, true}, {1, 1, 1, false}, {1, 1, 1e-2, false}, {2, 3, 1.5, true}, {2, 2, 1.5, false}} {
		if try(c.output, c.element, c.by) != c.right {
			t.Errorf("output %d, element %d, off by %g: right is %v", c.output, c.element, c.by, !c.right)
		}
	}
}

// TestChildEnds ends children that hang, take too much memory or die, and goes on with others.
func TestChildEnds(t *testing.T) {
	c := Child{Time: 3 * time.Second, Memory: 200 << 20, Command: func() *exec.Cmd {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childMark+"=misbehave")
		return cmd
	}}
	defer c.Stop()
	for _, want := range []string{Right, Hung, Memory, Crashed, Panics, Right} {
		if got := c.Run(Task{File: []byte(want)}).Outcome; got.Kind != want {
			t.Errorf("%s instead of %s: %s", got.Kind, want, got.Detail)
		}
	}
}

// misbehave does what its file says.
func misbehave(c *Case, _ []string, step func(string)) Outcome {
	step("misbehave")
	switch string(c.File) {
	case Hung:
		for spin := 0; ; spin++ {
		}
	case Memory:
		for hold := []byte{1}; ; {
			hold = append(hold, hold...)
		}
	case Crashed:
		go func() { panic("a goroutine of its own") }()
		select {}
	case Panics:
		return *guard("here", func() error { panic("here") })
	}
	return Outcome{Kind: Right}
}

// TestNoCorpus: sources that damage files are refused by name where there are no files, and left out among others.
func TestNoCorpus(t *testing.T) {
	if _, err := NewSources(nil, "mutant", "bytes"); err == nil || !strings.Contains(err.Error(), "mutant, bytes") {
		t.Errorf("without files: %v", err)
	}
	if _, err := NewSources(nil, "mutant", "network"); err != nil {
		t.Error(err)
	}
}
