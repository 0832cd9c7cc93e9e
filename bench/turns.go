package main

import (
	"math"
	"time"

	"lathe/bench/process"
	"lathe/bench/sweep"
)

// A runner makes one run at a time in this process.
type runner interface{ Run() error }

const (
	turns      = 8                // blocks of each side that a budget is divided into
	sampleTime = time.Millisecond // shorter runs are timed several at a time, so that the clocks cost nothing
)

// sampler is one side of a comparison by samples.
type sampler struct {
	runner
	batch     int // runs in a sample
	samples   int // in a block
	wall, cpu []time.Duration
}

// newSampler makes a first run, which nothing counts, and takes the size of samples and blocks from the fastest of some more.
// After a run that takes a block by itself there are no more; that is judged by processor time, so that a run that had to wait
// is not taken for a long one.
func newSampler(r runner, block time.Duration) (*sampler, error) {
	s := &sampler{runner: r, batch: 1, samples: 1}
	took := time.Duration(math.MaxInt64)
	for i := range 4 {
		before, start := process.CPUTime(), time.Now()
		if err := r.Run(); err != nil {
			return nil, err
		}
		if process.CPUTime()-before > block {
			return s, nil
		}
		if i > 0 {
			took = max(1, min(took, time.Since(start)))
		}
	}
	s.batch = int(math.Ceil(float64(sampleTime) / float64(took)))
	s.samples = max(1, int(block/(time.Duration(s.batch)*took)))
	return s, nil
}

// block makes the samples of one turn. Where there are several, a sample before them brings the caches back.
func (s *sampler) block() error {
	if s.samples > 1 {
		if _, _, err := s.sample(); err != nil {
			return err
		}
	}
	for range s.samples {
		wall, cpu, err := s.sample()
		if err != nil {
			return err
		}
		s.wall, s.cpu = append(s.wall, wall), append(s.cpu, cpu)
	}
	return nil
}

// sample is the time of one run, a mean over the batch.
func (s *sampler) sample() (wall, cpu time.Duration, err error) {
	before, start := process.CPUTime(), time.Now()
	for range s.batch {
		if err := s.Run(); err != nil {
			return 0, 0, err
		}
	}
	wall, cpu = time.Since(start), process.CPUTime()-before
	return wall / time.Duration(s.batch), cpu / time.Duration(s.batch), nil
}

// side is the medians of what was sampled.
func (s *sampler) side() sweep.Side {
	return sweep.Side{Wall: milliseconds(median(s.wall)), CPU: milliseconds(median(s.cpu)), Runs: len(s.wall) * s.batch}
}

// takeTurns lets both run in turns, each second one the other way round, for about the budget, but at least once. With several
// threads a turn begins when those of the other side have become idle.
func takeTurns(a, b runner, budget time.Duration, threads int) (x, y *sampler, err error) {
	start := time.Now()
	if x, err = newSampler(a, budget/(2*turns)); err != nil {
		return nil, nil, err
	}
	if y, err = newSampler(b, budget/(2*turns)); err != nil {
		return nil, nil, err
	}
	for turn := 0; turn < turns && (turn == 0 || time.Since(start) < budget); turn++ {
		order := []*sampler{x, y}
		if turn%2 == 1 {
			order = []*sampler{y, x}
		}
		for _, s := range order {
			if threads > 1 {
				if _, err := waitIdle(); err != nil {
					return nil, nil, err
				}
			}
			if err := s.block(); err != nil {
				return nil, nil, err
			}
		}
	}
	return x, y, nil
}
