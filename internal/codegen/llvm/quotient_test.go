package llvm

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestReciprocals: quotients by a number that has a reciprocal are those of the division, where they are nearest to the middle of two
// float32 too. Nearly all numbers have one.
func TestReciprocals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	const numbers = 3000
	without := 0
	for i := range numbers {
		divisor := int64(1<<(fractionBits-1)) + r.Int64N(1<<(fractionBits-1))
		switch i { // the ends of the range, and all zeros or ones
		case 0:
			divisor = 1 << (fractionBits - 1)
		case 1:
			divisor = 1<<fractionBits - 1
		case 2:
			divisor = 1<<(fractionBits-1) + 1
		}
		d := math.Ldexp(float64(divisor), r.IntN(60)-50-fractionBits)
		inverse, ok := reciprocalOf(d)
		if !ok {
			without++
			continue
		}
		list := nearTies(divisor)
		for range 200 {
			list = append(list, 1<<(fractionBits-1)+r.Int64N(1<<(fractionBits-1)))
		}
		for _, x := range list {
			x := float32(math.Ldexp(float64(x), r.IntN(20)-fractionBits))
			if got, want := inverse.divide(x), x/float32(d); got != want {
				t.Fatalf("%v / %v is %v instead of %v", x, d, got, want)
			}
		}
	}
	if without > numbers/20 {
		t.Errorf("%d of %d numbers have no reciprocal", without, numbers)
	}
	for _, d := range []float64{0, -3, 0.1, math.Inf(1), math.NaN(), 0x1p-80, 0x1p90} { // 0.1 is no float32
		if _, ok := reciprocalOf(d); ok {
			t.Errorf("%v has a reciprocal", d)
		}
	}
}

// TestNearTies: no other number has a quotient as near to the middle of two float32, for divisors of so few digits that all can be tried.
func TestNearTies(t *testing.T) {
	for _, divisor := range []int64{1<<23 + 1, 0xb3c5e7, 0xfffffe, 3 << 22, 0x9ac3a4} {
		known := map[int64]bool{}
		for _, x := range nearTies(divisor) {
			known[x] = true
		}
		for x := int64(1 << 23); x < 1<<24; x++ {
			k := uint(fractionBits)
			if x < divisor {
				k++
			}
			rest := (x<<k - divisor) % (2 * divisor) // of the odd multiple of the divisor below
			near := min(rest, 2*divisor-rest)
			if rest < 0 {
				t.Fatal("quotients have too few digits")
			}
			if near != 0 && near <= 4 && !known[x] {
				t.Fatalf("%d / %d is %d from a middle", x, divisor, near)
			}
		}
	}
}

// TestDivide: what the instructions compute is computed exactly before it is rounded.
func TestDivide(t *testing.T) {
	r := reciprocal{0x1.555556p-2, -0x1.555556p-27} // of 3
	exact := new(big.Float).SetPrec(200).SetFloat64(7 * float64(r.high))
	exact.Add(exact, big.NewFloat(float64(float32(7)*r.low)))
	want, _ := exact.Float32()
	if got := r.divide(7); got != want || got != float32(7)/3 {
		t.Errorf("7/3 is %v instead of %v", got, want)
	}
}
