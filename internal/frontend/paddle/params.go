package paddle

import (
	"encoding/binary"
	"errors"
	"fmt"

	"lathe/internal/container/wire"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// dtypes are the element types by number (VarType.Type in framework.proto).
var dtypes = map[int64]types.DType{0: types.Bool, 1: types.I16, 2: types.I32, 3: types.I64, 4: types.F16, 5: types.F32, 6: types.F64, 20: types.U8, 21: types.I8, 22: types.BF16}

// A cursor reads parameters, little endian. The first error stays.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) bytes(n uint64) []byte {
	if c.err == nil && n > uint64(len(c.rest)) {
		c.err = fmt.Errorf("it needs %d bytes where %d are left: cut short, or of another program", n, len(c.rest))
	}
	if c.err != nil {
		return make([]byte, min(n, 8))
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) u32() uint32 { return binary.LittleEndian.Uint32(c.bytes(4)) }
func (c *cursor) u64() uint64 { return binary.LittleEndian.Uint64(c.bytes(8)) }

// tensor reads one parameter as SerializeToStream writes it: version, levels of sequences, version, description, data; a view of
// the file.
func (c *cursor) tensor() (*tensor.Tensor, error) {
	if version := c.u32(); c.err == nil && version != 0 {
		return nil, fmt.Errorf("version %d of parameters is not supported: damaged, or no file of parameters", version)
	}
	for levels := c.u64(); c.err == nil && levels > 0; levels-- {
		c.bytes(c.u64())
	}
	if version := c.u32(); c.err == nil && version != 0 {
		return nil, fmt.Errorf("version %d of tensors is not supported: damaged", version)
	}
	desc := c.bytes(uint64(c.u32()))
	if c.err != nil {
		return nil, c.err
	}
	t, err := description(desc)
	if err != nil {
		return nil, err
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	data := c.bytes(uint64(t.Bytes()))
	if c.err != nil {
		return nil, c.err
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
	c, params := &cursor{rest: data}, map[string]*tensor.Tensor{}
	for _, name := range names {
		t, err := c.tensor()
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", name, err)
		}
		params[name] = t
	}
	if len(c.rest) > 0 {
		return nil, fmt.Errorf("the file of parameters has %d bytes, of which the program's take %d: it is of another program", len(data), len(data)-len(c.rest))
	}
	return params, nil
}
