package compile

import (
	"unsafe"

	"lathe/internal/loop"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// packed brings a tensor into a layout; lanes beyond the logical extent are zero.
func packed(t *tensor.Tensor, l types.Layout) []byte {
	if l == "" {
		return t.Data
	}
	out := tensor.Bytes(types.Count(l.Dims(t.Shape)) * t.DType.Size())
	switch t.DType.Size() {
	case 1:
		reorder(t, l, elements[uint8](t.Data), elements[uint8](out))
	case 2:
		reorder(t, l, elements[uint16](t.Data), elements[uint16](out))
	case 4:
		reorder(t, l, elements[uint32](t.Data), elements[uint32](out))
	case 8:
		reorder(t, l, elements[uint64](t.Data), elements[uint64](out))
	}
	return out
}

// elements views bytes as elements; unaligned ones, as a model file may hold them, are copied.
func elements[T uint8 | uint16 | uint32 | uint64](b []byte) []T {
	var z T
	size := int(unsafe.Sizeof(z))
	if len(b) == 0 {
		return nil
	}
	p := unsafe.Pointer(&b[0])
	if uintptr(p)%unsafe.Alignof(z) != 0 {
		c := make([]T, len(b)/size)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&c[0])), len(b)), b)
		return c
	}
	return unsafe.Slice((*T)(p), len(b)/size)
}

func reorder[T uint8 | uint16 | uint32 | uint64](t *tensor.Tensor, l types.Layout, src, dst []T) {
	parts, dims, strides := l.Parts(len(t.Shape)), l.Dims(t.Shape), loop.RowMajor(t.Shape)
	at := make([]int, len(t.Shape)) // logical index of the outer loops so far
	pos := 0
	var walk func(level, from int)
	walk = func(level, from int) {
		p := parts[level]
		step, base := 1, at[p.Axis]
		if p.Block > 0 && !p.Inner {
			step = p.Block
		}
		stride := step * strides[p.Axis]
		if level < len(parts)-1 {
			for i := range dims[level] {
				at[p.Axis] = base + i*step
				walk(level+1, from+i*stride)
			}
			at[p.Axis] = base
			return
		}
		n := dims[level]
		if left := (t.Shape[p.Axis] - base + step - 1) / step; left < n {
			n = max(left, 0)
		}
		for axis, x := range at {
			if x >= t.Shape[axis] {
				n = 0
			}
		}
		for i := range n {
			dst[pos+i] = src[from+i*stride]
		}
		pos += dims[level]
	}
	walk(0, 0)
}
