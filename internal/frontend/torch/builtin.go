package torch

import (
	"math"
	"strings"

	"lathe/internal/types"
)

type builtinFunc = func(m *machine, args []value) (value, bool)

// newBuiltins lists the functions of numbers, lists, dictionaries and texts, and those that ask what a tensor is. One that does not fit
// its arguments says so, and a row of the same name is looked for.
func newBuiltins() map[string]builtinFunc {
	b := map[string]builtinFunc{}
	for _, part := range []map[string]builtinFunc{numberFunctions(), listFunctions(), dictFunctions(), textFunctions(), tensorQuestions()} {
		for names, f := range part {
			for name := range strings.FieldsSeq(names) {
				b[name] = f
			}
		}
	}
	return b
}

// arithmetic are the operators of two numbers; ints give ints.
func arithmetic(onInts func(a, b int64) (int64, bool), onFloats func(a, b float64) float64) builtinFunc {
	return func(_ *machine, args []value) (value, bool) {
		if len(args) < 2 || len(args) > 3 {
			return nil, false
		}
		a, b := asInt(args[0]), asInt(args[1])
		if len(args) == 3 { // alpha
			if n, ok := args[2].(int64); !ok || n != 1 {
				return nil, false
			}
		}
		if x, ok := a.(int64); ok && onInts != nil {
			if y, ok := b.(int64); ok {
				v, ok := onInts(x, y)
				if !ok {
					fail("division by zero")
				}
				return v, true
			}
		}
		x, ok1 := number(args[0])
		y, ok2 := number(args[1])
		return onFloats(x, y), ok1 && ok2
	}
}

// asInt is a bool as an int.
func asInt(v value) value {
	if b, ok := v.(bool); ok {
		if b {
			return int64(1)
		}
		return int64(0)
	}
	return v
}

func floorInt(a, b int64) (int64, bool) {
	if b == 0 {
		return 0, false
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, true
}

// comparison compares two numbers or texts.
func comparison(holds func(order int) bool) builtinFunc {
	return func(_ *machine, args []value) (value, bool) {
		if len(args) != 2 {
			return nil, false
		}
		if a, ok := args[0].(string); ok {
			b, ok := args[1].(string)
			return holds(strings.Compare(a, b)), ok
		}
		a, ok1 := number(args[0])
		b, ok2 := number(args[1])
		if !ok1 || !ok2 {
			return nil, false
		}
		if math.IsNaN(a) || math.IsNaN(b) {
			return false, true
		}
		order := 0
		if a < b {
			order = -1
		} else if a > b {
			order = 1
		}
		return holds(order), true
	}
}

// equality compares any values but tensors.
func equality(want bool) builtinFunc {
	return func(_ *machine, args []value) (value, bool) {
		if len(args) != 2 || len(tensorsIn(args[0])) > 0 || len(tensorsIn(args[1])) > 0 {
			return nil, len(args) == 2 && false
		}
		return same(args[0], args[1]) == want, true
	}
}

// identity is what is and is not mean: of None, or of the same object.
func identity(want bool) builtinFunc {
	return func(_ *machine, args []value) (value, bool) {
		if len(args) != 2 {
			return nil, false
		}
		if args[0] == nil || args[1] == nil {
			return (args[0] == nil && args[1] == nil) == want, true
		}
		_, isTensor := args[0].(*tensor)
		if isTensor {
			return (args[0] == args[1]) == want, true
		}
		return same(args[0], args[1]) == want, true
	}
}

// ofFloat is a function of one number; whole says that it gives an int.
func ofFloat(f func(x float64) float64, whole bool) builtinFunc {
	return func(_ *machine, args []value) (value, bool) {
		if len(args) != 1 {
			return nil, false
		}
		x, ok := number(args[0])
		if ok && whole {
			return int64(f(x)), true
		}
		return f(x), ok
	}
}

func numberFunctions() map[string]builtinFunc {
	return map[string]builtinFunc{
		"add":      arithmetic(func(a, b int64) (int64, bool) { return a + b, true }, func(a, b float64) float64 { return a + b }),
		"sub":      arithmetic(func(a, b int64) (int64, bool) { return a - b, true }, func(a, b float64) float64 { return a - b }),
		"mul":      arithmetic(func(a, b int64) (int64, bool) { return a * b, true }, func(a, b float64) float64 { return a * b }),
		"div":      arithmetic(nil, func(a, b float64) float64 { return a / b }),
		"truediv":  arithmetic(nil, func(a, b float64) float64 { return a / b }),
		"floordiv": arithmetic(floorInt, func(a, b float64) float64 { return math.Floor(a / b) }),
		"remainder fmod": arithmetic(func(a, b int64) (int64, bool) {
			q, ok := floorInt(a, b)
			return a - q*b, ok
		}, func(a, b float64) float64 { return a - b*math.Floor(a/b) }),
		"pow": func(_ *machine, args []value) (value, bool) {
			if len(args) != 2 {
				return nil, false
			}
			x, ok1 := number(args[0])
			y, ok2 := number(args[1])
			_, int1 := args[0].(int64)
			_, int2 := args[1].(int64)
			if int1 && int2 && y >= 0 {
				return int64(math.Pow(x, y)), true
			}
			return math.Pow(x, y), ok1 && ok2
		},
		"__and__ __iand__ bitwise_and": bits(func(a, b int64) int64 { return a & b }),
		"__or__ __ior__ bitwise_or":    bits(func(a, b int64) int64 { return a | b }),
		"__xor__ __ixor__":             bits(func(a, b int64) int64 { return a ^ b }),
		"__lshift__":                   bits(func(a, b int64) int64 { return a << (uint64(b) & 63) }),
		"__rshift__":                   bits(func(a, b int64) int64 { return a >> (uint64(b) & 63) }),
		"lt":                           comparison(func(o int) bool { return o < 0 }),
		"le":                           comparison(func(o int) bool { return o <= 0 }),
		"gt":                           comparison(func(o int) bool { return o > 0 }),
		"ge":                           comparison(func(o int) bool { return o >= 0 }),
		"eq":                           equality(true), "ne": equality(false), "__is__": identity(true), "__isnot__": identity(false),
		"__not__": func(m *machine, args []value) (value, bool) {
			yes, known := m.truth(args[0])
			return !yes, known && len(args) == 1 && len(tensorsIn(args[0])) == 0
		},
		"neg": func(_ *machine, args []value) (value, bool) {
			switch x := asInt(args[0]).(type) {
			case int64:
				return -x, true
			case float64:
				return -x, true
			}
			return nil, false
		},
		"abs prim.abs": func(_ *machine, args []value) (value, bool) {
			switch x := args[0].(type) {
			case int64:
				return max(x, -x), true
			case float64:
				return math.Abs(x), true
			}
			return nil, false
		},
		"floor": ofFloat(math.Floor, true), "ceil": ofFloat(math.Ceil, true), "sqrt": ofFloat(math.Sqrt, false), "exp": ofFloat(math.Exp, false), "log": ofFloat(math.Log, false),
		"round": ofFloat(math.RoundToEven, false), "sin": ofFloat(math.Sin, false), "cos": ofFloat(math.Cos, false), "tan": ofFloat(math.Tan, false), "tanh": ofFloat(math.Tanh, false),
		"log2": ofFloat(math.Log2, false), "log10": ofFloat(math.Log10, false), "log1p": ofFloat(math.Log1p, false), "atan": ofFloat(math.Atan, false),
		"max prim.max": extreme(func(a, b float64) bool { return a > b }), "min prim.min": extreme(func(a, b float64) bool { return a < b }),
		"Int": convertNumber(types.I64), "Float": convertNumber(types.F64), "Bool": convertNumber(types.Bool),
		"item _local_scalar_dense ScalarImplicit": func(m *machine, args []value) (value, bool) {
			if t, ok := args[0].(*tensor); ok {
				return m.scalarOf(m.Reshape(m.get(t))), true
			}
			return args[0], true
		},
		"IntImplicit": convertNumber(types.I64), "FloatImplicit": convertNumber(types.F64),
		"prim.NumToTensor": func(m *machine, args []value) (value, bool) {
			if t, ok := args[0].(*tensor); ok {
				return m.fresh(m.get(t)), true
			}
			return m.fresh(literal(args[0])), true
		},
		"sym_max": extreme(func(a, b float64) bool { return a > b }), "sym_min": extreme(func(a, b float64) bool { return a < b }),
	}
}

func convertNumber(d types.DType) builtinFunc {
	return func(m *machine, args []value) (value, bool) {
		if len(args) != 1 {
			return nil, false
		}
		return m.toNumber(args[0], d), true
	}
}

func bits(f func(a, b int64) int64) builtinFunc {
	return func(_ *machine, args []value) (value, bool) {
		if len(args) != 2 {
			return nil, false
		}
		a, ok1 := asInt(args[0]).(int64)
		b, ok2 := asInt(args[1]).(int64)
		_, bool1 := args[0].(bool)
		_, bool2 := args[1].(bool)
		if bool1 && bool2 {
			return f(a, b) != 0, true
		}
		return f(a, b), ok1 && ok2
	}
}

// extreme is the greatest or least of numbers, or of those in a list.
func extreme(better func(a, b float64) bool) builtinFunc {
	return func(_ *machine, args []value) (value, bool) {
		all := args
		if len(args) == 1 {
			parts, ok := items(args[0])
			if !ok {
				return nil, false
			}
			all = parts
		}
		var best value
		var top float64
		for i, v := range all {
			n, ok := number(v)
			if !ok {
				return nil, false
			}
			if i == 0 || better(n, top) {
				best, top = v, n
			}
		}
		return best, len(all) > 0
	}
}
