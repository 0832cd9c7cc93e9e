package model

import (
	"math"
	"slices"

	"lathe/internal/export/onnx"
	"lathe/internal/tensor"
)

// initialiser is a constant by its name, nil where the value is none.
func (b *Builder) initialiser(name string) *tensor.Tensor {
	i := slices.IndexFunc(b.graph.Initializers, func(c onnx.Initializer) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return b.graph.Initializers[i].Tensor
}

// readers are the nodes that read each value; a graph's output has a nil among them.
func (b *Builder) readers() map[string][]*onnx.Node {
	m := map[string][]*onnx.Node{}
	for _, n := range b.graph.Nodes {
		for _, v := range n.In {
			m[v] = append(m[v], n)
		}
	}
	for _, v := range b.graph.Outputs {
		m[v.Name] = append(m[v.Name], nil)
	}
	return m
}

// Fold multiplies normalisations into the convolutions before them, as quantisers have it done first.
func (b *Builder) Fold() {
	readers := b.readers()
	gone := map[*onnx.Node]bool{}
	for _, n := range b.graph.Nodes {
		if n.Op != "Conv" || len(readers[n.Out[0]]) != 1 {
			continue
		}
		if norm := readers[n.Out[0]][0]; norm != nil && norm.Op == "BatchNormalization" {
			b.foldNorm(n, norm)
			gone[norm] = true
		}
	}
	b.graph.Nodes = slices.DeleteFunc(b.graph.Nodes, func(n *onnx.Node) bool { return gone[n] })
	b.sweep()
}

func (b *Builder) foldNorm(conv, norm *onnx.Node) {
	weights := b.initialiser(conv.In[1])
	var of [4][]float32 // scale, bias, mean and variance
	for i := range of {
		of[i] = tensor.As[float32](b.initialiser(norm.In[1+i]))
	}
	bias := make([]float32, weights.Shape[0])
	if len(conv.In) == 3 {
		copy(bias, tensor.As[float32](b.initialiser(conv.In[2])))
	}
	w := slices.Clone(tensor.As[float32](weights))
	size := len(w) / len(bias)
	for c := range bias {
		by := of[0][c] / float32(math.Sqrt(float64(of[3][c])+1e-5))
		for i := range size {
			w[c*size+i] *= by
		}
		bias[c] = (bias[c]-of[2][c])*by + of[1][c]
	}
	conv.In = []string{conv.In[0], string(b.Constant(tensor.Of(weights.Shape, w))), string(b.Constant(tensor.Of([]int{len(bias)}, bias)))}
	conv.Out = norm.Out
}

// sweep drops constants that nothing reads any more.
func (b *Builder) sweep() {
	readers := b.readers()
	b.graph.Initializers = slices.DeleteFunc(b.graph.Initializers, func(c onnx.Initializer) bool { return len(readers[c.Name]) == 0 })
}
