package model

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/export/onnx"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Scheme is how a static quantiser writes a network.
type Scheme struct {
	Data      types.DType // of what layers give: U8 by its range, or I8 around zero
	Weights   types.DType // U8 by their range, or I8 around zero
	Channels  bool        // weights have a scale for each output channel
	Reduced   bool        // weights of 7 bits, whose products of pairs do not saturate
	Joined    bool        // operands and result of Concat share one scale, as TensorFlow's and TensorRT's quantisers have it
	Operators bool        // operators on bytes (QOperator) instead of pairs around those on floats (QDQ)
	Range     float64     // on both sides of zero, of values that no range was found for; 0: for each there is one
	Until     string      // the operator from whose first node on nothing is quantised, as users exclude what follows a network's last layers
}

// A plan is what of a network is quantised. It follows ONNX Runtime's quantize_static: rows of its registry of QDQ operators.
type plan struct {
	*Builder
	Scheme
	floats  map[string]bool
	readers map[string][]*onnx.Node
	makers  map[string]*onnx.Node
	of      map[string]string // each quantised value, and the one whose range it has
	axes    map[string]int    // weights, and the axis of their scales
	biases  map[string]*onnx.Node
	gone    map[*onnx.Node]bool
}

// Static quantises what was built, by the ranges of values that Ranges found for the same builder; or, where b.Observe is set, makes these
// values outputs.
func (b *Builder) Static(s Scheme, ranges string) {
	b.Fold()
	p := plan{b, s, b.floatValues(), b.readers(), map[string]*onnx.Node{}, map[string]string{}, map[string]int{}, map[string]*onnx.Node{}, map[*onnx.Node]bool{}}
	for _, n := range b.graph.Nodes {
		for _, v := range n.Out {
			p.makers[v] = n
		}
	}
	for _, n := range b.graph.Nodes {
		if n.Op == s.Until {
			break
		}
		p.visit(n)
	}
	b.graph.Nodes = slices.DeleteFunc(b.graph.Nodes, func(n *onnx.Node) bool { return p.gone[n] })
	switch {
	case b.Observe:
		p.observe()
	case s.Operators:
		p.operators(parse(ranges))
	default:
		p.pairs(parse(ranges))
	}
	b.sweep()
}

// observe makes values whose ranges are asked for the outputs.
func (p *plan) observe() {
	p.graph.Outputs = nil
	for _, v := range p.graph.Inputs {
		if p.of[v.Name] == v.Name {
			p.Output(p.Do("Identity", Value(v.Name)))
			p.graph.Nodes[len(p.graph.Nodes)-1].Out[0] = v.Name + observed
			p.graph.Outputs[len(p.graph.Outputs)-1].Name = v.Name + observed
		}
	}
	for _, n := range p.graph.Nodes {
		for _, v := range n.Out {
			if p.of[v] == v {
				p.Output(Value(v))
			}
		}
	}
}

// observed ends the name of a copy of an input.
const observed = "_observed"

// Line is a line of ranges.
func Line(output string, v []float32) string {
	low, high := span(v)
	return fmt.Sprintf("%s %.4g %.4g\n", strings.TrimSuffix(output, observed), low, high)
}

// parse reads lines of ranges.
func parse(text string) map[string][2]float64 {
	m := map[string][2]float64{}
	for line := range strings.Lines(text) {
		var name string
		var r [2]float64
		if _, err := fmt.Sscan(line, &name, &r[0], &r[1]); err != nil {
			panic(fmt.Sprintf("ranges: %q: %v", line, err))
		}
		m[name] = r
	}
	return m
}

// visit plans one node.
func (p *plan) visit(n *onnx.Node) {
	if !p.floats[n.Out[0]] {
		return
	}
	switch n.Op {
	case "Conv":
		p.layer(n, 0)
	case "ConvTranspose":
		p.layer(n, 1)
	case "Gemm":
		p.layer(n, 1-number(n, "transB"))
	case "MatMul":
		p.product(n)
	case "Relu", "Clip":
		p.bound(n)
	case "MaxPool", "AveragePool", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Resize", "Split", "Slice", "Pad":
		p.move(n)
	case "Gather":
		if p.isConstant(n.In[0]) {
			p.want(n.In[0])
		}
		p.move(n)
	case "Concat":
		p.concat(n)
	case "BatchNormalization", "LayerNormalization", "InstanceNormalization":
		p.layer(n, -1)
	case "Add", "Mul", "Sigmoid", "Softmax", "LeakyRelu", "GlobalAveragePool":
		for _, v := range n.In {
			p.want(v)
		}
		p.want(n.Out[0])
	}
}

// number is an attribute of an int, or 0.
func number(n *onnx.Node, name string) int {
	for _, a := range n.Attrs {
		if v, ok := a.Value.(int); ok && a.Name == name {
			return v
		}
	}
	return 0
}

func (p *plan) isConstant(v string) bool { return p.floats[v] && p.initialiser(v) != nil }

// want has a value quantised, by its own range if by none.
func (p *plan) want(v string) {
	if _, ok := p.of[v]; !ok {
		p.of[v] = v
	}
}

// layer has operand, weights, bias and result. Weights have scales along an axis, if at all; those of normalisations have one.
func (p *plan) layer(n *onnx.Node, axis int) {
	p.want(n.In[0])
	p.weights(n.In[1], axis)
	if len(n.In) > 2 {
		p.biases[n.In[2]] = n
	}
	p.want(n.Out[0])
}

func (p *plan) weights(v string, axis int) {
	if !p.Channels {
		axis = -1
	}
	p.axes[v] = axis
}

func (p *plan) product(n *onnx.Node) {
	p.want(n.In[0])
	if p.isConstant(n.In[1]) {
		p.weights(n.In[1], len(p.initialiser(n.In[1]).Shape)-1)
	} else {
		p.want(n.In[1])
	}
	p.want(n.Out[0])
}

// bound leaves a ReLU out that bytes from 0 on are anyhow; around zero it stays.
func (p *plan) bound(n *onnx.Node) {
	x := n.In[0]
	if _, ok := p.of[x]; !ok {
		return
	}
	maker := p.makers[x]
	if p.Data == types.I8 || maker == nil || len(p.readers[x]) > 1 || p.of[x] != x || !p.fromZero(n) {
		p.want(n.Out[0])
		return
	}
	delete(p.of, x)
	p.want(n.Out[0])
	if p.Observe { // what it bounds has to be seen
		return
	}
	maker.Out[slices.Index(maker.Out, x)] = n.Out[0]
	p.makers[n.Out[0]] = maker
	p.gone[n] = true
}

func (p *plan) fromZero(n *onnx.Node) bool {
	return n.Op == "Relu" || p.isConstant(n.In[1]) && p.initialiser(n.In[1]).Float(0) == 0
}

// move gives bytes of its operand, whose scale they keep.
func (p *plan) move(n *onnx.Node) {
	of, ok := p.of[n.In[0]]
	for _, v := range n.Out {
		if ok {
			p.of[v] = of
		}
	}
}

func (p *plan) concat(n *onnx.Node) {
	p.want(n.Out[0])
	for _, v := range n.In {
		if p.want(v); p.Joined {
			p.join(v, n.Out[0])
		}
	}
}

// join gives all values that have a value's range that of another.
func (p *plan) join(v, other string) {
	from, to := p.of[v], p.of[other]
	for k, of := range p.of {
		if of == from {
			p.of[k] = to
		}
	}
}

// floatValues are the values of float32.
func (b *Builder) floatValues() map[string]bool {
	m := map[string]bool{}
	for _, v := range b.graph.Inputs {
		m[v.Name] = v.DType == types.F32
	}
	for _, c := range b.graph.Initializers {
		m[c.Name] = c.DType == types.F32
	}
	for _, n := range b.graph.Nodes {
		for _, v := range n.Out {
			m[v] = givesFloat(n, m)
		}
	}
	return m
}

func givesFloat(n *onnx.Node, floats map[string]bool) bool {
	switch n.Op {
	case "Shape", "Size", "Greater", "Less", "Equal", "Not", "And", "Or", "NonMaxSuppression", "ArgMax":
		return false
	case "Cast":
		return number(n, "to") == 1
	case "Where":
		return floats[n.In[1]]
	case "ConstantOfShape":
		for _, a := range n.Attrs {
			if t, ok := a.Value.(*tensor.Tensor); ok {
				return t.DType == types.F32
			}
		}
		return true
	}
	return floats[n.In[0]]
}
