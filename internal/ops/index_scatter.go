package ops

import (
	"fmt"
	"math"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// checkReduction tests the attribute that says what a scatter does with the element that an update meets: "none" replaces
// it, and of several updates of one element the last in row-major order stays; the others combine in that order.
func checkReduction(reduction string, t types.DType) error {
	switch reduction {
	case "none":
		return nil
	case "add", "mul", "max", "min":
		return numbers.check("data", t)
	}
	return fmt.Errorf("unknown reduction %q (the reductions are none, add, mul, max and min)", reduction)
}

// update combines element i of out with element j of updates. NaN wins over any other value.
func update(reduction string, out *tensor.Tensor, i int, updates *tensor.Tensor, j int) {
	switch {
	case reduction == "none":
		setElement(out, i, updates, j)
	case out.DType.IsFloat():
		x, y := out.Float(i), updates.Float(j)
		out.SetFloat(i, map[string]float64{"add": x + y, "mul": x * y, "max": math.Max(x, y), "min": math.Min(x, y)}[reduction])
	default:
		x, y := out.Int(i), updates.Int(j)
		less := x < y
		if out.DType == types.U64 {
			less = uint64(x) < uint64(y)
		}
		switch {
		case reduction == "add":
			x += y
		case reduction == "mul":
			x *= y
		case less == (reduction == "max"):
			x = y
		}
		out.SetInt(i, x)
	}
}

// writeIndex is what an index operand means on an axis of n elements that is written: negative values count from the end;
// an update that is still outside is dropped.
func writeIndex(i int64, n int) (int, bool) {
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}
