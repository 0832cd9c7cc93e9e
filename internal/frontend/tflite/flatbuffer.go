package tflite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A buffer is a flatbuffer being read. Every access is checked against its bytes; the first one that fails is kept, and what is
// read from then on is empty. Vectors are taken from the same budget, however often tables that share them are visited, so that a small
// file cannot ask for much memory.
type buffer struct {
	data []byte
	room int
	err  error
}

// roomPerByte bounds what decoding takes, in bytes for each byte of the file.
const roomPerByte = 32

func newBuffer(data []byte) *buffer {
	return &buffer{data: data, room: roomPerByte*len(data) + 4096}
}

func (b *buffer) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

var errRoom = errors.New("it asks for more memory than a file of its size can fill: damaged")

// take counts what is about to be allocated.
func (b *buffer) take(bytes int) bool {
	if b.room -= bytes; b.room < 0 && b.err == nil {
		b.err = errRoom
	}
	return b.err == nil
}

// at returns n bytes from a position, or nil.
func (b *buffer) at(pos, n int) []byte {
	if b.err != nil {
		return nil
	}
	if pos < 0 || n < 0 || pos > len(b.data) || n > len(b.data)-pos {
		b.fail("%d bytes at %d lie outside of the file of %d: damaged or cut short", n, pos, len(b.data))
		return nil
	}
	return b.data[pos : pos+n : pos+n]
}

func (b *buffer) u32(pos int) int {
	if p := b.at(pos, 4); p != nil {
		return int(binary.LittleEndian.Uint32(p))
	}
	return 0
}

// A table is one table of a flatbuffer: a list of slots, each of which may be absent. The zero table has none.
type table struct {
	*buffer
	pos, fields, size int // of the table, of its list of fields, and the bytes of that list
}

// root is the table that a position at the start points to.
func (b *buffer) root() table { return b.table(b.u32(0)) }

func (b *buffer) table(pos int) table {
	t := table{buffer: b, pos: pos}
	if p := b.at(pos, 4); p != nil {
		t.fields = pos - int(int32(binary.LittleEndian.Uint32(p)))
	}
	if p := b.at(t.fields, 4); p != nil {
		t.size = int(binary.LittleEndian.Uint16(p))
		if t.size < 4 || t.size%2 != 0 {
			b.fail("the table at %d has a list of %d bytes: damaged", pos, t.size)
		}
	}
	b.at(t.fields, t.size)
	return t
}

// field is the position of a slot's value, or 0.
func (t table) field(slot int) int {
	if t.buffer == nil || t.err != nil || 4+2*slot+2 > t.size {
		return 0
	}
	p := t.at(t.fields+4+2*slot, 2)
	if p == nil || p[0]|p[1] == 0 {
		return 0
	}
	return t.pos + int(binary.LittleEndian.Uint16(p))
}

func (t table) has(slot int) bool { return t.field(slot) != 0 }

// scalar returns the bytes of a slot's value, or nil where it is absent.
func (t table) scalar(slot, bytes int) []byte {
	pos := t.field(slot)
	if pos == 0 {
		return nil
	}
	return t.at(pos, bytes)
}

func (t table) i8(slot, absent int) int {
	if p := t.scalar(slot, 1); p != nil {
		return int(int8(p[0]))
	}
	return absent
}

func (t table) u8(slot int) int { return int(uint8(t.i8(slot, 0))) }

func (t table) i32(slot, absent int) int {
	if p := t.scalar(slot, 4); p != nil {
		return int(int32(binary.LittleEndian.Uint32(p)))
	}
	return absent
}

func (t table) u32At(slot int) int { return int(uint32(t.i32(slot, 0))) }

func (t table) u64(slot int) uint64 {
	if p := t.scalar(slot, 8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

func (t table) f32(slot int) float32 {
	if p := t.scalar(slot, 4); p != nil {
		return math.Float32frombits(binary.LittleEndian.Uint32(p))
	}
	return 0
}

// to follows the offset in a slot; 0 where it is absent.
func (t table) to(slot int) int {
	pos := t.field(slot)
	if pos == 0 {
		return 0
	}
	off := t.u32(pos)
	if off == 0 {
		t.fail("an offset at %d points to itself: damaged", pos)
	}
	return pos + off
}

// child is the table in a slot, the zero table where it is absent.
func (t table) child(slot int) table {
	if pos := t.to(slot); pos != 0 && t.err == nil {
		return t.table(pos)
	}
	return table{}
}

// bytes is the vector of bytes, or of elements of the given size, in a slot, in place.
func (t table) bytes(slot, size int) []byte {
	pos := t.to(slot)
	if pos == 0 {
		return nil
	}
	n := t.u32(pos)
	if n > len(t.data)/size {
		t.fail("a vector of %d elements at %d lies outside of the file: damaged", n, pos)
		return nil
	}
	return t.at(pos+4, n*size)
}

// str copies, so that names outlive the mapping.
func (t table) str(slot int) string {
	s := t.bytes(slot, 1)
	if t.buffer == nil || !t.take(len(s)) {
		return ""
	}
	return string(s)
}

func (t table) ints(slot int) []int {
	raw := t.bytes(slot, 4)
	if raw == nil || !t.take(2*len(raw)) {
		return nil
	}
	out := make([]int, len(raw)/4)
	for i := range out {
		out[i] = int(int32(binary.LittleEndian.Uint32(raw[4*i:])))
	}
	return out
}

func (t table) longs(slot int) []int64 {
	raw := t.bytes(slot, 8)
	if raw == nil || !t.take(len(raw)) {
		return nil
	}
	out := make([]int64, len(raw)/8)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return out
}

func (t table) floats(slot int) []float32 {
	raw := t.bytes(slot, 4)
	if raw == nil || !t.take(len(raw)) {
		return nil
	}
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

// tables is the vector of tables in a slot. cost is what the caller makes of each, in bytes.
func (t table) tables(slot, cost int) []table {
	pos := t.to(slot)
	raw := t.bytes(slot, 4)
	if raw == nil || !t.take(len(raw)/4*(cost+40)) {
		return nil
	}
	out := make([]table, len(raw)/4)
	for i := range out {
		at := pos + 4 + 4*i
		out[i] = t.table(at + t.u32(at))
	}
	return out
}
