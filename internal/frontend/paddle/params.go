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
	number, dims := int64(-1), []int64{}
	if err = wire.Read(msg, wire.Fields{1: wire.Int(&number), 2: wire.Ints(&dims)}); err != nil {
		return t, err
	}
	if number < 0 {
		return t, errors.New("a tensor without element type")
	}
	if t.DType = dtypes[number]; t.DType == types.Invalid {
		return t, fmt.Errorf("element type %d is not supported", number)
	}
	t.Shape = make([]int, len(dims))
	for i, d := range dims {
		if d < -1 || d > types.MaxElements {
			return t, fmt.Errorf("an extent of %d", d)
		}
		t.Shape[i] = int(d)
	}
	return t, nil
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
