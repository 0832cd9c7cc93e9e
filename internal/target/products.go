package target

import (
	"slices"
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
		if r.A == a && r.B == b && r.Lanes == lanes && slices.ContainsFunc(r.Features, t.hasAll) {
			return r.Name
		}
	}
	return ""
}

// hasAll reports whether the target has all features of a list.
func (t *Target) hasAll(set string) bool {
	for f := range strings.FieldsSeq(set) {
		if !t.Has(f) {
			return false
		}
	}
	return true
}

// Lookup is the fastest instruction that looks bytes up in a table of 256, nil where there is none.
func (t *Target) Lookup() *isa.Lookup {
	rows := t.ISA().Instructions.Lookups
	for i := range rows {
		if t.hasAll(rows[i].Features) {
			return &rows[i]
		}
	}
	return nil
}

// Pack is the instructions that narrow vectors of so many numbers of 32 bits, nil where there are none.
func (t *Target) Pack(lanes int) *isa.Pack {
	rows := t.ISA().Instructions.Packs
	for i := range rows {
		if rows[i].Lanes == lanes && t.hasAll(rows[i].Features) {
			return &rows[i]
		}
	}
	return nil
}

// Masks are the registers of masks that arithmetic takes, nil where there are none.
func (t *Target) Masks() *isa.Masks {
	if m := t.ISA().Instructions.Masks; m != nil && t.hasAll(m.Features) {
		return m
	}
	return nil
}
