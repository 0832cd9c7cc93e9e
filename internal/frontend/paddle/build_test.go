package paddle

import (
	"encoding/binary"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Writers of programs and parameters, as Paddle's save_inference_model writes them.

func bytesField(b []byte, num protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), data)
}

func varintField(b []byte, num protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
}

func numberOf(d types.DType) int64 {
	for number, x := range dtypes {
		if x == d {
			return number
		}
	}
	panic("no number")
}

func describe(t types.Tensor) []byte {
	b := varintField(nil, 1, numberOf(t.DType))
	for _, d := range t.Shape {
		b = varintField(b, 2, int64(d))
	}
	return b
}

func variableMessage(name string, t types.Tensor, persistable bool) []byte {
	dense := bytesField(nil, 1, describe(t))
	kind := bytesField(varintField(nil, 1, denseTensor), 3, dense)
	b := bytesField(bytesField(nil, 1, []byte(name)), 2, kind)
	if persistable {
		b = varintField(b, 3, 1)
	}
	return b
}

func attributeMessage(name string, v any) []byte {
	b := bytesField(nil, 1, []byte(name))
	float := func(num protowire.Number, f float64) {
		b = protowire.AppendFixed32(protowire.AppendTag(b, num, protowire.Fixed32Type), math.Float32bits(float32(f)))
	}
	switch v := v.(type) {
	case int:
		b = varintField(varintField(b, 2, 0), 3, int64(v))
	case float64:
		b = varintField(b, 2, 1)
		float(4, v)
	case string:
		b = bytesField(varintField(b, 2, 2), 5, []byte(v))
	case bool:
		b = varintField(b, 2, 6)
		if v {
			b = varintField(b, 10, 1)
		} else {
			b = varintField(b, 10, 0)
		}
	case []int:
		b = varintField(b, 2, 3)
		for _, x := range v {
			b = varintField(b, 6, int64(x))
		}
	case []float64:
		b = varintField(b, 2, 4)
		for _, x := range v {
			float(7, x)
		}
	default:
		panic("no kind of attribute")
	}
	return b
}

func operationMessage(kind string, in, out []slot, attrs map[string]any) (b []byte) {
	for i, slots := range [][]slot{in, out} {
		for _, s := range slots {
			m := bytesField(nil, 1, []byte(s.name))
			for _, arg := range s.args {
				m = bytesField(m, 2, []byte(arg))
			}
			b = bytesField(b, protowire.Number(1+i), m)
		}
	}
	b = bytesField(b, 3, []byte(kind))
	for name, v := range attrs {
		b = bytesField(b, 4, attributeMessage(name, v))
	}
	return b
}

// A case is a program of one operator. Operands of capital names are parameters.
type operands map[string]*tensor.Tensor

// written makes the program and its parameters; inputs are in order of their names.
func written(kind string, in []slot, data operands, attrs map[string]any, out []slot) (program, params []byte) {
	block := varintField(varintField(nil, 1, 0), 2, -1)
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range data {
			if !yield(name) {
				return
			}
		}
	})
	column := 0
	for _, name := range names {
		t := data[name]
		parameter := name[0] >= 'A' && name[0] <= 'Z'
		block = bytesField(block, 3, variableMessage(name, t.Type(), parameter))
		if parameter {
			params = append(params, parameterBytes(t)...)
			continue
		}
		block = bytesField(block, 4, operationMessage("feed", []slot{{"X", []string{"feed"}}}, []slot{{"Out", []string{name}}}, map[string]any{"col": column}))
		column++
	}
	block = bytesField(block, 4, operationMessage(kind, in, out, attrs))
	column = 0
	for _, s := range out {
		for _, arg := range s.args {
			block = bytesField(block, 4, operationMessage("fetch", []slot{{"X", []string{arg}}}, []slot{{"Out", []string{"fetch"}}}, map[string]any{"col": column}))
			column++
		}
	}
	return bytesField(bytesField(nil, 1, block), 4, varintField(nil, 1, 2_004_001)), params
}

func parameterBytes(t *tensor.Tensor) (b []byte) {
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, 1) // one level of sequences
	b = binary.LittleEndian.AppendUint64(b, 8)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint32(b, 0)
	desc := describe(t.Type())
	b = binary.LittleEndian.AppendUint32(b, uint32(len(desc)))
	return append(append(b, desc...), t.Bytes()...)
}

func f32(shape []int, v ...float32) *tensor.Tensor { return tensor.Of(shape, v) }

func i64(v ...int64) *tensor.Tensor { return tensor.Of([]int{len(v)}, v) }

// counting are 1, 2 and so on.
func counting(shape ...int) *tensor.Tensor {
	t := tensor.New(types.F32, shape...)
	for i := range t.Len() {
		t.SetFloat(i, float64(i+1))
	}
	return t
}

var _ frontend.Attrs = attributes{}
