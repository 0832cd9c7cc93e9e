package positions

import "lathe/internal/quant/calibrate"

// A Counter watches the tensors of regions and finds their positions.
type Counter struct {
	taps    []Tap
	counts  []calibrate.Histogram
	sums    [][]float64 // of the values of channels, by tap
	values  []int       // that each of these sums has
	samples int
}

// A Tap is a tensor to watch.
type Tap struct{ Region, Tensor string }

// NewCounter watches taps.
func NewCounter(taps []Tap) *Counter {
	return &Counter{taps: taps, counts: make([]calibrate.Histogram, len(taps)), sums: make([][]float64, len(taps)), values: make([]int, len(taps))}
}

// Add counts the values of tap i in one sample, a map [N, C, H, W]. Of other shapes it has no means.
func (c *Counter) Add(i int, values []float32, shape []int) {
	c.counts[i].Add(values)
	if len(shape) != 4 || len(values) == 0 || shape[0]*shape[1]*shape[2]*shape[3] != len(values) {
		return
	}
	if c.sums[i] == nil {
		c.sums[i] = make([]float64, shape[1])
	}
	each := shape[2] * shape[3]
	for k := 0; k < len(values) && len(c.sums[i]) == shape[1]; k += each {
		for _, v := range values[k : k+each] {
			c.sums[i][k/each%shape[1]] += float64(v)
		}
	}
	c.values[i] += shape[0] * each
}

// means are those of the channels of tap i; nil where its shape gives none.
func (c *Counter) means(i int) []float32 {
	var list []float32
	for _, sum := range c.sums[i] {
		list = append(list, float32(sum/float64(c.values[i])))
	}
	return list
}

// Next ends a sample. Samples is how many have ended.
func (c *Counter) Next()        { c.samples++ }
func (c *Counter) Samples() int { return c.samples }

// Table has the positions of least squared error of what was counted, and the means.
func (c *Counter) Table() *Table {
	t := &Table{Version: Version, Samples: c.samples}
	for i, tap := range c.taps {
		if n := len(t.Regions); n == 0 || t.Regions[n-1].Hash != tap.Region {
			t.Regions = append(t.Regions, Region{Hash: tap.Region})
		}
		r := &t.Regions[len(t.Regions)-1]
		r.Tensors = append(r.Tensors, Tensor{tap.Tensor, OfHistogram(&c.counts[i]), c.means(i)})
	}
	return t
}
