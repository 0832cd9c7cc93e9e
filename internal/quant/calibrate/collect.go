package calibrate

import (
	"context"
	"fmt"
	"sync"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Statistics are what is known of one value of a network.
type Statistics struct {
	Histogram
	Channels []Extremes // along the axis that was asked for; nil where none was
	split    []channel  // likewise
}

// Extremes are those of the finite numbers of a channel; 0 and 0 where there are none.
type Extremes struct{ Min, Max float64 }

// A Tap is a value to learn about: its place among the results of a run, and the axis of its channels, -1 for none.
type Tap struct {
	Result int
	Axis   int // each channel has a histogram, by which it can be told what dividing channels would change
}

// Samples are what is fed to a network.
type Samples interface {
	Len() int
	// At makes sample i the inputs of a network, in their order.
	At(i int) ([]*tensor.Tensor, error)
}

// A Runner runs a network once. Results are valid until the next run.
type Runner interface {
	Run(inputs []*tensor.Tensor) ([]*tensor.Tensor, error)
}

// Collect runs samples, in order, and returns the statistics of taps. Memory is that of one sample, besides the histograms. Results do not depend on
// how many goroutines there are, one for each tap at most. seen is called behind every sample with all results; it may be nil.
func Collect(ctx context.Context, run Runner, samples Samples, taps []Tap, seen func(sample int, results []*tensor.Tensor) error) ([]*Statistics, error) {
	list := make([]*Statistics, len(taps))
	for i := range list {
		list[i] = &Statistics{}
	}
	for i := range samples.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		in, err := samples.At(i)
		if err != nil {
			return nil, err
		}
		results, err := run.Run(in)
		if err != nil {
			return nil, err
		}
		var wait sync.WaitGroup
		for k, t := range taps {
			if results[t.Result].DType != types.F32 {
				return nil, fmt.Errorf("calibration: result %d is %s and not float32", t.Result, results[t.Result].DType)
			}
			wait.Go(func() { list[k].add(results[t.Result], t) })
		}
		wait.Wait()
		if seen != nil {
			if err := seen(i, results); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range list {
		if s.split != nil {
			s.join()
		}
	}
	return list, nil
}

func (s *Statistics) add(t *tensor.Tensor, tap Tap) {
	numbers := tensor.As[float32](t)
	if tap.Axis < 0 || tap.Axis >= len(t.Shape) {
		s.Histogram.Add(numbers)
		return
	}
	n, inner := t.Shape[tap.Axis], types.Count(t.Shape[tap.Axis+1:])
	if s.split == nil {
		s.split = make([]channel, n)
		counts := make([]uint32, n*Bins)
		for i := range s.split {
			s.split[i].counts = counts[i*Bins:][:Bins]
		}
	}
	for at := 0; at < len(numbers); at += inner {
		c := &s.split[at/inner%n]
		add(&c.tally, c.counts, numbers[at:at+inner])
	}
}

// join makes the histogram of all channels from theirs, which is what their numbers together give, and their extremes.
func (s *Statistics) join() {
	s.Histogram = Histogram{}
	s.Channels = make([]Extremes, len(s.split))
	for i := range s.split {
		c := &s.split[i]
		s.Channels[i] = Extremes{c.Min, c.Max}
		s.Histogram.merge(c)
	}
}

// Divided is what s, of a tap that was split, would be of the same numbers with those of each channel divided by one number, as far as the channels'
// histograms tell: extremes are exact, and numbers of a bin lie at its centre.
func (s *Statistics) Divided(by []float64) *Statistics {
	d := &Statistics{Histogram: Histogram{Counts: make([]int64, Bins)}, Channels: make([]Extremes, len(s.split))}
	h := &d.Histogram
	for i := range s.split {
		c, e := &s.split[i], &d.Channels[i]
		h.Unfit += c.Unfit
		if c.Total == 0 {
			continue
		}
		f := float32(1 / by[i])
		e.Min, e.Max = float64(float32(c.Min)*f), float64(float32(c.Max)*f)
		extend(&h.tally, h.Counts, e.Min, e.Max)
		h.Zeros, h.Total = h.Zeros+c.Zeros, h.Total+c.Total
	}
	perUnit := h.perUnit()
	for i := range s.split {
		c, e := &s.split[i], d.Channels[i]
		width := 2 * c.Limit / Bins
		for k, n := range c.counts {
			if n > 0 {
				x := (float64(k-Bins/2) + 0.5) * width / by[i]
				h.Counts[bin(min(max(x, e.Min), e.Max), perUnit)] += int64(n)
			}
		}
	}
	return d
}
