package pass

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// prerequisiteOptimize brings a network into the form in which patterns of external code generators are written, where there are any:
// batch normalisation is part of the convolutions before it, and what depends on constants only is one. Dequantize nodes stay, for
// they say what is quantised.
func prerequisiteOptimize(c *Context) error {
	if len(c.Codegens) == 0 {
		return nil
	}
	spared := func(c *Context) error {
		return foldConstantBut(c, func(n *graph.Node) bool { return n.Op == ops.Dequantize })
	}
	for _, run := range []func(*Context) error{simplifyInference, spared, foldScaleAxis, spared, simplifyExpr} {
		if err := run(c); err != nil {
			return err
		}
	}
	return nil
}
