package lathe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/records"
	"lathe/internal/tune"
)

// TuneGraph is what was found for decisions on the graph, before there are kernels.
type TuneGraph struct {
	Tried    int                          // networks with one decision taken otherwise
	Resumed  int                          // of them, those that an earlier run had tried
	Trials   []TuneGraphTrial             // in their order; none where records have the verdict
	Choices  map[string]map[string]string // decisions by node: what the verdict is of
	Facts    string                       // of the machine, as options of a target, likewise: all else is decided by them; "": by the target's
	Verdict  TuneVerdict                  // against the network as the compiler decides
	Earlier  bool                         // it stands in records, and nothing was tried
	Accepted bool                         // the kernels were tuned with it
}

// TuneGraphTrial is a network with one decision on the graph taken otherwise.
type TuneGraphTrial struct {
	Nodes                 []string // equal ones, which decide alike; none: all of the network, by other facts of the machine
	Decision, From, Value string
	TuneEstimate                 // of its time over that of the network that the trials began with
	Fault                 string // why there is no time; "": there is
}

// mostGraphs are networks that are tried for decisions on the graph.
const mostGraphs = 16

// graphShare is the part of trials and time that --graph takes from kernels.
const graphShare = 4

// graphStage names what goes on, in TuneProgress.
const graphStage = "graph"

// A graphPoint is decisions on nodes, by node; those of the node without a name are on all of the network.
type graphPoint map[string]map[string]string

// wholeNetwork is that node, and factsDecision by which facts of the machine it is decided.
const (
	wholeNetwork  = ""
	factsDecision = "facts"
)

// facts are those by which the network is decided; "": the target's.
func (g graphPoint) facts() string { return g[wholeNetwork][factsDecision] }

// nodes are the decisions on nodes that have a name.
func (g graphPoint) nodes() map[string]map[string]string {
	out := maps.Clone(map[string]map[string]string(g))
	delete(out, wholeNetwork)
	return out
}

// with is g where some decisions are taken otherwise.
func (g graphPoint) with(node string, p choice.Point) graphPoint {
	out := maps.Clone(g)
	if out == nil {
		out = graphPoint{}
	}
	if out[node] = maps.Clone(out[node]); out[node] == nil {
		out[node] = map[string]string{}
	}
	maps.Copy(out[node], p)
	return out
}

// tuned is g for the compiler.
func (g graphPoint) tuned() compile.Tuned {
	out := compile.Tuned{Graph: map[string]choice.Point{}, Facts: g.facts()}
	for node, p := range g.nodes() {
		out.Graph[node] = p
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

// graphOf are the decisions on the graph of m that a verdict accepted, nil where there are none, and by how much the network is faster with them.
func graphOf(m *Model, resolved CompileOptions, book *records.Book) (graphPoint, tune.Estimate, error) {
	r, ok, err := graphRecord(m, resolved, book)
	if !ok || err != nil {
		return nil, tune.Estimate{}, err
	}
	return graphPointOf(r.Point), estimateOf(r), nil
}

// graphRecord is the record of them.
func graphRecord(m *Model, resolved CompileOptions, book *records.Book) (r records.Record, ok bool, err error) {
	key, network, err := graphKey(m, resolved)
	if err != nil {
		return r, false, err
	}
	r, ok = book.Best(key, network)
	return r, ok && r.By.Rules == compile.Rules, nil
}

// keepGraph writes the record of the decisions on the graph by which points are tried again, where it is not among those that are known: what is found of kernels is
// found in that network.
func (t *tuning) keepGraph(m *Model, run *tune.Options) error {
	of, ok, err := graphRecord(m, t.compiling, records.NewBook(slices.Concat(run.Records, run.Replay)))
	if !ok || err != nil {
		return err
	}
	known, ok, err := graphRecord(m, t.compiling, records.NewBook(run.Records))
	if ok && maps.Equal(known.Point, of.Point) || err != nil {
		return err
	}
	return run.Sink(of)
}

// estimateOf is what a record says of the network.
func estimateOf(r records.Record) tune.Estimate {
	return tune.Estimate{Ratio: r.Ratio, Low: r.Low, High: r.High, Pairs: 1}
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
			if i := slices.IndexFunc(d.Values, func(v choice.Value) bool { return v.Text == t.graph[node][d.Name] }); i >= 0 {
				d.Default = i // it is decided so by records, and the others are tried beside it
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

// and is what two searches found, of which the second began with what the first did; each may be nil.
func (g *TuneGraph) and(next *TuneGraph) *TuneGraph {
	if g == nil || next == nil {
		return cmp.Or(next, g)
	}
	all := *next
	if g.Accepted && !next.Accepted {
		all.Choices, all.Facts, all.Verdict, all.Accepted = g.Choices, g.Facts, g.Verdict, true
		all.Verdict.Wrong = next.Verdict.Wrong
	}
	all.Tried, all.Resumed, all.Trials, all.Earlier = g.Tried+next.Tried, g.Resumed+next.Resumed, append(slices.Clone(g.Trials), next.Trials...), g.Earlier && next.Earlier
	return &all
}

// stands has g tell of the decisions on the graph by which kernels are tuned, whichever search they are of.
func (g *TuneGraph) stands(t *tuning) {
	if g != nil && g.Accepted && t.gained.Ratio > 0 {
		g.Choices, g.Facts = t.graph.nodes(), t.graph.facts()
		g.Verdict.Ratio, g.Verdict.Low, g.Verdict.High = t.gained.Ratio, t.gained.Low, t.gained.High
	}
}
