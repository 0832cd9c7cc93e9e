package main

import (
	"fmt"
	"slices"
	"time"

	"lathe/bench/process"
)

// side is one of those that are compared.
type side struct {
	session
	blocks []block
}

// block holds the times of counted runs that follow each other.
type block struct{ wall, cpu []time.Duration }

const (
	blockTime  = 60 * time.Millisecond // what a block of runs takes at least
	leastRuns  = 3                     // counted runs in a block
	mostRuns   = 400
	idleWindow = 4 * time.Millisecond
	idleWait   = 3 * time.Second // longest wait for a window without work
)

// interleave runs blocks of all sides in turn, repeat of each. It returns the longest wait for the process to become idle:
// how long the threads of one side go on after its last run. Before each run it rests for the gap.
func interleave(sides []*side, repeat int, gap time.Duration) (time.Duration, error) {
	runs := make([]int, len(sides))
	for i, s := range sides {
		b, err := s.block(1, gap)
		if err != nil {
			return 0, err
		}
		runs[i] = max(leastRuns, min(mostRuns, int(blockTime/max(b.wall[0], 1))))
	}
	var longest time.Duration
	for round := range repeat {
		for k := range sides {
			i := k
			if round%2 == 1 {
				i = len(sides) - 1 - k
			}
			waited, err := waitIdle()
			if err != nil {
				return 0, err
			}
			longest = max(longest, waited)
			b, err := sides[i].block(runs[i], gap)
			if err != nil {
				return 0, err
			}
			sides[i].blocks = append(sides[i].blocks, b)
		}
	}
	return longest, nil
}

// runBlock is block for what runs in this process.
func runBlock(n int, gap time.Duration, run func() error) (block, error) {
	b := block{make([]time.Duration, n), make([]time.Duration, n)}
	if err := run(); err != nil {
		return b, err
	}
	for i := range n {
		if gap > 0 {
			time.Sleep(gap)
		}
		before, start := process.CPUTime(), time.Now()
		if err := run(); err != nil {
			return b, err
		}
		b.wall[i], b.cpu[i] = time.Since(start), process.CPUTime()-before
	}
	return b, nil
}

// waitIdle returns after a window in which this process used less than a tenth of one CPU.
func waitIdle() (time.Duration, error) {
	start := time.Now()
	for {
		before, from := process.CPUTime(), time.Now()
		time.Sleep(idleWindow)
		if window := time.Since(from); process.CPUTime()-before < window/10 {
			return from.Sub(start), nil
		}
		if time.Since(start) > idleWait {
			return 0, fmt.Errorf("threads of this process keep working %v after a run", idleWait)
		}
	}
}

func median(times []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(times))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
