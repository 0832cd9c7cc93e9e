package target

import (
	"strings"

	"lathe/internal/isa"
)

// DotProduct is LLVM's intrinsic for dot products of elements of two types in vectors of so many 32-bit lanes, "" where the target has
// no such instruction.
func (t *Target) DotProduct(a, b string, lanes int) string {
	return t.product(t.ISA().Instructions.Dots, a, b, lanes)
}

// PairProduct is DotProduct for sums of two products: of int16 in 32 bits, of bytes in an int16, which saturates.
func (t *Target) PairProduct(a, b string, lanes int) string {
	return t.product(t.ISA().Instructions.Pairs, a, b, lanes)
}

func (t *Target) product(rows []isa.Dot, a, b string, lanes int) string {
	for _, r := range rows {
		for _, set := range r.Features {
			has := r.A == a && r.B == b && r.Lanes == lanes
			for f := range strings.FieldsSeq(set) {
				has = has && t.Has(f)
			}
			if has {
				return r.Name
			}
		}
	}
	return ""
}
