package extern

import (
	"lathe/internal/types"
)

// moved is the type elements that are only moved are handled in: bits, so that nothing is converted.
func moved(t types.DType) types.DType {
	switch t {
	case types.Bool:
		return types.U8
	case types.F16, types.BF16:
		return types.U16
	}
	return t
}

// around splits a shape at an axis: the elements before it, along it and behind it.
func around(shape []int, axis int) (outer, n, inner int) {
	return types.Count(shape[:axis]), shape[axis], types.Count(shape[axis+1:])
}
