package compile

import (
	"io"
	"slices"
	"sync"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// pieceBytes is about how much of a constant is packed at once: little enough to stay in caches until it is written.
const pieceBytes = 1 << 20

// packed brings a tensor into a layout; lanes beyond the logical extent are zero.
func packed(t *tensor.Tensor, l types.Layout) []byte {
	if l == "" {
		return t.Bytes()
	}
	if t.DType.IsNibble() {
		return packedNibbles(t, l)
	}
	p := newPacking(t, l)
	defer p.done()
	out := tensor.Bytes(p.outer * p.each)
	p.fill(out, 0, p.outer)
	return out
}

// writePacked writes what packed returns, piece by piece: large weights are twice in no memory. Pieces are made by so many workers at once.
func writePacked(w io.Writer, t *tensor.Tensor, l types.Layout, workers int) error {
	if l == "" {
		data, done := plain(t)
		defer done()
		_, err := w.Write(data)
		return err
	}
	if t.DType.IsNibble() {
		_, err := w.Write(packedNibbles(t, l))
		return err
	}
	p := newPacking(t, l)
	defer p.done()
	if p.outer*p.each == 0 {
		return nil
	}
	step := max(1, pieceBytes/p.each)
	ring := make([]piece, 2*max(1, workers))
	defer func() {
		for i := range ring {
			ring[i].filled.Wait()
			buffers.Put(ring[i].buffer)
		}
	}()
	from := 0
	for i := range ring {
		ring[i].buffer = buffers.Get().(*[]byte)
		from = ring[i].begin(p, from, step)
	}
	for i := 0; ; i++ {
		b := &ring[i%len(ring)]
		if b.filled.Wait(); len(b.data) == 0 {
			return nil
		}
		if _, err := w.Write(b.data); err != nil {
			return err
		}
		from = b.begin(p, from, step)
	}
}

// A piece is a part of a constant that is being packed.
type piece struct {
	data   []byte // in the buffer
	buffer *[]byte
	filled sync.WaitGroup
}

// Buffers are used again, for then their pages need not be cleared: those of pieces, and of constants that are made to be packed.
var (
	buffers = sync.Pool{New: func() any { return new([]byte) }}
	wholes  = sync.Pool{New: func() any { return new([]byte) }}
)

// sized gives a buffer so many bytes, of which any may be set.
func sized(buffer *[]byte, n int) []byte {
	if cap(*buffer) < n {
		*buffer = tensor.Bytes(n)
	}
	return (*buffer)[:n]
}

// plain are the elements of a tensor until done: a constant that is made later is made for now.
func plain(t *tensor.Tensor) (data []byte, done func()) {
	if data, steps, ok := t.InMemory(); ok && slices.Equal(steps, types.RowMajor(t.Shape)) {
		return data, func() {}
	}
	buffer := wholes.Get().(*[]byte)
	data = sized(buffer, t.Size())
	t.Fill(data)
	return data, func() { wholes.Put(buffer) }
}

// begin starts to pack so many iterations, or those that are left, beginning with iteration from, and returns where the next piece begins.
func (b *piece) begin(p packing, from, step int) (to int) {
	to = min(from+step, p.outer)
	b.data = sized(b.buffer, (to-from)*p.each)
	if from < to {
		b.filled.Go(func() { p.fill(b.data, from, to) })
	}
	return to
}

// A packing is a tensor on its way into a layout: outer iterations of the layout's first loop, which make so many bytes each.
type packing struct {
	t           *tensor.Tensor
	data        []byte
	steps       []int // between elements of data, along each axis
	l           types.Layout
	outer, each int
	done        func() // with data
}

func newPacking(t *tensor.Tensor, l types.Layout) packing {
	dims := l.Dims(t.Shape)
	p := packing{t: t, l: l, outer: dims[0], each: types.Count(dims[1:]) * t.DType.Size(), done: func() {}}
	var ok bool
	if p.data, p.steps, ok = t.InMemory(); !ok {
		p.data, p.done = plain(t)
		p.steps = types.RowMajor(t.Shape)
	}
	return p
}

// fill packs the iterations [from, to) of the first loop.
func (p packing) fill(out []byte, from, to int) {
	t := p.t
	switch t.DType.Size() {
	case 1:
		reorder(p, tensor.Elements[uint8](p.data), tensor.Elements[uint8](out), from, to)
	case 2:
		reorder(p, tensor.Elements[uint16](p.data), tensor.Elements[uint16](out), from, to)
	case 4:
		reorder(p, tensor.Elements[uint32](p.data), tensor.Elements[uint32](out), from, to)
	case 8:
		reorder(p, tensor.Elements[uint64](p.data), tensor.Elements[uint64](out), from, to)
	}
}

// packedNibbles is packed for elements of 4 bits: each has a byte of its own while they are arranged.
func packedNibbles(t *tensor.Tensor, l types.Layout) []byte {
	single := make([]byte, t.Len())
	for i := range single {
		single[i] = t.Bytes()[i/2] >> (4 * (i % 2)) & 15
	}
	dims := l.Dims(t.Shape)
	wide := make([]byte, types.Count(dims))
	reorder(packing{t: t, steps: types.RowMajor(t.Shape), l: l}, single, wide, 0, dims[0])
	out := tensor.Bytes(t.DType.Bytes(len(wide)))
	for i, x := range wide {
		out[i/2] |= x << (4 * (i % 2))
	}
	return out
}

// reorder fills dst with the iterations [first, last) of the layout's first loop. What lies beyond an extent is zero.
func reorder[T uint8 | uint16 | uint32 | uint64](packing packing, src, dst []T, first, last int) {
	t, strides := packing.t, packing.steps
	parts, dims := packing.l.Parts(len(t.Shape)), packing.l.Dims(t.Shape)
	at := make([]int, len(t.Shape)) // logical index of the outer loops so far
	pos := 0
	var walk func(level, from, first, last int)
	walk = func(level, from, first, last int) {
		p := parts[level]
		step, base := 1, at[p.Axis]
		if p.Block > 0 && !p.Inner {
			step = p.Block
		}
		stride := step * strides[p.Axis]
		if level == len(parts)-2 && crosses(parts, strides, stride) {
			n := min(last, max(first, (t.Shape[p.Axis]-base+step-1)/step)) - first // that lie inside
			q := parts[level+1]
			across := strides[q.Axis]
			inside := min(dims[level+1], t.Shape[q.Axis]-at[q.Axis])
			for axis, x := range at {
				if x >= t.Shape[axis] {
					n = 0
				}
			}
			block := dst[pos : pos+(last-first)*dims[level+1]]
			pos += len(block)
			if n > 0 {
				width := dims[level+1]
				if inside < width {
					clear(block)
				} else {
					clear(block[n*width:])
				}
				tensor.Turn(tensor.Turned{Rows: n, Columns: inside, Step: width, Across: across}, block, src[from+first:])
			} else {
				clear(block)
			}
			return
		}
		if level < len(parts)-1 {
			for i := first; i < last; i++ {
				at[p.Axis] = base + i*step
				walk(level+1, from+i*stride, 0, dims[level+1])
			}
			at[p.Axis] = base
			return
		}
		inside := min(last, max(first, (t.Shape[p.Axis]-base+step-1)/step))
		for axis, x := range at {
			if x >= t.Shape[axis] {
				inside = first
			}
		}
		row := dst[pos : pos+last-first]
		if stride == 1 && inside > first {
			copy(row, src[from+first:from+inside])
		} else {
			for i := range inside - first {
				row[i] = src[from+(first+i)*stride]
			}
		}
		clear(row[inside-first:])
		pos += len(row)
	}
	walk(0, 0, first, last)
}

// crosses reports that elements of a line of the source lie in different rows of the two innermost loops, of which the outer steps by stride: the inner
// one by itself would read a line for each element.
func crosses(parts []types.Part, strides []int, stride int) bool {
	p, q := parts[len(parts)-2], parts[len(parts)-1]
	return stride == 1 && p.Axis != q.Axis && (q.Inner || q.Block == 0) && strides[q.Axis] > 1
}
