package c

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"lathe/internal/types"
)

// weights writes the arrays of constants: integers and floats as decimal numbers that read back to the same bits. Floats
// that C has no number for, infinities and NaN, need an array of bits.
func (f *File) weights(b *bufio.Writer, n fileNames) {
	for i, w := range f.Weights {
		b.WriteByte('\n')
		comment(b, []string{w.Comment})
		count := max(len(w.Data)/w.DType.Size(), 1)
		head := fmt.Sprintf("static const %s %s[%d] LATHE_WEIGHTS_ATTRIBUTE = {", memType(w.DType), n.weights[i], count)
		tail := "};\n"
		t := w.DType
		if !w.finite() {
			t = bitsOf[t]
			head = fmt.Sprintf("static const union { %s bits[%d]; %s values[%d]; } %s LATHE_WEIGHTS_ATTRIBUTE = {{", memType(t), count, memType(w.DType), count, n.weights[i])
			tail = "}};\n"
		}
		b.WriteString(head + "\n")
		w.elements(b, t)
		b.WriteString(tail)
	}
}

// bitsOf are the types in which the bits of floats are written.
var bitsOf = map[types.DType]types.DType{types.F32: types.U32, types.F64: types.U64}

// reference is how a kernel is given the weight of a name.
func (w *Weight) reference(name string) string {
	if !w.finite() {
		return name + ".values"
	}
	return name
}

// finite reports whether w can be written as numbers.
func (w *Weight) finite() bool {
	for at := 0; at < len(w.Data); at += w.DType.Size() {
		v := 0.0
		switch w.DType {
		case types.F32:
			v = float64(math.Float32frombits(binary.LittleEndian.Uint32(w.Data[at:])))
		case types.F64:
			v = math.Float64frombits(binary.LittleEndian.Uint64(w.Data[at:]))
		default:
			return true
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// elements writes w's bytes as numbers of type t, in lines of at most maxColumns.
func (w *Weight) elements(b *bufio.Writer, t types.DType) {
	column := 0
	var text []byte
	put := func() {
		if column > 0 && column+2+len(text) > maxColumns {
			b.WriteByte('\n')
			column = 0
		}
		if column == 0 {
			b.WriteString(" ")
			column = 1
		}
		b.WriteByte(' ')
		b.Write(text)
		b.WriteByte(',')
		column += len(text) + 2
	}
	for at := 0; at < len(w.Data); at += t.Size() {
		text = appendElement(text[:0], t, w.Data[at:], t != w.DType)
		put()
	}
	if len(w.Data) == 0 {
		text = append(text, '0')
		put()
	}
	b.WriteByte('\n')
}

// appendElement writes the first element of data as a constant of C.
func appendElement(b []byte, t types.DType, data []byte, hex bool) []byte {
	if t.IsNibble() {
		t = types.U8
	}
	var u uint64
	switch t.Size() {
	case 1:
		u = uint64(data[0])
	case 2:
		u = uint64(binary.LittleEndian.Uint16(data))
	case 4:
		u = uint64(binary.LittleEndian.Uint32(data))
	default:
		u = binary.LittleEndian.Uint64(data)
	}
	switch {
	case t == types.F32:
		return append(appendFloat(b, float64(math.Float32frombits(uint32(u))), 32), 'f')
	case t == types.F64:
		return appendFloat(b, math.Float64frombits(u), 64)
	case isFloat16(t) || hex:
		b = strconv.AppendUint(append(b, "0x"...), u, 16)
		if t.Size() == 8 {
			return append(b, "ull"...)
		}
		return append(b, 'u')
	case t == types.Bool:
		return strconv.AppendUint(b, min(u, 1), 10)
	case t.IsUnsigned():
		return append(b, integer(int64(u), t).s...)
	}
	empty := 64 - t.Bits()
	return append(b, integer(int64(u<<empty)>>empty, t).s...)
}
