package frontend

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Values are attributes as JSON has them: nil, bool, float64, string, []any and map[string]any. Formats that write attributes as
// text translate them. A value of nil is absent, and a single value is a list of one.
type Values map[string]any

// Names lists the attributes that are not nil.
func (v Values) Names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(v)), func(name string) bool { return v[name] == nil })
}

// scalar is the attribute where it is of type T.
func scalar[T any](v Values, name, kind string) (T, error) {
	x, ok := v[name].(T)
	if !ok {
		return x, fmt.Errorf("attribute %q is %.80v; it must be %s", name, v[name], kind)
	}
	return x, nil
}

// list is the attribute as a list of elements that one finds in a value named like it.
func list[T any](v Values, name string, one func(Values, string) (T, error)) ([]T, error) {
	items, ok := v[name].([]any)
	if !ok {
		items = []any{v[name]}
	}
	out := make([]T, len(items))
	for i, x := range items {
		var err error
		if out[i], err = one(Values{name: x}, name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Int is a whole number.
func (v Values) Int(name string) (int64, error) {
	f, err := scalar[float64](v, name, "a number")
	if err == nil && (f != math.Trunc(f) || math.Abs(f) > 1<<53) {
		err = fmt.Errorf("attribute %q is %v; it must be a whole number", name, f)
	}
	return int64(f), err
}

func (v Values) Float(name string) (float64, error) { return scalar[float64](v, name, "a number") }

func (v Values) Str(name string) (string, error) { return scalar[string](v, name, "text") }

// Bool is a truth value, or a number that is 0 or 1.
func (v Values) Bool(name string) (bool, error) {
	if f, ok := v[name].(float64); ok && (f == 0 || f == 1) {
		return f == 1, nil
	}
	return scalar[bool](v, name, "true or false")
}

func (v Values) Ints(name string) ([]int64, error) { return list(v, name, Values.Int) }

func (v Values) Floats(name string) ([]float64, error) { return list(v, name, Values.Float) }

func (v Values) Strs(name string) ([]string, error) { return list(v, name, Values.Str) }

// DType is an element type by its name.
func (v Values) DType(name string) (types.DType, error) {
	s, err := v.Str(name)
	if err != nil {
		return types.Invalid, err
	}
	return types.ParseDType(s)
}

// Tensor and Graph are nothing that such attributes can be.
func (v Values) Tensor(name string) (*tensor.Tensor, error) {
	return nil, fmt.Errorf("attribute %q is no tensor", name)
}

func (v Values) Graph(name string) (*Graph, error) {
	return nil, fmt.Errorf("attribute %q is no graph", name)
}
