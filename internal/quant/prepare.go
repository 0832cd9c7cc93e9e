// Package quant makes integer networks of float networks: a graph with pairs of qnn.quantize and qnn.dequantize, the one form in
// which quantised networks are kept, exported and compiled. Static quantisation takes TVM's steps:
//
//	prepare → annotate → calibrate → correct → realize
//
// and tries what it chooses on a simulation of the quantised network, compiled once. The package compiles and runs nothing by
// itself: a Builder does.
package quant

import (
	"context"
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/ops"
	"lathe/internal/pass"
	"lathe/internal/pipeline"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// prerequisites are the passes after which products, their scales and their biases stand as they are quantised, in the order of pass.Table.
var prerequisites = []string{"ConvertLayout", "FoldExplicitPadding", "SimplifyInference", "FoldConstant", "FoldScaleAxis", "SimplifyExpr"}

// prepare runs the prerequisites on g and gives convolutions the constants that are added behind them as their bias.
func prepare(ctx context.Context, g *graph.Graph, t *target.Target, workers int) error {
	for _, n := range g.Nodes {
		if n.Op == ops.Quantize || n.Op == ops.Dequantize && n.In[0].Value() == nil {
			return fmt.Errorf("node %q (%s): the network is quantised already (compile it as it is)", n.Origin, n.Op.Name)
		}
	}
	if err := simplify(ctx, g, t, workers, prerequisites...); err != nil {
		return err
	}
	if err := rewrite.Walk(g, biasOperand); err != nil {
		return err
	}
	nameValues(g)
	return nil
}

// simplify runs the passes of the given names on g.
func simplify(ctx context.Context, g *graph.Graph, t *target.Target, workers int, passes ...string) error {
	table := slices.DeleteFunc(slices.Clone(pass.Table), func(p pipeline.Pass[*pass.Context]) bool { return !slices.Contains(passes, p.Name) })
	c := &pass.Context{Graph: g, Target: t, Level: 3, Workers: workers, ConstantWeights: true, Ctx: ctx}
	return pipeline.Run(table, c, pipeline.Options[*pass.Context]{Level: 3, Context: ctx, Verify: pass.Verify})
}

// biasOperand makes a constant per channel that is added to a convolution its bias.
func biasOperand(r *rewrite.Rewriter, n *graph.Node) {
	if n.Op != ops.Add {
		return
	}
	for i, c := range n.In {
		data := n.In[1-i]
		if !c.IsConst() || data.Def == nil || !isConv(data.Def) || r.Reader(data) != n || !n.Out[0].Type.Equal(data.Type) {
			continue
		}
		conv := data.Def
		bias := perChannel(c.Const, data.Type.Shape, 1)
		if bias == nil || len(conv.In) == 3 && !conv.In[2].IsConst() || data.Type.DType != types.F32 {
			continue
		}
		name := c.Name
		if len(conv.In) == 3 {
			sum := tensor.New(types.F32, bias.Shape...)
			for k := range sum.Len() {
				sum.SetFloat(k, bias.Float(k)+conv.In[2].Const.Float(k))
			}
			bias, name = sum, conv.In[2].Name
		}
		r.Change(conv, conv.Op, conv.Attrs, conv.In[0], conv.In[1], graph.NewConst(name, bias))
		r.Merge(n, conv)
		return
	}
}

func isConv(n *graph.Node) bool { return slices.Contains(ops.Conv[1:], n.Op) }

// perChannel is a constant that broadcasts to a shape as one number for each index of an axis, or nil where it is none.
func perChannel(c *tensor.Tensor, shape []int, axis int) *tensor.Tensor {
	at := axis - (len(shape) - len(c.Shape))
	if c.DType != types.F32 || at >= len(c.Shape) || c.Len() != 1 && (at < 0 || c.Len() != shape[axis] || c.Shape[at] != shape[axis]) || len(c.Shape) > len(shape) {
		return nil
	}
	if c.Len() == shape[axis] {
		return c.Reshape(shape[axis])
	}
	all := tensor.New(types.F32, shape[axis])
	for i := range shape[axis] {
		all.SetFloat(i, c.Float(0))
	}
	return all
}

// nameValues names results that have none by the nodes of the model that they come from: the report and the options speak of them.
func nameValues(g *graph.Graph) {
	taken := map[string]bool{}
	for _, v := range g.Inputs {
		taken[v.Name] = true
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			taken[v.Name] = true
		}
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			if v.Name != "" {
				continue
			}
			base := n.Op.Name
			if len(n.Origin) > 0 {
				base = n.Origin[len(n.Origin)-1]
			}
			name := base
			for k := 1; taken[name]; k++ {
				name = fmt.Sprintf("%s_%d", base, k)
			}
			v.Name, taken[name] = name, true
		}
	}
}
