package npz

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/tool/spelling"
)

const magic = "\x93NUMPY"

// dtype is an element type: numpy's type string without byte order, its name, its bytes.
type dtype struct {
	code, name string
	size       int
}

var dtypes = []dtype{
	{"f4", "float32", 4}, {"f8", "float64", 8}, {"f2", "float16", 2},
	{"i1", "int8", 1}, {"i2", "int16", 2}, {"i4", "int32", 4}, {"i8", "int64", 8},
	{"u1", "uint8", 1}, {"u2", "uint16", 2}, {"u4", "uint32", 4}, {"u8", "uint64", 8},
	{"b1", "bool", 1},
}

// maxHeader bounds the text header; numpy refuses more than 10,000 characters by itself.
const maxHeader = 1 << 16

// header is the part of an array before its data.
type header struct {
	name    string
	size    int
	swap    bool // big-endian
	fortran bool // column-major
	shape   []int
}

// readArray reads an array of which the header, and all of the data, take total bytes.
func readArray(r io.Reader, total int64) (Array, error) {
	h, used, err := readHeader(r)
	if err != nil {
		return Array{}, err
	}
	n, ok := byteSize(h.shape, h.size)
	if !ok || int64(n) != total-used {
		return Array{}, fmt.Errorf("%s%v does not fit the %s of data there are", h.name, h.shape, spelling.Count(total-used, "byte"))
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return Array{}, fmt.Errorf("data: %w", err)
	}
	if _, err := io.ReadFull(r, make([]byte, 1)); err != io.EOF {
		if err == nil {
			err = fmt.Errorf("more bytes than announced")
		}
		return Array{}, fmt.Errorf("data: %w", err)
	}
	if h.swap && h.size > 1 {
		for i := 0; i < n; i += h.size {
			slices.Reverse(data[i : i+h.size])
		}
	}
	if h.fortran {
		data = rowMajor(data, h.shape, h.size)
	}
	return Array{DType: h.name, Shape: h.shape, Data: data}, nil
}

func readHeader(r io.Reader) (h header, used int64, err error) {
	var start [8]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return h, 0, fmt.Errorf("header: %w", err)
	}
	if string(start[:6]) != magic {
		return h, 0, fmt.Errorf("is not an .npy array")
	}
	length := make([]byte, 2)
	if v := start[6]; v == 2 || v == 3 {
		length = make([]byte, 4)
	} else if v != 1 {
		return h, 0, fmt.Errorf(".npy format version %d is not known", v)
	}
	if _, err := io.ReadFull(r, length); err != nil {
		return h, 0, fmt.Errorf("header: %w", err)
	}
	size := uint32(binary.LittleEndian.Uint16(length))
	if len(length) == 4 {
		size = binary.LittleEndian.Uint32(length)
	}
	if size > maxHeader {
		return h, 0, fmt.Errorf("header of %s", spelling.Count(size, "byte"))
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, 0, fmt.Errorf("header: %w", err)
	}
	h, err = parseHeader(string(text))
	return h, int64(len(start)+len(length)) + int64(size), err
}

// The header is a Python dictionary with three keys in any order.
var (
	descrField = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	orderField = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	shapeField = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9L,\s]*)\)`)
)

func parseHeader(text string) (header, error) {
	descr, order, shape := descrField.FindStringSubmatch(text), orderField.FindStringSubmatch(text), shapeField.FindStringSubmatch(text)
	if descr == nil && strings.Contains(text, "descr") {
		return header{}, fmt.Errorf("structured element types are not supported")
	}
	if descr == nil || order == nil || shape == nil {
		return header{}, fmt.Errorf("header %q lacks descr, fortran_order or shape", strings.TrimSpace(text))
	}
	h := header{fortran: order[1] == "True", shape: []int{}}
	code := strings.TrimLeft(descr[1], "<>=|")
	i := slices.IndexFunc(dtypes, func(d dtype) bool { return d.code == code })
	if i < 0 {
		return header{}, fmt.Errorf("element type %q is not supported%s", descr[1], advice(code))
	}
	h.name, h.size, h.swap = dtypes[i].name, dtypes[i].size, strings.HasPrefix(descr[1], ">")
	for d := range strings.SplitSeq(shape[1], ",") {
		d = strings.TrimSuffix(strings.TrimSpace(d), "L")
		if d == "" {
			continue
		}
		n, err := strconv.Atoi(d)
		if err != nil {
			return header{}, fmt.Errorf("shape (%s): %w", shape[1], err)
		}
		h.shape = append(h.shape, n)
	}
	if len(h.shape) > 64 {
		return header{}, fmt.Errorf("%s", spelling.Count(len(h.shape), "dimension"))
	}
	return h, nil
}

func advice(code string) string {
	switch {
	case strings.HasPrefix(code, "O"):
		return ": Python objects need Python; save plain arrays"
	case strings.HasPrefix(code, "c"):
		return ": save real and imaginary part as two arrays"
	}
	return ""
}

func byteSize(shape []int, size int) (int, bool) {
	n := uint64(size)
	for _, d := range shape {
		if d == 0 {
			return 0, true
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<46 {
			return 0, false
		}
		n = lo
	}
	return int(n), true
}

// rowMajor reorders column-major data.
func rowMajor(data []byte, shape []int, size int) []byte {
	out := make([]byte, len(data))
	strides := make([]int, len(shape))
	stride := size
	for d, n := range shape {
		strides[d] = stride
		stride *= n
	}
	index := make([]int, len(shape))
	from := 0
	for to := 0; to < len(out); to += size {
		copy(out[to:to+size], data[from:])
		for d := len(shape) - 1; d >= 0; d-- {
			index[d]++
			from += strides[d]
			if index[d] < shape[d] {
				break
			}
			from -= index[d] * strides[d]
			index[d] = 0
		}
	}
	return out
}

// writeArray writes format version 1, the header padded so that data starts at a multiple of 64 bytes.
func writeArray(w io.Writer, a Array) error {
	i := slices.IndexFunc(dtypes, func(d dtype) bool { return d.name == a.DType })
	if i < 0 {
		return fmt.Errorf("numpy has no element type %s", a.DType)
	}
	if n, ok := byteSize(a.Shape, dtypes[i].size); !ok || n != len(a.Data) {
		return fmt.Errorf("%s%v takes %s, the data has %d", a.DType, a.Shape, spelling.Count(n, "byte"), len(a.Data))
	}
	mark := "<"
	if dtypes[i].size == 1 {
		mark = "|"
	}
	var dims strings.Builder
	for k, d := range a.Shape {
		if k > 0 {
			dims.WriteString(" ")
		}
		fmt.Fprintf(&dims, "%d,", d)
	}
	shape := dims.String()
	if len(a.Shape) > 1 {
		shape = strings.TrimSuffix(shape, ",")
	}
	text := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", mark, dtypes[i].code, shape)
	const fixed = len(magic) + 4 // magic, version, length
	pad := 63 - (fixed+len(text))%64
	text += strings.Repeat(" ", pad) + "\n"
	head := append([]byte(magic), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(text)))
	if _, err := w.Write(append(head, text...)); err != nil {
		return err
	}
	_, err := w.Write(a.Data)
	return err
}
