package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
)

// A row says what an operator becomes from an opset version on: see frontend.Row.
type row struct {
	op, domain string
	since      int
	convert    func(c *call) values
}

// values are what a row returns: the node's outputs, in order.
type values = []*graph.Value

// A call is one node being converted.
type call struct{ *frontend.Call }

// table is every operator that Import converts; each family stands with its functions.
var table = newTable(slices.Concat(dynamicRows, elementwiseRows, reduceRows, moveRows, imageRows, indexRows, nnRows, normRows, quantRows,
	controlRows, sequenceRows, recurrentRows, constantRows, attentionRows, lossRows, signalRows, einsumRows, qlinearRows, microsoftRows))

func newTable(rows []row) *frontend.Table {
	list := make([]frontend.Row, len(rows))
	for i, r := range rows {
		list[i] = frontend.Row{Op: r.op, Domain: r.domain, Since: r.since, Convert: func(c *frontend.Call) []*graph.Value { return r.convert(&call{c}) }}
	}
	return frontend.NewTable(list, takesDynamic, "If")
}

// Rows lists the supported operators by domain and name.
func Rows() []frontend.Supported { return table.Rows() }

// one makes a row of a function with one result.
func one(f func(c *call) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c)} }
}

// raw returns the attribute as the file has it, or nil, and counts as asking for it.
func (c *call) raw(name string) *Attr {
	c.Ignore(name)
	return c.Node.Attrs.(attributes).node.Attr(name)
}

// rawValue is the value of an attribute, of a kind that only ONNX has, which the node has.
func rawValue[T any](c *call, name string, get func(*Attr) (T, error)) T {
	v, err := get(c.raw(name))
	if err != nil {
		compose.Fail("%w", err)
	}
	return v
}
