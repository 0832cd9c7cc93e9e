package dpu

import (
	"fmt"
	"math"
)

// A Fixed is a network in the engine's integers.
type Fixed struct {
	*Network
	Positions []int // of Tensors
	Params    []Param
}

// A Param holds a layer's weights and bias.
type Param struct {
	Weights, Bias      []int8
	WeightPos, BiasPos int
}

// Ranges of shifts: from a convolution's sum to its result, from its bias to the sum, of a sum of maps, of a product of maps and
// of a hard sigmoid.
const (
	maxCut     = 16
	maxAlign   = 15
	maxProduct = 32
	minProduct = -16
	maxHard    = 31
)

// Fix gives every tensor its position, those of a class the least of them, and moves what exceeds the engine's shifts: results of sums and
// products of maps, then weights and biases. It quantises weights and biases.
func (n *Network) Fix(positions []int) (*Fixed, error) {
	f := &Fixed{Network: n, Positions: make([]int, len(n.Tensors)), Params: make([]Param, len(n.Layers))}
	class := n.classes()
	for i, p := range positions {
		c := class[i]
		if f.Positions[c] = min(f.Positions[c], p); i == c {
			f.Positions[c] = p
		}
	}
	if err := f.repair(class); err != nil {
		return nil, err
	}
	for i := range f.Positions {
		f.Positions[i] = f.Positions[class[i]]
	}
	for i := range n.Layers {
		if l := &n.Layers[i]; l.hasWeights() {
			f.Params[i] = f.params(l)
		}
	}
	return f, nil
}

// repair moves positions of classes until sums, products and hard sigmoids have shifts that there are.
func (f *Fixed) repair(class []int) error {
	for range 4 * (len(f.Layers) + 1) {
		moved := false
		set := func(t, lo, hi int) {
			p := &f.Positions[class[t]]
			if q := max(lo, min(hi, *p)); q != *p {
				*p, moved = q, true
			}
		}
		for i := range f.Layers {
			l := &f.Layers[i]
			switch l.Kind {
			case Add:
				least := f.least(l, class)
				for _, t := range l.In {
					set(t, least, least+maxAlign)
				}
				set(l.Out, least-maxAlign, least+maxAlign)
			case Multiply:
				sum := f.Positions[class[l.In[0]]] + f.Positions[class[l.In[1]]]
				set(l.Out, sum-maxProduct, sum-minProduct)
			case HardSigmoid:
				set(l.In[0], hardLeast, hardMost)
				top := hardShift + f.Positions[class[l.In[0]]]
				set(l.Out, top-maxHard, top)
			}
		}
		if !moved {
			return nil
		}
	}
	return fmt.Errorf("no positions keep the shifts of all sums and products of maps in range")
}

func (f *Fixed) least(l *Layer, class []int) int {
	least := f.Positions[class[l.In[0]]]
	for _, t := range l.In {
		least = min(least, f.Positions[class[t]])
	}
	return least
}

// params quantises a layer's weights and bias at the positions nearest to the best that the shifts allow.
func (f *Fixed) params(l *Layer) Param {
	in, out := f.Positions[l.In[0]], f.Positions[l.Out]
	var p Param
	p.WeightPos = max(out-in, min(out-in+maxCut, bestOf(l.Weights)))
	cut := in + p.WeightPos - out
	p.Weights = fixedAll(l.Weights, p.WeightPos)
	if l.Bias != nil {
		sum := in + p.WeightPos
		p.BiasPos = max(sum-maxCut, min(sum-min(0, cut-maxCut), bestOf(l.Bias)))
		p.Bias = fixedAll(l.Bias, p.BiasPos)
	}
	return p
}

func fixedAll(v []float32, p int) []int8 {
	q := make([]int8, len(v))
	for i, x := range v {
		q[i] = toFixed(x, p)
	}
	return q
}

// cut is the shift from a convolution's sum to its result, bias that from its bias to the sum; a negative one moves the sum instead.
func (f *Fixed) shifts(i int) (cut, bias int) {
	l, p := &f.Layers[i], &f.Params[i]
	sum := f.Positions[l.In[0]] + p.WeightPos
	return sum - f.Positions[l.Out], sum - p.BiasPos
}

// noOverflow is the greatest position at which values from lo to hi are not clamped.
func noOverflow(lo, hi float64) int {
	size := max(lo/(math.MinInt8-0.5), hi/(math.MaxInt8+0.5))
	if !(size > 0) {
		return 0 // zeros fit anywhere
	}
	return int(max(-64, min(64, math.Floor(-math.Log2(size)))))
}

// Tried is how many positions, from the greatest without clamping on, are candidates.
const Tried = 5

// bestOf is the position with the least squared error of values.
func bestOf(v []float32) int {
	lo, hi := 0.0, 0.0
	for _, x := range v {
		lo, hi = min(lo, float64(x)), max(hi, float64(x))
	}
	return best(lo, hi, func(p int) (sum float64) {
		for _, x := range v {
			d := float64(x) - math.Ldexp(float64(toFixed(x, p)), -p)
			sum += d * d
		}
		return sum
	})
}

// best is the candidate of least error, the lesser of equals.
func best(lo, hi float64, squared func(p int) float64) int {
	first := noOverflow(lo, hi)
	at, least := first, math.Inf(1)
	for p := first; p < first+Tried; p++ {
		if e := squared(p); e < least {
			at, least = p, e
		}
	}
	return at
}

// A Histogram counts values of a tensor in equal bins over [-Range, Range).
type Histogram struct {
	Range    float64
	Bins     []int64
	Min, Max float64
}

// perBin is in how many parts a bin is looked at: quantisation steps may be as narrow as a bin.
const perBin = 4

// Position is the position of least squared error of what was counted.
func (h *Histogram) Position() int {
	width := 2 * h.Range / float64(len(h.Bins))
	return best(min(h.Min, 0), max(h.Max, 0), func(p int) (sum float64) {
		for i, count := range h.Bins {
			if count == 0 {
				continue
			}
			for k := range perBin {
				x := -h.Range + width*(float64(i)+(float64(k)+0.5)/perBin)
				d := x - math.Ldexp(float64(toFixed(float32(x), p)), -p)
				sum += d * d / perBin * float64(count)
			}
		}
		return sum
	})
}
