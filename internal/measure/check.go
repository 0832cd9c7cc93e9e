package measure

import (
	"bytes"
	"fmt"
	"lathe/internal/executor"
	"math"
	"slices"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

const (
	warm  = 3       // runs on warm caches, of candidate and host each
	guard = 1 << 20 // bytes of the workspace before and behind a result that a kernel must leave alone
)

// Check runs candidates that were loaded for the first time: each at the first step of its task, behind the host's kernel, with whose
// result its own is compared. What it writes is filled with ones before, which are NaN, or, where it writes in place, restored; what lies
// around it must stay.
func (r *Runner) Check(ids []int) ([]Check, error) {
	list := make([]Check, len(ids))
	err := r.pass(func(_, task, number int) (bool, error) {
		ran := false
		for i, id := range ids {
			e := r.loaded[id]
			if e == nil {
				return false, fmt.Errorf("candidate %d was not loaded", id)
			}
			if e.Task != task || number != 0 {
				continue
			}
			ran = true
			var err error
			if list[i], err = r.check(e); err != nil {
				return false, err
			}
		}
		return ran, nil
	})
	return list, err
}

// check leaves the host's result behind.
func (r *Runner) check(e *entrant) (Check, error) {
	c := Check{ID: e.ID}
	t := r.host.Tasks[e.Task]
	s := t.Steps[0]
	around, err := r.around(s.Results)
	if err != nil {
		return c, err
	}
	before := around.save()
	prepare := func() {
		around.restore(before)
		if !s.InPlace {
			for _, b := range around.results {
				fillBytes(b, 0xff)
			}
		}
	}
	run := func(v *executor.Variant) (time.Duration, error) {
		prepare()
		return r.sample(v, 0)
	}
	if _, err := run(r.own[e.Task]); err != nil {
		return c, err
	}
	want := around.save()
	if _, err := run(e.variant); err != nil {
		c.Wrong = err.Error()
	} else {
		c.Wrong = around.compare(want, s.Results, t.Tolerance)
	}
	if c.Wrong == "" {
		least := [2]time.Duration{math.MaxInt64, math.MaxInt64}
		for range warm {
			for k, v := range []*executor.Variant{r.own[e.Task], e.variant} {
				if s.InPlace {
					prepare()
				}
				took, err := r.sample(v, 0)
				if err != nil {
					return c, err
				}
				least[k] = min(least[k], took)
			}
		}
		c.Host, c.Time = micro(least[0]), micro(least[1])
	}
	around.restore(want)
	return c, nil
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

func (a *surroundings) save() [][]byte {
	list := make([][]byte, len(a.wide))
	for i, b := range a.wide {
		list[i] = bytes.Clone(b)
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
	n := len(want) * 8 / d.Bits()
	a, b := &tensor.Tensor{DType: d, Shape: []int{n}, Data: want}, &tensor.Tensor{DType: d, Shape: []int{n}, Data: got}
	num, den := 0.0, 0.0
	for i := range n {
		x, y := a.Float(i), b.Float(i)
		if x-x == 0 { // finite
			den += x * x
		}
		if x != y && (x == x || y == y) {
			num += (x - y) * (x - y)
		}
	}
	if d := math.Sqrt(num / max(den, 1e-30)); !(d <= tolerance) {
		return fmt.Sprintf("the relative L2 distance from the network's own is %.2g", d)
	}
	return ""
}

func fillBytes(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}
