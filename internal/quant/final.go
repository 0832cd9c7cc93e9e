package quant

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"lathe/internal/graph"
)

// A written network is what choices make, compiled: what the report says of quality and time is measured on it.
type written struct {
	graph *graph.Graph
	Executable
}

// finish makes the network that choices describe. Where times count, layers return to float until it is not slower than the float network; where
// there is a budget, until it keeps that.
func (s *static) finish(c *choices) (*written, error) {
	w, err := s.write(c)
	if err != nil {
		return nil, err
	}
	if err := s.openFloat(w); err != nil {
		return nil, err
	}
	if err = s.time(c, w); err == nil && s.Measure && c.times != nil {
		w, err = s.faster(c, w)
	}
	for err == nil {
		if err = s.examine(c, w); err != nil || s.judge == nil || s.Budget.within(c.judged) {
			break
		}
		if err = w.Close(); err == nil { // one network at a time takes memory
			w, err = s.without(c)
		}
	}
	if err == nil && s.Measure && c.times != nil && c.times.share() > 1 { // by what the budget returned to float
		err = errSlower
	}
	return w, err
}

// without returns one more layer to float, that whose return gains the most, for the sake of the budget.
func (s *static) without(c *choices) (*written, error) {
	if s.order == nil {
		var err error
		if s.order, err = s.sensitivity(c); err != nil {
			return nil, err
		}
	}
	next := slices.IndexFunc(s.order, func(k int) bool { return !c.off[k] })
	if next < 0 || s.active(c) == 1 {
		return nil, s.overBudget(c)
	}
	k := s.order[next]
	c.off[k], s.layers[k].why = true, overBudget
	w, err := s.write(c)
	if err == nil {
		err = s.time(c, w)
	}
	return w, err
}

// active is the number of layers that are quantised.
func (s *static) active(c *choices) int {
	n := 0
	for _, off := range c.off {
		if !off {
			n++
		}
	}
	return n
}

// write realizes choices and compiles the network.
func (s *static) write(c *choices) (*written, error) {
	s.progress("compiling the network", 0, 0)
	s.leave(c, c.params, c.off)
	to := map[*graph.Value]*graph.Value{}
	g := cloned(s.graph, to)
	if err := s.realize(g, to, c); err != nil {
		return nil, err
	}
	if err := graph.Verify(g); err != nil {
		return nil, err
	}
	e, err := s.Build(s.ctx, g.Clone())
	if err != nil {
		return nil, err
	}
	s.opened = append(s.opened, e)
	return &written{g, e}, nil
}

// examine runs the network on the samples of trials, and on those of the evaluation.
func (s *static) examine(c *choices, w *written) error {
	run := sampleRunner{w.Executable, len(s.graph.Inputs)}
	var err error
	if c.sqnr, err = s.outputRatio(run, noFloor, nil); err == nil && s.judge != nil {
		c.judged, err = s.judgement(s.judge, run)
	}
	return err
}

// openFloat compiles the float network, where executables have a clock.
func (s *static) openFloat(w *written) error {
	if _, ok := w.Executable.(Clocked); !ok {
		return nil
	}
	s.progress("compiling the float network", 0, 0)
	e, err := s.Build(s.ctx, s.graph.Clone())
	if err != nil {
		return err
	}
	s.opened = append(s.opened, e)
	s.float = e.(Clocked)
	return nil
}

// time compares the network with the float one, where there is a clock.
func (s *static) time(c *choices, w *written) error {
	if s.float == nil {
		return nil
	}
	s.progress("timing", 0, 0)
	in, err := s.Samples.At(0)
	if err != nil {
		return err
	}
	for _, e := range []Executable{s.float, w.Executable} {
		for k, t := range in {
			if err := e.SetInput(k, t); err != nil {
				return err
			}
		}
	}
	c.times, err = race(s.ctx, s.float, w.Executable.(Clocked))
	return err
}

// Bounds of the search for layers that are to be float for the sake of time.
const (
	slowerShare = 1.05 // a layer whose kernels take so much longer as integers is tried as floats
	gainedShare = 0.98 // and stays so where the network takes at most this share of its time
	mostRaces   = 12   // networks that are compiled and timed
)

// errSlower is what no choice of layers helps against.
var errSlower = errors.New("no network with layers on integers is faster than the float one on this machine (without --measure it is written for its size)")

// faster returns layers to float that are slower as integers. What a layer costs its neighbours, which then convert their data, is in no kernel's time of
// its own: the network as a whole is timed with and without, first for all candidates, then for halves of them.
func (s *static) faster(c *choices, w *written) (*written, error) {
	races := 1
	// try makes layers float, and keeps them so where that gains.
	try := func(list []int) (bool, error) {
		races++
		d := *c
		d.off = slices.Clone(c.off)
		for _, k := range list {
			d.off[k] = true
		}
		if s.active(&d) == 0 {
			return false, nil
		}
		v, err := s.write(&d)
		if err != nil {
			return false, err
		}
		if err := s.time(&d, v); err != nil {
			return false, err
		}
		if d.times.share() > gainedShare*c.times.share() {
			return false, v.Close()
		}
		for _, k := range list {
			t := c.times.layers[s.layers[k].name()]
			s.layers[k].why = fmt.Sprintf("its kernels take %.1f us as integers and %.1f us as floats", micros(t.integer), micros(t.float))
		}
		err = w.Close()
		*c, w = d, v
		return true, err
	}
	queue := [][]int{s.slower(c, slowerShare)}
	for len(queue) > 0 && races < mostRaces {
		list := queue[0]
		queue = queue[1:]
		if len(list) == 0 {
			continue
		}
		ok, err := try(list)
		if err != nil {
			return nil, err
		}
		if !ok && len(list) > 1 {
			queue = append(queue, list[:len(list)/2], list[len(list)/2:])
		}
	}
	for c.times.share() > 1 { // conversions take more than the layers gain: those go first that gain the least
		list := s.slower(c, 0)
		if len(list) < 2 {
			return nil, errSlower
		}
		if ok, err := try(list[:(len(list)+1)/2]); err != nil || !ok {
			if err == nil {
				err = errSlower
			}
			return nil, err
		}
	}
	return w, nil
}

// share is the time of the integer network as a share of that of the float one.
func (t *times) share() float64 { return float64(t.integer) / float64(max(t.float, 1)) }

// slower lists quantised layers whose kernels take more than a share of their time as floats, those first that lose most.
func (s *static) slower(c *choices, share float64) []int {
	var list []int
	lost := map[int]time.Duration{}
	for k, l := range s.layers {
		t, ok := c.times.layers[l.name()]
		if lost[k] = t.integer - t.float; ok && !c.off[k] && float64(t.integer) > share*float64(t.float) {
			list = append(list, k)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(lost[b], lost[a]) })
	return list
}

func micros(t time.Duration) float64 { return float64(t) / 1e3 }
