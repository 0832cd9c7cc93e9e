package verify

import (
	"fmt"

	"lathe/internal/bundle"
	"lathe/internal/compile"
	"lathe/internal/tensor"
	"lathe/internal/tool/atomicfile"
	"lathe/internal/types"
	"lathe/runtime"
)

// Execute writes r to a package without a name, opens it with the runtime as a user would, and runs it once. It returns the
// outputs in order; inputs must have the model's types. Networks too small for several workers get as many as are asked for
// all the same: results do not depend on it.
func Execute(r *compile.Result, inputs []*tensor.Tensor, workers int) ([]*tensor.Tensor, error) {
	return executeWith(r, inputs, workers)
}

// executeWith is Execute with further options of the runtime.
func executeWith(r *compile.Result, inputs []*tensor.Tensor, workers int, options ...runtime.Option) ([]*tensor.Tensor, error) {
	if err := runFits(r, workers); err != nil {
		return nil, err
	}
	contents, manifest := r.Contents, *r.Contents.Manifest
	contents.Manifest = &manifest
	if workers > 1 {
		manifest.MaxWorkers = 0
	}
	f, err := bundle.WriteUnnamed(&contents)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := runtime.Open(atomicfile.ProcPath(f), append([]runtime.Option{runtime.WithWorkers(workers), runtime.WithMappedWeights()}, options...)...)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	for i, x := range inputs {
		if err := m.SetInputIndex(i, runtime.Tensor{DType: x.DType.String(), Shape: x.Shape, Data: x.Bytes()}); err != nil {
			return nil, err
		}
	}
	if err := m.Run(); err != nil {
		return nil, err
	}
	outs := make([]*tensor.Tensor, len(m.Outputs()))
	for i := range outs {
		y, err := m.Output(i)
		if err != nil {
			return nil, err
		}
		d, err := types.ParseDType(y.DType)
		if err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		y = y.Clone()
		outs[i] = tensor.Over(d, y.Shape, y.Data)
	}
	return outs, nil
}
