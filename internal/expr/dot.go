package expr

import (
	"fmt"

	"lathe/internal/types"
)

// DotWidth is the number of products that a Dot adds.
const DotWidth = 4

// A Dot is the sum of four products of 8-bit integers, in int32, which holds it exactly: element j of a run is the
// load with j added to one index,
//
//	sum over j in 0..4 of i32(A[..., a + j, ...]) * i32(B[..., b + j, ...])
//
// where a is A's index of AxisA and b is B's of AxisB. It prints as dot4(A[...], AxisA, B[...], AxisB). Processors have it
// as one instruction, which no tree of scalar operators names.
type Dot struct {
	A, B         *Load
	AxisA, AxisB int
}

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
			return fmt.Errorf("dot4 of nothing")
		}
		if t := l.From.Elem(); t != types.I8 && t != types.U8 {
			return fmt.Errorf("dot4 of %s %s", t, l.From.Label())
		}
		if axis := [2]int{d.AxisA, d.AxisB}[i]; axis < 0 || axis >= len(l.Index) {
			return fmt.Errorf("dot4 along axis %d of %s", axis, l.From.Label())
		}
	}
	return nil
}

// dot makes the Dot that dot4(load, axis, load, axis) names, or nil.
func dot(x []Expr) *Dot {
	a, okA := x[0].(*Load)
	b, okB := x[2].(*Load)
	axisA, intA := IntOf(x[1])
	axisB, intB := IntOf(x[3])
	if !okA || !okB || !intA || !intB {
		return nil
	}
	return &Dot{a, b, int(axisA), int(axisB)}
}
