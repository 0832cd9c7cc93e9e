// Package calibration lets packages whose regions are to be calibrated learn from what they run: it watches regions, and keeps what was
// found in the folder that TVM's Vitis AI flow names.
package calibration

import (
	"context"
	"fmt"

	"lathe/internal/byoc/dpu/positions"
	"lathe/internal/tensor"
	"lathe/internal/types"
	"lathe/runtime"
)

// A Watch sees the tensors of a module's regions, run by run.
type Watch struct {
	module *runtime.Module
	counts *positions.Counter
	first  int // output that is a tap
	taps   int
}

// New watches a module; nil where it has no region to calibrate.
func New(m *runtime.Module) *Watch {
	info := m.Info()
	if len(info.Taps) == 0 {
		return nil
	}
	var taps []positions.Tap
	for _, t := range info.Taps {
		taps = append(taps, positions.Tap{Region: t.Region, Tensor: t.Tensor})
	}
	return &Watch{m, positions.NewCounter(taps), len(info.ModelOutputs()), len(taps)}
}

// See counts the values of the run that has just ended as one sample.
func (w *Watch) See() error {
	for i := range w.taps {
		t, err := w.module.Output(w.first + i)
		if err != nil {
			return err
		}
		if t.DType != types.F32.String() {
			return fmt.Errorf("tap %d is %s, not float32", i, t.DType)
		}
		w.counts.Add(i, tensor.As[float32](tensor.Over(types.F32, t.Shape, t.Data)), t.Shape)
	}
	w.counts.Next()
	return nil
}

// Samples is how many runs were seen.
func (w *Watch) Samples() int { return w.counts.Samples() }

// Table has what was found.
func (w *Watch) Table() *positions.Table { return w.counts.Table() }

// Feed runs n samples, of which set gives the inputs of one to the module, and watches them.
func (w *Watch) Feed(ctx context.Context, n int, set func(i int) error, progress func(done, total int)) error {
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := set(i); err != nil {
			return err
		}
		if err := w.module.Run(); err != nil {
			return err
		}
		if err := w.See(); err != nil {
			return err
		}
		if progress != nil {
			progress(i+1, n)
		}
	}
	return nil
}

// Fits refuses a table that is not of a module's regions.
func Fits(table []byte, m *runtime.Module) error {
	t, err := positions.Decode(table)
	if err != nil {
		return err
	}
	for _, tap := range m.Info().Taps {
		if _, err := t.Of(tap.Region, []string{tap.Tensor}); err != nil {
			return err
		}
	}
	return nil
}
