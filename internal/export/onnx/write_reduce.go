package onnx

import (
	"lathe/internal/compose"
	"lathe/internal/ops"
)

var reduceRows = []row{
	{ops.Sum, reduce("ReduceSum")}, {ops.Mean, reduce("ReduceMean")}, {ops.Prod, reduce("ReduceProd")}, {ops.Max, reduce("ReduceMax")},
	{ops.Min, reduce("ReduceMin")}, {ops.Any, reduceBool("ReduceMax")}, {ops.AllOf, reduceBool("ReduceMin")},
	{ops.ArgMax, arg("ArgMax")}, {ops.ArgMin, arg("ArgMin")}, {ops.CumSum, cumulative("CumSum")}, {ops.CumProd, cumulative("CumProd")},
}

// reduce has no operand for the axes where all are meant.
func reduce(op string) func(c *call) {
	return func(c *call) {
		a := c.n.Attrs.(ops.ReduceAttrs)
		in := []string{c.in(0)}
		if len(a.Axis) > 0 {
			in = append(in, c.intList(a.Axis...))
		}
		c.opOf(op, in, flag("keepdims", a.KeepDims, true))
	}
}

func reduceBool(op string) func(c *call) {
	return func(c *call) {
		c.need(20)
		reduce(op)(c)
	}
}

func arg(op string) func(c *call) {
	return func(c *call) {
		a := c.n.Attrs.(ops.ArgAttrs)
		c.op(op, Attr{"axis", a.Axis}, flag("keepdims", a.KeepDims, true), flag("select_last_index", a.SelectLastIndex, false))
	}
}

func cumulative(op string) func(c *call) {
	return func(c *call) {
		a := c.n.Attrs.(ops.CumulativeAttrs)
		axis := c.constant(compose.Ints(a.Axis).Const.Reshape())
		c.opOf(op, []string{c.in(0), axis}, flag("exclusive", a.Exclusive, false), flag("reverse", a.Reverse, false))
	}
}
