package calibrate

import (
	"context"
	"fmt"
	"math"
	"sync"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Statistics are what is known of one value of a network.
type Statistics struct {
	Histogram
	Channels []Channel // along the axis that was asked for; nil where none was
}

// A Channel has the extremes of the numbers of one channel, and their sums, of which Count is the number.
type Channel struct {
	Min, Max       float64
	Sum, Magnitude float64
	Count          int64
}

// Mean of the channel's numbers.
func (c Channel) Mean() float64 { return c.Sum / float64(max(c.Count, 1)) }

// A Tap is a value to learn about: its place among the results of a run, and the axis of its channels, -1 for none.
type Tap struct {
	Result int
	Axis   int
	// Divide, where there is some, has a number for each channel, by which the channel's numbers are divided first.
	Divide []float64
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

// Collect runs samples, in order, and returns the statistics of taps. Memory is that of one sample. Sums are in float64 and in the order of
// the samples: results do not depend on how many goroutines there are, one for each tap at most. seen is called behind every sample
// with all results; it may be nil.
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
	return list, nil
}

func (s *Statistics) add(t *tensor.Tensor, tap Tap) {
	numbers := tensor.As[float32](t)
	if tap.Axis < 0 || tap.Axis >= len(t.Shape) {
		s.Histogram.Add(numbers)
		return
	}
	n, inner := t.Shape[tap.Axis], types.Count(t.Shape[tap.Axis+1:])
	if s.Channels == nil {
		s.Channels = make([]Channel, n)
		for i := range s.Channels {
			s.Channels[i].Min, s.Channels[i].Max = math.Inf(1), math.Inf(-1)
		}
	}
	if tap.Divide != nil {
		numbers = divided(numbers, inner, tap.Divide)
	}
	s.Histogram.Add(numbers)
	for at := 0; at < len(numbers); at += inner {
		s.Channels[at/inner%n].add(numbers[at : at+inner])
	}
}

// divided are numbers over those of their channels, which change every inner numbers.
func divided(numbers []float32, inner int, by []float64) []float32 {
	list := make([]float32, len(numbers))
	for at := 0; at < len(numbers); at += inner {
		f := float32(1 / by[at/inner%len(by)])
		for i := at; i < at+inner; i++ {
			list[i] = numbers[i] * f
		}
	}
	return list
}

func (c *Channel) add(numbers []float32) {
	low, high, sum, magnitude := c.Min, c.Max, 0.0, 0.0
	for _, x := range numbers {
		f := float64(x)
		if f < low {
			low = f
		}
		if f > high {
			high = f
		}
		sum += f
		magnitude += math.Abs(f)
	}
	c.Min, c.Max, c.Count = low, high, c.Count+int64(len(numbers))
	c.Sum += sum
	c.Magnitude += magnitude
}
