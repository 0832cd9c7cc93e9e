package torch

import (
	"errors"
	"fmt"
	"strings"

	"lathe/internal/container/pickle"
	hosttensor "lathe/internal/tensor"
	"lathe/internal/types"
)

// A stored tensor is elements of a storage, as a pickle describes it. Several can share a storage.
type stored struct {
	dtype   types.DType
	shape   []int
	strides []int
	offset  int
	bytes   []byte // of the storage
	key     string
	quant   *quant
}

// storageTypes are the element types by the names of storages.
var storageTypes = map[string]types.DType{"FloatStorage": types.F32, "DoubleStorage": types.F64, "HalfStorage": types.F16, "BFloat16Storage": types.BF16, "ByteStorage": types.U8,
	"CharStorage": types.I8, "ShortStorage": types.I16, "IntStorage": types.I32, "LongStorage": types.I64, "BoolStorage": types.Bool, "QInt8Storage": types.I8,
	"QUInt8Storage": types.U8, "QInt32Storage": types.I32}

// isTensor reports whether a pickled object is a tensor.
func isTensor(o *pickle.Object) bool {
	g, ok := o.Func.(pickle.Global)
	return ok && g.Module == "torch._utils" && strings.HasPrefix(g.Name, "_rebuild_")
}

// storedTensor reads the description of a tensor. storage gives the bytes of a storage by its key.
func storedTensor(o *pickle.Object, storage func(key string) ([]byte, error)) (*stored, error) {
	g := o.Func.(pickle.Global)
	switch g.Name {
	case "_rebuild_parameter", "_rebuild_parameter_with_state":
		if len(o.Args) > 0 {
			if data, ok := o.Args[0].(*pickle.Object); ok && data != o && isTensor(data) {
				if inner := data.Func.(pickle.Global).Name; inner != g.Name {
					return storedTensor(data, storage)
				}
			}
		}
		return nil, errors.New("a parameter without a tensor")
	case "_rebuild_tensor_v2", "_rebuild_tensor", "_rebuild_qtensor":
	default:
		return nil, fmt.Errorf("a tensor made by %s, which is not supported", g.Name)
	}
	if len(o.Args) < 4 {
		return nil, errors.New("a tensor without shape and strides")
	}
	p, ok := o.Args[0].(pickle.Persistent)
	id, ok2 := p.ID.(pickle.Tuple)
	if !ok || !ok2 || len(id) < 5 {
		return nil, errors.New("a tensor without a storage")
	}
	kind, ok := id[1].(pickle.Global)
	t := &stored{dtype: storageTypes[kind.Name]}
	if !ok || t.dtype == types.Invalid {
		return nil, fmt.Errorf("a storage of kind %q, which is not supported", kind.Name)
	}
	if t.key, ok = id[2].(string); !ok {
		return nil, errors.New("a storage without a name")
	}
	offset, ok := o.Args[1].(int64)
	var err error
	if t.shape, err = extents(o.Args[2]); err != nil {
		return nil, err
	}
	if t.strides, err = extents(o.Args[3]); err != nil {
		return nil, err
	}
	if !ok || offset < 0 || offset > types.MaxElements || len(t.strides) != len(t.shape) {
		return nil, errors.New("a tensor whose offset or strides are no numbers of elements")
	}
	t.offset = int(offset)
	if g.Name == "_rebuild_qtensor" {
		if len(o.Args) < 5 {
			return nil, errors.New("a quantised tensor without its parameters")
		}
		if t.quant, err = storedQuant(o.Args[4], storage); err != nil {
			return nil, err
		}
	}
	if t.bytes, err = storage(t.key); err != nil {
		return nil, err
	}
	return t, t.check()
}

// check tests that all elements lie within the storage.
func (t *stored) check() error {
	if err := types.Of(t.dtype, t.shape...).Check(); err != nil {
		return err
	}
	if types.Count(t.shape) == 0 {
		return nil
	}
	last := t.offset
	for k, n := range t.shape {
		if t.strides[k] > types.MaxElements/max(n, 1) {
			return errors.New("a tensor whose strides are too long")
		}
		last += (n - 1) * t.strides[k]
	}
	if last < 0 || last >= len(t.bytes)/t.dtype.Size() {
		return fmt.Errorf("a tensor %s goes beyond its storage of %d bytes: cut short or damaged", types.Of(t.dtype, t.shape...), len(t.bytes))
	}
	if types.Count(t.shape) > 64*(len(t.bytes)/t.dtype.Size())+1<<16 {
		return errors.New("a tensor repeats its storage more than any sensible one: damaged or made to harm")
	}
	return nil
}

// extents are a tuple or list of numbers.
func extents(v any) ([]int, error) {
	var items []any
	switch x := v.(type) {
	case pickle.Tuple:
		items = x
	case *pickle.List:
		items = x.Items
	default:
		return nil, errors.New("a tensor without shape and strides")
	}
	out := make([]int, len(items))
	for i, x := range items {
		n, ok := x.(int64)
		if !ok || n < 0 || n > types.MaxElements {
			return nil, fmt.Errorf("the extent or stride %.40v", x)
		}
		out[i] = int(n)
	}
	return out, nil
}

// contiguous reports whether the elements lie in the order of the axes without gaps.
func (t *stored) contiguous() bool {
	next := 1
	for k := len(t.shape) - 1; k >= 0; k-- {
		if t.shape[k] != 1 && t.strides[k] != next {
			return false
		}
		next *= t.shape[k]
	}
	return true
}

// tensor gives the elements in row-major order, in place where they lie so.
func (t *stored) tensor() *hosttensor.Tensor {
	size := t.dtype.Size()
	n := types.Count(t.shape)
	if t.contiguous() {
		return hosttensor.Over(t.dtype, t.shape, t.bytes[t.offset*size:(t.offset+n)*size:(t.offset+n)*size])
	}
	out := hosttensor.New(t.dtype, t.shape...)
	at := make([]int, len(t.shape))
	from := t.offset
	for i := range n {
		copy(out.Bytes()[i*size:(i+1)*size], t.bytes[from*size:])
		for k := len(at) - 1; k >= 0; k-- {
			at[k]++
			from += t.strides[k]
			if at[k] < t.shape[k] {
				break
			}
			from -= at[k] * t.strides[k]
			at[k] = 0
		}
	}
	return out
}

// storedQuant reads how a quantised tensor's integers stand for numbers.
func storedQuant(v any, storage func(key string) ([]byte, error)) (*quant, error) {
	bad := errors.New("the parameters of a quantised tensor are not those of a scheme that is supported (per tensor and per channel, affine)")
	args, ok := v.(pickle.Tuple)
	if !ok || len(args) < 3 {
		return nil, bad
	}
	scheme := fmt.Sprint(args[0])
	if g, ok := args[0].(pickle.Global); ok {
		scheme = g.Name
	}
	switch scheme {
	case "per_tensor_affine", "per_tensor_symmetric", "0", "2":
		scale, ok1 := args[1].(float64)
		zero, ok2 := args[2].(int64)
		if !ok1 || !ok2 {
			return nil, bad
		}
		return &quant{scales: []float64{scale}, zeros: []int64{zero}, axis: -1}, nil
	case "per_channel_affine", "per_channel_symmetric", "1", "3":
		if len(args) < 4 {
			return nil, bad
		}
		q := &quant{}
		axis, ok := args[3].(int64)
		if !ok || axis < 0 || axis > 8 {
			return nil, bad
		}
		q.axis = int(axis)
		for i, x := range args[1:3] {
			o, ok := x.(*pickle.Object)
			if !ok || !isTensor(o) {
				return nil, bad
			}
			t, err := storedTensor(o, storage)
			if err != nil {
				return nil, err
			}
			h := t.tensor()
			for j := range h.Len() {
				if i == 0 {
					q.scales = append(q.scales, h.Float(j))
				} else {
					q.zeros = append(q.zeros, h.Int(j))
				}
			}
		}
		if len(q.scales) != len(q.zeros) {
			return nil, bad
		}
		return q, nil
	}
	return nil, bad
}
