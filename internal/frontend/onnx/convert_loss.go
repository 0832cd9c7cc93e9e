package onnx

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var lossRows = []row{
	{"NegativeLogLikelihoodLoss", "", 12, one(negativeLogLikelihoodLoss)}, {"SoftmaxCrossEntropyLoss", "", 12, softmaxCrossEntropyLoss},
}

func negativeLogLikelihoodLoss(c *call) *graph.Value { return c.likelihoodLoss(c.X(0)) }

func softmaxCrossEntropyLoss(c *call) values {
	c.WantRank(0, 2)
	p := c.Apply(ops.LogSoftmax, ops.SoftmaxAttrs{Axis: 1}, c.X(0))
	return values{c.likelihoodLoss(p), p}
}

// likelihoodLoss is -p at each target class, times the weight of that class, 0 where the target is to be ignored. The
// mean divides by the sum of the weights.
func (c *call) likelihoodLoss(p *graph.Value) *graph.Value {
	target := c.index(1, true)
	if p.Type.Rank() < 2 || target.Type.Rank() != p.Type.Rank()-1 {
		compose.Fail("scores %s and targets %s", p.Type, target.Type)
	}
	var counts *graph.Value // bool: the target is not ignored
	if c.Has("ignore_index") {
		ignored := compose.Like(target, float64(c.Int("ignore_index", 0)))
		counts = c.Do(ops.NotEqual, target, ignored)
		target = c.Do(ops.Where, counts, target, compose.Like(target, 0))
	}
	loss := c.Do(ops.Negative, c.Squeeze(c.Apply(ops.Gather, ops.GatherAttrs{Axis: 1}, p, c.ExpandDims(target, 1)), 1))
	weight := c.Full(p.Type.DType, 1, target.Type.Shape...)
	if c.Present(2) {
		weight = c.Apply(ops.Take, ops.TakeAttrs{}, c.X(2), target)
		loss = c.Do(ops.Multiply, loss, weight)
	}
	if counts != nil {
		loss = c.Do(ops.Where, counts, loss, compose.Like(loss, 0))
		weight = c.Do(ops.Where, counts, weight, compose.Like(weight, 0))
	}
	switch c.OneOf("reduction", "mean", "mean", "sum", "none") {
	case "none":
		return loss
	case "sum":
		return c.Reduce(ops.Sum, loss, false)
	}
	return c.Do(ops.Divide, c.Reduce(ops.Sum, loss, false), c.Reduce(ops.Sum, weight, false))
}
