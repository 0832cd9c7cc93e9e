package lathe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/compile"
	"lathe/internal/dataset"
	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/quant"
	"lathe/internal/tool/excerpt"
	"lathe/internal/tool/picture"
	"lathe/internal/toolchain"
	"lathe/internal/types"
)

// QuantizeOptions controls Quantize.
type QuantizeOptions struct {
	Mode string // one of QuantizeModes; "" = the first

	// Of mode weight-only.
	Bits       int    // of a weight, 4 or 8; 0 = 8
	Block      int    // weights along a sum that share a scale, a power of two from 16 on; 0 = 32
	ZeroPoints bool   // blocks have zero points
	Least      int    // weights of a layer that is taken; 0 = 65536
	Int4Form   string // how SaveONNX writes them, one of Int4Forms; "" = qdq
	GPTQ       bool   // weights are rounded so that results change little, by what the samples of Calibration show of the data they are multiplied with

	// Calibration names samples as the network will see them: a data set in any form that 'lathe evaluate' takes. Classes are not needed.
	Calibration string
	Size        int              // samples that are used, spread evenly over the set; 0 = 128
	Pictures    picture.Settings // how pictures become inputs; the zero value is the preset unit
	Raw         dataset.Raw      // what whole numbers of samples are

	CalibrateMode string  // one of CalibrateModes; "" = auto
	Percentile    float64 // of mode percentile; 0 = 99.99
	GlobalScale   float64 // of mode global_scale; 0 = 8
	Activations   string  // uint8 or int8; "" = uint8
	IO            string  // type of inputs and outputs that are float32 in the model: uint8, int8; "" = float32
	ReduceRange   bool    // 7 bits, for engines whose 16-bit sums saturate
	NoCorrection  bool    // leave weights and biases as they are
	// QConfig are settings of TVM's relay.quantize.qconfig, NAME=VALUE. With any of them the others have TVM's defaults, instead of CalibrateMode,
	// GlobalScale and corrections.
	QConfig []string
	// Skip names layers that stay float: a node of the model, op=NAME for all of an operator (nn.conv2d), first, last.
	Skip []string

	// Evaluation names the samples that budgets are judged on; "" = those of Calibration.
	Evaluation   string
	Labels       string  // file of the classes of Evaluation, where its form has none
	LabelOffset  int     // is added to labels that are numbers
	MaxDrop      float64 // points of accuracy that may be lost; 0 = any
	MinAgreement float64 // percent of the samples whose greatest output stays where it is; 0 = any
	// Measure leaves layers float that are slower as integers on this machine, so that the network is not slower than the float one, or refuses. What
	// is written then depends on the machine and the moment.
	Measure bool
	Compare bool // the report tells what the outputs gain by each layer as floats, which takes a trial for each

	Target   string // as in CompileOptions: what simulations are compiled for, which must be this machine's
	Workers  int    // compiler threads, and threads of runs; results do not depend on it. 0 = what the machine allows
	Progress func(phase string, done, total int)
	Notes    func(string)
}

// QuantizeReport tells what was quantised.
type QuantizeReport = quant.Report

// A QuantizeMode is a way to quantise a network; Samples tells that it learns from samples.
type QuantizeMode = quant.Mode

// QuantizeModes lists the ways to quantise a network, the default first.
func QuantizeModes() []QuantizeMode { return quant.Modes }

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
	if o.Int4Form != "" && !slices.Contains(Int4Forms(), o.Int4Form) {
		return nil, nil, fmt.Errorf("form %q of weights in blocks: there are %s", o.Int4Form, strings.Join(Int4Forms(), ", "))
	}
	mode := slices.IndexFunc(quant.Modes, func(k quant.Mode) bool { return k.Name == cmp.Or(o.Mode, quant.Modes[0].Name) })
	if mode < 0 {
		return nil, nil, fmt.Errorf("there is no mode %q to quantise in", o.Mode)
	}
	if o.GPTQ && quant.Modes[mode].Name != "weight-only" {
		return nil, nil, fmt.Errorf("GPTQ rounds weights in blocks: it is for mode weight-only, not %s", quant.Modes[mode].Name)
	}
	options, err := m.quantizeOptions(o, compiling, quant.Modes[mode].Samples || o.GPTQ)
	if err != nil {
		return nil, nil, err
	}
	res, err := quant.Modes[mode].Run(ctx, g, options)
	if err != nil {
		return nil, nil, err
	}
	q := &Model{file: m.file, opts: LoadOptions{Notes: m.opts.Notes}, source: m.source, first: res.Graph}
	q.said.inputs, q.said.outputs = m.meanings()
	q.said.inputs = withScales(q.said.inputs, res.Inputs)
	q.said.outputs = withScales(q.said.outputs, res.Outputs)
	q.matmulNBits = o.Int4Form == "matmulnbits"
	return q, &res.Report, nil
}

// quantizeOptions are those of package quant. Samples are opened where the mode learns from some.
func (m *Model) quantizeOptions(o QuantizeOptions, compiling compile.Options, learns bool) (quant.Options, error) {
	compiling.Known = &toolchain.Known{} // networks that are compiled on the way differ in their weights
	options := quant.Options{
		Target: compiling.Target, Workers: compiling.Workers, CalibrateMode: cmp.Or(o.CalibrateMode, quant.CalibrateModes[0]),
		Percentile: cmp.Or(o.Percentile, 99.99), GlobalScale: cmp.Or(o.GlobalScale, 8), Activations: types.U8,
		ReduceRange: o.ReduceRange, Correct: !o.NoCorrection, Progress: o.Progress, Notes: o.Notes,
		Blocks: quant.Blocks{Bits: cmp.Or(o.Bits, 8), Size: cmp.Or(o.Block, 32), ZeroPoints: o.ZeroPoints, Least: o.Least, GPTQ: o.GPTQ},
		Build: func(ctx context.Context, g *graph.Graph) (quant.Executable, error) {
			return openGraph(ctx, g, compiling, o.Workers)
		},
		Skip: o.Skip, Measure: o.Measure, Compare: o.Compare, Budget: quant.Budget{MaxDrop: o.MaxDrop, MinAgreement: o.MinAgreement},
	}
	switch o.Activations {
	case "", "uint8":
	case "int8":
		options.Activations = types.I8
	default:
		return options, fmt.Errorf("activations of type %q: there are uint8 and int8", o.Activations)
	}
	switch o.IO {
	case "", "float32":
	case "uint8":
		options.IO = types.U8
	case "int8":
		options.IO = types.I8
	default:
		return options, fmt.Errorf("inputs and outputs of type %q: there are float32, uint8 and int8", o.IO)
	}
	if len(o.QConfig) > 0 {
		if err := options.SetQConfig(o.QConfig); err != nil {
			return options, err
		}
	}
	if !learns {
		return options, nil
	}
	samples, err := m.samples(o.Calibration, "", cmp.Or(o.Size, defaultSamples), o)
	if err != nil {
		return options, err
	}
	options.Samples = samples
	if o.Evaluation != "" {
		judged, err := m.samples(o.Evaluation, o.Labels, 0, o)
		if err != nil {
			return options, err
		}
		options.Evaluation, options.Classes = judged, judged.classes()
	}
	return options, nil
}
