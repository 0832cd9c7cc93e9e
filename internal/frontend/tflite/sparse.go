package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// dense expands a sparse tensor: levels of dimensions in the order of traversal, blocks behind them, each dense or compressed (CSR).
func (x *tensorInfo) dense(b *compose.Builder, t types.Tensor) *tensor.Tensor {
	s := x.sparsity
	order, blocks := s.ints(0), s.ints(1)
	rank := len(t.Shape)
	var levels []level
	for _, d := range s.tables(2, 120) {
		l := level{size: d.i32(1, 0), sparse: d.i8(0, 0) == 1}
		if l.sparse {
			l.segments, l.indices = indexVector(d, 2), indexVector(d, 4)
		}
		levels = append(levels, l)
	}
	if s.err != nil {
		compose.Fail("sparsity: %w", s.err)
	}
	if len(order) != len(levels) || len(order) != rank+len(blocks) {
		compose.Fail("sparsity of %d levels for a tensor of rank %d with %d blocks: damaged", len(levels), rank, len(blocks))
	}
	size := make([]int, rank) // of a block along each axis
	for k := range size {
		size[k] = 1
	}
	for i, axis := range blocks {
		at := rank + i
		if axis < 0 || axis >= rank || size[axis] != 1 {
			compose.Fail("sparsity: block %d is of axis %d: damaged", i, axis)
		}
		for l, o := range order {
			if o == at {
				size[axis] = max(levels[l].size, 1)
			}
		}
	}
	out := b.Zeros(t.DType, t.Shape...)
	w := sparseWalk{order: order, blocks: blocks, size: size, levels: levels, out: out, data: x.data, coords: make([]int, len(order)), bytes: t.DType.Size()}
	w.walk(0, 0)
	if w.next*w.bytes != len(x.data) {
		compose.Fail("sparsity: %d values are placed of %d bytes: damaged", w.next, len(x.data))
	}
	return out
}

type level struct {
	size              int
	sparse            bool
	segments, indices []int
}

// indexVector reads a union of vectors of int32, uint16 or uint8, whose tag is in a slot and the table in the next one.
func indexVector(t table, slot int) []int {
	v := t.child(slot + 1)
	switch t.u8(slot) {
	case 1:
		return v.ints(0)
	case 2:
		raw := v.bytes(0, 2)
		if v.buffer == nil || !v.take(4*len(raw)) {
			return nil
		}
		out := make([]int, len(raw)/2)
		for i := range out {
			out[i] = int(raw[2*i]) | int(raw[2*i+1])<<8
		}
		return out
	case 3:
		raw := v.bytes(0, 1)
		if v.buffer == nil || !v.take(8*len(raw)) {
			return nil
		}
		out := make([]int, len(raw))
		for i := range out {
			out[i] = int(raw[i])
		}
		return out
	}
	return nil
}

// A sparseWalk visits the stored values in order and puts each in its place.
type sparseWalk struct {
	order, blocks, size []int
	levels              []level
	coords              []int // by place in the order: of axes in blocks, then within blocks
	out                 *tensor.Tensor
	data                []byte
	next, bytes, steps  int
}

func (w *sparseWalk) walk(depth, parent int) {
	if w.steps++; w.steps > w.out.Size()*(len(w.levels)+1)+16 {
		compose.Fail("sparsity: more values than the tensor has: damaged")
	}
	if depth == len(w.levels) {
		w.place()
		return
	}
	l := w.levels[depth]
	if !l.sparse {
		for i := range max(l.size, 0) {
			w.coords[w.axis(depth)] = i
			w.walk(depth+1, parent*l.size+i)
		}
		return
	}
	if parent+1 >= len(l.segments) {
		compose.Fail("sparsity: segment %d of %d: damaged", parent, len(l.segments))
	}
	for i := l.segments[parent]; i < l.segments[parent+1]; i++ {
		if i < 0 || i >= len(l.indices) {
			compose.Fail("sparsity: index %d of %d: damaged", i, len(l.indices))
		}
		w.coords[w.axis(depth)] = l.indices[i]
		w.walk(depth+1, i)
	}
}

func (w *sparseWalk) axis(depth int) int {
	a := w.order[depth]
	if a < 0 || a >= len(w.coords) {
		compose.Fail("sparsity: level %d is of axis %d: damaged", depth, a)
	}
	return a
}

func (w *sparseWalk) place() {
	rank := len(w.out.Shape)
	at := 0
	for k, n := range w.out.Shape {
		i := w.coords[k] * w.size[k]
		for b, axis := range w.blocks {
			if axis == k {
				i += w.coords[rank+b]
			}
		}
		if i < 0 || i >= n {
			compose.Fail("sparsity: place %d of axis %d with %d: damaged", i, k, n)
		}
		at = at*n + i
	}
	from := w.next * w.bytes
	if from+w.bytes > len(w.data) {
		compose.Fail("sparsity: more places than values: damaged")
	}
	copy(w.out.Bytes()[at*w.bytes:(at+1)*w.bytes], w.data[from:])
	w.next++
}
