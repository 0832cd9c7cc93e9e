package tensorflow

import (
	"fmt"

	"lathe/internal/compose"
	"lathe/internal/container/wire"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A constant is a TensorProto (tensor.proto): its elements are bytes, or a list in the field of their type, whose last one stands
// for those that are missing.
type constant struct {
	typ     dataType
	dtype   types.DType // Invalid where err says why
	err     error
	shape   []int
	content []byte
	listed  []wire.Field // of elements
	strings [][]byte
}

// elementField is the field that lists elements of a type.
var elementField = map[types.DType]int{
	types.F32: 5, types.F64: 6, types.I32: 7, types.I16: 7, types.I8: 7, types.U8: 7, types.U16: 7, types.I64: 10, types.Bool: 11,
	types.F16: 13, types.BF16: 13, types.U32: 16, types.U64: 17,
}

func readConstant(msg []byte) (*constant, error) {
	c := &constant{}
	err := wire.Each(msg, func(x wire.Field) error {
		switch x.Number {
		case 1:
			c.typ = dataType(x.Bits)
		case 2:
			s, err := readShape(x.Data)
			if err == nil {
				c.shape, err = extents(s)
			}
			return err
		case 4:
			c.content = x.Data
		case 5, 6, 7, 10, 11, 13, 16, 17:
			c.listed = append(c.listed, x)
		case 8:
			c.strings = append(c.strings, x.Data)
		}
		return nil
	})
	c.dtype, c.err = c.typ.dtype()
	return c, err
}

// extents are those of a shape without unknown ones, of no more elements than a tensor may have.
func extents(s shape) ([]int, error) {
	out := make([]int, len(s.dims))
	for i, d := range s.dims {
		if d < 0 || d > types.MaxElements {
			return nil, fmt.Errorf("a constant of shape %v", s.dims)
		}
		out[i] = int(d)
	}
	return out, types.Of(types.U8, out...).Check()
}

// elements is the number that the shape says.
func (c *constant) elements() int { return types.Count(c.shape) }

// param is the constant under a name.
func (c *constant) param(name string) frontend.Param {
	return frontend.Param{Name: name, Elements: int64(c.elements()), Bytes: int64(c.elements() * c.dtype.Size()), Value: func(b *compose.Builder) (v *graph.Value, err error) {
		t, err := c.tensor(b)
		if err != nil {
			return nil, fmt.Errorf("constant %q: %w", name, err)
		}
		return compose.Const(t), nil
	}}
}

// tensor makes the elements, which are a view of the file where it holds them as bytes.
func (c *constant) tensor(b *compose.Builder) (t *tensor.Tensor, err error) {
	if c.err != nil {
		return nil, c.err
	}
	if len(c.content) > 0 {
		return tensor.Wrap(c.dtype, c.shape, c.content)
	}
	err = compose.Try(func() { t = b.Zeros(c.dtype, c.shape...) })
	if err != nil {
		return nil, err
	}
	return t, c.fill(t)
}

// fill sets the elements to those that are listed.
func (c *constant) fill(t *tensor.Tensor) error {
	i, n, size := 0, t.Len(), c.dtype.Size()
	set := func(bits uint64) error {
		if i >= n {
			return fmt.Errorf("more elements than the shape %v has", c.shape)
		}
		for k := range size {
			t.Bytes()[i*size+k] = byte(bits >> (8 * k))
		}
		i++
		return nil
	}
	for _, x := range c.listed {
		if x.Number != elementField[c.dtype] {
			continue
		}
		var err error
		switch c.dtype {
		case types.F32, types.F64:
			err = x.Fixed(size, set)
		case types.Bool:
			err = x.Varints(func(v uint64) error { return set(min(v, 1)) })
		default:
			err = x.Varints(set)
		}
		if err != nil {
			return err
		}
	}
	if i == 0 {
		return nil
	}
	for at := i * size; at < t.Size(); {
		at += copy(t.Bytes()[at:], t.Bytes()[(i-1)*size:at])
	}
	return nil
}
