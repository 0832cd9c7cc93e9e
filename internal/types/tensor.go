package types

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Tensor is the static type of one tensor value. Shape is logical; Layout says how it lies in memory.
type Tensor struct {
	DType  DType
	Shape  []int
	Layout Layout
}

// Of is the plain tensor type of the given element type and shape.
func Of(d DType, shape ...int) Tensor { return Tensor{DType: d, Shape: shape} }

// String prints "float32[1,64,56,56]", followed by ":LAYOUT" when the layout is not plain.
func (t Tensor) String() string {
	var b strings.Builder
	b.WriteString(t.DType.String())
	b.WriteByte('[')
	for i, d := range t.Shape {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(d))
	}
	b.WriteByte(']')
	if t.Layout != "" {
		b.WriteByte(':')
		b.WriteString(string(t.Layout))
	}
	return b.String()
}

// ParseTensor reads what String prints.
func ParseTensor(s string) (Tensor, error) {
	open, end := strings.IndexByte(s, '['), strings.IndexByte(s, ']')
	if open < 0 || end < open {
		return Tensor{}, fmt.Errorf("bad tensor type %q", s)
	}
	d, err := ParseDType(s[:open])
	if err != nil {
		return Tensor{}, err
	}
	t := Tensor{DType: d, Shape: []int{}}
	if dims := s[open+1 : end]; dims != "" {
		for f := range strings.SplitSeq(dims, ",") {
			n, err := strconv.Atoi(f)
			if err != nil || n < 0 {
				return Tensor{}, fmt.Errorf("bad tensor type %q", s)
			}
			t.Shape = append(t.Shape, n)
		}
	}
	if rest := s[end+1:]; rest != "" {
		if rest[0] != ':' {
			return Tensor{}, fmt.Errorf("bad tensor type %q", s)
		}
		t.Layout = Layout(rest[1:])
	}
	return t, t.Check()
}

// MaxElements bounds the number of elements of any tensor, so that byte counts never overflow.
const MaxElements = 1 << 40

// Check reports what is wrong with t: an invalid type, a negative or overflowing shape, a layout of another rank.
func (t Tensor) Check() error {
	if t.DType == Invalid || int(t.DType) >= len(dtypes) {
		return fmt.Errorf("tensor without an element type")
	}
	n := 1
	for _, d := range t.Shape {
		if d < 0 {
			return fmt.Errorf("negative dimension in %s", t)
		}
		if d > 0 && n > MaxElements/d {
			return fmt.Errorf("%s has too many elements", t)
		}
		n *= max(d, 1)
	}
	return t.Layout.Check(len(t.Shape))
}

func (t Tensor) Rank() int { return len(t.Shape) }

// Elements is the logical number of elements.
func (t Tensor) Elements() int { return Count(t.Shape) }

// Dims is the physical shape.
func (t Tensor) Dims() []int { return t.Layout.Dims(t.Shape) }

// Bytes is the physical size, padding lanes included.
func (t Tensor) Bytes() int { return t.DType.Bytes(Count(t.Dims())) }

// Equal compares element type, shape and layout.
func (t Tensor) Equal(u Tensor) bool {
	return t.DType == u.DType && t.Layout == u.Layout && slices.Equal(t.Shape, u.Shape)
}

// With returns t with another layout.
func (t Tensor) With(l Layout) Tensor { t.Layout = l; return t }

// IsPlain reports whether t has elements of type d in the order of its shape.
func (t Tensor) IsPlain(d DType) bool { return t.DType == d && t.Layout == "" }

// RowMajor returns the strides, in elements, of a dense tensor.
func RowMajor(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// Count is the product of dims.
func Count(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}
