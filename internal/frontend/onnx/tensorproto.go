package onnx

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/frontend"
	"lathe/internal/tool/spelling"
)

// A Tensor is a decoded TensorProto.
type Tensor struct {
	Name  string
	DType DType
	Dims  []int // empty for a scalar
	// Data holds the elements in row-major order, little-endian, bools as 0 or 1. Elements of 4 and 2 bits share
	// bytes, the first in the lowest bits. It often lies in a read-only mapping at no particular alignment.
	Data    []byte
	Strings [][]byte // the elements of a String tensor, in place of Data
}

// Len is the number of elements.
func (t *Tensor) Len() int {
	n := 1
	for _, d := range t.Dims {
		n *= d
	}
	return n
}

// ErrNotTensor is the error for a SequenceProto or OptionalProto where a TensorProto belongs.
var ErrNotTensor = errors.New("the file holds a sequence or optional value (SequenceProto, OptionalProto); only tensors are supported")

// ReadTensor decodes a file that holds one TensorProto, such as the inputs and outputs beside ONNX's test models. The
// tensor may point into data.
func ReadTensor(data []byte) (*Tensor, error) {
	if len(data) == 0 {
		return nil, errors.New("the tensor file is empty")
	}
	if what := identifyForeign(data); what != "" {
		return nil, fmt.Errorf("not a tensor file: %s", what)
	}
	c, err := count(data)
	if err != nil {
		return nil, err
	}
	if c[1] == 1 && c[2] == 0 && c[7] == 1 {
		return nil, errors.New("not a tensor file: it looks like an ONNX model")
	}
	d := &decoder{room: newRoom(len(data)), files: &fileSet{}}
	t := &Tensor{}
	if err := d.tensor(data, t); err != nil {
		if mayBeContainer(c) {
			return nil, fmt.Errorf("%w; as a tensor: %w", ErrNotTensor, err)
		}
		return nil, err
	}
	return t, nil
}

// mayBeContainer reports whether a message that is no valid tensor may be one of the values of onnx-data.proto. Those
// use no field above 7; where a tensor has dims they have a name, and messages where a tensor has segment and elements.
// Their bytes can be well-formed fields of a tensor, so that only the failure to be one tells them apart.
func mayBeContainer(c tally) bool {
	for _, n := range c[8:] {
		if n > 0 {
			return false
		}
	}
	return c[1] <= 1 && c[2] <= 1 && c[0] == 0
}

// tensor decodes a TensorProto and checks its size against its elements.
func (d *decoder) tensor(msg []byte, t *Tensor) error {
	s := d.scan(msg)
	var dtype, location int64
	var raw []byte
	var c tally
	for s.next() {
		if int(s.num) < len(c) {
			c[s.num]++
		}
		switch s.num {
		case 2:
			dtype = s.int()
		case 8:
			t.Name = s.text()
		case rawData:
			raw = s.message()
		case 14:
			location = s.int()
		}
	}
	if s.err != nil {
		return fmt.Errorf("%q: %w", t.Name, s.err)
	}
	t.DType = dtypeOf(dtype)
	err := d.shape(msg, t)
	if err == nil && c[3] > 0 {
		err = errors.New("it is one segment of a larger tensor, which is unsupported")
	}
	if err == nil {
		switch {
		case location == 1:
			err = d.externalElements(msg, c, t)
		case location != 0:
			err = fmt.Errorf("data_location is %d, which is neither inside nor external", location)
		case c[rawData] > 0:
			err = t.take(raw, c)
		default:
			err = d.typedElements(msg, c, t)
		}
	}
	if err != nil {
		return fmt.Errorf("%q: %w", t.Name, err)
	}
	return nil
}

// shape decodes type and dims; afterwards the sizes in elements and in bytes fit an int.
func (d *decoder) shape(msg []byte, t *Tensor) error {
	if !t.DType.Valid() {
		return fmt.Errorf("data_type %d is not an element type that this version knows", int32(t.DType))
	}
	dims, err := varints(d.room, msg, 1)
	if err != nil {
		return fmt.Errorf("dims: %w", err)
	}
	t.Dims, err = checkedDims(d.room, dims, max(t.DType.Bits(), 8))
	return err
}

// checkedDims turns dims into ints whose product times bits fits an int64. A zero does not excuse the others.
func checkedDims(r *room, dims []int64, bits int) ([]int, error) {
	out, err := reserve[int](r, len(dims))
	if err != nil {
		return nil, err
	}
	n := int64(1)
	for i, v := range dims {
		if v < 0 {
			return nil, fmt.Errorf("dims %v hold a negative one", brief(dims))
		}
		if v > 0 && n > math.MaxInt64/int64(bits)/v {
			return nil, fmt.Errorf("dims %v are too large for any memory", brief(dims))
		}
		n *= max(v, 1)
		out[i] = int(v)
	}
	return out, nil
}

// brief shortens what goes into a message.
func brief(dims []int64) []int64 { return dims[:min(len(dims), 16)] }

// size is the number of bytes that the elements take.
func (t *Tensor) size() int { return (t.Len()*t.DType.Bits() + 7) / 8 }

// take makes raw the elements of t.
func (t *Tensor) take(raw []byte, c tally) error {
	switch {
	case t.DType == String:
		return errors.New("strings in raw_data, which the format rules out")
	case c[rawData] > 1 || c[floatData]+c[int32Data]+c[int64Data]+c[doubleData]+c[uint64Data] > 0:
		return errors.New("its elements are stored more than once")
	case len(raw) != t.size():
		return fmt.Errorf("%s%s takes %s, raw_data has %d", t.DType, frontend.ShapeText(t.Dims), spelling.Count(t.size(), "byte"), len(raw))
	}
	t.Data = raw
	return nil
}

// typedElements decodes the elements from the field of their type.
func (d *decoder) typedElements(msg []byte, c tally, t *Tensor) (err error) {
	form := dtypes[t.DType]
	for _, num := range []protowire.Number{floatData, int32Data, stringData, int64Data, doubleData, uint64Data} {
		if c[num] > 0 && num != form.field {
			return fmt.Errorf("its elements of type %s are in field %d, not %d", t.DType, num, form.field)
		}
	}
	switch form.field {
	case stringData:
		if t.Strings, err = repeated(d, msg, stringData, "string", inPlace); err == nil && len(t.Strings) != t.Len() {
			err = fmt.Errorf("%s%s has %s", t.DType, frontend.ShapeText(t.Dims), spelling.Count(len(t.Strings), "string"))
		}
		return err
	case floatData:
		t.Data, err = fixedBytes(d.room, msg, floatData, 4)
	case doubleData:
		t.Data, err = fixedBytes(d.room, msg, doubleData, 8)
	default:
		t.Data, err = varintBytes(d.room, msg, form.field, max(form.bits/8, 1))
	}
	if err != nil {
		return err
	}
	if len(t.Data) != t.size() {
		return fmt.Errorf("%s%s takes %s, field %d has %d", t.DType, frontend.ShapeText(t.Dims), spelling.Count(t.size(), "byte"), form.field, len(t.Data))
	}
	return nil
}

func inPlace(b []byte, out *[]byte) error {
	*out = b
	return nil
}

// externalElements maps the elements from the file that the tensor names.
func (d *decoder) externalElements(msg []byte, c tally, t *Tensor) error {
	if t.DType == String {
		return errors.New("strings in external data, which the format rules out")
	}
	if c[rawData]+c[floatData]+c[int32Data]+c[int64Data]+c[doubleData]+c[uint64Data] > 0 {
		return errors.New("its elements are stored inside the model and in external data")
	}
	entries, err := d.entries(msg, 13, c[13])
	if err != nil {
		return err
	}
	at, err := parseLocation(entries)
	if err != nil {
		return err
	}
	t.Data, err = d.files.section(at, int64(t.size()))
	if err != nil {
		return fmt.Errorf("%s%s: %w", t.DType, frontend.ShapeText(t.Dims), err)
	}
	return nil
}

// sparseTensor decodes a SparseTensorProto and checks that its parts fit together.
func (d *decoder) sparseTensor(msg []byte, st *SparseTensor) error {
	var err error
	c, err := count(msg)
	if err != nil {
		return err
	}
	if c[1] != 1 || c[2] != 1 {
		return errors.New("a sparse tensor needs one tensor of values and one of indices")
	}
	if st.Values, err = oneOf(d, msg, 1, "values", d.tensor); err != nil {
		return err
	}
	if st.Indices, err = oneOf(d, msg, 2, "indices", d.tensor); err != nil {
		return err
	}
	dims, err := varints(d.room, msg, 3)
	if err != nil {
		return err
	}
	if st.Dims, err = checkedDims(d.room, dims, max(st.Values.DType.Bits(), 8)); err != nil {
		return err
	}
	v, x := st.Values.Dims, st.Indices.Dims
	linear := len(v) == 1 && len(x) == 1 && x[0] == v[0]
	pairs := len(v) == 1 && len(x) == 2 && x[0] == v[0] && x[1] == len(dims)
	if st.Indices.DType != Int64 || !linear && !pairs {
		return fmt.Errorf("%q: values %v and indices %s%v do not fit a tensor %v", st.Name(), v, st.Indices.DType, x, brief(dims))
	}
	return nil
}
