package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"

	"lathe/internal/machine"
	"lathe/internal/profile"
	"lathe/runtime"
)

// profile runs the model step by step and tells where the time goes: as text, or as a page in a file with that ending.
func (a *app) profile(m *runtime.Module, f *runFlags, title string) error {
	var times []runtime.StepTime
	peaks, err := aroundPeaks(m.Workers(), func() (err error) {
		times, err = m.Profile(f.repeat)
		return err
	})
	if times == nil {
		return err
	}
	if err != nil {
		a.note("the machine's peak is unknown: " + err.Error())
	}
	run := profile.New(title, m.Info(), m.Workers(), times, peaks)
	if f.profile == toOutput {
		return run.Text(a.out)
	}
	return writeFile(f.profile, func(w io.Writer) error {
		if strings.EqualFold(filepath.Ext(f.profile), ".html") {
			return run.HTML(w)
		}
		return run.Text(w)
	})
}

// aroundPeaks measures what this machine does at best with a number of threads, before work and after it: clocks change
// with what a machine does. Work is done even where nothing can be measured.
func aroundPeaks(threads int, work func() error) (profile.Peaks, error) {
	probe, err := machine.Open()
	if err != nil {
		return profile.Peaks{}, errors.Join(work(), err)
	}
	defer probe.Close()
	p := probe.Measure(threads)
	if err := work(); err != nil {
		return profile.Peaks{}, err
	}
	p = p.Max(probe.Measure(threads))
	return profile.Peaks{Float32: p.Float32(), Int8: p.Int8, Read: p.Read}, nil
}
