package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/dataset"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/cli/preprocess"
	"lathe/internal/tool/quantizing"
)

// quantizeFlags are the values of quantize's flags.
type quantizeFlags struct {
	model         modelFlags
	target        targetFlags
	mode          string
	calibration   string
	size          int
	calibrateMode string
	percentile    float64
	globalScale   float64
	activations   string
	io            string
	bits          string
	block         int
	zeroPoints    bool
	least         int
	int4Form      string
	gptq          bool
	reduceRange   bool
	correct       bool
	raw           dataset.Raw
	pictures      preprocess.Flags
	qconfig       []string
	skip          []string
	evaluation    string
	labels        string
	labelOffset   int
	maxDrop       float64
	minAgreement  float64
	measure       bool
	threads       int
	report        string
	asJSON        bool
	output        string
	command       string
}

// modeFlags are flags that have a meaning in one mode only.
var modeFlags = map[string]string{
	"bits": "weight-only", "block": "weight-only", "zero-points": "weight-only", "least-weights": "weight-only", "int4-form": "weight-only", "gptq": "weight-only",
	"calibration": "static", "calibration-size": "static", "calibrate-mode": "static", "percentile": "static", "global-scale": "static",
	"activations": "static", "io": "static", "reduce-range": "static", "correct": "static", "qconfig": "static", "skip": "static", "evaluation": "static",
	"labels": "static", "label-offset": "static", "max-drop": "static", "min-agreement": "static", "measure": "static", "raw": "static",
}

// gptqFlags are flags of mode static that GPTQ takes too.
var gptqFlags = []string{"calibration", "calibration-size", "raw"}

func (a *app) quantizeCommand() *cobra.Command {
	f := &quantizeFlags{}
	cmd := &cobra.Command{
		Use:   "quantize FILE",
		Short: "make a float network one of 8-bit integers, smaller and faster, by samples of what it will see",
		Long: `Make a float network one of 8-bit integers: its convolutions, dense layers and matrix products compute on integers whose
scales are those that samples show. The result is an ONNX file with QuantizeLinear and DequantizeLinear nodes, which other
engines read too, or a package.

  lathe quantize --calibration pictures -o digits-int8.onnx digits.onnx
  lathe quantize --calibration pictures --preprocess imagenet -o resnet18-int8.tar resnet18.onnx
  lathe quantize --mode weight-only --bits 4 --block 32 -o gpt2-int4.onnx gpt2.onnx
  lathe quantize --mode weight-only --bits 4 --gptq --calibration tokens.npz -o gpt2-int4.onnx gpt2.onnx

Samples are a data set of any form that evaluate takes; classes are not needed. Pictures become inputs by a preset, which
--resize, --crop, --mean, --std, --scale, --color, --layout and --filter change:` + preprocess.Presets(),
		Args: cli.OneFile("model file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.command = cmd.CommandPath()
			for _, name := range slices.Sorted(maps.Keys(modeFlags)) {
				if mode := modeFlags[name]; cmd.Flags().Changed(name) && f.mode != mode && !(f.learns() && slices.Contains(gptqFlags, name)) {
					if f.mode == "weight-only" && slices.Contains(gptqFlags, name) {
						return cli.Usagef(f.command, "flag --%s is for --mode %s, and for --gptq", name, mode)
					}
					return cli.Usagef(f.command, "flag --%s is for --mode %s", name, mode)
				}
			}
			return a.quantize(cmd.Context(), f, args[0])
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	f.target.define(cmd)
	f.model.define(cmd)
	cli.OutputVarP(fs, &f.output, "output", "o", "", []string{".onnx", ".tar"}, "`file` to write: an ONNX file NAME.onnx, or a package NAME.tar")
	var names, docs []string
	for _, m := range lathe.QuantizeModes() {
		names, docs = append(names, m.Name), append(docs, m.Name+" ("+m.Doc+")")
	}
	cli.ChoiceVar(fs, &f.mode, "mode", names[0], names, "what is quantised: "+strings.Join(docs, ", "))
	fs.StringVar(&f.calibration, "calibration", "", "samples to calibrate with: a data set at this `path`")
	cli.NumberVar(fs, &f.size, "calibration-size", "", 128, 1, 1<<20, "number of samples that are used, spread over the data set")
	cli.ChoiceVar(fs, &f.calibrateMode, "calibrate-mode", lathe.CalibrateModes()[0], lathe.CalibrateModes(), "how ranges are chosen: "+strings.Join(lathe.CalibrateModes(), ", ")+"; auto takes what the network's outputs lose the least by")
	f.percentile, f.globalScale = 99.99, 8
	cli.ParsedVar(fs, &f.percentile, "percentile", "PERCENT", parsePercent, "share of the numbers in the range of --calibrate-mode percentile (default 99.99)")
	cli.ParsedVar(fs, &f.globalScale, "global-scale", "BOUND", parseBound, "bound of all ranges of --calibrate-mode global_scale (default 8)")
	cli.ChoiceVar(fs, &f.activations, "activations", "uint8", []string{"uint8", "int8"}, "type of what layers hand to each other; int8 is symmetric, for engines that take no other")
	cli.ChoiceVar(fs, &f.io, "io", "float32", []string{"float32", "uint8", "int8"}, "type of inputs and outputs that are float32 in the model; a package knows their scales")
	cli.ChoiceVar(fs, &f.bits, "bits", "8", []string{"8", "4"}, "bits of a weight of --mode weight-only")
	cli.NumberVar(fs, &f.block, "block", "", 32, 16, 1<<20, "weights along a sum that share a scale in --mode weight-only, a power of two")
	fs.BoolVar(&f.zeroPoints, "zero-points", false, "zero points for blocks of --mode weight-only: a little larger, and closer")
	cli.NumberVar(fs, &f.least, "least-weights", "", 1<<16, 1, 1<<40, "weights from which on --mode weight-only takes a layer")
	cli.ChoiceVar(fs, &f.int4Form, "int4-form", lathe.Int4Forms()[0], lathe.Int4Forms(), "how an ONNX file has weights in blocks: qdq is DequantizeLinear with block_size in front of MatMul, matmulnbits ONNX Runtime's operator")
	fs.BoolVar(&f.gptq, "gptq", false, "round weights of --mode weight-only so that the layers' results change little (GPTQ), by what samples of --calibration show of their data")
	fs.BoolVar(&f.reduceRange, "reduce-range", false, "7 bits instead of 8, for engines whose 16-bit sums saturate (AVX2 without VNNI in others than lathe)")
	fs.BoolVar(&f.correct, "correct", true, "change weights and biases so that the outputs lose less by rounding")
	fs.StringArrayVar(&f.qconfig, "qconfig", nil, "`setting` of TVM's relay.quantize.qconfig, NAME=VALUE, such as skip_conv_layers=[0]: others have TVM's defaults then, global_scale of 8 without corrections; may be repeated")
	fs.StringArrayVar(&f.skip, "skip", nil, "`layer` that stays float: a node of the model, op=NAME for all of an operator, first or last; may be repeated")
	fs.StringVar(&f.evaluation, "evaluation", "", "samples to judge the result by: a data set at this `path` (default: those of --calibration, where a budget is given)")
	fs.StringVar(&f.labels, "labels", "", "`file` of the classes of --evaluation, where the data set has none: lines \"file,label\" or a label each, or an array in .npy")
	cli.NumberVar(fs, &f.labelOffset, "label-offset", "", 0, -1<<16, 1<<16, "added to labels that are numbers: -1 where they begin at 1")
	cli.ParsedVar(fs, &f.maxDrop, "max-drop", "POINTS", parsePercent, "accuracy that may be lost on --evaluation, in points: layers stay float until no more is lost")
	cli.ParsedVar(fs, &f.minAgreement, "min-agreement", "PERCENT", parsePercent, "samples that must keep their class, which needs no labels: layers stay float until as many do")
	fs.BoolVar(&f.measure, "measure", false, "leave layers float that are slower as integers on this machine, until the network is no slower than the float one; what is written then depends on the machine")
	cli.ParsedVar(fs, &f.raw, "raw", "SCALE,ZERO", dataset.ParseRaw, "what whole numbers of samples are for a float input, SCALE (q - ZERO); behind them ,uint8 for raw files of unsigned bytes")
	f.pictures.Define(cmd, "pictures")
	cli.NumberVar(fs, &f.threads, "threads", "", 0, 1, 1024, "threads to compile and to run with (default: what the machine allows)")
	cli.OutputVarP(fs, &f.report, "report", "", "", []string{".html", ".json", ".txt"}, "`file` that tells of every layer and value: .html, .json or .txt")
	cli.JSONVar(cmd, &f.asJSON)
	return cmd
}

// parsePercent reads a number above 0 and at most 100.
func parsePercent(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v <= 100) {
		return 0, errors.New("must be a number above 0 and at most 100")
	}
	return v, nil
}

// parseBound reads a finite number above 0.
func parseBound(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v <= math.MaxFloat32) {
		return 0, errors.New("must be a number above 0")
	}
	return v, nil
}

// learns reports whether samples are learnt from.
func (f *quantizeFlags) learns() bool {
	return f.mode == "weight-only" && f.gptq || f.learnsRanges()
}

// learnsRanges reports whether the mode learns from samples which numbers layers hand to each other.
func (f *quantizeFlags) learnsRanges() bool {
	return slices.ContainsFunc(lathe.QuantizeModes(), func(m lathe.QuantizeMode) bool { return m.Name == f.mode && m.Samples })
}

func (a *app) quantize(ctx context.Context, f *quantizeFlags, path string) error {
	switch {
	case f.output == "":
		return cli.Usagef(f.command, "flag --output is needed: the ONNX file or package to write")
	case f.calibration == "" && f.learns():
		return cli.Usagef(f.command, "flag --calibration is needed: samples of what the network will see")
	case f.evaluation == "" && (f.maxDrop > 0 || f.labels != ""):
		return cli.Usagef(f.command, "flag --evaluation is needed: samples whose class is known (--min-agreement needs none)")
	}
	if err := f.pictures.Check(f.command); err != nil {
		return err
	}
	if err := cli.NotOver(f.output, path, f.calibration); err != nil {
		return err
	}
	if err := cli.NotOver(f.report, path, f.calibration, f.output); err != nil {
		return err
	}
	if err := cli.WritablePlain(f.output); err != nil {
		return err
	}
	bar := a.progress()
	defer bar.clear()
	notes := func(text string) {
		bar.clear()
		a.Note(text)
	}
	begin := time.Now()
	m, err := f.model.load(ctx, path, notes)
	if err != nil {
		return err
	}
	if err := cli.NotOver(f.output, m.Files()...); err != nil {
		return err
	}
	if err := m.Err(); err != nil {
		return refused(path, err)
	}
	bits, _ := strconv.Atoi(f.bits)
	q, r, err := lathe.Quantize(ctx, m, lathe.QuantizeOptions{
		Mode: f.mode, Bits: bits, Block: f.block, ZeroPoints: f.zeroPoints, Least: f.least, Int4Form: f.int4Form, GPTQ: f.gptq,
		Calibration: f.calibration, Size: f.size, Pictures: f.pictures.Settings(), Raw: f.raw,
		CalibrateMode: f.calibrateMode, Percentile: f.percentile, GlobalScale: f.globalScale, Activations: f.activations, IO: f.io,
		ReduceRange: f.reduceRange, NoCorrection: !f.correct, QConfig: f.qconfig, Skip: f.skip,
		Evaluation: f.evaluation, Labels: f.labels, LabelOffset: f.labelOffset, MaxDrop: f.maxDrop, MinAgreement: f.minAgreement, Measure: f.measure, Compare: f.report != "", Workers: f.threads, Progress: bar.show, Notes: notes,
	})
	if err != nil {
		return refused(path, err)
	}
	if err := f.save(ctx, q, bar); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	bar.clear()
	a.Log("quantised into %s in %v", f.output, time.Since(begin).Round(time.Millisecond))
	report := &quantizing.Report{Title: filepath.Base(path), Head: f.head(), Report: r}
	if err := f.writeReport(report); err != nil {
		return err
	}
	if f.asJSON {
		return cli.JSON(a.Out, r)
	}
	if !f.learnsRanges() {
		_, err = fmt.Fprintln(a.Out, weightsText(r))
		return err
	}
	return report.Text(a.Out, false)
}

// head are the first lines of reports.
func (f *quantizeFlags) head() []string {
	head := []string{"Written to " + f.output}
	switch {
	case f.learnsRanges():
		return append(head, "Samples of "+f.calibration+", ranges by "+f.calibrateMode)
	case f.gptq:
		return append(head, "Weights by GPTQ, samples of "+f.calibration)
	}
	return head
}

// writeReport writes the report that a file was named for, in the form that its name says.
func (f *quantizeFlags) writeReport(r *quantizing.Report) error {
	if f.report == "" {
		return nil
	}
	return cli.WriteFile(f.report, func(w io.Writer) error {
		switch cli.Extension(f.report) {
		case ".html":
			return r.HTML(w)
		case ".json":
			return cli.JSON(w, r.Report)
		}
		return r.Text(w, true)
	})
}

// weightsText says how many layers have integers for weights, and which of these lost most.
func weightsText(r *lathe.QuantizeReport) string {
	taken, worst := 0, -1
	for i, l := range r.Layers {
		if l.Bits == 32 {
			continue
		}
		if taken++; worst < 0 || l.SQNR < r.Layers[worst].SQNR {
			worst = i
		}
	}
	l := r.Layers[worst] // a network without such a layer is refused
	text := fmt.Sprintf("%d of %d layers, weights of %d bits, %.1f dB or more (%s)", taken, len(r.Layers), l.Bits, l.SQNR, l.Name)
	if r.Samples > 0 {
		text += fmt.Sprintf(", of the layers' results on %d samples", r.Samples)
	}
	return text
}

// save writes the quantised network in the form that the name says.
func (f *quantizeFlags) save(ctx context.Context, q *lathe.Model, bar *progress) error {
	if cli.Extension(f.output) == ".onnx" {
		return q.SaveONNX(ctx, f.output)
	}
	target, err := f.target.resolve()
	if err != nil {
		return err
	}
	pkg, err := lathe.Compile(ctx, q, lathe.CompileOptions{Target: target, Output: f.output, Progress: bar.show})
	if err != nil {
		return err
	}
	return pkg.SaveContext(ctx, f.output)
}
