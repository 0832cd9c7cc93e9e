package measure

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"lathe/internal/executor"
	"math"
	"slices"

	"lathe/internal/bundle"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

const (
	warm  = 3       // runs on warm caches
	lost  = 3       // times the host's time of a first run, on cold caches, behind which nobody waits for more of them
	fresh = 200     // microseconds that such a run may take beside: its code is not in memory yet, a fault for every page
	guard = 1 << 20 // bytes of the workspace before and behind a result that a kernel must leave alone
)

// An expectation is what the network's own kernel does at a stand.
type expectation struct {
	around *surroundings
	before [][]byte // memory before the step
	want   [][]byte // and behind it
	us     float64  // the least of its runs on warm caches
}

// Check runs a candidate that was loaded for the first time, at a step of its task, and compares its result with that of the host's kernel.
// What it writes is filled with ones before, which are NaN, or, where it writes in place, restored; what lies around it must stay. It runs again
// on warm caches, some times, until it takes less than out times the host's time: where out is 0, nobody asks how long.
func (r *Runner) Check(at Position, id int, out float64) (Check, error) {
	c := Check{ID: id}
	e := r.loaded[id]
	if e == nil || e.Task != at.Task {
		return c, fmt.Errorf("candidate %d of task %d was not loaded", id, at.Task)
	}
	s, err := r.stand(at)
	if err != nil {
		return c, err
	}
	if err := r.expect(s); err != nil {
		return c, err
	}
	h := s.hope
	defer h.around.restore(h.before)
	h.prepare(s)
	c.Host = h.us
	took, err := r.run(e.variant, s.Step)
	if c.Time = micro(took); err == nil && c.Time > lost*c.Host+fresh {
		return c, nil
	}
	if err == nil {
		err = r.rest(s, e.variant)
	}
	if err != nil {
		c.Wrong = err.Error()
		return c, nil
	}
	c.Wrong = h.around.compare(h.want, s.at.Results, r.host.Tasks[at.Task].Tolerance)
	if limit := out * c.Host; c.Wrong == "" && c.Time > limit && out > 0 {
		c.Time, err = r.quickest(s, e.variant, limit)
	}
	return c, err
}

// expect runs the host's kernel at a stand, once.
func (r *Runner) expect(s *stand) (err error) {
	if s.hope != nil {
		return nil
	}
	h := &expectation{}
	if h.around, err = r.around(s.at.Results); err != nil {
		return err
	}
	h.before = h.around.save(&r.before)
	s.hope = h
	defer h.around.restore(h.before)
	h.prepare(s)
	own := r.own[s.Task]
	if _, err = r.run(own, s.Step); err != nil {
		return err
	}
	if err = r.rest(s, own); err != nil {
		return err
	}
	h.want = h.around.save(&r.want)
	h.us, err = r.quickest(s, own, 0)
	return err
}

// rest runs what run leaves of the step.
func (r *Runner) rest(s *stand, v *executor.Variant) (err error) {
	if !r.all && r.workers > 1 {
		_, err = v.Part(s.Step, 1, r.workers, r.workers)
	}
	return err
}

// prepare makes memory ready for a run whose result is looked at.
func (h *expectation) prepare(s *stand) {
	h.around.restore(h.before)
	if len(s.at.InPlace) == 0 {
		for _, b := range h.around.results {
			fillBytes(b, 0xff)
		}
	}
}

// quickest is the least time of some runs on warm caches, microseconds. One that takes no more than enough is the last.
func (r *Runner) quickest(s *stand, v *executor.Variant, enough float64) (float64, error) {
	least := math.Inf(1)
	for range warm {
		if least <= enough {
			break
		}
		if len(s.at.InPlace) > 0 {
			s.hope.around.restore(s.hope.before)
		}
		took, err := r.run(v, s.Step)
		if err != nil {
			return 0, err
		}
		least = min(least, micro(took))
	}
	return least, nil
}

// surroundings are the memory that a step writes, with some of what lies around it.
type surroundings struct {
	wide    [][]byte // with what lies around
	results [][]byte
	inside  []int // where in wide a result begins
}

func (r *Runner) around(results []bundle.Place) (*surroundings, error) {
	a := &surroundings{}
	for _, at := range results {
		wide := at
		if at.Kind == bundle.InWorkspace {
			wide.Offset = max(0, at.Offset-guard)
			wide.Bytes = min(r.module.Info().Workspace, at.Offset+at.Bytes+guard) - wide.Offset
		}
		b, err := r.module.MemoryAt(wide)
		if err != nil {
			return nil, err
		}
		from := at.Offset - wide.Offset
		a.wide, a.inside = append(a.wide, b), append(a.inside, from)
		a.results = append(a.results, b[from:from+at.Bytes:from+at.Bytes])
	}
	return a, nil
}

// save copies the memory to what is there already, as far as that is large enough.
func (a *surroundings) save(to *[][]byte) [][]byte {
	for len(*to) < len(a.wide) {
		*to = append(*to, nil)
	}
	list := (*to)[:len(a.wide)]
	for i, b := range a.wide {
		list[i] = append(list[i][:0], b...)
	}
	return list
}

func (a *surroundings) restore(saved [][]byte) {
	for i, b := range a.wide {
		copy(b, saved[i])
	}
}

// compare tells how the results differ from those that were saved, and whether something around them does; "" where nothing does.
func (a *surroundings) compare(want [][]byte, results []bundle.Place, tolerance float64) string {
	for i, got := range a.results {
		from, to := a.inside[i], a.inside[i]+len(got)
		if text := differ(want[i][from:to], got, results[i].DType, tolerance); text != "" {
			return fmt.Sprintf("result %d: %s", i, text)
		}
		outside := func(b []byte) [][]byte { return [][]byte{b[:from], b[to:]} }
		if !slices.EqualFunc(outside(want[i]), outside(a.wide[i]), bytes.Equal) && len(a.results) == 1 {
			return fmt.Sprintf("it writes outside of result %d", i)
		}
	}
	return ""
}

// tolerances are the relative L2 distances by which results of other orders of summing may differ, beside float32's, which is the task's.
var tolerances = map[types.DType]float64{types.F16: 1e-3, types.BF16: 1e-2, types.F64: 1e-9}

// differ compares tensors of one type: integers must be equal, floats so by relative L2 distance. It returns "" where they are.
func differ(want, got []byte, dtype string, tolerance float64) string {
	if bytes.Equal(want, got) {
		return ""
	}
	d, err := types.ParseDType(dtype)
	if err != nil {
		return err.Error()
	}
	if !d.IsFloat() {
		return "integers differ"
	}
	if t, ok := tolerances[d]; ok {
		tolerance = t
	}
	if distance := differing(d, want, got); !(distance <= tolerance) {
		return fmt.Sprintf("the relative L2 distance from the network's own is %.2g", distance)
	}
	return ""
}

// differing is the relative L2 distance of floats.
func differing(d types.DType, want, got []byte) float64 {
	if d == types.F32 {
		return distance(len(want)/4, func(i int) (x, y float64) {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(want[4*i:]))), float64(math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])))
		})
	}
	n := len(want) * 8 / d.Bits()
	a, b := tensor.Over(d, []int{n}, want), tensor.Over(d, []int{n}, got)
	return distance(n, func(i int) (x, y float64) { return a.Float(i), b.Float(i) })
}

// distance is that of n pairs, of which those that are not finite on both sides alike have none.
func distance(n int, at func(i int) (x, y float64)) float64 {
	num, den := 0.0, 0.0
	for i := range n {
		x, y := at(i)
		if x-x == 0 { // finite
			den += x * x
		}
		if x != y && (x == x || y == y) {
			num += (x - y) * (x - y)
		}
	}
	return math.Sqrt(num / max(den, 1e-30))
}

func fillBytes(b []byte, v byte) {
	if len(b) == 0 {
		return
	}
	b[0] = v
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}
