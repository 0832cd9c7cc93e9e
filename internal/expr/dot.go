package expr

import (
	"fmt"

	"lathe/internal/types"
)

// DotWidth is the number of products that a Dot of bytes adds.
const DotWidth = 4

// WidthOfDot is the number of products that a Dot of elements of two types adds: four of bytes, two of bytes by int16 or of int16. There are
// no dots of other types: 0.
func WidthOfDot(a, b types.DType) int {
	bytes := func(t types.DType) bool { return t == types.I8 || t == types.U8 }
	switch {
	case bytes(a) && bytes(b):
		return DotWidth
	case bytes(a) && b == types.I16, a == types.I16 && (bytes(b) || b == types.I16):
		return DotWidth / 2
	}
	return 0
}

// A Dot is the sum of products of integers of 8 or 16 bits, in int32, which holds it exactly but for twice (-32768)², which wraps: element j of a run is the load with j added to one index,
//
//	sum over j in 0..Width of i32(A[..., a + j, ...]) * i32(B[..., b + j, ...])
//
// where a is A's index of AxisA and b is B's of AxisB. It prints as dot4(A[...], AxisA, B[...], AxisB), or dot2. Processors have it
// as one instruction, which no tree of scalar operators names.
type Dot struct {
	A, B         *Load
	AxisA, AxisB int
}

// Width is the number of products, 0 in a Dot that Check refuses.
func (d *Dot) Width() int { return WidthOfDot(d.A.From.Elem(), d.B.From.Elem()) }

// Term returns the loads of product j.
func (d *Dot) Term(j int) (a, b *Load) {
	return d.A.ahead(d.AxisA, j), d.B.ahead(d.AxisB, j)
}

// ahead is the load with j added to an index.
func (l *Load) ahead(axis, j int) *Load {
	if j == 0 {
		return l
	}
	index := append([]Expr(nil), l.Index...)
	index[axis] = Add(index[axis], Index(j))
	return &Load{l.From, index}
}

func (d *Dot) check() error {
	for i, l := range []*Load{d.A, d.B} {
		if l == nil || l.From == nil {
			return fmt.Errorf("dot of nothing")
		}
		if axis := [2]int{d.AxisA, d.AxisB}[i]; axis < 0 || axis >= len(l.Index) {
			return fmt.Errorf("dot along axis %d of %s", axis, l.From.Label())
		}
	}
	if d.Width() == 0 {
		return fmt.Errorf("dot of %s %s and %s %s", d.A.From.Elem(), d.A.From.Label(), d.B.From.Elem(), d.B.From.Label())
	}
	return nil
}

// dot makes the Dot that dot4(load, axis, load, axis) names, or nil.
func dot(x []Expr) *Dot {
	a, okA := x[0].(*Load)
	b, okB := x[2].(*Load)
	axisA, intA := IntOf(x[1])
	axisB, intB := IntOf(x[3])
	if !okA || !okB || !intA || !intB || a.From == nil || b.From == nil {
		return nil
	}
	return &Dot{a, b, int(axisA), int(axisB)}
}
