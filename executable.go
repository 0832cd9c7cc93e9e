package lathe

import (
	"context"
	"os"
	"slices"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/quant"
	"lathe/internal/tensor"
	"lathe/internal/tool/atomicfile"
	"lathe/internal/types"
	"lathe/runtime"
)

// openGraph compiles a graph and opens it, in memory or a file without a name.
func openGraph(ctx context.Context, g *graph.Graph, o compile.Options, workers int) (quant.Executable, error) {
	res, err := compile.Compile(ctx, g, o)
	if err != nil {
		return nil, err
	}
	f, err := bundle.WriteUnnamed(&res.Contents)
	if err != nil {
		return nil, err
	}
	var options []runtime.Option
	if workers > 0 {
		options = append(options, runtime.WithWorkers(workers))
	}
	module, err := runtime.Open(atomicfile.ProcPath(f), options...)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &executable{module, f}, nil
}

// An executable is an open package without a name.
type executable struct {
	*runtime.Module
	file *os.File
}

func (e *executable) SetInput(i int, t *tensor.Tensor) error {
	return e.SetInputIndex(i, runtime.Tensor{DType: t.DType.String(), Shape: t.Shape, Data: t.Bytes()})
}

func (e *executable) Run() ([]*tensor.Tensor, error) {
	if err := e.Module.Run(); err != nil {
		return nil, err
	}
	list := make([]*tensor.Tensor, len(e.Outputs()))
	for i := range list {
		t, err := e.Output(i)
		if err != nil {
			return nil, err
		}
		d, err := types.ParseDType(t.DType)
		if err != nil {
			return nil, err
		}
		list[i] = tensor.Over(d, t.Shape, t.Data)
	}
	return list, nil
}

func (e *executable) Close() error {
	err := e.Module.Close()
	if closed := e.file.Close(); err == nil {
		err = closed
	}
	return err
}

// StepTimes runs once and tells the time of each step.
func (e *executable) StepTimes() ([]quant.StepTime, error) {
	var list []quant.StepTime
	for i, s := range e.Info().Steps {
		begin := time.Now()
		if err := e.RunSteps(i, i+1); err != nil {
			return nil, err
		}
		list = append(list, quant.StepTime{Time: time.Since(begin), Nodes: slices.Compact(slices.Clone(s.Nodes))})
	}
	return list, nil
}
