package main

import (
	"context"
	"errors"

	"lathe/internal/tool/machine"
	"lathe/internal/tool/profile"
)

// measurePeaks measures what this machine does at best with a number of threads, before work and after it: clocks change
// with what a machine does. Work is done even where nothing can be measured.
func measurePeaks(threads int, work func() error) (profile.Peaks, error) {
	probe, err := machine.Open(context.Background())
	if err != nil {
		return profile.Peaks{}, errors.Join(work(), err)
	}
	defer probe.Close()
	p := probe.Measure(threads)
	if err := work(); err != nil {
		return profile.Peaks{}, err
	}
	p = p.Max(probe.Measure(threads))
	return profile.Peaks{Float32: p.Float32(), Int8: p.Int8, Tiles: p.Tiles, Read: p.Read}, nil
}
