package pass

import (
	"fmt"

	"lathe/internal/byoc"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
)

// partitionGraph gives every region the symbol of what is generated for it, and opens those that do not pay.
func partitionGraph(c *Context) error {
	if c.nested || len(c.Codegens) == 0 {
		return nil
	}
	count := map[string]int{}
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		a, ok := n.Attrs.(graph.ExternalAttrs)
		if !ok {
			return
		}
		gen := c.codegen(a.Compiler)
		if gen.Codegen == nil {
			r.Fail(fmt.Errorf("a region of the external code generator %s, which the target does not have", a.Compiler))
			return
		}
		a.Symbol = fmt.Sprintf("tvmgen_%s_%s_main_%d", c.module(), symbolPart(a.Compiler), count[a.Compiler])
		body := n.Sub[0]
		body.Name = a.Symbol
		nameEnds(body, fmt.Sprintf("%s_%d_", a.Compiler, count[a.Compiler]))
		if gen.Pays != nil {
			if err := gen.Pays(c.region(n, a), gen.Given); err != nil {
				c.open(r, n, gen.Name, err)
				return
			}
		}
		count[a.Compiler]++
		r.Change(n, n.Op, a, n.In...)
	})
}

func (c *Context) module() string {
	if c.Module == "" {
		return "default"
	}
	return c.Module
}

// codegen is the generator of a name.
func (c *Context) codegen(name string) byoc.Chosen {
	for _, gen := range c.Codegens {
		if gen.Name == name {
			return gen
		}
	}
	return byoc.Chosen{}
}

// region is a region as its generator gets it.
func (c *Context) region(n *graph.Node, a graph.ExternalAttrs) byoc.Region {
	return byoc.Region{Symbol: a.Symbol, Graph: n.Sub[0].Clone(), Target: c.Target, Calibration: c.Calibration, Form: c.Form}
}

// symbolPart is a name as it can stand in a symbol.
func symbolPart(name string) string {
	b := []byte(name)
	for i, c := range b {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			b[i] = '_'
		}
	}
	return string(b)
}

// nameEnds gives the inputs of a region, and the outputs that have none, names of their own.
func nameEnds(body *graph.Graph, begin string) {
	for i, v := range body.Inputs {
		v.Name = fmt.Sprintf("%si%d", begin, i)
	}
	for i, v := range body.Outputs {
		if v.Name == "" {
			v.Name = fmt.Sprintf("%so%d", begin, i)
		}
	}
}

// open puts the nodes of a region in its place, for the reason that its generator gives.
func (c *Context) open(r *rewrite.Rewriter, n *graph.Node, generator string, why error) {
	for _, m := range n.Sub[0].Nodes {
		c.refuse(m, generator, "", why)
	}
	for i, v := range r.Inline(n.Sub[0], n.In) {
		r.Replace(n.Out[i], v)
	}
}
