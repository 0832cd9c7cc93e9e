package pass

import (
	"lathe/internal/graph"
	"lathe/internal/op"
)

// A builder applies operators, keeping the first error.
type builder struct {
	nodes  []*graph.Node
	origin []string
	err    error
}

func (b *builder) apply(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	n := &graph.Node{Op: d, Attrs: attrs, In: in, Origin: b.origin}
	if b.err == nil {
		b.err = n.Infer()
	}
	if b.err != nil {
		return in[0]
	}
	b.nodes = append(b.nodes, n)
	return n.Out[0]
}
