package main

import (
	"time"

	"lathe/runtime"
)

// ours is Lathe's side.
type ours struct{ *runtime.Module }

// openOurs opens a package with its inputs set.
func openOurs(pack, model string, threads, batch int) (ours, []runtime.Tensor, error) {
	m, err := runtime.Open(pack, runtime.WithWorkers(threads))
	if err != nil {
		return ours{}, nil, err
	}
	inputs, err := inputsOf(model, batch, m.Inputs())
	for i, t := range inputs {
		if err == nil {
			err = m.SetInputIndex(i, t)
		}
	}
	if err == nil {
		err = m.Run()
	}
	if err != nil {
		m.Close()
		return ours{}, nil, err
	}
	return ours{m}, inputs, nil
}

func (o ours) block(n int, gap time.Duration) (block, error) { return runBlock(n, gap, o.Run) }

func (o ours) outputs() ([][]float64, error) {
	var list [][]float64
	for i := range o.Outputs() {
		t, err := o.Output(i)
		if err != nil {
			return nil, err
		}
		v, err := t.Numbers()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (o ours) close() error { return o.Close() }
