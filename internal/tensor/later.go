package tensor

import (
	"sync"
	"sync/atomic"

	"lathe/internal/types"
)

// A later makes the elements of a tensor when somebody asks for them: constants of hundreds of megabytes that are made of others need no memory by
// themselves while they can be written piece by piece, and no time where nobody asks.
type later struct {
	of    *Tensor
	how   string
	fill  func(out []byte)
	steps []int // of a view, how far apart its elements lie in of along each axis; nil: it is none
	once  sync.Once
	made  atomic.Bool
	data  []byte // once made
}

// Later is a tensor that is made of another when its elements are asked for: fill writes them, each time the same. Tensors of one type that are made of
// equal ones in ways of the same name are equal.
func Later(d types.DType, shape []int, of *Tensor, how string, fill func(out []byte)) *Tensor {
	return &Tensor{DType: d, Shape: shape, later: &later{of: of, how: how, fill: fill}}
}

// View is Later of elements that are another's: so many elements apart along each axis.
func View(shape []int, of *Tensor, steps []int, how string, fill func(out []byte)) *Tensor {
	t := Later(of.DType, shape, of, how, fill)
	if of.later == nil && !of.DType.IsNibble() {
		t.later.steps = steps
	}
	return t
}

// Bytes are the elements. Those of a tensor that is made later are made when they are first asked for, and kept.
func (t *Tensor) Bytes() []byte {
	if t.later == nil {
		return t.data
	}
	return t.later.bytes(t.Size())
}

func (l *later) bytes(n int) []byte {
	l.once.Do(func() {
		data := Bytes(n)
		l.fill(data)
		l.data = data
		l.made.Store(true)
	})
	return l.data
}

// Size is the number of bytes of the elements.
func (t *Tensor) Size() int {
	if t.later == nil {
		return len(t.data)
	}
	return t.DType.Bytes(t.Len())
}

// Fill writes the elements to out, and does not keep those that are made for it.
func (t *Tensor) Fill(out []byte) {
	if t.later == nil || t.later.made.Load() {
		copy(out, t.Bytes())
		return
	}
	t.later.fill(out)
}

// InMemory are elements that lie somewhere already, with how far apart they lie along each axis; otherwise they are to be made first.
func (t *Tensor) InMemory() (data []byte, steps []int, ok bool) {
	switch l := t.later; {
	case l == nil:
		return t.data, types.RowMajor(t.Shape), true
	case l.made.Load():
		return l.data, types.RowMajor(t.Shape), true
	case l.steps != nil:
		return l.of.data, l.steps, true
	}
	return nil, nil, false
}

// Origin is what t is made of in the end, and the name of the way: tensors of one type are equal where both are.
func (t *Tensor) Origin() (of *Tensor, how string) {
	for of = t; of.later != nil; of = of.later.of {
		how += of.later.how + "; "
	}
	return of, how
}
