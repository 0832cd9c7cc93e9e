package quant

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/quant/calibrate"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Budget says what quantising may cost. Layers return to float until it is kept, those first whose return gains the most for the arithmetic
// that becomes float.
type Budget struct {
	MaxDrop      float64 // points of accuracy, of samples whose class is known; 0: any
	MinAgreement float64 // percent of the samples that keep their greatest output; 0: any
}

// A Judgement is what became of the samples of an evaluation.
type Judgement struct {
	Samples    int  `json:"samples"`
	Same       int  `json:"same"` // whose greatest output is where the float network has it
	Labelled   bool `json:"labelled"`
	Right      int  `json:"right"`       // of samples with classes: as integers
	FloatRight int  `json:"float_right"` // and as floats
}

// Agreement is the share of samples with the same greatest output, in percent.
func (j *Judgement) Agreement() float64 { return 100 * float64(j.Same) / float64(max(j.Samples, 1)) }

// Drop is the accuracy that is lost, in points.
func (j *Judgement) Drop() float64 {
	return 100 * float64(j.FloatRight-j.Right) / float64(max(j.Samples, 1))
}

// within reports whether a judgement keeps a budget.
func (b Budget) within(j *Judgement) bool {
	return (b.MinAgreement == 0 || j.Agreement() >= b.MinAgreement) && (b.MaxDrop == 0 || j.Drop() <= b.MaxDrop)
}

// judge is where networks are compared by their greatest output.
type judge struct {
	calibrate.Samples
	classes []int
	output  int
	float   []int // greatest output of the float network, by sample
}

// openJudge runs the float network on the samples of the evaluation.
func (s *static) openJudge(net *simulation) (*judge, error) {
	j := &judge{Samples: s.Samples, output: slices.IndexFunc(s.graph.Outputs, func(v *graph.Value) bool { return v.Type.DType == types.F32 })}
	if s.Evaluation != nil {
		j.Samples, j.classes = s.Evaluation, s.Classes
	}
	if s.Budget.MaxDrop > 0 && (len(j.classes) != j.Len() || slices.Contains(j.classes, -1)) {
		return nil, fmt.Errorf("how much accuracy is lost needs samples whose class is known (give some as the evaluation, or ask for agreement)")
	}
	run, err := net.with(s.off())
	if err != nil {
		return nil, err
	}
	j.float, err = s.greatest(run, j)
	return j, err
}

// greatest is the place of the greatest output, by sample.
func (s *static) greatest(run calibrate.Runner, j *judge) ([]int, error) {
	var list []int
	for i := range j.Len() {
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		in, err := j.At(i)
		if err != nil {
			return nil, err
		}
		results, err := run.Run(in)
		if err != nil {
			return nil, err
		}
		s.progress("evaluating", i+1, j.Len())
		best, numbers := 0, tensor.As[float32](results[j.output])
		for k, x := range numbers {
			if x > numbers[best] {
				best = k
			}
		}
		list = append(list, best)
	}
	return list, nil
}

// judgement runs a network on the samples of the evaluation.
func (s *static) judgement(j *judge, run calibrate.Runner) (*Judgement, error) {
	list, err := s.greatest(run, j)
	if err != nil {
		return nil, err
	}
	r := &Judgement{Samples: len(list), Labelled: j.classes != nil}
	for i, k := range list {
		if k == j.float[i] {
			r.Same++
		}
		if r.Labelled {
			if k == j.classes[i] {
				r.Right++
			}
			if j.float[i] == j.classes[i] {
				r.FloatRight++
			}
		}
	}
	return r, nil
}

// overBudget is the reason of layers that a budget returns to float.
const overBudget = "the budget is kept without it only"

// overBudget is the error where none keeps it.
func (s *static) overBudget(c *choices) error {
	return fmt.Errorf("the budget cannot be kept by any layer as integers (agreement was %.1f %%; more samples, or a larger budget)", c.judged.Agreement())
}

// fit judges choices where an evaluation or a budget is asked for, and returns layers to float until the budget is kept by the simulation.
func (s *static) fit(net *simulation, c *choices) error {
	var err error
	if s.Compare {
		if s.order, err = s.sensitivity(c); err != nil {
			return err
		}
	}
	budget := s.Budget != (Budget{})
	if s.Evaluation == nil && !budget {
		return nil
	}
	if s.judge, err = s.openJudge(net); err != nil {
		return err
	}
	s.tellResolution(s.judge.Len())
	if !budget {
		return nil // the network is judged when it stands
	}
	full := c.params
	try := func(off []bool) (bool, error) {
		s.leave(c, full, off)
		run, err := c.sim.with(c)
		if err == nil {
			c.judged, err = s.judgement(s.judge, run)
		}
		return err == nil && s.Budget.within(c.judged), err
	}
	if ok, err := try(make([]bool, len(s.layers))); ok || err != nil {
		return err
	}
	if s.order == nil {
		if s.order, err = s.sensitivity(c); err != nil {
			return err
		}
	}
	first := func(n int) []bool {
		off := make([]bool, len(s.layers))
		for _, k := range s.order[:n] {
			off[k] = true
		}
		return off
	}
	low, high := 0, len(s.order) // low is out of budget, high within: nothing is lost by a float network
	for high-low > 1 {
		middle := (low + high) / 2
		ok, err := try(first(middle))
		if err != nil {
			return err
		}
		if ok {
			high = middle
		} else {
			low = middle
		}
	}
	if high == len(s.order) {
		return s.overBudget(c)
	}
	off := first(high)
	for _, k := range s.order[:max(high-1, 0)] { // what need not have returned
		off[k] = false
		ok, err := try(off)
		if err != nil {
			return err
		}
		off[k] = !ok
	}
	s.leave(c, full, off)
	for k, out := range off {
		if out {
			s.layers[k].why = overBudget
		}
	}
	return nil
}

// leave makes layers of c float: points that no other layer needs are off.
func (s *static) leave(c *choices, full []Params, off []bool) {
	var active []*layer
	for i, l := range s.layers {
		if !off[i] {
			active = append(active, l)
		}
	}
	wanted := map[*graph.Value]bool{}
	for _, p := range points(s.graph, active, s.inputs) {
		wanted[p.value] = true
	}
	c.off, c.params = slices.Clone(off), slices.Clone(full)
	for i, p := range s.points {
		if !wanted[p.value] {
			c.params[i] = Params{}
		}
	}
}

// sensitivity lists the layers by what the outputs gain when one alone returns to float, over the arithmetic that becomes float; the most
// first.
func (s *static) sensitivity(c *choices) ([]int, error) {
	full, gain := c.params, make([]float64, len(s.layers))
	noise := func(db float64) float64 { return math.Pow(10, -db/10) }
	for i, l := range s.layers {
		d := *c
		off := slices.Clone(c.off)
		off[i] = true
		s.leave(&d, full, off)
		s.progress("finding sensitive layers", i, len(s.layers))
		db, err := s.sqnr(&d, noFloor, nil)
		if err != nil {
			return nil, err
		}
		l.gain = db - c.sqnr
		gain[i] = (noise(c.sqnr) - noise(db)) / math.Max(l.node.Work(), 1)
	}
	order := make([]int, len(s.layers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(gain[b], gain[a]) })
	return order, nil
}

// tellResolution says where there are too few samples to judge by.
func (s *static) tellResolution(n int) {
	asked := s.Budget.MaxDrop
	if s.Budget.MinAgreement > 0 && (asked == 0 || 100-s.Budget.MinAgreement < asked) {
		asked = 100 - s.Budget.MinAgreement
	}
	// Half of the 95 % interval of a share of about 3 %, which is what differs between networks that are nearly alike.
	resolved := 196 * math.Sqrt(0.03*0.97/float64(n))
	if (s.Budget != Budget{}) && asked < resolved && s.Notes != nil {
		s.Notes(fmt.Sprintf("%d samples tell %.1f points from none, and the budget is %.1f: give more with the evaluation", n, resolved, asked))
	}
}
