package pass

import (
	"errors"
	"slices"

	"lathe/internal/byoc"
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
)

// annotateTarget makes a region of every node that an external code generator takes: of the first one that does.
//
//	nn.softmax(x)   →   external(x) {compiler="dnnl"}
func annotateTarget(c *Context) error {
	if c.nested || len(c.Codegens) == 0 {
		return nil
	}
	if err := c.leaveCutKernels(); err != nil {
		return err
	}
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		for _, gen := range c.Codegens {
			if err := c.takes(gen, n); err != nil {
				c.refuse(n, gen.Name, "", err)
				continue
			}
			delete(c.Refused, n)
			r.Enclose(graph.External, graph.ExternalAttrs{Compiler: gen.Name}, n)
			return
		}
	})
}

var (
	errControlFlow = errors.New("loops, branches and what they run are not taken")
	errOpenExtent  = errors.New("an extent depends on data")
	errOthers      = errors.New("it is part of a composite of another generator")
	errUnclaimed   = errors.New("the generator does not take it")
	errCut         = errors.New("a kernel of the compiler's own computes it together with nodes that are not taken")
	errNoElements  = errors.New("a tensor has no elements")
)

// takes says why a generator does not take n.
func (c *Context) takes(gen byoc.Chosen, n *graph.Node) error {
	if slices.Contains(c.cut[n], gen.Name) {
		return errCut
	}
	switch of := compositeOf(n); {
	case of == gen.Name:
		return nil
	case of != "":
		return errOthers
	case n.IsRegion():
		return errControlFlow
	case len(compose.DynamicResults(n)) > 0:
		return errOpenExtent
	}
	for _, list := range [][]*graph.Value{n.In, n.Out} {
		for _, v := range list {
			if v.Type.Elements() == 0 {
				return errNoElements
			}
		}
	}
	if gen.Claim == nil {
		return gen.Supports(n, gen.Given)
	}
	if slices.Contains(c.claimed[n], gen.Name) {
		return nil
	}
	for _, r := range c.Refused[n] {
		if r.Generator == gen.Name {
			return errors.New(r.Reason)
		}
	}
	return errUnclaimed
}
