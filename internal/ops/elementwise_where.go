package ops

import (
	"fmt"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Where chooses between two operands, all three broadcast by numpy's rule.
var Where = op.Define(op.Spec[op.None]{
	Name: "where", Doc: "where is x where condition holds and y elsewhere.",
	Args: []string{"condition", "x", "y"}, Fusion: op.Broadcast, Layout: op.Same,
	Infer: func(_ op.None, in []op.Arg) ([]types.Tensor, error) {
		if err := booleans.check("condition", in[0].DType); err != nil {
			return nil, err
		}
		if in[1].DType != in[2].DType {
			return nil, fmt.Errorf("x is %s but y is %s; the types must be equal", in[1].DType, in[2].DType)
		}
		shape, err := broadcastShape(in[0].Shape, in[1].Shape, in[2].Shape)
		return []types.Tensor{types.Of(in[1].DType, shape...)}, err
	},
	Eval: func(_ op.None, in, out []*tensor.Tensor) error {
		eachIndex(out[0].Shape, func(at []int) {
			from := in[2]
			if in[0].Int(broadcastOffset(in[0].Shape, at)) != 0 {
				from = in[1]
			}
			setElement(out[0], offsetOf(out[0].Shape, at), from, broadcastOffset(from.Shape, at))
		})
		return nil
	},
	Compute: func(_ op.None, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("where", out[0], func(i []expr.Expr) expr.Expr {
			return expr.If(broadcastLoad(in[0], out[0], i), broadcastLoad(in[1], out[0], i), broadcastLoad(in[2], out[0], i))
		})}
	},
	Sample: func(r *rand.Rand) (op.None, []types.Tensor) {
		d := draw{r}
		t, shape := d.of(anything), d.shape(0, 4)
		in := []types.Tensor{types.Of(types.Bool, shape...), types.Of(t, d.stretched(shape)...), types.Of(t, d.stretched(shape)...)}
		if d.coin(2) {
			in[0].Shape, in[1].Shape = in[1].Shape, in[0].Shape
		}
		return op.None{}, in
	},
})
