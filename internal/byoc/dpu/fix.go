package dpu

import (
	"fmt"
	"math"
	"slices"

	"lathe/internal/byoc/dpu/positions"
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
func (n *Network) Fix(wanted []int) (*Fixed, error) {
	f := &Fixed{Network: n, Positions: make([]int, len(n.Tensors)), Params: make([]Param, len(n.Layers))}
	class := n.classes()
	for i, p := range wanted {
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
				for _, t := range l.From {
					set(t, least, least+maxAlign)
				}
				set(l.To, least-maxAlign, least+maxAlign)
			case Multiply:
				sum := f.Positions[class[l.From[0]]] + f.Positions[class[l.From[1]]]
				set(l.To, sum-maxProduct, sum-minProduct)
			case HardSigmoid:
				set(l.From[0], hardLeast, hardMost)
				top := hardShift + f.Positions[class[l.From[0]]]
				set(l.To, top-maxHard, top)
			}
		}
		if !moved {
			return nil
		}
	}
	return fmt.Errorf("no positions keep the shifts of all sums and products of maps in range")
}

func (f *Fixed) least(l *Layer, class []int) int {
	least := f.Positions[class[l.From[0]]]
	for _, t := range l.From {
		least = min(least, f.Positions[class[t]])
	}
	return least
}

// params quantises a layer's weights and bias at the positions nearest to the best that the shifts allow.
func (f *Fixed) params(l *Layer) Param {
	in, out := f.Positions[l.From[0]], f.Positions[l.To]
	var p Param
	p.WeightPos = max(out-in, min(out-in+maxCut, positions.Of(l.Weights)))
	cut := in + p.WeightPos - out
	p.Weights = positions.Fixed(l.Weights, p.WeightPos)
	if l.Bias != nil {
		sum := in + p.WeightPos
		bias := l.corrected(p, f.Tensors[l.From[0]].Means)
		p.BiasPos = max(sum-maxCut, min(sum-min(0, cut-maxCut), positions.Of(bias)))
		p.Bias = positions.Fixed(bias, p.BiasPos)
	}
	return p
}

// corrected is the layer's bias less what rounding the weights adds to the mean of each output channel, by the means of what the layer
// reads (Nagel et al., "Data-Free Quantization through Weight Equalization and Bias Correction", 2019, section 4.2). Padding is taken for
// data.
func (l *Layer) corrected(p Param, means []float32) []float32 {
	if means == nil {
		return l.Bias
	}
	taps := l.Kernel[0] * l.Kernel[1]
	bias, inner := slices.Clone(l.Bias), len(l.Weights)/len(l.Bias)/taps
	for c := range bias {
		var off float64
		for i := range inner {
			var lost float64
			for k := range taps {
				at := (c*inner+i)*taps + k
				lost += math.Ldexp(float64(p.Weights[at]), -p.WeightPos) - float64(l.Weights[at])
			}
			from := i
			if l.Kind == Depthwise {
				from = c
			}
			off += lost * float64(means[from])
		}
		bias[c] -= float32(off)
	}
	return bias
}

// cut is the shift from a convolution's sum to its result, bias that from its bias to the sum; a negative one moves the sum instead.
func (f *Fixed) shifts(i int) (cut, bias int) {
	l, p := &f.Layers[i], &f.Params[i]
	sum := f.Positions[l.From[0]] + p.WeightPos
	return sum - f.Positions[l.To], sum - p.BiasPos
}
