package bundle

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"lathe/internal/tool/spelling"
)

// Param is one constant of a model. Data is dense, row-major, little-endian; a reader's Data lies in the mapped file and
// must not be written. A constant to be written may have Write in its place, which makes the bytes each time they are asked for, so that
// they never are in memory all at once.
type Param struct {
	Name  string
	DType string
	Shape []int
	Data  []byte
	Write func(io.Writer) error
}

// Size is the number of bytes of the data.
func (p *Param) Size() int {
	if p.Write == nil {
		return len(p.Data)
	}
	n, _ := ByteSize(p.DType, p.Shape)
	return n
}

// Fill writes the data to w.
func (p *Param) Fill(w io.Writer) error {
	if p.Write != nil {
		return p.Write(w)
	}
	_, err := w.Write(p.Data)
	return err
}

// Magic numbers of TVM's parameter blob.
const (
	paramsMagic = 0xF7E58D4F05049CB7
	tensorMagic = 0xDD5E40F096B4A13F
)

// padPrefix starts the names of the uint8 tensors that bring the next tensor's data to Alignment. TVM's runtimes skip
// parameters that their graph does not name, so the blob stays readable to them.
const padPrefix = "__pad."

func padName(i int) string { return padPrefix + strconv.Itoa(i) }

func isPad(name string) bool { return strings.HasPrefix(name, padPrefix) }

// tensorHeader is the size of what precedes the data of a tensor: magic, reserved, device, rank, type, shape, byte count.
func tensorHeader(rank int) int { return 8 + 8 + 8 + 4 + 4 + 8*rank + 8 }

// namesSize is the size of the blob before its first tensor.
func namesSize(params []Param) int {
	n := 8 + 8 + 8 + 8
	for i, p := range params {
		n += 8 + len(padName(i)) + 8 + len(p.Name)
	}
	return n
}

// ParamsSize returns the bytes WriteParams writes.
func ParamsSize(params []Param) int {
	off := namesSize(params)
	for _, p := range params {
		off += tensorHeader(1) + padSize(off, len(p.Shape)) + tensorHeader(len(p.Shape)) + p.Size()
	}
	return off
}

// ParamOffsets returns where in the blob the data of each parameter starts.
func ParamOffsets(params []Param) []int {
	offsets := make([]int, len(params))
	off := namesSize(params)
	for i, p := range params {
		offsets[i] = off + tensorHeader(1) + padSize(off, len(p.Shape)) + tensorHeader(len(p.Shape))
		off = offsets[i] + p.Size()
	}
	return offsets
}

// padSize is the length of the padding tensor that starts at off before a tensor of the given rank. It is at least 1:
// readers disagree about empty tensors.
func padSize(off, rank int) int {
	off += tensorHeader(1) + tensorHeader(rank)
	return Alignment - off%Alignment
}

// WriteParams streams TVM's parameter blob. Before each parameter stands a padding tensor, so that the data of every
// parameter starts at a multiple of Alignment in the blob.
func WriteParams(w io.Writer, params []Param) error {
	if err := checkParams(params); err != nil {
		return fmt.Errorf("%s: %w", ParamsName, err)
	}
	p := paramsWriter{w: bufio.NewWriterSize(w, 1<<16)}
	p.u64(paramsMagic)
	p.u64(0)
	p.u64(uint64(2 * len(params)))
	for i, q := range params {
		p.text(padName(i))
		p.text(q.Name)
	}
	p.u64(uint64(2 * len(params)))
	var zeros [Alignment]byte
	for _, q := range params {
		n := padSize(p.off, len(q.Shape))
		p.header(dtype{code: 1, bits: 8}, []int{n}, n)
		p.bytes(zeros[:n])
		d, _ := dtypeByName(q.DType)
		p.header(d, q.Shape, q.Size())
		if err := p.data(q); err != nil {
			return err
		}
	}
	return p.w.Flush()
}

func checkParams(params []Param) error {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
		if isPad(p.Name) {
			return fmt.Errorf("parameter name %q is reserved for padding", p.Name)
		}
		if len(p.Shape) > maxRank {
			return fmt.Errorf("parameter %q: %s", p.Name, spelling.Count(len(p.Shape), "dimension"))
		}
		n, err := ByteSize(p.DType, p.Shape)
		if err != nil {
			return fmt.Errorf("parameter %q: %w", p.Name, err)
		}
		if n != p.Size() {
			return fmt.Errorf("parameter %q: %s%v takes %s, not %d", p.Name, p.DType, p.Shape, spelling.Count(n, "byte"), p.Size())
		}
	}
	return distinct("parameter", names)
}

// paramsWriter counts the bytes it writes; the buffered writer keeps the first error.
type paramsWriter struct {
	w   *bufio.Writer
	off int
}

func (p *paramsWriter) bytes(b []byte) {
	p.w.Write(b)
	p.off += len(b)
}

func (p *paramsWriter) u64(v uint64) { p.bytes(binary.LittleEndian.AppendUint64(nil, v)) }

func (p *paramsWriter) text(s string) {
	p.u64(uint64(len(s)))
	p.bytes([]byte(s))
}

// data writes the data of a parameter, which must be as many as its header says.
func (p *paramsWriter) data(q Param) error {
	var c counter
	if err := q.Fill(io.MultiWriter(p.w, &c)); err != nil {
		return err
	}
	p.off += c.n
	if c.n != q.Size() {
		return fmt.Errorf("%s: parameter %q: %s were written, not %d", ParamsName, q.Name, spelling.Count(c.n, "byte"), q.Size())
	}
	return nil
}

// header writes what precedes the data of a tensor.
func (p *paramsWriter) header(d dtype, shape []int, size int) {
	le := binary.LittleEndian
	b := le.AppendUint64(nil, tensorMagic)
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, 1) // device type: CPU
	b = le.AppendUint32(b, 0) // device id
	b = le.AppendUint32(b, uint32(len(shape)))
	b = append(b, d.code, d.bits)
	b = le.AppendUint16(b, 1) // lanes
	for _, n := range shape {
		b = le.AppendUint64(b, uint64(n))
	}
	p.bytes(le.AppendUint64(b, uint64(size)))
}
