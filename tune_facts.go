package lathe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/records"
	"lathe/internal/target"
	"lathe/internal/tool/machine"
	"lathe/internal/toolchain"
	"lathe/internal/tune"
)

// Values of TuneOptions.Facts beside facts themselves.
const (
	FactsMeasured = ""       // what the machine tells and measures of itself, where the target has other facts beyond noise
	FactsOfTarget = "target" // the target's are believed
)

// factsStage is the tuner of records of networks that other facts of the machine decide.
const factsStage = "facts"

// checkFacts refuses what are no facts of a machine.
func (o *TuneOptions) checkFacts() error {
	if o.Facts == FactsMeasured || o.Facts == FactsOfTarget {
		return nil
	}
	t, err := resolveTarget(o.Target)
	if err != nil {
		return err
	}
	if _, err := t.With(o.Facts); err != nil {
		return fmt.Errorf("facts %q: %w", o.Facts, err)
	}
	return nil
}

// corrected is the tuning's target with the facts of the machine, or itself where it has them.
func (t *tuning) corrected(ctx context.Context) (*target.Target, error) {
	if t.Facts != FactsMeasured {
		return t.target.With(t.Facts)
	}
	here, err := toolchain.Host()
	if err != nil {
		return nil, err
	}
	native, err := toolchain.Native()
	if err != nil || native.Machine() != t.target.Machine() {
		return t.target, err // what is known of this core may not hold for code with other features
	}
	if m := here.Measured; m != nil && m.Machine == native.Machine() {
		return t.target.Correct(here.Machine, m), nil
	}
	probe, err := machine.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer probe.Close()
	for _, measure := range []func() target.Core{probe.Glance, probe.Own} {
		found := t.target.Correct(here.Machine, probe.Target.Measure(measure()))
		if found == t.target || ctx.Err() != nil {
			return t.target, ctx.Err()
		}
		native = found
	}
	return native, nil
}

// withFacts tries the network as it is decided by the facts of the machine, where the target has others, unless records of an earlier run have a verdict on that. It
// returns the tuning of the network that results, in place of t, and nil where there was nothing to try. Where the network stays as it was, each kernel is begun
// with what the rules decide by those facts; so it is where tasks are selected, which are of that network.
func (t *tuning) withFacts(ctx context.Context, m *Model, run *tune.Options) (*tuning, *TuneGraph, error) {
	g, err := t.graphEarlier(m, factsStage, run.Records)
	if err != nil {
		return t, nil, err
	}
	if g == nil {
		own, other, err := t.otherFacts(ctx)
		if other == "" || err != nil {
			return t, nil, err
		}
		if t.Select != nil {
			run.Starts, err = t.startsBy(ctx, m, other)
			return t, nil, err
		}
		if g, err = t.decideFacts(ctx, m, run, own, other); err != nil {
			return t, nil, err
		}
	}
	for _, r := range slices.Backward(run.Records) {
		if !g.Accepted && g.Facts == "" && r.By.Tuner == factsStage && r.Stage == records.Search {
			g.Facts = graphPointOf(r.Point).facts() // no verdict was asked for
		}
	}
	of, err := t.decided(ctx, m, g)
	if err == nil && !g.Accepted && g.Facts != t.graph.facts() {
		run.Starts, err = of.startsBy(ctx, m, g.Facts)
	}
	return of, g, err
}

// otherFacts are the facts of the machine where the target has others, and what the target has in their place; "": it has them.
func (t *tuning) otherFacts(ctx context.Context) (own, other string, err error) {
	right, err := t.corrected(ctx)
	if err != nil {
		return "", "", err
	}
	other, text := right.Differing(t.target)
	if other != "" && t.Notes != nil {
		origin := "measured"
		if t.Facts != FactsMeasured {
			origin = "given"
		}
		t.Notes(origin + " facts differ from the target's: " + text)
	}
	own, _ = t.target.Differing(right)
	return own, other, nil
}

// decideFacts races the network by other facts of the machine.
func (t *tuning) decideFacts(ctx context.Context, m *Model, run *tune.Options, own, other string) (*TuneGraph, error) {
	var all time.Duration
	for i := range t.tasks {
		all += t.tasks[i].Weight()
	}
	g, err := t.decideGraph(ctx, m, run, graphSearch{name: factsStage, list: tune.OnAll(factsDecision, own, other, all), most: 1, time: t.Time / graphShare})
	if err == nil && !g.Accepted {
		g.Facts = other
	}
	return g, err
}

// startsBy are the points of tasks that the rules choose by other facts of the machine, where they differ: all of them, but for the division among workers,
// which is looked for by itself.
func (t *tuning) startsBy(ctx context.Context, m *Model, facts string) (map[int][]choice.Point, error) {
	graph := t.graph
	for _, s := range t.farm.Info().Steps {
		for node, p := range s.Graph {
			graph = graph.with(node, p)
		}
	}
	network, err := t.network(m, graph.with(wholeNetwork, choice.Point{factsDecision: facts}))
	if err != nil {
		return nil, err
	}
	tasks, err := t.farm.Tasks(ctx, network)
	if err != nil {
		return nil, fmt.Errorf("the network by %s: %w", facts, err)
	}
	starts := map[int][]choice.Point{}
	for i := range t.tasks {
		at := slices.IndexFunc(tasks, func(other compile.Task) bool { return other.Key.Kernel == t.tasks[i].Key.Kernel })
		if at < 0 {
			continue
		}
		p := maps.Clone(tasks[at].Step.Point)
		maps.DeleteFunc(p, func(name, value string) bool { return tune.Divides(name) || value == t.tasks[i].Default[name] })
		if len(p) > 0 {
			starts[i] = []choice.Point{p}
		}
	}
	return starts, nil
}
