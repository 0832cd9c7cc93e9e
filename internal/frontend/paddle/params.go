package paddle

import (
	"errors"
	"fmt"

	"lathe/internal/container/cursor"
	"lathe/internal/container/wire"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// dtypes are the element types by number (VarType.Type in framework.proto).
var dtypes = map[int64]types.DType{0: types.Bool, 1: types.I16, 2: types.I32, 3: types.I64, 4: types.F16, 5: types.F32, 6: types.F64, 20: types.U8, 21: types.I8, 22: types.BF16}

// tensorOf reads one parameter as SerializeToStream writes it: version, levels of sequences, version, description, data; a view of
// the file.
func tensorOf(c *cursor.Cursor) (*tensor.Tensor, error) {
	if version := c.U32(); c.Err == nil && version != 0 {
		return nil, fmt.Errorf("version %d of parameters is not supported: damaged, or no file of parameters", version)
	}
	for levels := c.U64(); c.Err == nil && levels > 0; levels-- {
		c.Bytes(c.U64())
	}
	if version := c.U32(); c.Err == nil && version != 0 {
		return nil, fmt.Errorf("version %d of tensors is not supported: damaged", version)
	}
	desc := c.Bytes(uint64(c.U32()))
	if c.Err != nil {
		return nil, c.Err
	}
	t, err := description(desc)
	if err != nil {
		return nil, err
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	data := c.Bytes(uint64(t.Bytes()))
	if c.Err != nil {
		return nil, c.Err
	}
	return tensor.Wrap(t.DType, t.Shape, data)
}

// description reads a TensorDesc, whose open extents are -1.
func description(msg []byte) (t types.Tensor, err error) {
	t.Shape = []int{}
	err = wire.Each(msg, func(f wire.Field) error {
		switch f.Number {
		case 1:
			d, ok := dtypes[f.Int()]
			if !ok {
				return fmt.Errorf("element type %d is not supported", f.Int())
			}
			t.DType = d
		case 2:
			dims, err := f.Ints()
			if err != nil {
				return err
			}
			for _, d := range dims {
				if d < -1 || d > types.MaxElements {
					return fmt.Errorf("an extent of %d", d)
				}
				t.Shape = append(t.Shape, int(d))
			}
		}
		return nil
	})
	if err == nil && t.DType == types.Invalid {
		err = errors.New("a tensor without element type")
	}
	return t, err
}

// readParams reads parameters that lie one behind the other in the order of names.
func readParams(data []byte, names []string) (map[string]*tensor.Tensor, error) {
	c, params := &cursor.Cursor{Rest: data}, map[string]*tensor.Tensor{}
	for _, name := range names {
		t, err := tensorOf(c)
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", name, err)
		}
		params[name] = t
	}
	if len(c.Rest) > 0 {
		return nil, fmt.Errorf("the file of parameters has %d bytes, of which the program's take %d: it is of another program", len(data), len(data)-len(c.Rest))
	}
	return params, nil
}
