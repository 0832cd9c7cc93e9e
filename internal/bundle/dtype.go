package bundle

import (
	"fmt"
	"math/bits"
)

// dtype is one element type: its name as numpy and TVM write it and DLPack's type code and width.
type dtype struct {
	name string
	code uint8
	bits uint8
}

// dtypes lists the element types a package may hold. A bool is DLPack's unsigned integer of one bit, as TVM 0.19 has it,
// and takes a byte.
var dtypes = []dtype{
	{"float32", 2, 32},
	{"int8", 0, 8},
	{"uint8", 1, 8},
	{"int32", 0, 32},
	{"int64", 0, 64},
	{"bool", 1, 1},
	{"float16", 2, 16},
	{"bfloat16", 4, 16},
	{"float64", 2, 64},
	{"int16", 0, 16},
	{"uint16", 1, 16},
	{"uint32", 1, 32},
	{"uint64", 1, 64},
	{"float8_e4m3fn", 10, 8},
	{"float8_e4m3fnuz", 11, 8},
	{"float8_e5m2", 12, 8},
	{"float8_e5m2fnuz", 13, 8},
	{"int4", 0, 4}, // two a byte, the first in the low bits
	{"uint4", 1, 4},
}

func (d dtype) size() int { return (int(d.bits) + 7) / 8 }

func dtypeByName(name string) (dtype, error) {
	for _, d := range dtypes {
		if d.name == name {
			return d, nil
		}
	}
	return dtype{}, fmt.Errorf("unknown element type %q", name)
}

func dtypeByCode(code, width uint8, lanes uint16) (dtype, error) {
	for _, d := range dtypes {
		if d.code == code && d.bits == width && lanes == 1 {
			return d, nil
		}
	}
	return dtype{}, fmt.Errorf("unsupported element type (DLPack code %d, %d bits, %d lanes)", code, width, lanes)
}

// DTypeSize returns the bytes one element of the named type takes by itself; two of 4 bits share one in a tensor.
func DTypeSize(name string) (int, error) {
	d, err := dtypeByName(name)
	if err != nil {
		return 0, err
	}
	return d.size(), nil
}

// DTypeCode returns the number of the named type in a descriptor: DLPack's type code times 256 plus the width in bits.
func DTypeCode(name string) (int, error) {
	d, err := dtypeByName(name)
	if err != nil {
		return 0, err
	}
	return int(d.code)<<8 | int(d.bits), nil
}

// maxBytes bounds every size a package may claim. It is beyond any machine, and low enough that sums of a few million
// such sizes cannot wrap.
const maxBytes = 1 << 46

// ByteSize returns the bytes a dense tensor of the type and shape takes. Negative dims, and sizes beyond 64 TiB, are errors.
func ByteSize(dtype string, shape []int) (int, error) {
	t, err := dtypeByName(dtype)
	if err != nil {
		return 0, err
	}
	size, empty := uint64(t.size()), false
	for _, d := range shape {
		if d < 0 || d > maxBytes {
			return 0, fmt.Errorf("shape %v has an impossible dimension %d", shape, d)
		}
		if d == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(size, uint64(d))
		if hi != 0 || lo > maxBytes {
			return 0, fmt.Errorf("shape %v of %s is larger than any memory", shape, dtype)
		}
		size = lo
	}
	if empty {
		return 0, nil
	}
	if t.bits == 4 {
		size = (size + 1) / 2
	}
	return int(size), nil
}
