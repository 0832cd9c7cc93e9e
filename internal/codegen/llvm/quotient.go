package llvm

import (
	"math"
	"math/big"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// A reciprocal is 1/d as the sum of two float32, of which the second is what rounding took from the first.
type reciprocal struct{ high, low float32 }

// reciprocalOf is that of a number by which every float32 can be divided with it: x*high + x*low, where the second product is rounded and then
// added to the first in one rounding, is x/d rounded once (Brisebarre, Muller and Raina, "Accelerating Correctly Rounded Floating-Point Division
// when the Divisor Is Known in Advance", 2004). It reports false for the few numbers of which that is not so, and for such as leave
// no room for quotients below 2^20 on their way.
func reciprocalOf(d float64) (r reciprocal, ok bool) {
	const widest = 60 // binary exponents from 0
	y, exponent := math.Frexp(d)
	if float64(float32(d)) != d || d <= 0 || math.IsInf(d, 1) || exponent < -widest || exponent > widest {
		return r, false
	}
	divisor := int64(y * (1 << fractionBits))
	scaled := splitReciprocal(float64(divisor))
	for _, x := range nearTies(divisor) {
		if scaled.divide(float32(x)) != float32(float64(x)/float64(divisor)) {
			return r, false
		}
	}
	return splitReciprocal(d), true
}

// fractionBits are the digits of a float32.
const fractionBits = 24

// splitReciprocal is 1/d in two parts.
func splitReciprocal(d float64) reciprocal {
	high := float32(1 / d)
	return reciprocal{high, float32((1 - float64(high)*d) / d)}
}

// divide is x by the number, rounded as the instructions do.
func (r reciprocal) divide(x float32) float32 {
	low := x * r.low
	const digits = 128 // of the product and the sum, which are exact in them
	sum := new(big.Float).SetPrec(digits).SetFloat64(float64(x) * float64(r.high))
	q, _ := sum.Add(sum, big.NewFloat(float64(low))).Float32()
	return q
}

// nearTies are the numbers of 24 digits whose quotients by divisor, another one, are so near the middle between two float32 that an error of 2^-47 of the
// quotient may be on the wrong side of it. With the middle m/2^k of odd m, x*2^k - m*divisor is at most 4 then, and each such difference
// says what m is modulo a power of two.
func nearTies(divisor int64) (list []int64) {
	const least, most, distance = 1 << (fractionBits - 1), 1 << fractionBits, 4
	twos := 0
	odd := divisor
	for odd%2 == 0 {
		odd /= 2
		twos++
	}
	inverse := odd // modulo 2^3, and twice as many digits with each step
	for range 5 {
		inverse *= 2 - odd*inverse
	}
	for _, k := range []int{fractionBits, fractionBits + 1} { // quotients of at least 1, and less
		for d := int64(-distance); d <= distance; d++ {
			if d == 0 || twos > 2 || d%(1<<twos) != 0 {
				continue
			}
			period := int64(1) << (k - twos)
			m := (-(d >> twos) * inverse) & (period - 1)
			for ; m < 2*most; m += period {
				x := m*divisor + d
				if m > most && m%2 == 1 && x>>k >= least && x>>k < most && x&(1<<k-1) == 0 {
					list = append(list, x>>k)
				}
			}
		}
	}
	return list
}

// quotientStep is the clamped operand of a step that is a quotient by a constant, which two instructions compute: a division takes as long as ten to thirty. The
// dividend is clamped in place of the quotient, since infinity has no such quotient, and rounding keeps its bounds. It reports false
// where v is none, or the target has no multiply-add that rounds once.
func (e *emitter) quotientStep(s step, least, most, nan float64) (value, bool) {
	q, ok := s.v.(*expr.Binary)
	if !ok || q.Op != expr.OpDiv || q.DType() != types.F32 || e.target == nil || !e.target.HasFMA || e.target.ISA().Instructions.LooseFMA {
		return value{}, false
	}
	d, ok := q.B.(*expr.Float)
	if !ok {
		return value{}, false
	}
	r, ok := reciprocalOf(d.V)
	if !ok {
		return value{}, false
	}
	scaled := func(f float64) float64 { return float64(float32(f * d.V)) }
	a := e.clamped(e.expr(q.A), scaled(least), scaled(most), scaled(nan))
	number := func(f float32) value { return e.splat(constFloat(float64(f), types.F32), a.lanes) }
	product := func(f float32) value {
		return value{t: types.F32, lanes: a.lanes, s: e.temp("fmul %s, %s", a, number(f).s)}
	}
	if r.low == 0 { // a power of two
		return product(r.high), true
	}
	return e.call("fma", a, number(r.high), product(r.low)), true
}
