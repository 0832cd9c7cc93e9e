package tensor

import (
	"math"
	"math/big"
	"testing"

	"lathe/internal/types"
)

// Converting to integers keeps every value exactly or refuses it: the borders of all types, from all types.
func TestConvert(t *testing.T) {
	var values []float64
	for _, bits := range []float64{0, 1, 7, 8, 15, 16, 24, 31, 32, 53, 62, 63, 64, 100} {
		p := math.Exp2(bits)
		values = append(values, p, -p, p-1, 1-p, p+1, p+0.5, math.Nextafter(p, 0), math.Nextafter(p, math.Inf(1)))
	}
	values = append(values, 0, 1.5, math.NaN(), math.Inf(1), math.Inf(-1))
	all := []types.DType{types.F32, types.F64, types.I8, types.I16, types.I32, types.I64, types.U8, types.U16, types.U32, types.U64}
	for _, from := range all {
		for _, to := range all {
			for _, v := range values {
				in := New(from, 1)
				in.SetFloat(0, v)
				out, lost := in.Convert(to)
				if to.IsFloat() {
					if lost >= 0 {
						t.Errorf("%s %v to %s is refused", from, v, to)
					}
					continue
				}
				want := exact(in)
				fits := want != nil && want.IsInt() && within(want.Num(), to)
				if fits != (lost < 0) {
					t.Errorf("%s %v to %s: kept %t, it fits: %t", from, in.Float(0), to, lost < 0, fits)
				}
				if lost < 0 && fits && exact(out).Cmp(want) != 0 {
					t.Errorf("%s %v to %s became %v", from, in.Float(0), to, exact(out))
				}
			}
		}
	}
}

// exact is the only element of a tensor; nil when it is no number.
func exact(t *Tensor) *big.Rat {
	switch {
	case t.DType.IsFloat():
		return new(big.Rat).SetFloat64(t.Float(0))
	case t.DType == types.U64:
		return new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(t.Int(0))))
	}
	return new(big.Rat).SetInt64(t.Int(0))
}

func within(v *big.Int, d types.DType) bool {
	bits := map[types.DType]int{types.I8: 7, types.I16: 15, types.I32: 31, types.I64: 63, types.U8: 8, types.U16: 16, types.U32: 32, types.U64: 64}[d]
	limit := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	least := new(big.Int)
	if bits%2 == 1 { // signed
		least.Neg(limit)
	}
	return v.Cmp(least) >= 0 && v.Cmp(limit) < 0
}
