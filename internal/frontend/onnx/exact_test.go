package onnx

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestSliceBounds takes all slices of short axes with bounds in and around them, and the greatest there are, as the
// operator is defined: a start is clamped to the elements (for positive steps or what is behind them), an end to them or
// what is next to them in the direction of the step.
func TestSliceBounds(t *testing.T) {
	for n := range 5 {
		bounds := []int{math.MinInt64, -100, 100, math.MaxInt64}
		for v := -n - 2; v <= n+2; v++ {
			bounds = append(bounds, v)
		}
		for _, step := range []int{1, 2, 3, -1, -2, -3, math.MinInt64 + 1, math.MaxInt64} {
			for _, start := range bounds {
				for _, end := range bounds {
					line := fmt.Sprintf("Slice@13 f32[%d] i64{%d} i64{%d} i64{0} i64{%d} -> ", n, start, end, step)
					var list []string
					for _, i := range sliced(n, start, end, step) {
						list = append(list, fmt.Sprint(float64(i+1)/4))
					}
					line += fmt.Sprintf("f32[%d]", len(list))
					if list != nil {
						line += " = " + strings.Join(list, " ")
					}
					if err := parseRow(t, line).check(); err != nil {
						t.Errorf("%s: %v", line, err)
					}
				}
			}
		}
	}
}

func sliced(n, start, end, step int) (list []int) {
	clamp := func(v, lo, hi int) int {
		if v < 0 && v > math.MinInt64/2 {
			v += n
		}
		return max(lo, min(hi, v))
	}
	if n == 0 {
		return nil
	}
	if step > 0 {
		start, end = clamp(start, 0, n), clamp(end, 0, n)
	} else {
		start, end = clamp(start, 0, n-1), clamp(end, -1, n-1)
	}
	for i := range n { // of a walk from start, element i is i steps away
		at := start
		for range i {
			if step > n || step < -n {
				return list
			}
			at += step
		}
		if step > 0 && at >= end || step < 0 && at <= end {
			return list
		}
		list = append(list, at)
	}
	return list
}

// TestQuantisedTies: where a result lies between two steps, operators that combine several elements round it to even
// together with the zero point. Scales are powers of two, so that every tie is one.
func TestQuantisedTies(t *testing.T) {
	ties := 0
	for _, zero := range []int{0, 1, 2, 3, 8} {
		for a := range 8 {
			for b := range 8 {
				x, y := float64(a-1), float64(b-2)
				for _, c := range []struct {
					op    string
					value float64
				}{
					{"QLinearAdd@1 u8{%d} f32:1 u8:1 u8{%d} f32:1 u8:2 f32:2 u8:%d", (x + y) / 2},
					{"QLinearAdd@1 u8{%d} f32:0.5 u8:1 u8{%d} f32:0.25 u8:2 f32:0.5 u8:%d", x + y/2},
					{"QLinearMul@1 u8{%d} f32:1 u8:1 u8{%d} f32:0.5 u8:2 f32:1 u8:%d", x * y / 2},
				} {
					want := math.Max(0, math.RoundToEven(c.value+float64(zero)))
					if math.Abs(c.value-math.Trunc(c.value)) == 0.5 {
						ties++
					}
					line := fmt.Sprintf("com.microsoft."+c.op+" -> u8[1] = %v", a, b, zero, want)
					if err := parseRow(t, line).check(); err != nil {
						t.Errorf("%s: %v", line, err)
					}
				}
			}
		}
		line := fmt.Sprintf("com.microsoft.QLinearAveragePool@1 u8[1,1,2] f32:1 u8:0 f32:1 u8:%d kernel_shape=[2] -> u8[1,1,1] = %v", zero, math.RoundToEven(1.5+float64(zero)))
		if err := parseRow(t, line).check(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if ties < 100 {
		t.Errorf("only %d ties", ties)
	}
}
