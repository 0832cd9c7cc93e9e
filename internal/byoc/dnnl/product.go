package dnnl

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
	"lathe/runtime/dnnl"
)

// A productStep is a convolution or product with what its primitive computes on the sums.
type productStep struct {
	dnnl.Step
	operands []*graph.Value // data and weights
	bias     *graph.Value   // one number a channel, in whatever shape; nil: none
	sum      *graph.Value   // of the result's shape, added; nil: none
	result   *graph.Value
}

// productOf reads the nodes of a composite, of which the first is the product and each other computes on what the one before gives.
func productOf(nodes []*graph.Node) (*productStep, error) {
	anchor := nodes[0]
	for _, n := range nodes {
		if err := float32s(n); err != nil {
			return nil, err
		}
	}
	row, ok := rows[anchor.Op.Name]
	if !ok {
		return nil, fmt.Errorf("it begins with %s", anchor.Op.Name)
	}
	s, err := row(anchor)
	if err != nil {
		return nil, err
	}
	p := &productStep{Step: s, operands: anchor.In[:2], result: anchor.Out[0]}
	if len(anchor.In) > 2 {
		p.bias = anchor.In[2]
	}
	for _, n := range nodes[1:] {
		if err := p.then(n); err != nil {
			return nil, err
		}
		p.result = n.Out[0]
	}
	p.Bias = p.bias != nil
	return p, nil
}

// then adds what n computes on the result so far.
func (p *productStep) then(n *graph.Node) error {
	if n.Op != ops.Add {
		f, err := rows[n.Op.Name](n)
		if err != nil {
			return err
		}
		p.Post = append(p.Post, dnnl.Post{Function: f.Function, Alpha: f.Alpha, Beta: f.Beta})
		return nil
	}
	i := slices.Index(n.In, p.result)
	other := n.In[1-i]
	switch {
	case other == p.result:
		return errors.New("a sum with itself")
	case !n.Out[0].Type.Equal(p.result.Type):
		return errors.New("a sum that broadcasts")
	case p.bias == nil && p.sum == nil && other.IsConst() && p.isBias(other.Type):
		p.bias = other
		return nil
	case p.sum != nil || !slices.Equal(other.Type.Shape, p.result.Type.Shape):
		return fmt.Errorf("%s is added to %s", other.Type, p.result.Type)
	}
	p.sum = other
	p.Post = append(p.Post, dnnl.Post{Function: "sum"})
	return nil
}

// isBias reports whether a tensor is one number a channel: of the second axis of a convolution, of the last one of a product.
func (p *productStep) isBias(t types.Tensor) bool {
	rank := p.result.Type.Rank()
	axis := rank - 1
	if p.Kind == "convolution" {
		axis = 1
	}
	at := axis - (rank - t.Rank()) // among t's own axes
	return at >= 0 && at < t.Rank() && t.Elements() == t.Shape[at] && t.Shape[at] == p.result.Type.Shape[axis]
}
