package compile

import (
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/target"
)

// divide chooses how each kernel is divided among workers, in the order they run: a worker finds most of what it reads in
// its own cache when it wrote that itself.
func (c *compiler) divide() error {
	if c.Target.Arch == target.CSource {
		return nil // one worker runs it
	}
	homes := map[*graph.Value]int{}
	for _, k := range c.kernels {
		operands := make([]impl.Operand, len(k.in))
		for i, v := range k.in {
			home, ok := homes[v]
			if !ok {
				home = impl.Scattered
			}
			operands[i] = impl.Operand{Bytes: v.Type.Bytes(), Constant: v.IsConst(), Home: home}
		}
		home := impl.Scattered
		err := c.ctx.Err()
		if err == nil {
			err = k.failed(c.working(nil, "divide", func() error {
				home = k.plan.Divide(c.Target, operands)
				return nil
			}))
		}
		if err != nil {
			return err
		}
		for _, v := range k.outs {
			homes[v] = home
		}
	}
	return nil
}
