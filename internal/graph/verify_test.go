package graph

import (
	"strings"
	"testing"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

func TestVerify(t *testing.T) {
	for _, g := range []*Graph{testNet(t), summing(t), bigNet(t, 10), {}} {
		before := g.String()
		if err := Verify(g); err != nil {
			t.Errorf("%v in\n%s", err, before)
		}
		if g.String() != before {
			t.Errorf("verification changes\n%s", before)
		}
	}
}

// TestVerifyFaults breaks one thing in a valid graph at a time. In testNet the nodes are conv, group (relu, conv),
// halves, shape_of and reshape.
func TestVerifyFaults(t *testing.T) {
	small := types.Of(types.F32, 1)
	net := map[string]func(g *Graph){
		`graph "net": node 0 nn.conv2d %/block/conv (from Conv_0, odd "name"): operand 0 is no value`: func(g *Graph) { g.Nodes[0].In[0] = nil },
		`graph "net": node 0 nn.relu: operand 0 %/block/conv is used before the node that computes it`: func(g *Graph) {
			g.Nodes = append([]*Node{{Op: testRelu, Attrs: op.None{}, In: g.Nodes[0].Out}}, g.Nodes...)
			g.Nodes[0].Out = []*Value{{Def: g.Nodes[0], Type: g.Nodes[1].Out[0].Type}}
		},
		"operand 0 is no input of the graph, no constant":                                                             func(g *Graph) { g.Nodes[0].In[0] = &Value{Type: g.Inputs[0].Type} },
		"is the result of a node that is not in the graph: shape_of":                                                  func(g *Graph) { g.Nodes = append(g.Nodes[:3], g.Nodes[4]) },
		`output 1 %7 is the result of a node that is not`:                                                             func(g *Graph) { g.Nodes = append(g.Nodes[:2], g.Nodes[3:]...) },
		`sub-graph 0: graph "relu conv": node 0 nn.relu (from Relu_1): operand 0 %/block/conv belongs to graph "net"`: func(g *Graph) { g.Nodes[1].Sub[0].Nodes[0].In[0] = g.Nodes[0].Out[0] },
		"the node is in two places":                                                                                   func(g *Graph) { g.Nodes = append(g.Nodes, g.Nodes[3]) },
		"node 5 without operator: no node":                                                                            func(g *Graph) { g.Nodes = append(g.Nodes, nil) },
		"node 5 without operator: no operator":                                                                        func(g *Graph) { g.Nodes = append(g.Nodes, &Node{}) },
		"node 3 shape_of: no results":                                                                                 func(g *Graph) { g.Nodes[3].Out = nil },
		"node 2 halves: result 1: the value does not name":                                                            func(g *Graph) { g.Nodes[2].Out[1].Index = 0 },
		"result 0: the value does not name":                                                                           func(g *Graph) { g.Nodes[2].Out[0].Def = g.Nodes[3] },
		"node 3 shape_of: result 0: no value":                                                                         func(g *Graph) { g.Nodes[3].Out[0] = nil },
		"result 0: the value is a constant":                                                                           func(g *Graph) { g.Nodes[3].Out[0].Const = g.Nodes[3].Out[0].Known },
		"input 1 %data:0: the value is defined in two places":                                                         func(g *Graph) { g.Inputs = append(g.Inputs, g.Inputs[0]) },
		"input 1: no value":                                                                                           func(g *Graph) { g.Inputs = append(g.Inputs, nil) },
		"input 1: the result of a node or a constant":                                                                 func(g *Graph) { g.Inputs = append(g.Inputs, g.Nodes[2].In[0]) },
		"input 1 has no name":                                                                                         func(g *Graph) { g.Input("", small) },
		`two inputs are named "data:0"`:                                                                               func(g *Graph) { g.Input("data:0", small) },
		`two outputs are named "out"`:                                                                                 func(g *Graph) { g.Outputs[1] = g.Outputs[0] },
		"output 4 is no value":                                                                                        func(g *Graph) { g.Outputs = append(g.Outputs, nil) },
		`layout "ABCDE"`:                                                                                              func(g *Graph) { g.Nodes[0].Out[0].Type.Layout = "ABCDE" },
		"without an element type":                                                                                     func(g *Graph) { g.Inputs[0].Type.DType = types.Invalid },
		"result 0 has type float32[2,32], inference finds float32[64,1]":                                              func(g *Graph) { g.Nodes[4].Out[0].Type.Shape = []int{2, 32} },
		"result 1 has type int32[1,2], inference finds int64[1,2]":                                                    func(g *Graph) { g.Nodes[2].Out[1].Type.DType = types.I32 },
		"1 result instead of 2":                                                                                       func(g *Graph) { g.Nodes[2].Out = g.Nodes[2].Out[:1]; g.Outputs = g.Outputs[:1] },
		"node 3 shape_of: result 0: type int64[2], but a known value of type int64[3] in 24 bytes":                    func(g *Graph) { g.Nodes[3].Out[0].Known = tensor.New(types.I64, 3) },
		"reshape %out: reshape: the shape must be known":                                                              func(g *Graph) { g.Nodes[3].Out[0].Known = nil },
		"nn.conv2d: 1 operand instead of 2":                                                                           func(g *Graph) { g.Nodes[0].In = g.Nodes[0].In[:1] },
		"attributes of type op.None":                                                                                  func(g *Graph) { g.Nodes[0].Attrs = op.None{} },
		"the operator has no inference":                                                                               func(g *Graph) { g.Nodes[3].Op = &op.Def{Name: "odd"} },
		"1 sub-graphs in a node whose operator has none":                                                              func(g *Graph) { g.Nodes[3].Sub = []*Graph{{}} },

		"operand 1 %conv.weight is a constant of type float32[4,4,3,3] with 575 bytes instead of 576": func(g *Graph) {
			g.Nodes[0].In[1].Const = tensor.Over(types.F32, []int{4, 4, 3, 3}, make([]byte, 575))
		},
		"with elements of type float32[9]":     func(g *Graph) { g.Nodes[0].In[1].Const = ramp(9) },
		`weight is a constant: layout "ABC"`:   func(g *Graph) { g.Nodes[0].In[1].Type.Layout = "ABC" },
		"is both a constant and the result of": func(g *Graph) { g.Nodes[0].In[1].Def = g.Nodes[0] },

		"0 sub-graphs instead of 1":              func(g *Graph) { g.Nodes[1].Sub = nil },
		"sub-graph 0: no graph":                  func(g *Graph) { g.Nodes[1].Sub[0] = nil },
		`"net": the graph is in two places`:      func(g *Graph) { g.Nodes[1].Sub[0] = g },
		"1 operand for 0 inputs":                 func(g *Graph) { s := g.Nodes[1].Sub[0]; *s = Graph{Outputs: s.Outputs[:0]} },
		"operand 0 has type float32[1,4,8,8]:AB": func(g *Graph) { s := g.Nodes[1].Sub[0]; s.Inputs[0].Type.Layout = "" },
		"1 result for 2 outputs":                 func(g *Graph) { s := g.Nodes[1].Sub[0]; s.Outputs = append(s.Outputs, s.Inputs[0]) },
		"output 0 float32[1,4,8,8]:ABCD4b":       func(g *Graph) { s := g.Nodes[1].Sub[0]; s.Outputs[0] = s.Inputs[0] },
	}
	for want, fault := range net {
		g := testNet(t)
		fault(g)
		wantFault(t, g, want)
	}
	control := map[string]func(g *Graph){
		"3 operands, but the body has 2":                       func(g *Graph) { b := g.Nodes[0].Sub[0]; *b = Graph{Inputs: b.Inputs[:2]} },
		"2 results, but the body has 1 output":                 func(g *Graph) { b := g.Nodes[0].Sub[0]; b.Outputs = b.Outputs[:1] },
		"no loop runs in parts by attributes":                  func(g *Graph) { g.Nodes[0].Attrs = LoopAttrs{Trips: 3, Carried: 1, Sequences: 1, Parts: 1} },
		"no loop has attributes":                               func(g *Graph) { g.Nodes[0].Attrs = LoopAttrs{Trips: 0, Carried: 1, Sequences: 1} },
		"3 operands for 1 carried and 3":                       func(g *Graph) { g.Nodes[0].Attrs = LoopAttrs{Trips: 3, Carried: 1, Sequences: 3} },
		"of which 3 are carried":                               func(g *Graph) { g.Nodes[0].Attrs = LoopAttrs{Trips: 3, Carried: 3} },
		"operand 1 has type float32[3,2], input 1 of the body": func(g *Graph) { g.Nodes[0].Attrs = LoopAttrs{Trips: 4, Carried: 1, Sequences: 1} },
		"result 1 has type float32[2,3], output 1 of the body": func(g *Graph) { g.Nodes[0].Out[1].Type.Shape = []int{2, 3} },
		"result 0 has type float32[2]:A2a, output 0":           func(g *Graph) { g.Nodes[0].Out[0].Type.Layout = "A2a" },
	}
	for want, fault := range control {
		g := summing(t)
		fault(g)
		wantFault(t, g, want)
	}
	wantFault(t, nil, "no graph")
}

func wantFault(t *testing.T, g *Graph, want string) {
	t.Helper()
	if err := Verify(g); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant an error with %s", err, want)
	}
}

// TestRank: a tensor of more axes than a package can describe is refused where it is read or made.
func TestRank(t *testing.T) {
	for _, rank := range []int{maxRank, maxRank + 1} {
		shape := make([]int, rank)
		for i := range shape {
			shape[i] = 1
		}
		g := &Graph{Name: "main"}
		_, err := g.Apply(testRelu, op.None{}, g.Input("x", types.Of(types.F32, shape...)))
		if refused := err != nil && strings.Contains(err.Error(), "65 dimensions"); refused != (rank > maxRank) {
			t.Errorf("%d axes: %v", rank, err)
		}
	}
}
