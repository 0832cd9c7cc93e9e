package ops

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A granularity says which elements share a scale or zero point. An operand of rank 0, or of one element, is shared by all.
// One of rank 1 has an entry per index of axis. With block b > 0 it has data's shape, but for ceil(n/b) entries along
// axis, each shared by b neighbours.
type granularity struct{ axis, block int }

// check tests that p is a scale or zero point for data.
func (g granularity) check(name string, p, data types.Tensor) error {
	if g.block < 0 {
		return fmt.Errorf("block size %d", g.block)
	}
	if single(p.Shape) {
		return nil
	}
	if err := wantAxis(g.axis, data.Rank()); err != nil {
		return err
	}
	if g.block == 0 {
		if p.Rank() != 1 || p.Shape[0] != data.Shape[g.axis] {
			return fmt.Errorf("%s is %s, neither a scalar nor one number for each index of axis %d of %s", name, p, g.axis, data)
		}
		return nil
	}
	want := slices.Clone(data.Shape)
	want[g.axis] = (want[g.axis] + g.block - 1) / g.block
	if !slices.Equal(p.Shape, want) {
		return fmt.Errorf("%s is %s, not of shape %v for blocks of %d along axis %d of %s", name, p, want, g.block, g.axis, data)
	}
	return nil
}

// single reports whether a scale or zero point of that shape is shared by all elements.
func single(shape []int) bool { return len(shape) == 0 || len(shape) == 1 && shape[0] == 1 }

// offset is the entry of p that belongs to the element of data at a coordinate.
func (g granularity) offset(p *tensor.Tensor, at []int) int {
	switch {
	case single(p.Shape):
		return 0
	case g.block == 0:
		return at[g.axis]
	}
	at = slices.Clone(at)
	at[g.axis] /= g.block
	return offsetOf(p.Shape, at)
}

// at loads the entry of p that belongs to the element of data at index i.
func (g granularity) at(p *te.Stage, i []expr.Expr) expr.Expr {
	switch {
	case len(p.Type.Shape) == 0:
		return p.At()
	case single(p.Type.Shape):
		return p.At(expr.Index(0))
	case g.block == 0:
		return p.At(i[g.axis])
	}
	return p.At(with(i, g.axis, quotient(i[g.axis], g.block))...)
}

// granularity is a random granularity for data of that shape, and the shape of a scale or zero point.
func (d draw) granularity(shape []int) (granularity, []int) {
	g := granularity{axis: d.IntN(len(shape))}
	switch d.IntN(4) {
	case 0:
		return g, nil
	case 1:
		return g, []int{1}
	case 2:
		return g, []int{shape[g.axis]}
	}
	g.block = d.between(1, 3)
	p := slices.Clone(shape)
	p[g.axis] = (p[g.axis] + g.block - 1) / g.block
	return g, p
}

// quantized lists the element types of quantised activations and weights.
var quantized = []types.DType{types.I8, types.U8, types.I16, types.U16}

// quantizedConst lists those that quantised constants may have as well: 4 bits are read, and not computed with.
var quantizedConst = append(slices.Clone(quantized), types.I4, types.U4)
