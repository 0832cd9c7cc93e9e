package positions

import "lathe/internal/quant/calibrate"

// A Counter watches the tensors of regions and finds their positions.
type Counter struct {
	taps    []Tap
	counts  []calibrate.Histogram
	samples int
}

// A Tap is a tensor to watch.
type Tap struct{ Region, Tensor string }

// NewCounter watches taps.
func NewCounter(taps []Tap) *Counter {
	return &Counter{taps: taps, counts: make([]calibrate.Histogram, len(taps))}
}

// Add counts the values of tap i in one sample.
func (c *Counter) Add(i int, values []float32) { c.counts[i].Add(values) }

// Next ends a sample. Samples is how many have ended.
func (c *Counter) Next()        { c.samples++ }
func (c *Counter) Samples() int { return c.samples }

// Table has the positions of least squared error of what was counted.
func (c *Counter) Table() *Table {
	t := &Table{Version: Version, Samples: c.samples}
	for i, tap := range c.taps {
		if n := len(t.Regions); n == 0 || t.Regions[n-1].Hash != tap.Region {
			t.Regions = append(t.Regions, Region{Hash: tap.Region})
		}
		r := &t.Regions[len(t.Regions)-1]
		r.Tensors = append(r.Tensors, Tensor{tap.Tensor, OfHistogram(&c.counts[i])})
	}
	return t
}
