package fuzz

import (
	"slices"

	export "lathe/internal/export/onnx"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

var controlTemplates = []template{ifElse, ifElse, loop, scan}

// bodyTemplates are what bodies are made of: little, as loops repeat it.
var bodyTemplates = slices.Concat(repeat(4, elementwise), repeat(3, broadcasting), repeat(2, moving), repeat(2, reduction), repeat(2, gemm), repeat(1, matmul),
	repeat(2, indexing), repeat(1, softmax), repeat(1, convLayer), repeat(1, clip))

// body makes a graph that reads inputs of the given types and values from around it, and gives results of the given types.
func (b *builder) body(captured []string, inputs, results []types.Tensor) (g *export.Graph, ok bool) {
	c := &builder{Rand: b.Rand, opset: b.opset, names: b.names, graph: &export.Graph{Name: "body"}, types: map[string]types.Tensor{}, depth: b.depth + 1}
	for _, s := range captured {
		c.graph.Inputs = append(c.graph.Inputs, export.Value{Name: s, DType: b.types[s].DType, Dims: export.Dims(b.types[s].Shape...)})
		c.types[s] = b.types[s]
		c.values = append(c.values, s)
	}
	var own []export.Value
	for _, t := range inputs {
		s := c.fresh("s")
		own = append(own, export.Value{Name: s, DType: t.DType, Dims: export.Dims(t.Shape...)})
		c.types[s] = t
		c.values = append(c.values, s)
	}
	c.graph.Inputs = append(c.graph.Inputs, own...)
	c.fill(bodyTemplates, 0, 3)
	var outs []string
	for _, t := range results {
		if !c.try(func(c *builder) []string {
			last := c.values[len(c.values)-1-c.IntN(min(2, len(c.values)))]
			y := ""
			if c.types[last].Elements() > 0 {
				y = c.adapt(last, t)
			}
			if y == "" {
				y = c.one("Identity", []string{c.weight(t.DType, t.Shape...)})
			}
			outs = append(outs, y)
			return []string{y}
		}) {
			return nil, false
		}
	}
	g = c.graph
	g.Name, g.Inputs = "body", own
	for i, o := range outs {
		g.Outputs = append(g.Outputs, export.Value{Name: o, DType: results[i].DType, Free: true})
	}
	return g, true
}

// around are values that a body may read.
func (b *builder) around() []string {
	var list []string
	for _, i := range b.Perm(len(b.values)) {
		if s := b.values[i]; len(list) < 2 && !slices.ContainsFunc(b.pending.Inputs, func(v export.Value) bool { return v.Name == s }) {
			list = append(list, s)
		}
	}
	return list
}

func (b *builder) resultTypes(n int) []types.Tensor {
	var list []types.Tensor
	for range n {
		list = append(list, types.Of(b.dtype(types.F32, types.F32, types.I64, types.I32), b.shape(0, 3)...))
	}
	return list
}

// ifElse has a condition that is known or not.
func ifElse(b *builder) []string {
	results, captured := b.resultTypes(b.between(1, 2)), b.around()
	if len(captured) == 0 {
		return nil
	}
	yes, ok := b.body(captured, nil, results)
	no, ok2 := b.body(captured, nil, results)
	if !ok || !ok2 {
		return nil
	}
	condition := b.value(types.Bool)
	return b.node("If", []string{condition}, len(results), at("then_branch", yes), at("else_branch", no))
}

// loop has a number of rounds that is known or not, states, and results stacked up.
func loop(b *builder) []string {
	states, stacked := b.resultTypes(b.between(1, 2)), b.resultTypes(b.IntN(2))
	in := append([]types.Tensor{types.Of(types.I64), types.Of(types.Bool)}, states...)
	g, ok := b.body(b.around(), in, slices.Concat(states, stacked))
	if !ok {
		return nil
	}
	// The condition goes through unchanged, or ends the loop in a round that data decide.
	go_on, data := b.fresh("go"), b.IntN(3)
	limit := ""
	if data > 0 {
		limit = b.few()
	}
	if data == 2 {
		g.Nodes = append(g.Nodes, &export.Node{Op: "Less", In: []string{g.Inputs[0].Name, limit}, Out: []string{go_on}})
	} else {
		g.Nodes = append(g.Nodes, &export.Node{Op: "Identity", In: []string{g.Inputs[1].Name}, Out: []string{go_on}})
	}
	g.Outputs = slices.Insert(g.Outputs, 0, export.Value{Name: go_on, DType: types.Bool})
	operands := []string{b.number(types.I64, float64(b.between(0, 4))), ""}
	switch {
	case data == 1:
		operands[0] = limit
	case data == 2 && b.IntN(2) == 0:
		operands[0] = ""
	}
	if b.IntN(2) == 0 || operands[0] == "" {
		operands[1] = b.constant(tensor.Of([]int{}, []bool{b.coin(4)}))
	}
	for _, t := range states {
		operands = append(operands, b.value(t.DType, t.Shape...))
	}
	return b.node("Loop", operands, len(states)+len(stacked), at("body", g))
}

// few is a small number of the data.
func (b *builder) few() string {
	v := b.value(types.I64)
	return b.one("Where", []string{b.one("Less", []string{v, b.number(types.I64, 4)}), v, b.number(types.I64, float64(b.between(0, 4)))})
}

// scan goes through slices of its inputs, forwards or backwards.
func scan(b *builder) []string {
	states, slicesIn, slicesOut := b.resultTypes(b.between(0, 1)), b.resultTypes(b.between(1, 2)), b.resultTypes(1)
	g, ok := b.body(b.around(), slices.Concat(states, slicesIn), slices.Concat(states, slicesOut))
	if !ok {
		return nil
	}
	steps := b.between(1, 4)
	var operands []string
	for _, t := range states {
		operands = append(operands, b.value(t.DType, t.Shape...))
	}
	var axes, directions []int
	for _, t := range slicesIn {
		k := b.IntN(t.Rank() + 1)
		axes, directions = append(axes, k), append(directions, b.IntN(2))
		operands = append(operands, b.value(t.DType, slices.Insert(slices.Clone(t.Shape), k, steps)...))
	}
	return b.node("Scan", operands, len(states)+len(slicesOut), at("body", g), at("num_scan_inputs", len(slicesIn)), at("scan_input_axes", axes), at("scan_input_directions", directions))
}
