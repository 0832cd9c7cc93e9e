package torch

import (
	"lathe/internal/graph"
	"lathe/internal/types"
)

// A cell is the weights of a recurrent layer in one direction, as floats: those of the input and of the state, then their biases.
type cell [4]*graph.Value

// packCell reads (kind, [biases], [], [], [packed weights]) of a layer that PyTorch quantises while it runs: weights of 8 bits or float16.
func (l *loader) packCell(class string, parts []value) value {
	biases, ok1 := items(parts[1])
	weights, ok2 := items(parts[4])
	if !ok1 || !ok2 || len(weights) != 2 || len(biases) < 2 {
		fail("the state of %s (%s) is of a form that is not supported", class, kind(parts[0]))
	}
	c := &cell{}
	for i, v := range weights {
		p, ok := v.(*packed)
		if !ok {
			fail("the state of %s holds %s instead of packed parameters", class, kind(v))
		}
		if c[i] = l.Cast(l.get(p.weight), types.F32); p.weight.quant != nil {
			c[i] = l.realOf(p.weight.v, p.weight.quant)
		}
		c[2+i] = l.bias(biases[i])
	}
	return c
}

// quantizedCells are recurrent layers of packed cells.
func (c *call) quantizedCells(kind string) any {
	cells, _ := items(c.args["params"])
	var all []value
	for _, v := range cells {
		p, ok := v.(*cell)
		if !ok {
			fail("the parameters are none of recurrent layers")
		}
		for _, w := range p {
			if w == nil {
				fail("a layer without biases is not supported")
			}
			all = append(all, c.fresh(w))
		}
	}
	c.args["params"], c.args["has_biases"] = c.newList(all), true
	return c.recurrent(kind)
}
