package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"lathe"
	"lathe/bench/process"
	"lathe/internal/tool/machine"
	"lathe/runtime"
)

// comparison is what all rows share.
type comparison struct {
	*settings
	work  string
	peers []peer
	peaks map[int]machine.Peaks // by threads
	probe *machine.Probe
}

// compareAll measures all networks, prints a table as it grows and writes the results.
func compareAll(s *settings, work string) error {
	c := &comparison{settings: s, work: work, peaks: map[int]machine.Peaks{}}
	var err error
	var stop func()
	if c.peers, stop, err = startPeers(s.peers); err != nil {
		return err
	}
	defer stop()
	r := &report{Lathe: lathe.Version(), Target: s.target}
	for _, p := range c.peers {
		r.Peers = append(r.Peers, named{p.name(), p.version()})
	}
	if c.probe, err = machine.Open(context.Background()); err != nil {
		return err
	}
	defer c.probe.Close()
	r.Peaks = c.measureMachine()
	for _, p := range r.Peaks {
		c.peaks[p.Threads] = p
	}
	debug.SetGCPercent(400)
	r.head()
	if slices.Contains(c.peers, peer(onnxRuntime{})) && saturating() {
		fmt.Println("onnxruntime: sums of two products of bytes saturate on this processor; it is timed so, outputs are compared with those of exact sums")
	}
	others, err := process.Watch()
	if err != nil {
		return err
	}
	for _, model := range s.models {
		for _, batch := range s.batch {
			for _, row := range c.model(model, batch) {
				r.add(row)
			}
		}
	}
	if r.OthersShare, err = others.Share(); err != nil {
		return err
	}
	r.foot()
	return errors.Join(r.write(s.results), r.verdict())
}

// measureMachine measures the machine for each number of threads.
func (c *comparison) measureMachine() (list []machine.Peaks) {
	for _, n := range c.threads {
		list = append(list, c.probe.Measure(n).Max(c.probe.Measure(n)))
	}
	return list
}

// state notes how fast a core writes what another has read, which changes with the places that a hypervisor gives virtual cores.
func (c *comparison) state(r *row) {
	if r.Threads > 1 {
		r.Reclaim = append(r.Reclaim, c.probe.Reclaim())
	}
}

// model measures one network with one batch on every number of threads.
func (c *comparison) model(model string, batch int) []row {
	about := row{Model: modelName(model), Batch: batch}
	fail := func(err error) []row {
		about.Error = err.Error()
		return []row{about}
	}
	if batch > 1 {
		dir, err := os.MkdirTemp(c.work, "batch-")
		if err != nil {
			return fail(err)
		}
		defer os.RemoveAll(dir)
		if model, err = withBatch(model, batch, dir); err != nil {
			return fail(err)
		}
	}
	pack := filepath.Join(c.work, modelName(model)+".tar")
	defer os.Remove(pack)
	cost, err := compilePackage(context.Background(), c.settings, model, pack)
	if err == nil && batch > 1 {
		err = checkBatch(pack, batch)
	}
	if err != nil && batch > 1 {
		about.Skipped = "the graph fixes the batch: " + lastLine(err.Error())
		return []row{about}
	}
	if err != nil {
		return fail(fmt.Errorf("compile: %w", err))
	}
	about.Compile = cost
	var rows []row
	for _, n := range c.threads {
		r := about
		r.Threads, r.Gap = n, c.gap
		if n > 1 {
			r.Busy = c.busy
		}
		if err := c.loaded(&r, model, pack); err != nil {
			r.Error = err.Error()
		}
		if r.Busy > 0 && len(rows) > 0 && rows[0].Threads == 1 && rows[0].Error == "" {
			r.underLoad(&rows[0])
		}
		rows = append(rows, r)
	}
	return rows
}

// checkBatch returns an error when an output has another batch than was asked for.
func checkBatch(pack string, batch int) error {
	m, err := runtime.Open(pack)
	if err != nil {
		return err
	}
	defer m.Close()
	for _, t := range m.Outputs() {
		if len(t.Shape) == 0 || t.Shape[0]%batch != 0 {
			return fmt.Errorf("output %q is %v", t.Name, t.Shape)
		}
	}
	return nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// loaded fills a row while a load takes what it says of a processor.
func (c *comparison) loaded(r *row, model, pack string) (err error) {
	end, err := keepBusy(context.Background(), r.Busy)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	return c.measure(r, model, pack)
}

// measure fills a row.
func (c *comparison) measure(r *row, model, pack string) error {
	life, err := runOnce(pack, model, r.Threads, r.Batch, 0)
	if err != nil {
		return err
	}
	r.RunPeakMB = life.PeakMB
	lathe, inputs, err := openOurs(pack, model, r.Threads, r.Batch)
	if err != nil {
		return err
	}
	defer lathe.close()
	best := r.describe(lathe.Info(), c.peaks[r.Threads])
	sides := []*side{{session: lathe}}
	r.Peers = make([]rival, len(c.peers))
	at := map[*side]*rival{}
	twin, err := c.twin(model)
	if err != nil {
		return err
	}
	for i, p := range c.peers {
		r.Peers[i].Name = p.name()
		s, err := p.open(twin, r.Threads, inputs, lathe.Module)
		if errors.Is(err, errUnsupported) {
			r.Peers[i].Missing = err.Error()
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
		defer s.close()
		sides = append(sides, &side{session: s})
		at[sides[len(sides)-1]] = &r.Peers[i]
	}
	c.state(r)
	longest, err := interleave(sides, c.repeat, c.gap)
	if err != nil {
		return err
	}
	c.state(r)
	r.LongestMs = milliseconds(longest)
	r.Lathe = summary(sides[0].blocks)
	ours, err := lathe.outputs()
	if err != nil {
		return err
	}
	for _, s := range sides[1:] {
		at[s].Time = summary(s.blocks)
		theirs, err := s.outputs()
		if err != nil {
			return fmt.Errorf("%s: %w", at[s].Name, err)
		}
		at[s].compare(ours, theirs)
	}
	r.finish(best)
	return nil
}
