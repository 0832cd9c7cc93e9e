package plan

import (
	"lathe/internal/graph"
	"lathe/internal/impl"
)

// Divide chooses how each step is divided among workers, in the order they run: a worker finds most of what it reads in its
// own cache when it wrote that itself. divide is given what is known of a step's operands, and returns the period by which
// the workers write its results. What aliases made of a step is not divided; a result that is its operand is where that is.
func Divide(steps []Step, a *Aliases, divide func(i int, operands []impl.Operand) (home int, err error)) error {
	homes := map[*graph.Value]int{}
	for i, s := range steps {
		operands := make([]impl.Operand, len(s.In))
		for j, v := range s.In {
			home, ok := homes[v]
			if !ok {
				home = impl.Scattered
			}
			operands[j] = impl.Operand{Bytes: v.Type.Bytes(), Constant: v.IsConst(), Home: home}
		}
		home := impl.Scattered
		switch {
		case !a.Nothing[i]:
			var err error
			if home, err = divide(i, operands); err != nil {
				return err
			}
		case len(operands) == 1:
			home = operands[0].Home
		}
		for _, v := range s.Out {
			homes[v] = home
		}
	}
	return nil
}
