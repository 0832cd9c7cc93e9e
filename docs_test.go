package lathe_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"image/png"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/frontend"
	"lathe/internal/frontend/caffe"
	"lathe/internal/frontend/coreml"
	"lathe/internal/frontend/darknet"
	"lathe/internal/frontend/keras"
	"lathe/internal/frontend/mxnet"
	"lathe/internal/frontend/onnx"
	"lathe/internal/frontend/paddle"
	"lathe/internal/frontend/tensorflow"
	"lathe/internal/frontend/tflite"
	"lathe/internal/frontend/torch"
	"lathe/internal/impl/algorithms"
	"lathe/internal/looppass"
	"lathe/internal/ops"
	"lathe/internal/pass"
	"lathe/internal/pipeline"
	"lathe/internal/sched"
	"lathe/internal/target"
	"lathe/internal/testkit/glyphs"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/onnxtest"
	"lathe/test/conformance"
)

// TestPages holds the pages that tables give to the tables; -update writes them.
func TestPages(t *testing.T) {
	for name, page := range map[string]func(*bytes.Buffer){"ops": opsPage, "passes": passesPage, "targets": targetsPage, "onnx": onnxPage, "formats": formatsPage, "tflite": tflitePage, "primitives": primitivesPage, "decisions": decisionsPage, "steering": steeringPage} {
		var b bytes.Buffer
		page(&b)
		b.WriteString("\n---\n`go test . -run TestPages -update` writes this page.\n")
		if bytes.Contains(b.Bytes(), []byte(undescribed)) {
			t.Errorf("docs/%s.md has a constant with %s", name, undescribed)
		}
		golden.File(t, "docs/"+name+".md", b.Bytes())
	}
}

// opsPage lists the operators of the graph level.
func opsPage(b *bytes.Buffer) {
	fmt.Fprintf(b, "# Operators\n\nThe %d operators of the graph level, as `internal/ops` defines them. Names are Relay's where Relay has the operator.\n"+
		"Fusion says how an operator may join a kernel, layout what a blocked layout of its operands means to it; both are\n"+
		"explained at `op.Fusion` and `op.Layout`. An operand with `...` may be repeated.\n\n"+
		"| operator | operands | fusion | layout | meaning |\n| --- | --- | --- | --- | --- |\n", len(ops.All))
	for _, d := range ops.All {
		meaning := strings.TrimPrefix(firstSentence(d.Doc), d.Name+" ")
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", d.Name, operands(d.Args, d.MinIn), d.Fusion, d.Layout, cell(meaning))
	}
}

// operands names the operands; the optional ones are bracketed.
func operands(args []string, least int) string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = a
		if least > 0 && i >= least {
			list[i] = "[" + a + "]"
		}
	}
	return strings.Join(list, ", ")
}

// firstSentence ends at the first full stop that a space or the end follows.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSuffix(s, ".")
}

// cell makes text fit into a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// targetsPage lists the targets that have names and the CPUs.
func targetsPage(b *bytes.Buffer) {
	b.WriteString("# Targets\n\nAs `lathe targets` prints them. A name stands for a whole target, `--target raspberry-pi-4`, and options may follow it:\n" +
		"`--target \"raspberry-pi-4 -num-cores=2\"`.\n\n| name | target | what it is |\n| --- | --- | --- |\n")
	for _, p := range target.Presets() {
		fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", p.Name, p.Target, cell(p.Doc))
	}
	b.WriteString("\nCPUs have LLVM's names, `--target \"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76\"`, and imply these features, which `-mattr`\n" +
		"changes: those that code may contain, and so what a package for the CPU needs. `--target llvm` is this machine, by its name or by a\n" +
		"level (`x86-64-v4`) and its features.\n\n" +
		"*Fused* is a multiply-add in one instruction, *dots* the sum of four products of bytes,\n" +
		"*matrices* are registers for products of matrices of bytes.\n\n" +
		"| CPU | architecture | vectors | features |\n| --- | --- | --- | --- |\n")
	for _, arch := range target.Arches() {
		for _, cpu := range target.CPUs(arch) {
			t, err := target.OfCPU(arch, cpu)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", cpu, arch, t.Vectors(), strings.Join(t.Features, " "))
		}
	}
	factsOfTargets(b)
}

// factsOfTargets lists what schedules are chosen by.
func factsOfTargets(b *bytes.Buffer) {
	b.WriteString("\n## Facts\n\nSchedules are chosen by numbers of the CPU. Whoever says one first is believed: an option; for `--target llvm`\n" +
		"what `lathe machine --save` measured here, and the machine, which tells caches, clock and datapath (by CPUID, or Linux' files); the CPU's row in `internal/isa`, which has those\n" +
		"three where its maker publishes them; and its architecture's class in `facts.go`, a usual core in round numbers.\n" +
		"The canonical target, which a package records, names those that differ from row and class.\n\n| option | what it is |\n| --- | --- |\n")
	facts := target.Facts()
	for _, o := range target.Options("llvm") {
		if o.Name == "caches" || slices.Contains(facts, o.Name) {
			fmt.Fprintf(b, "| `-%s` | %s |\n", o.Name, cell(o.Doc))
		}
	}
	fmt.Fprintf(b, "\nOther facts follow from the architecture and the features: the width and the number of vector registers, multiply-adds and dot\n"+
		"products in one instruction. What the compiler makes of facts, such as the part of a cache that a tile may fill, is in\n"+
		"`internal/impl/cost.go`.\n\n| CPU | architecture | caches | %s |\n| --- | --- | --- |%s\n", strings.Join(facts, " | "), strings.Repeat(" --- |", len(facts)))
	for _, arch := range target.Arches() {
		for _, cpu := range target.CPUs(arch) {
			t, err := target.OfCPU(arch, cpu)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(b, "| `%s` | %s | %d,%d,%d |", cpu, arch, t.L1>>10, t.L2>>10, t.L3>>10)
			for _, name := range facts {
				fmt.Fprintf(b, " %d |", t.Fact(name))
			}
			b.WriteString("\n")
		}
	}
}

// passesPage lists the pipelines and the reasons for their order.
func passesPage(b *bytes.Buffer) {
	b.WriteString("# Passes\n\nIn the order they run. Names and levels are Relay's where Relay has the pass. `--disabled-pass NAME` leaves a graph\n" +
		"pass out unless it runs always.\n")
	for _, phase := range []struct {
		name  string
		order []pipeline.Order
	}{{"graph", pass.Order}, {"loop", looppass.Order}} {
		fmt.Fprintf(b, "\n## On the %s IR\n\n| pass | from | what it does |\n| --- | --- | --- |\n", phase.name)
		for _, p := range lathe.Passes() {
			if p.Phase != phase.name {
				continue
			}
			from := fmt.Sprintf("-O%d", p.Level)
			if p.Required {
				from = "always"
			}
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, from, cell(p.Doc))
		}
		b.WriteString("\n| before | after | why |\n| --- | --- | --- |\n")
		for _, o := range phase.order {
			fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", o.Before, o.After, cell(o.Why))
		}
	}
}

// primitivesPage lists the schedule primitives.
func primitivesPage(b *bytes.Buffer) {
	b.WriteString("# Schedule primitives\n\nWhat a step of a schedule can be. Loops are named by their variable, blocks by their stage. A trace of steps is data: as JSON\n" +
		"it can be kept, and applied to the unscheduled kernel it makes the same nest again.\n\n| step | what it does |\n| --- | --- |\n")
	for _, p := range sched.Primitives() {
		fmt.Fprintf(b, "| `%s` | %s |\n", p.Form(), cell(p.Doc))
	}
}

// found ends the comment of a row of steering.go.
var found = regexp.MustCompile(`^([^:]+): (.+)\. ((?:Counted|Measured|Fitted|Chosen)\b.*)\.$`)

// undescribed says that a row of steering.go is none.
const undescribed = "no unit, meaning, and how it was found"

// steeringPage lists the constants of the files steering.go. A row whose comment is none says so.
func steeringPage(b *bytes.Buffer) {
	b.WriteString("# Steering\n\nWhat the compiler weighs decisions with and is no fact of a target, by package: the numbers of `steering.go`. *Counted* are instructions\n" +
		"and registers; *measured* is the thing itself; *fitted* is what puts ways that were measured into the order of their times; *chosen* is\n" +
		"the rest. Facts of targets, which `lathe machine` measures, are in [targets](targets.md), and what is decided in [decisions](decisions.md).\n")
	for _, owner := range []string{"impl", "impl/attention", "impl/extern", "impl/matrix", "impl/strips", "impl/winograd", "compile", "plan"} {
		f, err := parser.ParseFile(token.NewFileSet(), "internal/"+owner+"/steering.go", nil, parser.ParseComments)
		if err != nil {
			fmt.Fprintln(b, err)
			continue
		}
		fmt.Fprintf(b, "\n## %s\n\n| constant | value | unit | meaning | found |\n| --- | --- | --- | --- | --- |\n", owner)
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && v.Comment != nil {
				var value bytes.Buffer
				printer.Fprint(&value, token.NewFileSet(), v.Values[0])
				row := found.FindStringSubmatch(strings.TrimSpace(v.Comment.Text()))
				if row == nil {
					fmt.Fprintf(b, "%s: %s: %s\n", v.Names[0].Name, undescribed, v.Comment.Text())
					return true
				}
				fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", v.Names[0].Name, value.String(), row[1], cell(row[2]), cell(row[3]))
			}
			return true
		})
	}
}

// decisionsPage lists what is decided for kernels.
func decisionsPage(b *bytes.Buffer) {
	b.WriteString("# Decisions\n\nWhat is decided when a model is compiled: of its nodes, before there are kernels, and of kernels when they are scheduled.\n" +
		"`lathe.json` has for each step under `graph` and `point` what was taken, and `lathe compile --choices FILE` decides by hand: FILE holds\n" +
		"`{\"NODE OR KERNEL\": {\"DECISION\": \"VALUE\"}}`, and what it does not name is taken by default. A value that a node or kernel cannot\n" +
		"have is refused with those that it can. The default is what costs least by the model of `internal/impl/cost.go`, in cycles, or what\n" +
		"the last column says.\n\n## Nodes\n\nA node is named as in the model; where a node of the model became several, those behind the first are `NAME#2` and so on.\n\n" +
		"| decision | asked by pass | what is decided | default |\n| --- | --- | --- | --- |\n")
	for _, d := range algorithms.Table.NodeDecisions() {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", d.Name, d.Owner, cell(d.Doc), cmp.Or(d.Prefer, "least cycles"))
	}
	b.WriteString("\n## Kernels\n\nWhere a kernel has several blocks of a kind, each has its own decision, `DECISION(BLOCK)`. `serial` keeps a kernel as it was\n" +
		"lowered. Kernels that are loops of their own have no `rule`: `extern` is what an operator that tensor expressions cannot say has instead\n" +
		"of a schedule, `winograd` and `matrix` what a node's `algorithm` leads to. Nothing is divided among workers of target `c`.\n\n" +
		"| decision | asked by rule | what is decided | default |\n| --- | --- | --- | --- |\n")
	for _, d := range algorithms.Table.Decisions() {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", d.Name, d.Owner, cell(d.Doc), cmp.Or(d.Prefer, "least cycles"))
	}
}

// onnxPage lists ONNX's operators.
func onnxPage(b *bytes.Buffer) {
	rows := onnx.Rows()
	fmt.Fprintf(b, "# ONNX operators\n\nThe %d operators that the ONNX frontend converts. The second column has the operator-set versions from which on a\n"+
		"meaning of its own is converted: `1, 10` is one meaning for versions 1 to 9 and one from 10 on. A version before the first\n"+
		"is an error. So is what stands in a model and is not supported: an attribute, an element type, a shape or a parameter\n"+
		"that depends on input data. `lathe inspect MODEL` tells before a compilation what would be refused.\n", len(rows))
	plain, fixed := 0, 0
	for _, c := range conformance.Passing() {
		if len(c.Fixed) == 0 {
			plain++
		} else {
			fixed++
		}
	}
	fmt.Fprintf(b, "\nOf the %d backend cases that come with ONNX, %d compile and compute right as they are at -O0, -O3 and -O4\n"+
		"([list](../test/conformance/testdata/onnx_passing.txt)), and %d more when inputs from which the model computes shapes are\n"+
		"made constants, `lathe compile --fix INPUT=test_data_set_0/input_N.pb model.onnx`\n"+
		"([list](../test/conformance/testdata/onnx_passing_fixed.txt) with the inputs). The others end with an error that says what\n"+
		"is not supported.\n", conformance.Cases, plain, fixed)
	domain := "-"
	for _, r := range rows {
		if r.Domain != domain {
			domain = r.Domain
			title := domain
			if title == "" {
				title = "ai.onnx"
			}
			fmt.Fprintf(b, "\n## %s\n\n| operator | from version |\n| --- | --- |\n", title)
		}
		fmt.Fprintf(b, "| %s | %s |\n", r.Op, strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Since), " ", ", "), "[]"))
	}
}

// tflitePage lists TensorFlow Lite's operators.
func tflitePage(b *bytes.Buffer) {
	rows := tflite.Table.Rows()
	custom := slices.IndexFunc(rows, func(r frontend.Supported) bool { return r.Domain != "" })
	fmt.Fprintf(b, "# TensorFlow Lite\n\n    lathe compile -o net.tar net.tflite\n\nFiles are known by what they hold. Names, shapes and the order of axes are those of the file: an image has its\n"+
		"channels last. Sizes that the file leaves open are given with `--input-shapes` and else 1, with a note. Weights may be float32, float16,\n"+
		"int8 per tensor or per channel, uint8, int4, and sparse.\n\n"+
		"The %d operators that are converted, beside %d custom ones; what else a model applies is listed at once.\n\n", custom, len(rows)-custom)
	list := func(rows []frontend.Supported) {
		for i, r := range rows {
			if i > 0 {
				b.WriteString(", ")
			}
			if i%6 == 5 {
				b.WriteString("\n")
			}
			fmt.Fprintf(b, "`%s`", r.Op)
		}
		b.WriteString("\n")
	}
	list(rows[:custom])
	b.WriteString("\nCustom operators: ")
	list(rows[custom:])
	b.WriteString(`
## Quantised numbers

An integer q with a scale s and a zero point z stands for s(q - z). Inputs and outputs of quantised networks stay integers.
What a network computes is what TensorFlow Lite computes with XNNPACK, to the bit for networks of convolutions:

| operators, 8 bits | arithmetic |
| --- | --- |
| convolutions, fully connected, products | int32 sums by one float32 factor, half to even |
| sums and differences | both operands by 21-bit factors to a common power of two, half up |
| average pools; means over height and width | int32 sums by their number, half away from zero; one float32 factor, half to even |
| softmax | a table of 256 exponentials in float32 |
| functions of one element | a table of 256 numbers |
| bilinear resizing | 11 bits of weight along each axis |
| another scale | 8 bits behind the point |

Other operators on 8 bits, and all on 16, have TensorFlow Lite's own fixed-point arithmetic (gemmlowp's factors of 31 bits; of 15 behind
64-bit sums) where they have one: sums, products, convolutions, LSTM and SVDF layers, rescaling. An operator without either
is computed in float32 between its scales. Operators with 8-bit weights and float32 data (dynamic range quantisation) quantise
their data in the run, each batch entry or row by its own range.

` + "`lathe run`" + ` takes floats for an integer input, in ` + "`--inputs`" + ` or by ` + "`--image` with `--preprocess`" + `, and rounds them to its scale; a picture without a preset
gives its values as they are, or as the file's metadata say. ` + "`--dequantize`" + ` gives what outputs stand for, ` + "`--print-top`" + ` names classes by the labels in the file.
Names that signatures give to inputs and outputs are other names of them. All this is in ` + "`lathe.json`" + `: scale, zero point, aliases, labels, mean and std.

| flag | what it changes |
| --- | --- |
`)
	for _, o := range tflite.Format.Options {
		fmt.Fprintf(b, "| `--%s` | %s |\n", o.Name, o.Doc)
	}
	b.WriteString(`
With the reference arithmetic convolutions, products, sums, means and rescaling take gemmlowp's factors, leaky ReLU one for each sign, and bilinear
resizing 10 bits of weight; functions of one element and softmax stay tables.

## States

Recurrent operators keep states in variables, and others read and assign them (CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE). A run starts at
their first values: what a graph that runs once assigns, else 0. With ` + "`--state io`" + ` the program keeps them: each is an input NAME and an output
NAME:next, which goes into NAME of the next run. First values are then the program's to give; of an integer state 0 is its zero point.

Not supported: strings and hash tables, random numbers, StableHLO operators, variables in bodies of control flow.
`)
}

// formatsPage lists the layers and operators of the formats that have no page of their own.
func formatsPage(b *bytes.Buffer) {
	b.WriteString("# Keras, TensorFlow, PyTorch, MXNet, Caffe, Darknet, Paddle and Core ML\n\nModels of these formats are read as they are, without their frameworks: `lathe compile net.h5`. A file is known by what it holds;\n" +
		"`--model-format` overrides that. Code in a file, such as that of a Lambda layer, is never run. Inputs keep the names and the order of axes of the\n" +
		"file. What a table does not list is refused by name, and so is an option of a layer that is not supported; `lathe inspect MODEL` tells\n" +
		"before a compilation. Where a file has no shape for an input, `--input-shapes` gives it.\n\n" +
		"Weights in a file of their own are found by the rules below, or named: `--weights FILE`. A network without any can be inspected, and with\n" +
		"`--weights random` compiled, run and timed: values are made up, seeded by their names and of a scale that keeps results finite.\n\n" +
		"`lathe import MODEL -o net.onnx` writes any model that Lathe reads as ONNX, with its names, weights and the shapes that it is read for, for other tools.\n\n" +
		"Weights are mapped and not copied: files of 100 MB of each of these formats are imported in 0.001 to 0.4 s on a busy core of an AMD EPYC (Zen 3), a traced ResNet-50 in 0.63, hashing them included, with 8 to 14 MB of memory beside the mapped file.\n")
	for _, f := range []struct {
		title, what, tried string
		rows               []frontend.Supported
	}{
		{"Keras", "`.h5` files of Keras 1 and 2 hold configuration and weights, and `.keras` archives those of Keras 3. Sequential and functional models, models within models, " +
			"layers that are called several times. Files with weights only, and models that are classes of their own, are refused.",
			"Compared with expected outputs: MobileNet v1, mini-XCEPTION, ResNet-8 and a dense network of Keras 2.0 to 2.8. Keras 3's archives, recurrent layers and models within models " +
				"are tested with small models that were written by hand, against evaluations by numpy and in tests; Keras 1's names of layers and options are translated and were tried with no file.", keras.Rows()},
		{"TensorFlow", "Frozen graphs (`.pb`, `.pbtxt`), SavedModel folders with their variables, and `NAME.meta` with the checkpoint `NAME.index` beside it; a folder is searched for the one model in it. " +
			"Inputs and outputs have the names of the signature `serving_default`, or of the only one; of a graph without signatures placeholders are inputs, and outputs what no node reads. " +
			"Decoders of files and sounds are not part of the network: their result is an input. Variables get what the nodes that restore them say. Loops and conditions of " +
			"TensorFlow 1 (`Switch`, `Merge`, `Enter`) become the same loops and branches as `While` and `If`; arrays and lists of tensors are tensors. What only trains is left out, and a placeholder that says whether " +
			"the network learns is false. Not supported: strings, tables, complex numbers, sparse tensors, random numbers that differ from run to run.",
			"Compared with expected outputs: keyword networks (dense, convolutional, LSTM and GRU as loops of TensorFlow 1, a WaveNet with dilations), two super-resolution networks, a LeNet, an LSTM, " +
				"five SavedModels of TensorFlow 1.11 to 2.x, and 73 graphs of a few layers.", tensorflow.Rows()},
		{"PyTorch", "Archives of TorchScript (`torch.jit.save`), traced or scripted, and `.pt2` files of `torch.export.save`, in both of their forms. The code of TorchScript is interpreted while " +
			"the model is imported, with the shapes of `--input-shapes`: sizes, lists, dictionaries, loops and conditions are computed then, in-place operators and views mean what they mean in PyTorch, and what depends " +
			"on data becomes a branch or a loop of the program. Inputs are named as the arguments of `forward`, the elements of tuples and lists `NAME.0` and so on, those of dictionaries `NAME.KEY`; they are float32, or integers where the program takes them for indices. " +
			"`--fix sr=16000` gives a number. An argument with a default is an input only where a shape or a value is given for it. State that a model keeps starts at its saved value in each run, or is an input `NAME` and an output `NAME:next` with `--state io`. " +
			"Files with weights only (state dictionaries) are refused, with what to do. An operator in place, such as `relu_`, is that without its underscore.",
			"Compared with expected outputs: a LeNet of TorchScript 1, a vision transformer, two voice detectors (STFT, LSTM, attention, dynamic quantisation), a quantised MobileNetV2, a linear layer of torch.export. " +
				"The operators are tested on small programs whose results were worked out by hand. Besides, PyTorch 1.13 wrote 289 files of layers, operators, recurrent networks, transformers, " +
				"control flow, heads of detectors and quantised modules, traced, scripted, frozen and for mobile devices: 33 are refused in one line, 249 agree with PyTorch's outputs within 7e-7 (relative L2), modules quantised " +
				"by FX are a few steps off (elu, leaky relu and products of maps of two shapes round ties otherwise), and layers of packed 8-bit cells, whose data stay floats here, agree within 1e-2. AlexNet, ConvNeXt and " +
				"EfficientNet-B0 to B2 of torchvision, traced and scripted, agree within 2e-6.", torch.Rows()},
		{"MXNet", "`PREFIX-symbol.json` is the model; of the files `PREFIX-NNNN.params` beside it, the one with the greatest number has the weights.",
			"Compared with expected outputs: ResNet-20, MTCNN's first network, a LeNet of MXNet 0.9 to 2.0.", mxnet.Rows()},
		{"Caffe", "`NAME.prototxt` is the model, in the form of `layer` or `layers`; layers of the test phase count. The weights are `NAME.caffemodel` or `NAME.caffemodel.h5` beside it, " +
			"or the only file of that kind that begins with `NAME` or lies there.",
			"Compared with expected outputs: LeNet, two networks of MTCNN, UltraFace, a super-resolution network and a CIFAR-10 network with weights in HDF5.", caffe.Rows()},
		{"Darknet", "`NAME.cfg` is the model and `NAME.weights` beside it has the weights. A `yolo` layer gives boxes as rows: center and extents in units of the picture, objectness, " +
			"and for each class its probability times objectness.",
			"Compared with expected outputs: YOLO-fastest 1.1. AlexNet, DenseNet-201, YOLOv2-tiny and others, of which there is a `.cfg` only, run with values that are made up.", darknet.Rows()},
		{"Paddle", "Programs of PaddlePaddle: `NAME.pdmodel`, `NAME.json` of version 3, or a folder with `__model__`. Parameters are `NAME.pdiparams` beside it, `__params__`, or a file for each in the folder. " +
			"Programs quantised by PaddleSlim (`quantize_linear`, `dequantize_linear`) keep their integers. Blocks within blocks (`while`, `conditional_block`) are refused.",
			"Compared with expected outputs: a network of Paddle 2.0. Programs in JSON, folders and operators are tested with small programs that the tests write.", paddle.Rows()},
		{"Core ML", "`.mlmodel` files that hold a neural network, a classifier or a regressor, with weights of 32, 16, or 1 to 8 bits. Pictures are inputs [batch, channels, height, width] of 0 to 255, " +
			"which the model scales itself. Probabilities of classes are an output, their names are not. ML programs, pipelines and control flow are refused.",
			"One real network, a classifier of drawings, compiles and runs; layers are tested with small models that the tests write.", coreml.Rows()},
	} {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n%s\n\n%d layers and operators:", f.title, f.what, f.tried, len(f.rows))
		for i, r := range f.rows {
			sep := ","
			if i == 0 {
				sep = ""
			}
			fmt.Fprintf(b, "%s\n`%s`", sep, r.Op)
		}
		b.WriteString(".\n")
	}
}

// TestExampleModels holds the models of docs/shapes.md to what makes them; -update writes them.
func TestExampleModels(t *testing.T) {
	golden.File(t, "examples/shapes/decoder.onnx", onnxtest.Model(onnxtest.Decoder()))
	golden.File(t, "examples/shapes/detector.onnx", onnxtest.Model(onnxtest.Detector()))
}

// TestExampleGlyphs holds the data set of docs/evaluate.md to what draws it; -update writes it.
func TestExampleGlyphs(t *testing.T) {
	for class := range glyphs.Classes {
		if err := os.MkdirAll("examples/demo/glyphs/"+glyphs.Name(class), 0o777); err != nil {
			t.Fatal(err)
		}
		for face, name := range glyphs.Faces {
			img, err := glyphs.Picture(class, face)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := png.Encode(&b, img); err != nil {
				t.Fatal(err)
			}
			golden.File(t, fmt.Sprintf("examples/demo/glyphs/%s/%s.png", glyphs.Name(class), name), b.Bytes())
		}
	}
}
