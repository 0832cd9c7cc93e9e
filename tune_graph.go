package lathe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/records"
	"lathe/internal/trial"
	"lathe/internal/tune"
)

// TuneGraph is what was found for decisions on the graph, before there are kernels.
type TuneGraph struct {
	Tried    int                          // networks with one decision taken otherwise
	Resumed  int                          // of them, those that an earlier run had tried
	Trials   []TuneGraphTrial             // in their order; none where records have the verdict
	Choices  map[string]map[string]string // decisions by node: what the verdict is of
	Verdict  TuneVerdict                  // against the network as the compiler decides
	Earlier  bool                         // it stands in records, and nothing was tried
	Accepted bool                         // the kernels were tuned with it
}

// TuneGraphTrial is a network with one decision on the graph taken otherwise.
type TuneGraphTrial struct {
	Nodes                 []string // equal ones, which decide alike
	Decision, From, Value string
	TuneEstimate                 // of its time over that of the network as the compiler decides
	Fault                 string // why there is no time; "": there is
}

// mostGraphs are networks that are tried for decisions on the graph.
const mostGraphs = 16

// graphShare is the part of trials and time that --graph takes from kernels.
const graphShare = 4

// graphStage names what goes on, in TuneProgress.
const graphStage = "graph"

// A graphPoint is decisions on nodes, by node.
type graphPoint map[string]map[string]string

// points are g for the compiler.
func (g graphPoint) points() map[string]choice.Point {
	out := map[string]choice.Point{}
	for node, p := range g {
		out[node] = p
	}
	return out
}

// record is g as a point of a record, which names a decision DECISION(NODE).
func (g graphPoint) record() choice.Point {
	p := choice.Point{}
	for node, decided := range g {
		for name, value := range decided {
			p[name+"("+node+")"] = value
		}
	}
	return p
}

// graphPointOf is the point of a record again. What is none is left out.
func graphPointOf(p choice.Point) graphPoint {
	g := graphPoint{}
	for key, value := range p {
		name, rest, _ := strings.Cut(key, "(")
		node, ok := strings.CutSuffix(rest, ")")
		if !ok {
			continue
		}
		if g[node] == nil {
			g[node] = map[string]string{}
		}
		g[node][name] = value
	}
	return g
}

// graphKey is by what records know the decisions on the graph of m, and the digest of the network as the compiler decides.
func graphKey(m *Model, resolved CompileOptions) (k records.Key, network string, err error) {
	t, err := resolveTarget(resolved.Target)
	if err != nil {
		return k, "", err
	}
	network = networkKey(m, resolved, nil)
	return compile.GraphKey(network, t), network, nil
}

// graphOf are the decisions on the graph of m that a verdict accepted; nil: none.
func graphOf(m *Model, resolved CompileOptions, book *records.Book) (graphPoint, error) {
	key, network, err := graphKey(m, resolved)
	if err != nil {
		return nil, err
	}
	if r, ok := book.Best(key, network); ok && r.By.Rules == compile.Rules {
		return graphPointOf(r.Point), nil
	}
	return nil, nil
}

// graphDecisions are the decisions on nodes whose kernels take time: those of equal nodes with equal kernels are one.
func (t *tuning) graphDecisions() []tune.GraphDecision {
	asked := t.farm.Asked()
	of := map[string]*tune.Task{}
	steps := t.farm.Info().ByName()
	for i, k := range t.farm.Kernels() {
		for _, name := range k.Kernels {
			for node := range steps[name].Graph {
				if of[node] == nil {
					of[node] = &t.tasks[i]
				}
			}
		}
	}
	var list []tune.GraphDecision
	at := map[string]int{}
	for _, node := range slices.Sorted(maps.Keys(of)) {
		for _, d := range asked[node] {
			if _, given := t.Choices[node][d.Name]; given {
				continue
			}
			id := fmt.Sprintf("%d %s %d %v", of[node].Index, d.Name, d.Default, d.Values)
			i, ok := at[id]
			if !ok {
				i, at[id] = len(list), len(list)
				list = append(list, tune.GraphDecision{Decision: d})
			}
			list[i].Nodes = append(list[i].Nodes, node)
			list[i].Weight += of[node].Time
		}
	}
	return list
}

// decideGraph tries other decisions on the graph, and writes what was found.
func (t *tuning) decideGraph(ctx context.Context, m *Model, run *tune.Options) (*TuneGraph, error) {
	by, sink := run.By, run.Sink
	key, network, err := graphKey(m, t.compiling)
	if err != nil {
		return nil, err
	}
	key.Workers = t.workers
	by.Seed, by.Tuner = cmp.Or(t.Seed, 1), graphStage
	list := t.graphDecisions()
	given := func(points map[int]choice.Point) graphPoint {
		g := graphPoint{}
		for i, p := range points {
			for _, node := range list[i].Nodes {
				if g[node] == nil {
					g[node] = map[string]string{}
				}
				maps.Copy(g[node], p)
			}
		}
		return g
	}
	record := func(points map[int]choice.Point, e tune.Estimate) records.Record {
		return records.Record{
			Version: records.Version, Key: key, Point: given(points).record(), Ratio: e.Ratio, Low: e.Low, High: e.High, Raced: t.workers,
			Stage: records.Search, Network: network, Name: graphStage, Time: time.Now().UTC().Truncate(time.Second), By: by,
		}
	}
	g := &TuneGraph{}
	var failed error
	o := tune.GraphOptions{Most: mostGraphs, Time: t.Time / graphShare}
	o.Packing, o.Opening = t.farm.Costs()
	if t.Trials > 0 {
		o.Most = min(o.Most, max(1, t.Trials/graphShare))
	}
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
		if r.Kernel == key.Kernel && r.Target == key.Target && r.Class == key.Class && r.Network == network && r.Stage == records.Search && r.Raced == t.workers &&
			r.By.Rules == by.Rules && r.Fault == records.None && r.Ratio > 0 {
			known[fmt.Sprint(r.Point)] = tune.Estimate{Ratio: r.Ratio, Low: r.Low, High: r.High, Pairs: 1}
		}
	}
	o.Known = func(c tune.Candidate) (tune.Estimate, bool) {
		e, ok := known[fmt.Sprint(given(map[int]choice.Point{c.Task: c.Point}).record())]
		return e, ok
	}
	o.Tried = func(tried tune.GraphTrial, done, planned int) {
		g.Tried++
		d := list[tried.Decision]
		told := TuneGraphTrial{Nodes: d.Nodes, Decision: d.Name, From: d.Values[d.Default].Text, Value: tried.Value, TuneEstimate: publicEstimate(tried.Estimate)}
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
		return t.network(m, given(points))
	}}, o)
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	g.Choices, g.Verdict, g.Accepted = given(r.Judged), publicVerdict(&r.Verdict), r.Accepted
	rec := record(r.Judged, r.Verdict.Estimate)
	rec.Stage, rec.Accepted = records.Network, r.Accepted
	if len(r.Judged) > 0 {
		rec.Verdict = &records.Bounds{Ratio: r.Verdict.Ratio, Low: r.Verdict.Low, High: r.Verdict.High}
	}
	return g, sink(rec)
}

// withGraph decides on the graph, unless records of an earlier run have, and returns the tuning of the network that results, in place of t.
func (t *tuning) withGraph(ctx context.Context, m *Model, run *tune.Options) (*tuning, *TuneGraph, error) {
	g, err := t.graphEarlier(m, t.compiling, run.Records)
	if g == nil && err == nil {
		g, err = t.decideGraph(ctx, m, run)
	}
	if err != nil || g.Earlier || !g.Accepted {
		return t, g, err
	}
	of, err := openTuning(ctx, m, t.TuneOptions, t.compiling, g.Choices)
	if err != nil {
		return t, nil, err
	}
	t.farm.Close()
	return of, g, nil
}

// graphEarlier is what records say of decisions on the graph of this network by an earlier run; nil: nothing.
func (o *TuneOptions) graphEarlier(m *Model, resolved CompileOptions, list []records.Record) (*TuneGraph, error) {
	key, network, err := graphKey(m, resolved)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(list) {
		if r.Kernel == key.Kernel && r.Target == key.Target && r.Class == key.Class && r.Network == network && r.Stage == records.Network && r.By.Rules == compile.Rules {
			e := TuneEstimate{Ratio: r.Ratio, Low: r.Low, High: r.High}
			return &TuneGraph{Choices: graphPointOf(r.Point), Verdict: TuneVerdict{TuneEstimate: e, Accepted: r.Accepted}, Earlier: true, Accepted: r.Accepted}, nil
		}
	}
	return nil, nil
}
