package dpu

import "math"

// A value of the engine is q * 2^-p: q an int8, p the position of the binary point, one for a tensor. Sums are exact; a result is
// rounded half up, floor(x + 1/2), and clamped to [-128, 127] once.

// shiftRight is x * 2^-n rounded half up; n may be negative.
func shiftRight(x int64, n int) int64 {
	if n <= 0 {
		return x << -n
	}
	return (x + 1<<(n-1)) >> n
}

func clamp8(x int64) int8 { return int8(max(math.MinInt8, min(math.MaxInt8, x))) }

// leakyFactor / 2^leakyShift is the slope of a leaky relu below zero.
const leakyFactor, leakyShift = 26, 8

// activate applies an activation to a sum of which 2^bits is a step of the result; the factor 2^leakyShift of leaky sums is more bits.
func activate(act Activation, x int64, bits int) (y int64, more int) {
	switch {
	case act == Relu || act == Relu6:
		return max(x, 0), bits
	case act == Leaky && x < 0:
		return x * leakyFactor, bits + leakyShift
	case act == Leaky:
		return x << leakyShift, bits + leakyShift
	}
	return x, bits
}

// sixAt is the greatest result of relu6 at position p.
func sixAt(p int) int64 {
	return max(0, min(math.MaxInt8, int64(math.Floor(min(math.Ldexp(6, p), math.MaxInt8)+0.5))))
}

// averages are the factors N/2^M that the engine has for square windows, as cpu-runner lists them.
var averages = map[[2]int][2]int{{3, 3}: {7, 6}, {5, 5}: {10, 8}, {6, 6}: {7, 8}, {7, 7}: {21, 10}, {14, 14}: {21, 12}}

// averageFactor is N and M of the factor N/2^M by which a window's sum is multiplied: the listed one, or the nearest to 1/area with
// M < log2(128 area), of equally near ones the first.
func averageFactor(kernel [2]int) (factor, shift int) {
	if f, ok := averages[kernel]; ok {
		return f[0], f[1]
	}
	area := kernel[0] * kernel[1]
	off := math.Inf(1)
	for m := range int(math.Ceil(math.Log2(float64(128 * area)))) {
		n := math.Floor(math.Ldexp(1, m)/float64(area) + 0.5)
		if d := math.Abs(math.Ldexp(n, -m) - 1/float64(area)); d < off {
			factor, shift, off = int(n), m, d
		}
	}
	return factor, shift
}

// The engine's hard sigmoid of x at position p is (2731 x + 3 2731 2^p) / 2^(14 + p), at least 0: (x + 3) / 6, nearly.
const (
	hardFactor, hardShift = 2731, 14
	hardLeast, hardMost   = -16, 40 // positions of x, so that int64 holds the sum
)

// hardBits is how many more bits the sum of a hard sigmoid of position p has, so that 3 is an integer.
func hardBits(p int) int { return max(0, -p) }

// hardSum is the sum and how many of its bits are behind the binary point.
func hardSum(x int64, p int) (sum int64, bits int) {
	more := hardBits(p)
	return max(0, hardFactor*(x<<more+3<<(p+more))), hardShift + p + more
}

// alignBits are the bits behind the binary point of the coarsest operand that a sum of maps keeps; finer operands lose what is below.
const alignBits = 7

// aligned is x of a position that is apart above the sum's least.
func aligned(x int64, apart int) int64 {
	if apart <= alignBits {
		return x << (alignBits - apart)
	}
	return x >> (apart - alignBits)
}
