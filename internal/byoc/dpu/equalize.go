package dpu

import "math"

// channelClasses tie channels of maps whose numbers may be multiplied by one factor, as long as the weights that make them and
// those that read them are divided and multiplied by it.
type channelClasses struct {
	first []int // number of a tensor's first channel
	class []int // of a channel
	fixed []bool
}

// classesOfChannels ties the channels that layers hand on, add or join. Channels of inputs and outputs, and those that meet what is
// not homogeneous, keep their scale.
func (n *Network) classesOfChannels() *channelClasses {
	c := &channelClasses{}
	for _, t := range n.Tensors {
		c.first = append(c.first, len(c.class))
		for range t.Shape[1] {
			c.class = append(c.class, len(c.class))
		}
	}
	c.fixed = make([]bool, len(c.class))
	fix := func(tensors ...int) {
		for _, t := range tensors {
			for k := range n.Tensors[t].Shape[1] {
				c.fixed[c.find(c.first[t]+k)] = true
			}
		}
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		switch l.Kind {
		case MaxPool, AvgPool, Upsample, Activate, Add:
			for _, t := range l.From {
				for k := range n.Tensors[t].Shape[1] {
					c.tie(c.first[t]+k, c.first[l.To]+k)
				}
			}
		case Concat:
			at := c.first[l.To]
			for _, t := range l.From {
				for k := range n.Tensors[t].Shape[1] {
					c.tie(c.first[t]+k, at)
					at++
				}
			}
		case Multiply, HardSigmoid:
			fix(append(l.From, l.To)...)
		}
		if l.Act == Relu6 {
			fix(l.To)
		}
	}
	fix(n.Inputs...)
	for _, o := range n.Outputs {
		fix(o.Tensor)
	}
	return c
}

func (c *channelClasses) find(i int) int {
	for c.class[i] != i {
		i = c.class[i]
	}
	return i
}

func (c *channelClasses) tie(a, b int) {
	a, b = c.find(a), c.find(b)
	if a > b {
		a, b = b, a
	}
	c.class[b], c.fixed[a] = a, c.fixed[a] || c.fixed[b]
}

// equalizations bounds the rounds in which weights settle.
const equalizations = 30

// equalize scales channels within the network so that the weights that make a channel and those that read it have one range (Nagel et al.,
// Data-free quantization through weight equalization and bias correction, 2019): of one position for all channels, each loses
// the same. What the network computes stays.
func (n *Network) equalize() {
	c := n.classesOfChannels()
	for range equalizations {
		made, read := make([]float64, len(c.class)), make([]float64, len(c.class))
		n.eachWeight(c, func(w *float32, row, column int) {
			size := math.Abs(float64(*w))
			made[row], read[column] = max(made[row], size), max(read[column], size)
		})
		factor, most := make([]float64, len(c.class)), 0.0
		for k := range factor {
			factor[k] = 1
			if c.find(k) == k && !c.fixed[k] && made[k] > 0 && read[k] > 0 {
				factor[k] = math.Sqrt(read[k] / made[k])
				most = max(most, math.Abs(math.Log(factor[k])))
			}
		}
		if most < 1e-3 {
			return
		}
		n.eachWeight(c, func(w *float32, row, column int) { *w = float32(float64(*w) * factor[row] / factor[column]) })
		for i := range n.Layers {
			l := &n.Layers[i]
			for k := range l.Bias {
				l.Bias[k] = float32(float64(l.Bias[k]) * factor[c.find(c.first[l.To]+k)])
			}
		}
	}
}

// eachWeight calls f with every weight and the classes of the channel that it makes and of the one that it reads.
func (n *Network) eachWeight(c *channelClasses, f func(w *float32, row, column int)) {
	for i := range n.Layers {
		l := &n.Layers[i]
		if !l.hasWeights() {
			continue
		}
		taps, inner := l.Kernel[0]*l.Kernel[1], l.InChannels
		if l.Kind == Depthwise {
			inner = 1
		}
		for o := range l.OutChannels {
			row := c.find(c.first[l.To] + o)
			for k := range inner {
				from := k
				if l.Kind == Depthwise {
					from = o
				}
				column := c.find(c.first[l.From[0]] + from)
				at := (o*inner + k) * taps
				for j := range taps {
					f(&l.Weights[at+j], row, column)
				}
			}
		}
	}
}
