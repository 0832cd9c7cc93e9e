package frontend

import (
	"context"

	"lathe/internal/tensor"
)

// Options say what a model leaves open.
type Options struct {
	// Shapes gives inputs the shape to compile for, in place of what the model says.
	Shapes map[string][]int
	// Sizes gives names in the declared shapes, or expressions over names, a size.
	Sizes map[string]int
	// Values fixes inputs to a value: they become constants. Parameters of operators, such as axes and shapes, that a
	// model takes as inputs have to be fixed. A number of rank 0 fills the input's shape.
	Values map[string]*tensor.Tensor
	// LoopBound is how many slices the stacked results of a loop have at most whose end depends on data; 0: as the model says, or 1024.
	LoopBound int
	// Context ends an import; nil: nothing does.
	Context context.Context
	// Notes is called with one line for the user each; nil drops them.
	Notes func(string)
	// Control is told what becomes of each node with bodies, those in bodies included; nil drops it.
	Control func(node, operator, becomes string)
}
