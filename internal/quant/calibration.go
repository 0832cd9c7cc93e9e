package quant

import (
	"fmt"

	"lathe/internal/graph"
	"lathe/internal/quant/calibrate"
	"lathe/internal/tensor"
)

// A calibration is what samples show of a network whose layers have certain weights.
type calibration struct {
	stats  []*calibrate.Statistics // by point; nil where it is no source
	set    []int                   // by point: those that share a scale
	sets   int
	means  [][]float64 // by layer: of its sums per channel, over the samples of a trial
	ranges map[rangeKey]calibrate.Range
}

type rangeKey struct {
	point int
	mode  string
}

// calibrate runs all samples through the float network and learns what the points get. Those whose channels can be scaled learn of these one by one: what
// the points of a network with scaled channels would get follows from it. It keeps the network's outputs, for trials.
func (s *static) calibrate(net *simulation, c *choices) error {
	first := s.off()
	if err := net.set(first.params, first.biases); err != nil {
		return err
	}
	var taps []calibrate.Tap
	c.cal = &calibration{stats: make([]*calibrate.Statistics, len(s.points)), ranges: map[rangeKey]calibrate.Range{}, means: s.noMeans()}
	for i, p := range s.points {
		if place := net.source[i]; place >= 0 {
			t := calibrate.Tap{Result: place, Axis: -1}
			if s.Correct && s.classes.scalable(p.value) {
				t.Axis = channelAxis(p.value)
			}
			taps = append(taps, t)
		}
	}
	taps = append(taps, s.outputTaps()...)
	stats, err := calibrate.Collect(s.ctx, net.runner(), s.Samples, taps, func(i int, results []*tensor.Tensor) error {
		s.progress("calibrating", i+1, s.Samples.Len())
		if at := s.trial.index(i); at >= 0 {
			s.addMeans(c.cal.means, results)
			s.trial.reference(at, results)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range s.points {
		if net.source[i] < 0 {
			continue
		}
		c.cal.stats[i], stats = stats[0], stats[1:]
		if n := c.cal.stats[i].Unfit; n > 0 {
			return fmt.Errorf("value %q: %d numbers of the samples are infinite or no numbers (look at the samples and how they become inputs)", s.points[i].value.Name, n)
		}
	}
	c.cal.set, c.cal.sets = share(s.points, c.cal.stats, s.graph.Users())
	s.results = stats
	return nil
}

// divided is what the samples show of c, whose channels are divided, by what they show of the network as it is.
func (s *static) divided(c *choices, own *calibration) *calibration {
	k := &calibration{stats: make([]*calibrate.Statistics, len(s.points)), ranges: map[rangeKey]calibrate.Range{}, means: make([][]float64, len(s.layers))}
	overRows(len(s.points), s.Workers, func(i int) {
		k.stats[i] = own.stats[i]
		if own.stats[i] != nil && own.stats[i].Channels != nil {
			k.stats[i] = own.stats[i].Divided(c.divide.points[i])
		}
	})
	for i, list := range own.means {
		for ch, m := range list {
			k.means[i] = append(k.means[i], m/c.divide.layers[i][ch])
		}
	}
	k.set, k.sets = share(s.points, k.stats, s.graph.Users())
	return k
}

// channelAxis is the axis of a value that counts channels.
func channelAxis(v *graph.Value) int { return min(1, len(v.Type.Shape)-1) }

// noMeans are sums of the means of layers, of no sample.
func (s *static) noMeans() [][]float64 {
	list := make([][]float64, len(s.layers))
	for i, l := range s.layers {
		list[i] = make([]float64, l.weight.Shape[l.axis])
	}
	return list
}

// addMeans adds the means of a run.
func (s *static) addMeans(to [][]float64, results []*tensor.Tensor) {
	for i, t := range results[len(results)-len(s.layers):] {
		for c, x := range tensor.As[float32](t) {
			to[i][c] += float64(x)
		}
	}
}

// share puts points that share a scale into sets, and returns the set of each and their number. A move's result shares its operand's. An operand
// of a concatenation keeps a scale of its own where that is finer by more than half and something else reads it too: nobody
// else would gain by it, for what is joined has one scale.
func share(list []*point, stats []*calibrate.Statistics, users map[*graph.Value][]*graph.Node) (set []int, sets int) {
	at := map[*graph.Value]int{}
	parent := make([]int, len(list))
	for i, p := range list {
		at[p.value], parent[i] = i, i
	}
	var root func(i int) int
	root = func(i int) int {
		if parent[i] != i {
			parent[i] = root(parent[i])
		}
		return parent[i]
	}
	whole := map[*graph.Value]calibrate.Range{}
	for i, p := range list {
		if p.source {
			whole[p.value] = calibrate.MinMax(&stats[i].Histogram, 0, false)
			continue
		}
		operands := moved(p.value.Def)
		var r calibrate.Range
		for _, v := range operands {
			r = r.Union(whole[v])
		}
		whole[p.value] = r
		for _, v := range operands {
			o, ok := at[v]
			if !ok {
				continue
			}
			if own := whole[v]; len(operands) > 1 && len(users[v]) > 1 && own.Max-own.Min < (r.Max-r.Min)/2 {
				continue
			}
			parent[root(o)] = root(i)
		}
	}
	number := map[int]int{}
	for i := range list {
		k, ok := number[root(i)]
		if !ok {
			k = len(number)
			number[root(i)] = k
		}
		set = append(set, k)
	}
	return set, len(number)
}
