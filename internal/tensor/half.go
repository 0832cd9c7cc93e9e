package tensor

import "math"

// F16ToF32 widens an IEEE 754 binary16 value, exactly.
func F16ToF32(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch {
	case exp == 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	case exp == 0:
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// F32ToF16 rounds to the nearest binary16 value, ties to even; overflow gives infinity.
func F32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign, mag := uint16(b>>16)&0x8000, b&0x7fffffff
	switch {
	case mag > 0x7f800000:
		return sign | 0x7e00
	case mag >= 0x47800000:
		return sign | 0x7c00
	case mag < 0x38800000:
		// Adding 0.5 aligns the mantissa so that the float addition itself rounds to a multiple of 2^-24.
		return sign | uint16(math.Float32bits(math.Float32frombits(mag)+0.5)-math.Float32bits(0.5))
	}
	return sign | uint16((mag-0x38000000+0xfff+mag>>13&1)>>13)
}

// F32ToBF16 rounds to the nearest bfloat16 value, ties to even. NaN stays NaN.
func F32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
