package onnxtest

// Decoder is one step of a language model with a cache, as exporters write it: all sizes are open by name, and those of the
// mask and of the new cache are expressions.
func Decoder() *Graph {
	cache := []any{"batch", 2, "past_sequence_length", 8}
	grown := []any{"batch", 2, "past_sequence_length + sequence_length", 8}
	g := &Graph{Name: "decoder",
		Inputs: []Value{
			V("input_ids", Int64, "batch", "sequence_length"), V("attention_mask", Int64, "batch", "past_sequence_length + sequence_length"),
			V("past.0.key", Float, cache...), V("past.0.value", Float, cache...),
		},
		Outputs: []Value{
			V("logits", Float, "batch", "sequence_length", 32), V("present.0.key", Float, grown...), V("present.0.value", Float, grown...),
		},
		Weights: []Weight{
			Random("embedding", 32, 16), Random("q.weight", 16, 16), Random("k.weight", 16, 16), Random("v.weight", 16, 16), Random("o.weight", 16, 32),
			Ints("heads", 0, 0, 2, 8), Ints("joined", 0, 0, 16), Ints("axes", 1, 2),
			{Name: "one", Floats: []float32{1}}, {Name: "scale", Floats: []float32{0.35355338}}, {Name: "far", Floats: []float32{1e4}},
		},
	}
	g.Nodes = []Node{N("Gather embedding input_ids -> x")}
	for _, p := range []string{"q", "k", "v"} {
		g.Nodes = append(g.Nodes, N("MatMul x "+p+".weight -> "+p+"1"), N("Reshape "+p+"1 heads -> "+p+"2"),
			N("Transpose "+p+"2 -> "+p+"3", "perm", []int{0, 2, 1, 3}))
	}
	g.Nodes = append(g.Nodes,
		N("Concat past.0.key k3 -> present.0.key", "axis", 2), N("Concat past.0.value v3 -> present.0.value", "axis", 2),
		N("Transpose present.0.key -> keys", "perm", []int{0, 1, 3, 2}), N("MatMul q3 keys -> scores1"), N("Mul scores1 scale -> scores2"),
		N("Cast attention_mask -> mask1", "to", Float), N("Sub mask1 one -> mask2"), N("Mul mask2 far -> mask3"), N("Unsqueeze mask3 axes -> mask4"),
		N("Add scores2 mask4 -> scores3"), N("Softmax scores3 -> weights", "axis", -1), N("MatMul weights present.0.value -> mixed1"),
		N("Transpose mixed1 -> mixed2", "perm", []int{0, 2, 1, 3}), N("Reshape mixed2 joined -> mixed3"), N("MatMul mixed3 o.weight -> logits"))
	return g
}

// Detector finds something in sound: a network that is made for windows of some length, with a rate that chooses a branch.
// Nothing in the file says which lengths make sense; with a length of 1 its first convolution does not fit.
func Detector() *Graph {
	branch := func(name string, stride int) *Graph {
		return &Graph{Name: name, Outputs: []Value{V(name, Float, nil, 4, nil)},
			Nodes: []Node{N("Conv wave filters -> "+name, "strides", []int{stride})}}
	}
	return &Graph{Name: "detector",
		Inputs:  []Value{V("input", Float, nil, nil), V("sr", Int64)},
		Outputs: []Value{V("output", Float, nil, 4)},
		Weights: []Weight{Random("filters", 4, 1, 64), Ints("axis", 1), {Name: "rate", Ints: []int64{16000}}},
		Nodes: []Node{
			N("Unsqueeze input axis -> wave"), N("Equal sr rate -> fast"),
			N("If fast -> features", "then_branch", branch("wide", 32), "else_branch", branch("narrow", 16)),
			N("Relu features -> positive"), N("ReduceMean positive -> output", "axes", []int{2}, "keepdims", 0),
		},
	}
}
