package lathe

import (
	"maps"

	"lathe/internal/bundle"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/quant"
)

// graphMeanings are what g says of integer inputs and outputs by itself: the scale and the zero point of a tensor by which all who read it
// dequantize it, or by which it was quantised.
func graphMeanings(g *graph.Graph) (inputs, outputs map[string]bundle.Meaning) {
	inputs, outputs = map[string]bundle.Meaning{}, map[string]bundle.Meaning{}
	users := g.Users()
	for _, v := range g.Inputs {
		for i, n := range users[v] {
			m, ok := scaleOf(n, ops.Dequantize)
			if ok = ok && n.In[0] == v; ok && i == 0 {
				inputs[v.Name] = m
			}
			if had := inputs[v.Name]; !ok || had.Scale != m.Scale || had.Zero != m.Zero {
				delete(inputs, v.Name)
				break
			}
		}
	}
	for _, v := range g.Outputs {
		if v.Def == nil {
			continue
		}
		if m, ok := scaleOf(v.Def, ops.Quantize); ok {
			outputs[v.Name] = m
		}
	}
	return inputs, outputs
}

// scaleOf is the one scale, and the zero point, of a node that has an operator.
func scaleOf(n *graph.Node, d *op.Def) (m bundle.Meaning, ok bool) {
	if n.Op != d || n.In[1].Const == nil || n.In[1].Const.Len() != 1 {
		return m, false
	}
	m.Scale = n.In[1].Const.Float(0)
	if len(n.In) > 2 {
		if n.In[2].Const == nil || n.In[2].Const.Len() != 1 {
			return m, false
		}
		m.Zero = int(n.In[2].Const.Float(0))
	}
	return m, m.Scale > 0
}

// withScales are meanings, and beside them the scales of quantised tensors.
func withScales(said map[string]bundle.Meaning, list []quant.PointReport) map[string]bundle.Meaning {
	all := maps.Clone(said)
	if all == nil {
		all = map[string]bundle.Meaning{}
	}
	for _, p := range list {
		m := all[p.Name]
		m.Scale, m.Zero = p.Scale, p.Zero
		all[p.Name] = m
	}
	return all
}
