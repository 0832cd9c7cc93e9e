package compile

import (
	"fmt"
	"maps"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/impl"
	"lathe/internal/records"
	"lathe/internal/target"
)

// Tuned are records of tuning by which kernels are compiled, where there are some, and what came of them.
type Tuned struct {
	Book    *records.Book // nil: none
	Network string        // digest by which its records know the network
	// Graph are decisions on nodes, by their names, for which Options.Choices has none. What a node cannot have is taken by default.
	Graph map[string]choice.Point
	// Facts are those of the machine by which all is decided, in place of the target's, as target.With takes them; "": the target's own.
	Facts string

	unfit string // why Facts are not taken
}

// believe gives the target the facts of records. Those that are none are left, as whatever of records does not fit.
func (o *Options) believe() {
	if o.Tuned.Facts == "" {
		return
	}
	t, err := o.Target.With(o.Tuned.Facts)
	if err != nil {
		o.Tuned.Facts, o.Tuned.unfit = "", "facts of the machine: "+err.Error()
		return
	}
	o.Target = t
}

// GraphKey is by what records know the decisions on the graph of a network, without the number of workers.
func GraphKey(network string, t *target.Target) records.Key {
	return records.Key{Kernel: digest(fmt.Sprintf("graph; rules %d; %s", Rules, network)), Target: targetKey(t), Class: classKey(t)}
}

// chooser decides on a node: by hand, then by a record.
func (j *job) chooser(node string) choice.Chooser {
	return nodeChooser{j.Choices[node], choice.Preferred(j.Tuned.Graph[node])}
}

type nodeChooser struct {
	hand   choice.Point
	record choice.Preferred
}

// Choose implements choice.Chooser.
func (c nodeChooser) Choose(d choice.Decision) (int, error) {
	if _, ok := c.hand[d.Name]; ok {
		return c.hand.Choose(d)
	}
	return c.record.Choose(d)
}

// A TunedReport says how much of a network records decided.
type TunedReport struct {
	Kernels int      // that could have records: those of regions of external code generators have none
	Taken   int      // of them, those compiled by a record
	Others  int      // of these, those whose record is of another network's verdict
	Graph   int      // decisions on nodes that were taken by a record
	Facts   string   // of the machine, by which all was decided in place of the target's; "": the target's own
	Unfit   []string // what no longer fits, each as a line; the rules decide then
}

// find gives kernels the points of their records.
func (t *Tuned) find(j *job, p *program) {
	if t.Book == nil {
		return
	}
	for _, s := range p.tunable() {
		if j.Choices[s.name] != nil {
			continue
		}
		r, ok := t.Book.Best(recordKey(s.kernel, j.Target), t.Network)
		if !ok {
			continue
		}
		if s.record = r.Point; r.Built != nil && len(r.Built.Taken) > 0 {
			s.record = r.Built.Taken // relief has no part in it
		}
		s.foreign = r.Network != t.Network
	}
}

// point are the decisions that are given for k, by hand or by a record.
func (j *job) point(k *kernel) choice.Point {
	if p := j.Choices[k.name]; p != nil {
		return p
	}
	return k.record
}

// drop leaves k, whose record does not fit, to the rules.
func (k *kernel) drop(why error) {
	k.unfit = fmt.Sprintf("kernel %s: %v", k.name, why)
	k.record = nil
}

// fitsRecord refuses a record of k by which p decided otherwise than it says.
func (k *kernel) fitsRecord(p *impl.Plan) error {
	for _, name := range slices.Sorted(maps.Keys(k.record)) {
		if p.Taken[name] != k.record[name] {
			return fmt.Errorf("decision %s has no value %q here", name, k.record[name])
		}
	}
	return nil
}

// reportGraph sums up what became of decisions on nodes.
func (t *Tuned) reportGraph(n *network, r *TunedReport) {
	for _, node := range slices.Sorted(maps.Keys(t.Graph)) {
		p := t.Graph[node]
		for _, name := range slices.Sorted(maps.Keys(p)) {
			i := slices.IndexFunc(n.asked[node], func(d choice.Decision) bool { return d.Name == name })
			switch {
			case i < 0:
				r.Unfit = append(r.Unfit, fmt.Sprintf("node %q: there is no decision %q", node, name))
			case !slices.ContainsFunc(n.asked[node][i].Values, func(v choice.Value) bool { return v.Text == p[name] }):
				r.Unfit = append(r.Unfit, fmt.Sprintf("node %q: decision %s has no value %q here", node, name, p[name]))
			default:
				r.Graph++
			}
		}
	}
}

// report sums up what became of the records of p's kernels and n's nodes.
func (t *Tuned) report(n *network, p *program) *TunedReport {
	if t.Book == nil {
		return nil
	}
	r := &TunedReport{Facts: t.Facts}
	if t.unfit != "" {
		r.Unfit = append(r.Unfit, t.unfit)
	}
	t.reportGraph(n, r)
	for _, s := range p.tunable() {
		r.Kernels++
		if s.unfit != "" {
			r.Unfit = append(r.Unfit, s.unfit)
		}
		if s.record != nil {
			r.Taken++
			if s.foreign {
				r.Others++
			}
		}
	}
	return r
}
