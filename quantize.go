package lathe

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/compile"
	"lathe/internal/dataset"
	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/quant"
	"lathe/internal/tensor"
	"lathe/internal/tool/atomicfile"
	"lathe/internal/tool/excerpt"
	"lathe/internal/tool/picture"
	"lathe/internal/types"
	"lathe/runtime"
)

// QuantizeOptions controls Quantize.
type QuantizeOptions struct {
	// Mode is what becomes integers: one of QuantizeModes; "" = static. The others need no samples, and read none of the options for them.
	Mode string

	// Of mode weight-only.
	Bits       int    // of a weight, 4 or 8; 0 = 8
	Block      int    // weights along a sum that share a scale, a power of two from 16 on; 0 = 32
	ZeroPoints bool   // blocks have zero points
	Least      int    // weights of a layer that is taken; 0 = 65536
	Int4Form   string // how SaveONNX writes them, one of Int4Forms; "" = qdq

	// Calibration names samples as the network will see them: a data set in any form that 'lathe evaluate' takes. Classes are not needed.
	Calibration string
	Size        int              // samples that are used, spread evenly over the set; 0 = 128
	Pictures    picture.Settings // how pictures become inputs; the zero value is the preset unit
	Raw         dataset.Raw      // what whole numbers of samples are

	CalibrateMode string  // one of CalibrateModes; "" = auto
	Percentile    float64 // of mode percentile; 0 = 99.99
	GlobalScale   float64 // of mode global_scale; 0 = 8
	Activations   string  // uint8 or int8; "" = uint8
	ReduceRange   bool    // 7 bits, for engines whose 16-bit sums saturate
	NoCorrection  bool    // leave weights and biases as they are
	// Skip names layers that stay float: a node of the model, op=NAME for all of an operator (nn.conv2d), first, last.
	Skip []string

	// Evaluation names the samples that budgets are judged on; "" = those of Calibration.
	Evaluation   string
	Labels       string  // file of the classes of Evaluation, where its form has none
	LabelOffset  int     // is added to labels that are numbers
	MaxDrop      float64 // points of accuracy that may be lost; 0 = any
	MinAgreement float64 // percent of the samples whose greatest output stays where it is; 0 = any
	// Measure times layers on this machine as floats and as integers, and leaves those float that are slower as integers. What is written then
	// depends on the machine and the moment.
	Measure bool

	Target   string // as in CompileOptions: what simulations are compiled for, which must be this machine's
	Workers  int    // compiler threads, and threads of runs; results do not depend on it. 0 = what the machine allows
	Progress func(phase string, done, total int)
	Notes    func(string)
}

// QuantizeReport tells what was quantised.
type QuantizeReport = quant.Report

// QuantizeModes lists what Quantize can make integers, the default first: weights and activations by samples, weights and activations by the range
// that these have in a run, weights alone.
func QuantizeModes() []string { return []string{"static", "dynamic", "weight-only"} }

// Int4Forms lists how SaveONNX can write weights in blocks, the default first: DequantizeLinear with block_size, of ai.onnx 21, in front of a product,
// or ONNX Runtime's com.microsoft MatMulNBits.
func Int4Forms() []string { return []string{"qdq", "matmulnbits"} }

// CalibrateModes lists the ways to choose the ranges of integers, the default first.
func CalibrateModes() []string { return quant.CalibrateModes }

// Quantize makes a network of integers of a float network: its convolutions, dense layers and matrix products compute on 8-bit
// integers whose scales are those that samples show. The model that it returns can be compiled, and saved as ONNX; m stays as it is.
func Quantize(ctx context.Context, m *Model, o QuantizeOptions) (q *Model, r *QuantizeReport, err error) {
	err = fault.Guard(func() (err error) { q, r, err = quantized(ctx, m, o); return err })
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, excerpt.Error(err)
	}
	return q, r, nil
}

func quantized(ctx context.Context, m *Model, o QuantizeOptions) (*Model, *QuantizeReport, error) {
	compiling, err := CompileOptions{Target: o.Target, Workers: o.Workers}.resolve()
	if err != nil {
		return nil, nil, err
	}
	if err := runsHere(compiling.Target); err != nil {
		return nil, nil, err
	}
	g, err := m.graph()
	if err != nil {
		return nil, nil, err
	}
	switch o.Mode {
	case "", "static":
	case "dynamic":
		return m.integers(quant.Dynamic(ctx, g, quant.DynamicOptions{Target: compiling.Target, Workers: compiling.Workers, Progress: o.Progress}))
	case "weight-only":
		return m.weightOnly(ctx, g, o, compiling)
	default:
		return nil, nil, fmt.Errorf("mode %q: there are %s", o.Mode, strings.Join(QuantizeModes(), ", "))
	}
	if o.Size <= 0 {
		o.Size = defaultSamples
	}
	samples, err := m.samples(o.Calibration, "", o.Size, o)
	if err != nil {
		return nil, nil, err
	}
	if o.CalibrateMode == "" {
		o.CalibrateMode = quant.CalibrateModes[0]
	}
	if o.Percentile == 0 {
		o.Percentile = 99.99
	}
	if o.GlobalScale == 0 {
		o.GlobalScale = 8
	}
	activations := types.U8
	switch o.Activations {
	case "", "uint8":
	case "int8":
		activations = types.I8
	default:
		return nil, nil, fmt.Errorf("activations of type %q: there are uint8 and int8", o.Activations)
	}
	options := quant.Options{
		Target: compiling.Target, Workers: compiling.Workers, Samples: samples, Mode: o.CalibrateMode, Percentile: o.Percentile, GlobalScale: o.GlobalScale,
		Activations: activations, ReduceRange: o.ReduceRange, Correct: !o.NoCorrection, Progress: o.Progress, Notes: o.Notes,
		Build: func(ctx context.Context, g *graph.Graph) (quant.Executable, error) {
			return openGraph(ctx, g, compiling, o.Workers)
		},
		Skip: o.Skip, Budget: quant.Budget{MaxDrop: o.MaxDrop, MinAgreement: o.MinAgreement},
	}
	if o.Evaluation != "" {
		judged, err := m.samples(o.Evaluation, o.Labels, 0, o)
		if err != nil {
			return nil, nil, err
		}
		options.Evaluation, options.Classes = judged, judged.classes()
	}
	if o.Measure {
		in, err := samples.At(0)
		if err != nil {
			return nil, nil, err
		}
		options.Slow = func(ctx context.Context, float, integer *graph.Graph) (map[string]string, error) {
			return slowLayers(ctx, float, integer, in, compiling, o.Workers)
		}
	}
	return m.integers(quant.Static(ctx, g, options))
}

func (m *Model) weightOnly(ctx context.Context, g *graph.Graph, o QuantizeOptions, compiling compile.Options) (*Model, *QuantizeReport, error) {
	if o.Int4Form != "" && !slices.Contains(Int4Forms(), o.Int4Form) {
		return nil, nil, fmt.Errorf("form %q of weights in blocks: there are %s", o.Int4Form, strings.Join(Int4Forms(), ", "))
	}
	q, r, err := m.integers(quant.WeightOnly(ctx, g, quant.WeightOnlyOptions{
		Target: compiling.Target, Workers: compiling.Workers, Bits: cmp.Or(o.Bits, 8), Block: cmp.Or(o.Block, 32), ZeroPoints: o.ZeroPoints, Least: o.Least, Progress: o.Progress,
	}))
	if err == nil {
		q.matmulNBits = o.Int4Form == "matmulnbits"
	}
	return q, r, err
}

// integers is the model of a quantised network.
func (m *Model) integers(res *quant.Result, err error) (*Model, *QuantizeReport, error) {
	if err != nil {
		return nil, nil, err
	}
	q := &Model{file: m.file, opts: LoadOptions{Notes: m.opts.Notes}, source: m.source, first: res.Graph}
	q.said.inputs, q.said.outputs = m.meanings()
	return q, &res.Report, nil
}

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
	return e.SetInputIndex(i, runtime.Tensor{DType: t.DType.String(), Shape: t.Shape, Data: t.Data})
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
		list[i] = &tensor.Tensor{DType: d, Shape: t.Shape, Data: t.Data}
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
