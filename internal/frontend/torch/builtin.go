package torch

import (
	"math"
	"strconv"
	"strings"

	"lathe/internal/types"
)

type builtinFunc = func(m *machine, args []value) (value, bool)

// newBuiltins lists the functions of numbers, lists, dictionaries and texts, and those that ask what a tensor is. One that does not fit
// its arguments says so, and a row of the same name is looked for.
func newBuiltins() map[string]builtinFunc {
	b := map[string]builtinFunc{}
	for _, part := range []map[string]builtinFunc{numberFunctions(), listFunctions(), textFunctions(), tensorQuestions()} {
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

// parseNumber is a text as a number.
func parseNumber(s string, d types.DType) value {
	if d == types.I64 {
		if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil {
			return n
		}
	} else if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
		return f
	}
	fail("%s is no number", quoted(s))
	return nil
}

// textFunctions are those of texts.
func textFunctions() map[string]builtinFunc {
	of := func(f func(s string) value) builtinFunc {
		return func(_ *machine, args []value) (value, bool) {
			s, ok := args[0].(string)
			if !ok || len(args) != 1 {
				return nil, false
			}
			return f(s), true
		}
	}
	with := func(f func(s, t string) value) builtinFunc {
		return func(_ *machine, args []value) (value, bool) {
			if len(args) != 2 {
				return nil, false
			}
			s, ok1 := args[0].(string)
			t, ok2 := args[1].(string)
			if !ok1 || !ok2 {
				return nil, false
			}
			return f(s, t), true
		}
	}
	return map[string]builtinFunc{
		"format": func(_ *machine, args []value) (value, bool) {
			s, ok := args[0].(string)
			for _, a := range args[1:] {
				s = strings.Replace(s, "{}", text(a, 4), 1)
			}
			return s, ok && len(s) < 1<<20
		},
		"lower": of(func(s string) value { return strings.ToLower(s) }), "upper": of(func(s string) value { return strings.ToUpper(s) }),
		"startswith": with(func(s, t string) value { return strings.HasPrefix(s, t) }), "endswith": with(func(s, t string) value { return strings.HasSuffix(s, t) }),
		"find": with(func(s, t string) value { return int64(strings.Index(s, t)) }),
		"join": func(_ *machine, args []value) (value, bool) {
			sep, ok := args[0].(string)
			if !ok || len(args) != 2 {
				return nil, false
			}
			parts, _ := items(args[1])
			var all []string
			for _, p := range parts {
				all = append(all, text(p, 2))
			}
			return strings.Join(all, sep), true
		},
		"prim.RaiseException": func(_ *machine, args []value) (value, bool) {
			message := ""
			if len(args) > 0 {
				message = text(args[0], 3)
			}
			panicRaised(message)
			return nil, true
		},
	}
}

// tensorQuestions ask what a tensor is.
func tensorQuestions() map[string]builtinFunc {
	of := func(f func(m *machine, t *tensor) value) builtinFunc {
		return func(m *machine, args []value) (value, bool) {
			if len(args) == 0 {
				return nil, false
			}
			t, ok := args[0].(*tensor)
			if !ok {
				return nil, false
			}
			return f(m, t), true
		}
	}
	constant := func(v value) builtinFunc { return func(*machine, []value) (value, bool) { return v, true } }
	return map[string]builtinFunc{
		"size prim.shape shape sym_size": func(m *machine, args []value) (value, bool) {
			t, ok := args[0].(*tensor)
			if !ok {
				return nil, false
			}
			shape := m.shape(t)
			if len(args) == 1 {
				return ints(shape), true
			}
			k := m.whole(args[1], "dim")
			if k < 0 {
				k += len(shape)
			}
			if k < 0 || k >= len(shape) {
				fail("axis %d of a tensor of rank %d", k, len(shape))
			}
			return int64(shape[k]), true
		},
		"dim ndimension prim.ndim ndim": of(func(m *machine, t *tensor) value { return int64(m.rank(t)) }),
		"numel sym_numel":               of(func(m *machine, t *tensor) value { return int64(types.Count(m.shape(t))) }),
		"stride sym_stride": func(m *machine, args []value) (value, bool) {
			t, ok := args[0].(*tensor)
			if !ok {
				return nil, false
			}
			shape := m.shape(t)
			strides, next := make([]int, len(shape)), 1
			for k := len(shape) - 1; k >= 0; k-- {
				strides[k] = next
				next *= shape[k]
			}
			if len(args) == 1 {
				return ints(strides), true
			}
			k := m.whole(args[1], "dim")
			if k < 0 {
				k += len(shape)
			}
			if k < 0 || k >= len(shape) {
				fail("axis %d of a tensor of rank %d", k, len(shape))
			}
			return int64(strides[k]), true
		},
		"prim.dtype dtype":               of(func(m *machine, t *tensor) value { return typeOf(t, m) }),
		"is_floating_point":              of(func(m *machine, t *tensor) value { return m.get(t).Type.DType.IsFloat() && !t.complex }),
		"is_complex":                     of(func(_ *machine, t *tensor) value { return t.complex }),
		"is_contiguous":                  of(func(_ *machine, t *tensor) value { return !t.strided }),
		"is_nonzero":                     of(func(m *machine, t *tensor) value { return m.toNumber(t, types.Bool) }),
		"prim.is_quantized is_quantized": of(func(_ *machine, t *tensor) value { return t.quant != nil }),
		"prim.device device prim.unchecked_device get_device": func(_ *machine, args []value) (value, bool) { return "cpu", true },
		"prim.layout layout storage_offset":                   constant(int64(0)),
		"prim.is_cuda is_cuda prim.requires_grad requires_grad prim.is_mkldnn prim.is_sparse prim.is_xpu prim.is_mps prim.is_nested prim.is_meta prim.is_vulkan is_grad_enabled is_autocast_enabled is_autocast_cpu_enabled _get_tracing_state is_scripting is_tracing prim.is_leaf": constant(false),
		"set_grad_enabled warn manual_seed _assert _assert_async prim.Print print grad __exit__ no_grad _functional_assert_async sym_constrain_range sym_constrain_range_for_size _assert_scalar _assert_tensor_metadata":                                                            constant(nil),
		"prim.unchecked_unwrap_optional _unwrap_optional prim.data prim.grad data": func(_ *machine, args []value) (value, bool) { return args[0], len(args) > 0 },
		"prim.unchecked_cast": func(_ *machine, args []value) (value, bool) { return args[len(args)-1], true },
		"finfo_min":           constant(-math.MaxFloat32),
	}
}
