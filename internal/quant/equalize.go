package quant

import (
	"math"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// mostFiner is how much finer the steps of a channel may become than they would be by the value's own range: what other samples do with a
// channel that these hardly reach is not known, and would be clipped.
const mostFiner = 256

// equalized is c, whose weights are the network's own, with classes of channels divided by s = |x|^a / |w|^(1-a): |x| is the greatest
// magnitude of the class in points, |w| that of the weights that read it. With a = 1 all channels of a value have one range
// (Nagel et al., Data-free quantization through weight equalization and bias correction, 2019), with less of it weights
// keep theirs (Xiao et al., SmoothQuant, 2022). It is nil where no class can be scaled.
func (s *static) equalized(c *choices, classes *channelClasses, a float64) *choices {
	x, w := map[int]float64{}, map[int]float64{}
	raise := func(to map[int]float64, class int, by float64) {
		if class != fixed {
			to[class] = math.Max(to[class], by)
		}
	}
	for i, p := range s.points {
		if p.source {
			h := &c.cal.stats[i].Histogram
			least := math.Max(-h.Min, h.Max) / mostFiner
			for k, ch := range c.cal.stats[i].Channels {
				raise(x, classes.class(p.value, k), math.Max(math.Max(-ch.Min, ch.Max), least))
			}
		}
	}
	for i, l := range s.layers {
		most := make([]float64, l.node.In[0].Type.Shape[l.dataAxis()])
		s.eachReader(i, func(channel int, weights []float32) {
			m := most[channel]
			for _, v := range weights {
				m = max(m, math.Abs(float64(v)))
			}
			most[channel] = m
		})
		for channel, m := range most {
			raise(w, classes.read(l, channel), m)
		}
	}
	scale := map[int]float64{}
	for class, m := range x {
		if m > 0 && w[class] > 0 {
			scale[class] = math.Pow(m, a) / math.Pow(w[class], 1-a)
		}
	}
	if len(scale) == 0 {
		return nil
	}
	return s.scaled(c, classes, scale)
}

// divisors are what channels of points and of the sums of layers are divided by.
type divisors struct{ points, layers [][]float64 }

// scaled is c with the rows of weights divided, and the columns multiplied, by the numbers of classes; 1 where there is none.
func (s *static) scaled(c *choices, classes *channelClasses, scale map[int]float64) *choices {
	of := func(class int) float64 {
		if f, ok := scale[class]; ok {
			return f
		}
		return 1
	}
	d := *c
	d.weights, d.biases, d.cal, d.sim = make([]*tensor.Tensor, len(s.layers)), make([]*tensor.Tensor, len(s.layers)), nil, nil
	d.divide = &divisors{make([][]float64, len(s.points)), make([][]float64, len(s.layers))}
	for i, p := range s.points {
		for k := range channels(p.value) {
			d.divide.points[i] = append(d.divide.points[i], of(classes.class(p.value, k)))
		}
	}
	for i, l := range s.layers {
		w, b := tensor.New(types.F32, l.weight.Shape...), tensor.New(types.F32, l.weight.Shape[l.axis])
		copy(w.Bytes(), c.weights[i].Bytes())
		d.weights[i], d.biases[i] = w, b
		numbers := tensor.As[float32](w)
		out := make([]float64, b.Len())
		d.divide.layers[i] = out
		for k := range out {
			out[k] = of(classes.made(l, k))
			b.SetFloat(k, c.biases[i].Float(k)/out[k])
		}
		in := make([]float64, l.node.In[0].Type.Shape[l.dataAxis()])
		for channel := range in {
			in[channel] = of(classes.read(l, channel))
		}
		s.eachColumn(i, func(channel, row, at, n int) {
			f := in[channel] / out[row]
			for k := at; k < at+n; k++ {
				numbers[k] = float32(float64(numbers[k]) * f)
			}
		})
	}
	return &d
}

// eachColumn calls f for each pair of a channel of a layer's data and one of its result that have weights: n of them from at on.
func (s *static) eachColumn(layer int, f func(channel, row, at, n int)) {
	l := s.layers[layer]
	shape := l.weight.Shape
	if !isConv(l.node) {
		for i := range l.weight.Len() {
			row, column := i/shape[1], i%shape[1]
			if l.axis == 1 {
				row, column = column, row
			}
			f(column, row, i, 1)
		}
		return
	}
	taps := types.Count(shape[2:])
	groups := l.node.In[0].Type.Shape[1] / max(1, shape[1])
	for row := range shape[0] {
		for k := range shape[1] {
			f(row*groups/shape[0]*shape[1]+k, row, (row*shape[1]+k)*taps, taps)
		}
	}
}

// eachReader calls f with the weights that read a channel of a layer's data, piece by piece.
func (s *static) eachReader(layer int, f func(channel int, weights []float32)) {
	numbers := tensor.As[float32](s.layers[layer].weight)
	s.eachColumn(layer, func(channel, _, at, n int) { f(channel, numbers[at:at+n]) })
}

// strengths are the a that are tried.
var strengths = []float64{0.5, 0.75, 1, 0.25}

// equalize tries to equalise channels, and returns the best choices, or the given ones where nothing gains. own are the choices with the
// network's own weights.
func (s *static) equalize(best, own *choices) (*choices, error) {
	for _, a := range strengths {
		d := s.equalized(own, s.classes, a)
		if d == nil {
			return best, nil
		}
		d.strength, d.cal = a, s.divided(d, own.cal)
		if err := s.open(d); err != nil {
			return nil, err
		}
		d, err := s.chooseMode(d, best.sqnr, autoModes)
		if err != nil {
			return nil, err
		}
		if d.sqnr > best.sqnr {
			best, d = d, best
		}
		if err := d.sim.Close(); err != nil {
			return nil, err
		}
	}
	return best, nil
}
