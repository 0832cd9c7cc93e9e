package torch

import (
	"math"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/types"
)

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
			shape := m.extents(t)
			if len(args) == 1 {
				return m.newList(shape), true
			}
			k := m.whole(args[1], "dim")
			if k < 0 {
				k += len(shape)
			}
			if k < 0 || k >= len(shape) {
				fail("axis %d of a tensor of rank %d", k, len(shape))
			}
			return shape[k], true
		},
		"dim ndimension prim.ndim ndim": of(func(m *machine, t *tensor) value { return int64(m.rank(t)) }),
		"numel sym_numel": of(func(m *machine, t *tensor) value {
			var n value = int64(1)
			for _, k := range m.extents(t) {
				n = m.operator("mul", []value{n, k}, nil)
			}
			return n
		}),
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
		"prim.type": func(_ *machine, args []value) (value, bool) {
			return args[0], len(args) == 1 && args[0] == value("cpu")
		},
		"prim.layout layout storage_offset": constant(int64(0)),
		"prim.is_cuda is_cuda prim.requires_grad requires_grad prim.is_mkldnn prim.is_sparse prim.is_xpu prim.is_mps prim.is_nested prim.is_meta prim.is_vulkan is_grad_enabled is_autocast_enabled is_autocast_cpu_enabled _get_tracing_state is_scripting is_tracing prim.is_leaf": constant(false),
		"set_grad_enabled warn manual_seed _assert _assert_async prim.Print print grad __exit__ no_grad _functional_assert_async sym_constrain_range sym_constrain_range_for_size _assert_scalar _assert_tensor_metadata":                                                            constant(nil),
		"prim.unchecked_unwrap_optional _unwrap_optional prim.data prim.grad data": func(_ *machine, args []value) (value, bool) { return args[0], len(args) > 0 },
		"prim.unchecked_cast": func(_ *machine, args []value) (value, bool) { return args[len(args)-1], true },
		"finfo_min":           constant(-math.MaxFloat32),
	}
}

// extents are the extents of a tensor's axes, those that depend on data as numbers that do.
func (m *machine) extents(t *tensor) []value {
	var list []value
	for _, n := range m.shape(t) {
		list = append(list, int64(n))
	}
	dynamic := slices.ContainsFunc(m.Graph.Nodes, func(n *graph.Node) bool { return len(compose.DynamicResults(n)) > 0 })
	if !dynamic {
		return list
	}
	x, err := compose.ExtentsOf(m.Graph)
	if err != nil {
		fail("%w", err)
	}
	for k, count := range x[m.get(t)] {
		if count != nil && k < len(list) {
			list[k] = m.scalarOf(count)
		}
	}
	return list
}
