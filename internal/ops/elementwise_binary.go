package ops

import (
	"math"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// The functions of two operands of one element type, broadcast by numpy's rule.
var (
	Add = binary(binaryRow{
		name: "add", doc: "a + b; integers wrap.", kind: numbers, op: expr.OpAdd,
		float:   func(a, b float64) float64 { return a + b },
		integer: func(_ types.DType, a, b int64) int64 { return a + b },
	})
	Subtract = binary(binaryRow{
		name: "subtract", doc: "a - b; integers wrap.", kind: numbers, op: expr.OpSub,
		float:   func(a, b float64) float64 { return a - b },
		integer: func(_ types.DType, a, b int64) int64 { return a - b },
	})
	Multiply = binary(binaryRow{
		name: "multiply", doc: "a * b; integers wrap.", kind: numbers, op: expr.OpMul,
		float:   func(a, b float64) float64 { return a * b },
		integer: func(_ types.DType, a, b int64) int64 { return a * b },
	})
	Divide = binary(binaryRow{
		name: "divide", doc: "a / b; integers truncate, and x/0 is 0.", kind: numbers, op: expr.OpDiv,
		float: func(a, b float64) float64 { return a / b },
		integer: func(d types.DType, a, b int64) int64 {
			q, _ := divMod(d, a, b)
			return q
		},
	})
	FloorDivide = binary(binaryRow{
		name: "floor_divide", doc: "a / b rounded down; for integers x/0 is 0.", kind: numbers, op: expr.OpFloorDiv,
		floatBody: func(a, b expr.Expr) expr.Expr { return expr.Call(expr.FnFloor, expr.Div(a, b)) },
		float:     func(a, b float64) float64 { return math.Floor(a / b) },
		integer: func(d types.DType, a, b int64) int64 {
			q, m := divMod(d, a, b)
			if d.IsSigned() && m != 0 && (m < 0) != (b < 0) {
				q--
			}
			return q
		},
	})
	Mod = binary(binaryRow{
		name: "mod", doc: "the remainder of a / b with the sign of a, C's %; for integers x mod 0 is 0.",
		kind: numbers, op: expr.OpMod,
		float: math.Mod,
		integer: func(d types.DType, a, b int64) int64 {
			_, m := divMod(d, a, b)
			return m
		},
	})
	FloorMod = binary(binaryRow{
		name: "floor_mod", doc: "the remainder of a / b with the sign of b, Python's %; for integers x mod 0 is 0.",
		kind: numbers, op: expr.OpFloorMod,
		float: func(a, b float64) float64 {
			m := math.Mod(a, b)
			if m != 0 && (m < 0) != (b < 0) {
				m += b
			}
			return m
		},
		integer: func(d types.DType, a, b int64) int64 {
			_, m := divMod(d, a, b)
			if d.IsSigned() && m != 0 && (m < 0) != (b < 0) {
				m += b
			}
			return m
		},
	})
	Maximum = binary(binaryRow{
		name: "maximum", doc: "the greater of a and b; NaN if either is.", kind: numbers, op: expr.OpMax,
		float:   func(a, b float64) float64 { return max(a, b) },
		integer: func(d types.DType, a, b int64) int64 { return extreme(d, a, b, true) },
	})
	Minimum = binary(binaryRow{
		name: "minimum", doc: "the lesser of a and b; NaN if either is.", kind: numbers, op: expr.OpMin,
		float:   func(a, b float64) float64 { return min(a, b) },
		integer: func(d types.DType, a, b int64) int64 { return extreme(d, a, b, false) },
	})
	Atan2 = binary(binaryRow{
		name: "atan2", doc: "the angle of the point (b, a), in radians.", kind: floats, op: expr.OpAtan2, float: math.Atan2,
	})

	Equal = binary(binaryRow{
		name: "equal", doc: "whether a = b.", kind: anything, op: expr.OpEQ,
		float:   func(a, b float64) float64 { return oneIf(a == b) },
		integer: func(_ types.DType, a, b int64) int64 { return int64(oneIf(a == b)) },
	})
	NotEqual = binary(binaryRow{
		name: "not_equal", doc: "whether a and b differ; true for NaN.", kind: anything, op: expr.OpNE,
		float:   func(a, b float64) float64 { return oneIf(a != b) },
		integer: func(_ types.DType, a, b int64) int64 { return int64(oneIf(a != b)) },
	})
	Less = binary(binaryRow{
		name: "less", doc: "whether a < b.", kind: numbers, op: expr.OpLT,
		float:   func(a, b float64) float64 { return oneIf(a < b) },
		integer: func(d types.DType, a, b int64) int64 { return int64(oneIf(below(d, a, b))) },
	})
	LessEqual = binary(binaryRow{
		name: "less_equal", doc: "whether a <= b.", kind: numbers, op: expr.OpLE,
		float:   func(a, b float64) float64 { return oneIf(a <= b) },
		integer: func(d types.DType, a, b int64) int64 { return int64(oneIf(!below(d, b, a))) },
	})
	Greater = binary(binaryRow{
		name: "greater", doc: "whether a > b.", kind: numbers, op: expr.OpGT,
		float:   func(a, b float64) float64 { return oneIf(a > b) },
		integer: func(d types.DType, a, b int64) int64 { return int64(oneIf(below(d, b, a))) },
	})
	GreaterEqual = binary(binaryRow{
		name: "greater_equal", doc: "whether a >= b.", kind: numbers, op: expr.OpGE,
		float:   func(a, b float64) float64 { return oneIf(a >= b) },
		integer: func(d types.DType, a, b int64) int64 { return int64(oneIf(!below(d, a, b))) },
	})

	LogicalAnd = binary(binaryRow{
		name: "logical_and", doc: "whether both a and b hold.", kind: booleans, op: expr.OpAnd,
		integer: func(_ types.DType, a, b int64) int64 { return a & b },
	})
	LogicalOr = binary(binaryRow{
		name: "logical_or", doc: "whether a or b holds.", kind: booleans, op: expr.OpOr,
		integer: func(_ types.DType, a, b int64) int64 { return a | b },
	})
	LogicalXor = binary(binaryRow{
		name: "logical_xor", doc: "whether one of a and b holds.", kind: booleans, op: expr.OpXor,
		integer: func(_ types.DType, a, b int64) int64 { return a ^ b },
	})
	BitwiseAnd = binary(binaryRow{
		name: "bitwise_and", doc: "the bits set in a and b.", kind: bitFields, op: expr.OpAnd,
		integer: func(_ types.DType, a, b int64) int64 { return a & b },
	})
	BitwiseOr = binary(binaryRow{
		name: "bitwise_or", doc: "the bits set in a or b.", kind: bitFields, op: expr.OpOr,
		integer: func(_ types.DType, a, b int64) int64 { return a | b },
	})
	BitwiseXor = binary(binaryRow{
		name: "bitwise_xor", doc: "the bits set in one of a and b.", kind: bitFields, op: expr.OpXor,
		integer: func(_ types.DType, a, b int64) int64 { return a ^ b },
	})
	LeftShift = binary(binaryRow{
		name: "left_shift", doc: "a shifted left by b bits; 0 where b is negative or not below the width.",
		kind: integers, op: expr.OpShl,
		integer: func(d types.DType, a, b int64) int64 {
			if b < 0 || b >= int64(d.Bits()) {
				return 0
			}
			return a << b
		},
	})
	RightShift = binary(binaryRow{
		name: "right_shift", doc: "a shifted right by b bits, keeping the sign; 0 where b is negative or not below the width.",
		kind: integers, op: expr.OpShr,
		integer: func(d types.DType, a, b int64) int64 {
			switch {
			case b < 0 || b >= int64(d.Bits()):
				return 0
			case d == types.U64:
				return int64(uint64(a) >> b)
			}
			return a >> b
		},
	})
)

// A binaryRow is an operator of two operands. Integers are computed in int64 and wrap when stored; U64 comes as the
// int64 of the same bits. Comparisons return 1 or 0.
type binaryRow struct {
	name, doc   string
	kind        kind
	op          expr.Op
	floatBody   func(a, b expr.Expr) expr.Expr // where op is for integers only
	integerBody func(a, b expr.Expr) expr.Expr // where op is for floats only
	float       func(a, b float64) float64
	integer     func(d types.DType, a, b int64) int64
}

func binary(b binaryRow) *op.Def {
	names := []string{"a", "b"}
	return op.Define(op.Spec[op.None]{
		Name: b.name, Doc: b.name + " is " + b.doc,
		Args: names, Fusion: op.Broadcast, Layout: op.Same,
		Infer: func(_ op.None, in []op.Arg) ([]types.Tensor, error) {
			if err := sameDType(b.kind, names, in); err != nil {
				return nil, err
			}
			shape, err := broadcastShape(in[0].Shape, in[1].Shape)
			if err != nil {
				return nil, err
			}
			d := in[0].DType
			if b.op.Compares() {
				d = types.Bool
			}
			return []types.Tensor{types.Of(d, shape...)}, nil
		},
		Eval: func(_ op.None, in, out []*tensor.Tensor) error {
			x, y, z := in[0], in[1], out[0]
			eachBroadcast(z.Shape, x.Shape, y.Shape, func(i, stepX, j, stepY, k, n int) {
				for end := k + n; k < end; i, j, k = i+stepX, j+stepY, k+1 {
					if x.DType.IsFloat() {
						z.SetFloat(k, b.float(x.Float(i), y.Float(j)))
					} else {
						z.SetInt(k, b.integer(x.DType, x.Int(i), y.Int(j)))
					}
				}
			})
			return nil
		},
		Compute: func(_ op.None, in []*te.Stage, out []types.Tensor) []*te.Stage {
			return []*te.Stage{te.Compute(b.name, out[0], func(i []expr.Expr) expr.Expr {
				return b.body(broadcastLoad(in[0], out[0], i), broadcastLoad(in[1], out[0], i))
			})}
		},
		Sample: func(r *rand.Rand) (op.None, []types.Tensor) {
			d := draw{r}
			t, shape := d.of(b.kind), d.shape(0, 4)
			in := []types.Tensor{types.Of(t, shape...), types.Of(t, d.stretched(shape)...)}
			if d.coin(2) {
				in[0], in[1] = in[1], in[0]
			}
			return op.None{}, in
		},
	})
}

func (b binaryRow) body(x, y expr.Expr) expr.Expr {
	switch float := x.DType().IsFloat(); {
	case float && b.floatBody != nil:
		return b.floatBody(x, y)
	case !float && b.integerBody != nil:
		return b.integerBody(x, y)
	}
	return expr.Bin(b.op, x, y)
}

// divMod truncates; x/0 and x mod 0 are 0. U64 is unsigned.
func divMod(d types.DType, a, b int64) (q, m int64) {
	switch {
	case b == 0:
		return 0, 0
	case d == types.U64:
		return int64(uint64(a) / uint64(b)), int64(uint64(a) % uint64(b))
	}
	return a / b, a % b
}

// below is a < b for elements of integer type d.
func below(d types.DType, a, b int64) bool {
	if d == types.U64 {
		return uint64(a) < uint64(b)
	}
	return a < b
}

// extreme is the greater or the lesser of two elements of integer type d.
func extreme(d types.DType, a, b int64, greater bool) int64 {
	if below(d, a, b) == greater {
		return b
	}
	return a
}
