package mxnet

import (
	"slices"

	"lathe/internal/frontend"
	"lathe/internal/graph"
)

type values = []*graph.Value

// A call is one node being converted.
type call struct{ *frontend.Call }

type row struct {
	op      string
	convert func(c *call) *graph.Value // the node's first result
}

// losses are operators whose operands behind the first are labels; without training they are functions of the first.
var losses = map[string]bool{"SoftmaxOutput": true, "Softmax": true, "LinearRegressionOutput": true, "LogisticRegressionOutput": true, "MAERegressionOutput": true, "SVMOutput": true}

// weighted are operators whose operands behind the first are weights.
var weighted = map[string]bool{"Convolution": true, "Convolution_v1": true, "Deconvolution": true, "FullyConnected": true, "BatchNorm": true, "BatchNorm_v1": true,
	"LeakyReLU": true, "InstanceNorm": true, "LayerNorm": true, "Embedding": true}

// weight is operand i; where the symbol has no weights, one is made up, of a shape.
func (c *call) weight(i int, shape ...int) *graph.Value {
	if i < len(c.Node.In) && !c.Present(i) {
		return c.MadeUp(c.Node.In[i], shape...)
	}
	return c.X(i)
}

// table lists every operator that is converted.
var table = newTable(slices.Concat(nnRows, elementwiseRows(), moveRows, indexRows, orderRows, makeRows, attentionRows, sequenceRows, detectionRows, regionRows), listRows)

// A listRow is a row of an operator with several results.
type listRow struct {
	op      string
	convert func(c *call) values
}

func newTable(rows []row, lists []listRow) *frontend.Table {
	var list []frontend.Row
	for _, r := range rows {
		list = append(list, frontend.Row{Op: r.op, Convert: func(c *frontend.Call) []*graph.Value { return values{r.convert(&call{c})} }})
	}
	for _, r := range lists {
		list = append(list, frontend.Row{Op: r.op, Convert: func(c *frontend.Call) []*graph.Value { return r.convert(&call{c}) }})
	}
	return frontend.NewTable(list, nil, "")
}

// Rows lists the supported operators by name.
func Rows() []frontend.Supported { return table.Rows() }
