package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/bundle"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/spelling"
)

// Lists of values of tvmc.
var (
	dumpFormats = []string{"relay", "tir", "ll", "asm"}
	relayPasses = []string{
		"AlterOpLayout", "AnnotateTarget", "AutoSchedulerLayoutRewrite", "BatchNormToInferUnpack", "CanonicalizeCast", "CanonicalizeOps",
		"CombineParallelBatchMatmul", "CombineParallelConv2D", "CombineParallelConv2d", "CombineParallelDense", "ConvertLayout", "DeadCodeElimination",
		"Defunctionalization", "DefuseOps", "DenseToSparse", "DivToMul", "DynamicToStatic", "EliminateCommonSubexpr", "EtaExpand",
		"FakeQuantizationToInteger", "FastMath", "FlattenAtrousConv", "FlattenNestedTuples", "FoldConstant", "FoldExplicitPadding", "FoldScaleAxis",
		"FuseOps", "InferType", "Inline", "LambdaLift", "Legalize", "ManifestAlloc", "ManifestLifetimes", "MergeComposite", "MergeCompilerRegions",
		"MetaScheduleLayoutRewrite", "PartialEval", "PartitionGraph", "PlanDevices", "RemoveStandaloneReshapes", "RemoveUnusedFunctions",
		"SimplifyExpr", "SimplifyFCTranspose", "SimplifyInference", "SplitArgs", "ToANormalForm", "ToBasicBlockNormalForm", "ToGraphNormalForm",
		"ToMixedPrecision", "qnn.Legalize", "tir.UnrollLoop", "tir.VectorizeLoop",
	}
)

// unusableCompile are tvmc's flags of compile that do not work yet.
var unusableCompile = []cli.UnusableFlag{
	{Name: "mixed-precision", IsSwitch: true},
	{Name: "mixed-precision-ops"},
	{Name: "mixed-precision-calculation-type"},
	{Name: "mixed-precision-acc-type"},
	{Name: "cross-compiler", Harmless: []string{""}, Why: "Lathe links for every target by itself; leave the flag out"},
	{Name: "cross-compiler-options", Harmless: []string{""}, Why: "Lathe links for every target by itself; leave the flag out"},
	{Name: "executor", Harmless: []string{"graph"}},
	{Name: "executor-aot-link-params"},
	{Name: "executor-aot-unpacked-api"},
	{Name: "executor-aot-interface-api"},
	{Name: "executor-aot-workspace-byte-alignment"},
	{Name: "executor-aot-constant-byte-alignment"},
	{Name: "runtime", Harmless: []string{"cpp"}},
	{Name: "runtime-cpp-system-lib", Harmless: []string{"0", "false", "False"}},
	{Name: "runtime-crt-system-lib"},
	{Name: "use-vm", IsSwitch: true},
	{Name: "workspace-pools"},
	{Name: "workspace-pools-targets"},
	{Name: "workspace-pools-size-hint-bytes"},
	{Name: "workspace-pools-clock-frequency-hz"},
	{Name: "workspace-pools-read-bandwidth-bytes-per-cycle"},
	{Name: "workspace-pools-write-bandwidth-bytes-per-cycle"},
	{Name: "workspace-pools-read-latency-cycles"},
	{Name: "workspace-pools-write-latency-cycles"},
	{Name: "workspace-pools-target-burst-bytes"},
}

// compileFlags are the values of compile's flags.
type compileFlags struct {
	command       string // for errors
	model         modelFlags
	target        targetFlags
	calibration   calibrationFlags
	output        string
	format        string
	optLevel      int
	disabledPass  string
	desiredLayout []string
	layoutOps     []string
	choices       map[string]map[string]string
	records       []string
	dumpCode      string
	dumpOffloads  string
	printTimes    bool
	printBefore   string
	printAfter    string
	moduleName    string
	explain       string
	weights       lathe.Weights
	denormals     string
	noFallback    bool
	note          func(string)
}

func (a *app) compileCommand() *cobra.Command {
	f := &compileFlags{note: a.Note}
	cmd := &cobra.Command{
		Use:   "compile FILE",
		Short: "compile a model into a package for one target",
		Long: `Compile a model into a package for one target.

  lathe compile --target llvm -o resnet50.tar resnet50.onnx
  lathe compile --target "llvm -mcpu=x86-64-v3" --input-shapes "data:[1,3,224,224]" -o resnet50.tar resnet50.onnx
  lathe compile --target "llvm -mtriple=aarch64-linux-gnu" -o resnet50.so resnet50.onnx
  lathe compile -o resnet50.wasm resnet50.onnx`,
		Args: cli.OneFile("model file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.RefuseUnusable(cmd, unusableCompile); err != nil {
				return err
			}
			f.command = cmd.CommandPath()
			if err := f.calibration.check(f.command); err != nil {
				return err
			}
			return a.compile(cmd.Context(), f, args[0])
		},
	}
	f.define(cmd)
	f.calibration.define(cmd)
	cmd.Flags().StringArrayVar(&f.target.passConfig, "pass-config", nil, "`KEY=VALUE` by TVM's names; there are "+vitisConfig+"*")
	cli.AddUnusable(cmd, unusableCompile)
	return cmd
}

// define adds the flags to a command.
func (f *compileFlags) define(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.target.define(cmd)
	f.model.define(cmd)
	cli.OutputVarP(fs, &f.output, "output", "o", "", nil, "`file` to write: a package NAME.tar, or NAME.so with NAME.json and NAME.params beside it; NAME.c and NAME.wasm choose these forms (default "+outputNames()+")")
	cli.ChoiceVarP(fs, &f.format, "output-format", "f", "", append(formatNames(), regionFormNames()...), "`form` of the output: "+formatDocs()+"; for external code generators "+regionFormDocs())
	cli.NumberVar(fs, &f.optLevel, "opt-level", "O", 3, 0, 4, "optimisation level, 0 to 4; 4 may lose accuracy: float32 meets weights of int8 with 16 bits")
	fs.StringVar(&f.disabledPass, "disabled-pass", "", "`passes` to leave out, separated by commas ('lathe passes' lists them)")
	fs.StringArrayVar(&f.desiredLayout, "desired-layout", nil, "`layout` of convolutions, such as NHWC or NHWC:OHWI (default: chosen for the target)")
	cli.Annotate(cmd, "desired-layout", cli.Several)
	fs.StringArrayVar(&f.layoutOps, "desired-layout-ops", nil, "`operators` that the layout is for, such as nn.conv2d or qnn.conv2d; others take what is chosen (default: all convolutions)")
	cli.Annotate(cmd, "desired-layout-ops", cli.Several)
	cli.ParsedVar(fs, &f.choices, "choices", "FILE", readChoices, "decisions on nodes and kernels, as JSON: {\"NAME\": {\"DECISION\": \"VALUE\"}}; lathe.json has those that were taken, docs/decisions.md lists them")
	cli.MarkOurs(cmd, "choices")
	fs.StringArrayVar(&f.records, "tuning-records", nil, "`file` of records of lathe tune: kernels are compiled by those that a verdict accepted; may be repeated")
	fs.StringVar(&f.dumpCode, "dump-code", "", "write code beside the package, as PACKAGE.FORMAT, for these `formats`: relay, tir, ll, asm, separated by commas")
	cli.OutputVarP(fs, &f.dumpOffloads, "dump-offloads", "", "", nil, "tell which operators external code generators take, and why not the others: a `file`, or - for standard output")
	cli.ParsedVar(fs, &f.noFallback, "external-fallback", "BOOL", parseFallback, "keep steps that compute what external code generators take, for where their modules cannot be opened (default true; =false leaves them and their weights out)")
	fs.Lookup("external-fallback").NoOptDefVal = "true"
	fs.BoolVar(&f.printTimes, "print-pass-times", false, "print how long each pass takes")
	fs.StringVar(&f.printBefore, "print-ir-before", "", "print the program before these `passes`, separated by commas")
	fs.StringVar(&f.printAfter, "print-ir-after", "", "print the program after these `passes`, separated by commas")
	fs.StringVar(&f.moduleName, "module-name", "default", "part of the exported symbol, lathe_`name`_run")
	cli.ParsedVar(fs, &f.weights, "executor-graph-link-params", "BOOL", parseWeights, "tvmc's name of --embed-params")
	cli.ParsedVar(fs, &f.weights, "embed-params", "BOOL", parseWeights, "link the weights into the library: with -o NAME.so the package is that one file")
	fs.Lookup("embed-params").NoOptDefVal = "true"
	cli.FileOrOutputVar(cmd, &f.explain, "explain", explainForms, "tell what was chosen for each kernel, why, and what time to expect; with `=FILE` there: .txt or .json")
	cli.ChoiceVar(fs, &f.denormals, "denormals", "", lathe.DenormalModes(), "floats below the smallest normal number, 1.2e-38 for float32: flush takes them as zero, keep computes with them, 20 times as slowly (default: flush where the target can)")
	cli.MarkOurs(cmd, "explain", "embed-params", "denormals", "external-fallback")
}

func (a *app) compile(ctx context.Context, f *compileFlags, path string) error {
	bar := a.progress()
	defer bar.clear()
	notes := func(text string) {
		bar.clear()
		a.Note(text)
	}
	o, err := f.options(a.Out)
	if err != nil {
		return err
	}
	if regionFormOf(f.format) >= 0 {
		return a.exportRegions(ctx, f, path, o)
	}
	if o, err = o.Resolved(); err != nil {
		if bad, ok := errors.AsType[*lathe.OutputError](err); ok {
			return cli.Usagef(f.command, "%w", bad)
		}
		return err
	}
	f.output = o.Output
	if f.explain != "" && o.Format == "c" {
		return errors.New("--explain reads packages: the comments of C source say what each kernel computes, and --dump-code tir how (leave --explain out)")
	}
	a.Log("target %s, -O%s, format %s", o.Target, o.OptLevel, o.Format)
	if err := f.notOver(append(append(slices.Clip(f.model.fix.files), f.tuningRecords()...), path)...); err != nil {
		return err
	}
	if err := f.writable(); err != nil {
		return err
	}
	o.Notes, o.Progress, o.Calibration = notes, bar.show, f.calibration.options()
	begin := time.Now()
	start := begin
	model, err := f.model.load(ctx, path, notes)
	if err != nil {
		return err
	}
	if err := f.notOver(model.Files()...); err != nil {
		return err
	}
	a.Log("read %s in %v", path, time.Since(start).Round(time.Millisecond))
	start = time.Now()
	pkg, err := lathe.CompileTo(ctx, model, f.output, o)
	if err != nil {
		return refused(path, err)
	}
	for _, format := range o.DumpCode {
		code, ok := pkg.Code(format)
		if !ok {
			return fmt.Errorf("--dump-code %s: the compiler gave no such code", format)
		}
		if err := cli.WriteFile(f.output+"."+format, func(w io.Writer) error { _, err := io.WriteString(w, code); return err }); err != nil {
			return err
		}
	}
	if f.dumpOffloads != "" {
		bar.clear()
		if err := a.dumpOffloads(pkg, f.dumpOffloads); err != nil {
			return err
		}
	}
	if f.explain != "" {
		bar.clear()
		if err := cli.NotOver(f.explain, f.output); err != nil {
			return err
		}
		if err := a.explain(pkg.Info(), f.explain, false); err != nil {
			return err
		}
	}
	a.Log("compiled into %s in %v", f.output, time.Since(start).Round(time.Millisecond))
	if a.Terminal {
		bar.clear()
		fmt.Fprintln(a.Err, f.done(pkg, time.Since(begin)))
	}
	return nil
}

// done is the line that tells people what they have got.
func (f *compileFlags) done(pkg *lathe.Package, took time.Duration) string {
	size := int64(0)
	for _, file := range f.written() {
		if st, err := os.Stat(file); err == nil {
			size += st.Size()
		}
	}
	info := pkg.Info()
	machine := "for " + cmp.Or(info.Target.CPU, info.Target.String)
	if f.target.text == "llvm" {
		machine = "for this machine (" + info.Target.CPU + ")"
	}
	return fmt.Sprintf("%s: %s, %s, %s, %.1f s", f.output, bundle.SizeText(size), spelling.Count(info.Kernels(), "kernel"), machine, took.Seconds())
}

// written lists the output and the files beside it.
func (f *compileFlags) written() []string {
	stem := strings.TrimSuffix(f.output, filepath.Ext(f.output))
	files := []string{f.output}
	if f.weights == lathe.WeightsInside && cli.Extension(f.output) == ".so" {
		return files
	}
	for _, ending := range map[string][]string{".so": {".json", ".params", ".lathe.json"}, ".c": {".h"}, ".wasm": {".mjs", ".d.mts"}}[cli.Extension(f.output)] {
		files = append(files, stem+ending)
	}
	return files
}

// dumps lists the files of --dump-code.
func (f *compileFlags) dumps() []string {
	var files []string
	for _, format := range cli.CommaList(f.dumpCode) {
		files = append(files, f.output+"."+format)
	}
	return files
}

// writable refuses an output that cannot be written, those beside it included. The program has looked at those that are flags.
func (f *compileFlags) writable() error {
	for _, file := range f.dumps() {
		if err := cli.Writable(file); err != nil {
			return err
		}
	}
	return cli.WritablePlain(f.written()...)
}

// notOver refuses to write any file of the output, those beside it included, over one that the command reads.
func (f *compileFlags) notOver(read ...string) error {
	for _, file := range slices.Concat([]string{f.explain, f.dumpOffloads}, f.written(), f.dumps()) {
		if err := cli.NotOver(file, read...); err != nil {
			return err
		}
	}
	return nil
}
