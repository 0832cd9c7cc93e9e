package calibrate

import (
	"math"
)

// A Range is what integers are to stand for; it holds 0.
type Range struct{ Min, Max float64 }

// Union is the least range that holds both.
func (r Range) Union(o Range) Range { return Range{math.Min(r.Min, o.Min), math.Max(r.Max, o.Max)} }

// A Rule chooses the range of a value that is quantised to a number of steps: 255 for 8 bits. Symmetric ranges are as wide below 0 as
// above; rules that weigh errors know by it which steps they get.
type Rule func(h *Histogram, steps int, symmetric bool) Range

// MinMax is the range of all numbers.
func MinMax(h *Histogram, _ int, _ bool) Range {
	return Range{math.Min(h.Min, 0), math.Max(h.Max, 0)}
}

// Percentile is the least range, by the bins, outside of which a share of 1 - p/100 of the numbers lies: half of it at each end, or all at
// the one that there is. The other mode that engines know by this name.
func Percentile(p float64) Rule {
	return func(h *Histogram, _ int, _ bool) Range {
		whole := MinMax(h, 0, false)
		out := (1 - p/100) * float64(h.Total)
		if whole.Min < 0 && whole.Max > 0 {
			out /= 2
		}
		r := whole
		seen := int64(0)
		for i := Bins - 1; i >= Bins/2; i-- {
			if seen += h.Counts[i]; float64(seen) > out {
				r.Max = math.Min(whole.Max, float64(i+1-Bins/2)*h.Width())
				break
			}
		}
		seen = 0
		for i := range Bins / 2 {
			if seen += h.Counts[i]; float64(seen) > out {
				r.Min = math.Max(whole.Min, float64(i-Bins/2)*h.Width())
				break
			}
		}
		return r
	}
}

// candidates are what bounds on the magnitude leave of MinMax's range, the widest first.
func candidates(h *Histogram) []Range {
	const bounds = 100
	whole := MinMax(h, 0, false)
	greatest := math.Max(-whole.Min, whole.Max)
	var list []Range
	for i := range bounds {
		m := greatest * (1 - float64(i)/bounds)
		list = append(list, Range{math.Max(whole.Min, -m), math.Min(whole.Max, m)})
	}
	return list
}

// step is the width of a quantisation step of a range.
func (r Range) step(steps int, symmetric bool) float64 {
	if symmetric {
		return 2 * math.Max(-r.Min, r.Max) / float64(steps)
	}
	return (r.Max - r.Min) / float64(steps)
}

// MSE is the range with the least mean squared error: what lies outside errs by its distance, what becomes 0 by itself, and the rest by a
// step's uniform error, step²/12.
func MSE(h *Histogram, steps int, symmetric bool) Range {
	best, least := MinMax(h, steps, symmetric), math.Inf(1)
	for _, r := range candidates(h) {
		s := r.step(steps, symmetric)
		low, high := r.Min, r.Max
		if symmetric {
			high = math.Max(-low, high)
			low = -high
		}
		e := 0.0
		for i, n := range h.Counts {
			if n == 0 {
				continue
			}
			switch c := h.Centre(i); {
			case c > high:
				e += float64(n) * (c - high) * (c - high)
			case c < low:
				e += float64(n) * (low - c) * (low - c)
			case math.Abs(c) < s/2:
				e += float64(n) * c * c
			default:
				e += float64(n) * s * s / 12
			}
		}
		if e < least {
			best, least = r, e
		}
	}
	return best
}

// KLDivergence is the range whose quantised distribution has the least Kullback-Leibler divergence from the numbers' own (Migacz, 8-bit
// inference with TensorRT, 2017): what lies outside is counted at the range's ends, and each step spreads its numbers evenly
// over the bins in it that have some.
func KLDivergence(h *Histogram, steps int, symmetric bool) Range {
	best, least := MinMax(h, steps, symmetric), math.Inf(1)
	if h.Limit == 0 {
		return best
	}
	for _, r := range candidates(h) {
		first := max(0, int(math.Floor(r.Min/h.Width()))+Bins/2)
		last := min(Bins-1, int(math.Ceil(r.Max/h.Width()))+Bins/2-1)
		if last < first {
			continue
		}
		if d := divergence(h.Counts, first, last, steps); d < least {
			best, least = r, d
		}
	}
	return best
}

// divergence is that of the bins [first, last], outliers joined to the ends, from the same in steps.
func divergence(counts []int64, first, last, steps int) float64 {
	n := last - first + 1
	p := make([]float64, n)
	inner := make([]float64, n)
	for i, c := range counts {
		k := min(max(i-first, 0), n-1)
		p[k] += float64(c)
		if i >= first && i <= last {
			inner[k] = float64(c)
		}
	}
	total, kept := 0.0, 0.0
	for i := range p {
		total += p[i]
		kept += inner[i]
	}
	if total == 0 || kept == 0 {
		return math.Inf(1)
	}
	d := 0.0
	steps = min(steps+1, n)
	for s := range steps {
		from, to := s*n/steps, (s+1)*n/steps
		sum, used := 0.0, 0.0
		for i := from; i < to; i++ {
			sum += inner[i]
			if p[i] > 0 {
				used++
			}
		}
		for i := from; i < to; i++ {
			if p[i] == 0 {
				continue
			}
			q := math.Max(sum/used/kept, 1e-9) // a step that only outliers fell into
			d += p[i] / total * math.Log(p[i]/total/q)
		}
	}
	return d
}

// Global is the same range for all values, ±bound: TVM's global_scale. Values without negative numbers have no negative half.
func Global(bound float64) Rule {
	return func(h *Histogram, _ int, _ bool) Range {
		if h.Min >= 0 {
			return Range{0, bound}
		}
		return Range{-bound, bound}
	}
}
