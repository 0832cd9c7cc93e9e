package lathe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/records"
	"lathe/internal/trial"
	"lathe/internal/tune"
)

// A graphSearch is a search among decisions on the graph, whose records bear its name for their tuner.
type graphSearch struct {
	name string
	list []tune.GraphDecision
	most int // networks
	time time.Duration
}

// graphPoints are the decisions of the tuning's network with those of a list by number.
func (t *tuning) graphPoints(list []tune.GraphDecision, points map[int]choice.Point) graphPoint {
	g := t.graph
	for i, p := range points {
		for _, node := range list[i].Nodes {
			g = g.with(node, p)
		}
	}
	return g
}

// decideGraph tries other decisions on the graph than those of the tuning's network, and writes what was found.
func (t *tuning) decideGraph(ctx context.Context, m *Model, run *tune.Options, search graphSearch) (*TuneGraph, error) {
	by, sink := run.By, run.Sink
	key, network, err := graphKey(m, t.compiling)
	if err != nil {
		return nil, err
	}
	key.Workers = t.workers
	by.Seed, by.Tuner = cmp.Or(t.Seed, 1), search.name
	list := search.list
	record := func(points map[int]choice.Point, e tune.Estimate) records.Record {
		return records.Record{
			Version: records.Version, Key: key, Point: t.graphPoints(list, points).record(), Ratio: e.Ratio, Low: e.Low, High: e.High, Raced: t.workers,
			Stage: records.Search, Network: network, Name: graphStage, Time: time.Now().UTC().Truncate(time.Second), By: by,
		}
	}
	g := &TuneGraph{}
	var failed error
	o := tune.GraphOptions{Most: search.most, Time: search.time}
	o.Packing, o.Opening = t.farm.Costs()
	for i := range t.tasks {
		o.Host += t.tasks[i].Weight()
	}
	progress := func(p TuneProgress) {
		if p.Stage, p.Host, p.Expected = graphStage, o.Host, o.Host; t.Progress != nil {
			t.Progress(p)
		}
	}
	known := map[string]tune.Estimate{}
	for _, r := range run.Records {
		if ofGraph(r, key, network) && r.Stage == records.Search && r.Raced == t.workers && r.Fault == records.None && r.Ratio > 0 {
			known[fmt.Sprint(r.Point)] = estimateOf(r)
		}
	}
	o.Known = func(c tune.Candidate) (tune.Estimate, bool) {
		e, ok := known[fmt.Sprint(t.graphPoints(list, map[int]choice.Point{c.Task: c.Point}).record())]
		return e, ok
	}
	o.Tried = func(tried tune.GraphTrial, done, planned int) {
		g.Tried++
		d := list[tried.Decision]
		nodes := slices.DeleteFunc(slices.Clone(d.Nodes), func(node string) bool { return node == wholeNetwork })
		told := TuneGraphTrial{Nodes: nodes, Decision: d.Name, From: d.Values[d.Default].Text, Value: tried.Value, TuneEstimate: publicEstimate(tried.Estimate)}
		if tried.Known {
			g.Resumed++
		} else {
			rec := record(map[int]choice.Point{tried.Decision: {d.Name: tried.Value}}, tried.Estimate)
			if tried.Err != nil {
				rec.Fault, told.Fault = records.CompileHost, tried.Err.Error()
				if _, wrong := errors.AsType[*tune.WrongError](tried.Err); wrong {
					rec.Fault = records.WrongAnswer
				}
			}
			failed = cmp.Or(failed, sink(rec))
		}
		g.Trials = append(g.Trials, told)
		progress(TuneProgress{Trials: done, Budget: planned})
	}
	o.Judged = func(n int, v tune.Verdict) {
		verdict := publicVerdict(&v)
		progress(TuneProgress{Trials: g.Tried, Budget: g.Tried, Verdict: &verdict, Points: n})
	}
	progress(TuneProgress{Budget: o.Most})
	r, err := tune.Graph(ctx, list, &trial.Graphs{Farm: t.farm, Network: func(points map[int]choice.Point) ([]byte, error) {
		return t.network(m, t.graphPoints(list, points))
	}}, o)
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	point := t.graphPoints(list, r.Judged)
	g.Choices, g.Facts, g.Verdict, g.Accepted = point.nodes(), point.facts(), publicVerdict(&r.Verdict), r.Accepted
	rec := record(r.Judged, over(r.Verdict.Estimate, t.gained))
	rec.Stage, rec.Accepted = records.Network, r.Accepted
	if len(r.Judged) > 0 {
		rec.Verdict = &records.Bounds{Ratio: rec.Ratio, Low: rec.Low, High: rec.High}
	} else if t.gained.Ratio > 0 {
		rec.Accepted, rec.Ratio, rec.Low, rec.High = true, t.gained.Ratio, t.gained.Low, t.gained.High // what stands is not taken back
	}
	return g, sink(rec)
}

// over is an estimate of a network over one that is base's time of a third, over that; base is zero where it is none.
func over(e, base tune.Estimate) tune.Estimate {
	if base.Ratio > 0 {
		e.Ratio, e.Low, e.High = e.Ratio*base.Ratio, e.Low*base.Low, e.High*base.High
	}
	return e
}

// ofGraph reports a record of decisions on the graph of a network by the rules of this compiler.
func ofGraph(r records.Record, key records.Key, network string) bool {
	return r.Kernel == key.Kernel && r.Target == key.Target && r.Class == key.Class && r.Network == network && r.By.Rules == compile.Rules
}

// graphEarlier is the last verdict in records of an earlier search of a name; nil: none.
func (t *tuning) graphEarlier(m *Model, name string, list []records.Record) (*TuneGraph, error) {
	key, network, err := graphKey(m, t.compiling)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(list) {
		if ofGraph(r, key, network) && r.Stage == records.Network && r.By.Tuner == name {
			p := graphPointOf(r.Point)
			return &TuneGraph{Choices: p.nodes(), Facts: p.facts(), Verdict: TuneVerdict{TuneEstimate: publicEstimate(estimateOf(r)), Accepted: r.Accepted}, Earlier: true, Accepted: r.Accepted}, nil
		}
	}
	return nil, nil
}

// decided is the tuning of the network as a search on its graph has decided, in place of t.
func (t *tuning) decided(ctx context.Context, m *Model, g *TuneGraph) (*tuning, error) {
	if g == nil || g.Earlier || !g.Accepted {
		return t, nil
	}
	point := graphPoint(g.Choices)
	if g.Facts != "" {
		point = point.with(wholeNetwork, choice.Point{factsDecision: g.Facts})
	}
	of, err := openTuning(ctx, m, t.TuneOptions, t.compiling, point)
	if err != nil {
		return t, err
	}
	of.gained = over(tune.Estimate(g.Verdict.TuneEstimate), t.gained)
	t.farm.Close()
	return of, nil
}

// withGraph decides on the graph, unless records of an earlier run have, and returns the tuning of the network that results, in place of t.
func (t *tuning) withGraph(ctx context.Context, m *Model, run *tune.Options) (*tuning, *TuneGraph, error) {
	g, err := t.graphEarlier(m, graphStage, run.Records)
	if g == nil && err == nil {
		search := graphSearch{name: graphStage, list: t.graphDecisions(), most: mostGraphs, time: t.Time / graphShare}
		if t.Trials > 0 {
			search.most = min(search.most, max(1, t.Trials/graphShare))
		}
		g, err = t.decideGraph(ctx, m, run, search)
	}
	if err != nil {
		return t, nil, err
	}
	of, err := t.decided(ctx, m, g)
	return of, g, err
}
