package compile

import (
	"io"
	"sync"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// pieceBytes is about how much of a constant is packed at once: little enough to stay in caches until it is written.
const pieceBytes = 1 << 20

// packed brings a tensor into a layout; lanes beyond the logical extent are zero.
func packed(t *tensor.Tensor, l types.Layout) []byte {
	if l == "" {
		return t.Data
	}
	if t.DType.IsNibble() {
		return packedNibbles(t, l)
	}
	p := newPacking(t, l)
	out := tensor.Bytes(p.outer * p.each)
	p.fill(out, 0, p.outer)
	return out
}

// writePacked writes what packed returns, piece by piece: large weights are twice in no memory. Pieces are made by so many workers at once.
func writePacked(w io.Writer, t *tensor.Tensor, l types.Layout, workers int) error {
	if l == "" {
		_, err := w.Write(t.Data)
		return err
	}
	if t.DType.IsNibble() {
		_, err := w.Write(packedNibbles(t, l))
		return err
	}
	p := newPacking(t, l)
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

// buffers are those of pieces: pages that are used again need not be cleared.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// begin starts to pack so many iterations, or those that are left, beginning with iteration from, and returns where the next piece begins.
func (b *piece) begin(p packing, from, step int) (to int) {
	to = min(from+step, p.outer)
	size := (to - from) * p.each
	if cap(*b.buffer) < size {
		*b.buffer = tensor.Bytes(size)
	}
	b.data = (*b.buffer)[:size]
	if from < to {
		b.filled.Go(func() { p.fill(b.data, from, to) })
	}
	return to
}

// A packing is a tensor on its way into a layout: outer iterations of the layout's first loop, which make so many bytes each.
type packing struct {
	t           *tensor.Tensor
	l           types.Layout
	outer, each int
}

func newPacking(t *tensor.Tensor, l types.Layout) packing {
	dims := l.Dims(t.Shape)
	return packing{t, l, dims[0], types.Count(dims[1:]) * t.DType.Size()}
}

// fill packs the iterations [from, to) of the first loop.
func (p packing) fill(out []byte, from, to int) {
	t := p.t
	switch t.DType.Size() {
	case 1:
		reorder(t, p.l, tensor.Elements[uint8](t.Data), tensor.Elements[uint8](out), from, to)
	case 2:
		reorder(t, p.l, tensor.Elements[uint16](t.Data), tensor.Elements[uint16](out), from, to)
	case 4:
		reorder(t, p.l, tensor.Elements[uint32](t.Data), tensor.Elements[uint32](out), from, to)
	case 8:
		reorder(t, p.l, tensor.Elements[uint64](t.Data), tensor.Elements[uint64](out), from, to)
	}
}

// packedNibbles is packed for elements of 4 bits: each has a byte of its own while they are arranged.
func packedNibbles(t *tensor.Tensor, l types.Layout) []byte {
	single := make([]byte, t.Len())
	for i := range single {
		single[i] = t.Data[i/2] >> (4 * (i % 2)) & 15
	}
	dims := l.Dims(t.Shape)
	wide := make([]byte, types.Count(dims))
	reorder(t, l, single, wide, 0, dims[0])
	out := tensor.Bytes(t.DType.Bytes(len(wide)))
	for i, x := range wide {
		out[i/2] |= x << (4 * (i % 2))
	}
	return out
}

// reorder fills dst with the iterations [first, last) of the layout's first loop. What lies beyond an extent is zero.
func reorder[T uint8 | uint16 | uint32 | uint64](t *tensor.Tensor, l types.Layout, src, dst []T, first, last int) {
	parts, dims, strides := l.Parts(len(t.Shape)), l.Dims(t.Shape), types.RowMajor(t.Shape)
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
		for i := range inside - first {
			row[i] = src[from+(first+i)*stride]
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
