package quant

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Report tells what was quantised, how, and what it costs.
type Report struct {
	Samples      int     `json:"samples"`       // that ranges were learnt from
	TrialSamples int     `json:"trial_samples"` // of these, on which choices were tried
	Trials       int     `json:"trials"`        // choices that were tried
	SQNR         float64 `json:"sqnr_db"`       // signal to noise at the outputs on the samples of trials, of the network itself; 200 at most
	// BeforeSoftmax says that SQNR is that of what the network's last softmax reads, about its mean.
	BeforeSoftmax bool    `json:"before_softmax,omitempty"`
	Equalized     float64 `json:"equalized"` // strength of the equalisation of channels; 0: none
	Corrected     bool    `json:"biases_corrected"`
	Rounding      string  `json:"rounding,omitempty"` // what is kept when weights are rounded; empty: each is rounded to nearest
	FloatBytes    int     `json:"float_bytes"`        // of the constants before
	Bytes         int     `json:"bytes"`              // and behind
	// FloatWeightBytes and WeightBytes are of the weights of the layers that compute on integers, scales and zero points included.
	FloatWeightBytes int           `json:"float_weight_bytes"`
	WeightBytes      int           `json:"weight_bytes"`
	FloatMs          float64       `json:"float_ms,omitempty"` // of a run on the machine that quantised, a median; 0: not timed
	Ms               float64       `json:"ms,omitempty"`       // of the quantised network, in turns with the other
	Judged           *Judgement    `json:"judged,omitempty"`
	Layers           []LayerReport `json:"layers"`
	Points           []PointReport `json:"points"`
	// Inputs and Outputs that are integers; what is said of quality is in front of the rounding of outputs, of which each has its own ratio.
	IO      string        `json:"io,omitempty"` // the type of these
	Inputs  []PointReport `json:"inputs,omitempty"`
	Outputs []PointReport `json:"outputs,omitempty"`
}

// Quantised is the number of layers that compute on integers.
func (r *Report) Quantised() int {
	n := 0
	for _, l := range r.Layers {
		if l.Bits < 32 {
			n++
		}
	}
	return n
}

// LayerReport is a product of the network.
type LayerReport struct {
	Name     string  `json:"name"`
	Operator string  `json:"operator"`
	Bits     int     `json:"bits"`              // of the weights: 4, 7 or 8, or 32 where the layer stays float
	SQNR     float64 `json:"sqnr_db,omitempty"` // signal to noise of the rounded weights by themselves
	Gain     float64 `json:"gain_db,omitempty"` // what the outputs gain when it alone is float, where layers were compared
	// FloatMs and Ms are the least times of the kernels that compute the layer in either network; layers that share kernels have the same. 0: not timed.
	FloatMs float64 `json:"float_ms,omitempty"`
	Ms      float64 `json:"ms,omitempty"`
	Reads   string  `json:"reads,omitempty"` // the value that it reads as integers
	Why     string  `json:"why,omitempty"`   // it stays float
}

// PointReport is a value that is kept as integers.
type PointReport struct {
	Name    string  `json:"name"`
	Mode    string  `json:"mode"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Scale   float64 `json:"scale"`
	Zero    int     `json:"zero_point"`
	Clipped float64 `json:"clipped"` // share of the samples' numbers beyond the range
	// SQNR is the ratio of signal to noise of the value by itself, by its histogram; 0 for what moves carry on.
	SQNR float64 `json:"sqnr_db,omitempty"`
}

func (s *static) report(c *choices, q *graph.Graph, before int) *Report {
	r := &Report{
		Samples: s.Samples.Len(), TrialSamples: s.trial.count, Trials: s.runs, SQNR: c.sqnr, Equalized: c.strength, Corrected: c.corrected,
		Rounding: c.rounding.String(), FloatBytes: before, Bytes: constantBytes(q), Judged: c.judged,
	}
	r.BeforeSoftmax = slices.ContainsFunc(s.trial.outputs, func(o output) bool { return o.softmax })
	if c.times != nil {
		r.FloatMs, r.Ms = c.times.float.Seconds()*1e3, c.times.integer.Seconds()*1e3
	}
	at := map[*layer]int{}
	for i, l := range s.layers {
		at[l] = i
	}
	for _, l := range s.all {
		row := LayerReport{Name: l.name(), Operator: l.node.Op.Name, Bits: 32, Gain: l.gain, Why: l.why}
		if l.why == "" {
			row.Bits, row.SQNR = bits(s.weights.most), weightRatio(c.weights[at[l]], s.rounded(c, at[l], nil, 1).floats(l.axis))
			row.Reads = l.node.In[0].Name
			r.FloatWeightBytes += l.weight.Size()
			r.WeightBytes += l.weight.Len() + l.weight.Shape[l.axis]*(types.F32.Size()+types.I8.Size())
		}
		if c.times != nil {
			t := c.times.layers[l.name()]
			row.FloatMs, row.Ms = t.float.Seconds()*1e3, t.integer.Seconds()*1e3
		}
		r.Layers = append(r.Layers, row)
	}
	for i := range s.points {
		if c.params[i].Scale != 0 {
			r.Points = append(r.Points, s.pointReport(c, i))
		}
	}
	return r
}

// pointReport is the row of point i.
func (s *static) pointReport(c *choices, i int) PointReport {
	p := s.points[i]
	row := PointReport{Name: p.value.Name, Mode: c.modes[c.cal.set[i]], Min: c.ranges[i].Min, Max: c.ranges[i].Max, Scale: float64(c.params[i].Scale), Zero: c.params[i].Zero}
	if p.source {
		h := &c.cal.stats[i].Histogram
		row.Clipped, row.SQNR = h.Clipped(c.ranges[i]), ratio(1, noiseShare(h, c.ranges[i], row.Scale))
	}
	return row
}

// bits is the number of bits of weights in [-most, most].
func bits(most int) int {
	n := 1
	for ; most > 0; most /= 2 {
		n++
	}
	return n
}

// constantBytes is the size of a graph's constants.
func constantBytes(g *graph.Graph) int {
	n := 0
	for _, c := range g.Constants() {
		n += c.Const.Size()
	}
	return n
}

// weightRatio is the ratio of signal to noise of rounded weights.
func weightRatio(w, rounded *tensor.Tensor) float64 {
	numbers := tensor.As[float32](w)
	signal := 0.0
	for _, x := range numbers {
		signal += float64(x) * float64(x)
	}
	return ratio(signal, distance(numbers, tensor.As[float32](rounded)))
}
