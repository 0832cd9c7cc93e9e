// Package pass transforms graphs. table.go is the pipeline; every other file is one pass. Passes that Relay
// has too bear its names and levels.
package pass

import (
	"context"

	"lathe/internal/byoc"
	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/impl/attention"
	"lathe/internal/impl/strips"
	"lathe/internal/impl/winograd"
	"lathe/internal/pipeline"
	"lathe/internal/target"
)

// A Context is what passes work on.
type Context struct {
	Graph  *graph.Graph
	Target *target.Target
	Level  int
	// Workers is the number of goroutines of passes that compute much; 0: one.
	Workers int
	// ConstantWeights leaves scales that the network computes in front of convolutions: weights that these scale are computed too.
	ConstantWeights bool
	// Layouts are the layouts asked for the activations of convolutions, in TVM's letters; empty: chosen.
	Layouts []string
	// LayoutOps are the convolutions that the layouts are for; others take what is chosen. Empty: all.
	LayoutOps []string
	Disabled  []string // passes that do not run
	// Chooser decides for the node of a name; nil: all is taken by default. Asked is what was asked, by name.
	Chooser func(node string) choice.Chooser
	Asked   map[string][]choice.Decision
	names   map[string]bool // of nodes for which something was decided
	// Codegens are the external code generators, those that come first in the target first. Module is part of the symbols of their regions;
	// "": default.
	Codegens []byoc.Chosen
	Module   string
	// Kernels runs the rest of the pipeline, without generators, on a graph, which it changes: the model's nodes that each of the compiler's own kernels
	// computes. nil: generators may take parts of kernels.
	Kernels func(g *graph.Graph) ([][]string, error)
	// Refused says why generators do not take nodes, Regions and Offloads what InlineComposites found.
	Refused    map[*graph.Node][]Refusal
	Regions    []Region
	Offloads   []Offload
	composites int // among Offloads
	// Calibration is what generators that calibrate have found, in their form; nil: nothing. Outputs is the number of the model's own,
	// behind which EmulateRegions puts what a calibration must see; 0: all. Emulations are what it found.
	Calibration []byte
	Form        byoc.Form
	Outputs     int
	Emulations  []Emulated
	nested      bool                     // the graph is the body of a node
	claimed     map[*graph.Node][]string // generators that take a node as it is
	cut         map[*graph.Node][]string // generators that would take of a kernel this node but not others
	// Ctx ends long sweeps; nil: nothing does.
	Ctx context.Context
}

// ended is the error of a context that is done.
func (c *Context) ended() error {
	if c.Ctx == nil {
		return nil
	}
	return c.Ctx.Err()
}

// Table is the pipeline, in the order it runs. Every pass runs on the bodies of loops and branches too, each a graph by itself.
var Table = everywhere([]pipeline.Pass[*Context]{
	{Name: "LegalizeInt4", Level: 0, Required: true, Run: legalizeInt4, Doc: "computes integers of 4 bits in 8: constants and inputs alone take half a byte"},
	{Name: "SelectBranches", Level: 2, Run: selectBranches, Doc: "computes both branches of an if and selects, where that is cheaper than to run one"},
	{Name: "ConvertLayout", Level: 3, Run: convertLayout, Doc: "computes channels-last models in the order of axes of their convolutions"},
	{Name: "FoldExplicitPadding", Level: 2, Run: foldExplicitPadding, Doc: "makes padding in front of convolutions and poolings an attribute of them"},
	{Name: "FoldBias", Level: 2, Run: foldBias, Doc: "makes sums behind convolutions, of a number for each channel, their bias"},
	{Name: "PrerequisiteOptimize", Level: 0, Required: true, Run: prerequisiteOptimize, Doc: "folds batch normalisation and constants, where external code generators look for patterns"},
	{Name: "MergeComposite", Level: 0, Required: true, Run: mergeComposite, Doc: "makes one node of those that an external code generator takes for one"},
	{Name: "AnnotateTarget", Level: 0, Required: true, Run: annotateTarget, Doc: "makes a region of every node that an external code generator takes"},
	{Name: "MergeCompilerRegions", Level: 0, Required: true, Run: mergeCompilerRegions, Doc: "joins regions of one external code generator"},
	{Name: "PartitionGraph", Level: 0, Required: true, Run: partitionGraph, Doc: "names the regions of external code generators, and opens those that do not pay"},
	{Name: "InlineComposites", Level: 0, Required: true, Run: inlineComposites, Doc: "opens composites, so that regions have kernels of our own too"},
	{Name: "EmulateRegions", Level: 0, Required: true, Run: emulateRegions, Doc: "computes regions of devices that are emulated as the device would, or as they are while they are calibrated"},
	{Name: "DecomposeConvTranspose", Level: 2, Run: decomposeConvTranspose, Doc: "computes transposed convolutions by ordinary ones, phase by phase"},
	{Name: "FakeQuantizationToInteger", Level: 0, Run: fakeQuantizationToInteger, Doc: "computes layers between dequantize and quantize nodes on the integers themselves"},
	{Name: "WidenProducts", Level: 3, Run: widenProducts, Doc: "computes products of 16-bit floats on operands that were widened to float32"},
	{Name: "NarrowWeights", Level: 3, Run: narrowWeights, Doc: "keeps weights of matrix products as the narrow numbers that the model has, where that takes less time"},
	{Name: "QnnLegalize", Level: 1, Run: qnnLegalize, Doc: "brings integer products into the form of dot products: data of the bytes or int16 that instructions take, int8 weights, no zero points"},
	{Name: "SeparateGroups", Level: 3, Run: separateGroups, Doc: "computes groups of integer convolutions whose channels fill no vectors one by one"},
	{Name: "CutPaddedTaps", Level: 2, Run: cutPaddedTaps, Doc: "leaves out the ends of kernels that meet nothing but padding"},
	{Name: "SimplifyInference", Level: 0, Required: true, Run: simplifyInference, Doc: "replaces batch normalisation by a scale and a shift"},
	{Name: "FoldConstant", Level: 2, Run: foldConstant, Doc: "evaluates what depends on constants only"},
	{Name: "EliminateCommonSubexpr", Level: 3, Run: eliminateCommonSubexpr, Doc: "computes equal nodes once"},
	{Name: "FoldScaleAxis", Level: 3, Run: foldScaleAxis, Doc: "multiplies per-channel scales into the weights before or behind them"},
	{Name: "SimplifyExpr", Level: 0, Run: simplifyExpr, Doc: "removes nodes without effect"},
	{Name: "TabulateFunctions", Level: 3, Run: tabulateFunctions, Doc: "looks functions of bytes up in tables, where that takes less time than to compute them"},
	{Name: "AbsorbChannelMoves", Level: 3, Run: absorbChannelMoves, Doc: "lets convolutions read shuffled, split and joined channels where they were computed"},
	{Name: "SubsampleData", Level: 3, Run: subsampleData, Doc: "gathers what strided 1x1 convolutions read, before they do"},
	{Name: "DivideLoops", Level: 3, Run: divideLoops, Doc: "runs loops in parts of their rows where these do not depend on each other, so that workers do not meet in every iteration"},
	{Name: "ChooseImplementations", Level: 3, Run: chooseImplementations, Doc: "decides how convolutions and products are computed, and how their weights lie"},
	{Name: "Winograd", Level: 3, Run: rewriteWinograd, Doc: "computes convolutions by Winograd's minimal filtering where that was chosen"},
	{Name: "FuseNormalization", Level: 3, Run: fuseNormalization, Doc: "writes layer, RMS and group normalisations that are spelled out as one operator"},
	{Name: "SplitArgs", Level: 0, Required: true, Run: splitArgs, Doc: "joins many operands in steps, so that no kernel chooses among thousands"},
	{Name: "SplitReductions", Level: 3, Run: splitReductions, Doc: "folds large tensors to a few elements, and those of normalisations over few sets, in two steps, so that workers have parts"},
	{Name: "SeparateWindows", Level: 3, Run: separateWindows, Doc: "folds large windows of poolings, and interpolations, axis by axis"},
	{Name: "AlterOpLayout", Level: 3, Run: alterOpLayout, Doc: "gives tensors blocked layouts and packs weights, as was chosen"},
	{Name: "AlignSoftmax", Level: 3, Run: alignSoftmax, Doc: "transposes what a softmax is taken of where its lines lie side by side and are few, and short lines of an argmax to lie side by side"},
	{Name: "DeadCodeElimination", Level: 0, Required: true, Run: deadCode, Doc: "removes what no output needs"},
	{Name: "FuseAttention", Level: 3, Run: fuseAttention, Doc: "makes a kernel of softmax(Q K) V that keeps no scores in memory"},
	{Name: "PackOperands", Level: 3, Run: packOperands, Doc: "packs computed operands of matrix products whose columns lie as rows"},
	{Name: "FuseOps", Level: 0, Required: true, Run: fuseOps, Doc: "joins nodes into groups that become kernels; at -O0 every node is its own"},
	{Name: "FuseStrips", Level: 3, Run: fuseStrips, Doc: "computes convolutions strip by strip in the kernels of the depthwise convolutions and poolings that read them"},
})

func everywhere(table []pipeline.Pass[*Context]) []pipeline.Pass[*Context] {
	for i := range table {
		run := table[i].Run
		table[i].Run = func(c *Context) error {
			c.names = map[string]bool{}
			c.noteNames(c.Graph)
			return c.everywhere(run)
		}
	}
	return table
}

// everywhere runs a pass on a graph, then on the bodies of its loops and branches.
func (c *Context) everywhere(run func(*Context) error) error {
	if c.Asked == nil {
		c.Asked = map[string][]choice.Decision{}
	}
	if err := run(c); err != nil {
		return err
	}
	for _, n := range c.Graph.Nodes {
		for _, b := range n.Bodies() {
			body := *c
			body.Graph, body.nested = b, true
			if err := body.everywhere(run); err != nil {
				return err
			}
		}
	}
	return nil
}

// Order holds the reasons for the table's order.
var Order = []pipeline.Order{
	{Before: "LegalizeInt4", After: "FakeQuantizationToInteger", Why: "products of integers are of bytes"},
	{Before: "SelectBranches", After: "ConvertLayout", Why: "what is selected joins the nodes around"},
	{Before: "ConvertLayout", After: "FakeQuantizationToInteger", Why: "transposes between quantised layers would hide that these follow each other"},
	{Before: "ConvertLayout", After: "DecomposeConvTranspose", Why: "channels of phases are joined where the channels are"},
	{Before: "ConvertLayout", After: "FoldExplicitPadding", Why: "transposes between a padding and its convolution would hide that they follow each other"},
	{Before: "ConvertLayout", After: "PrerequisiteOptimize", Why: "transposes between nodes would hide that they follow each other"},
	{Before: "FoldExplicitPadding", After: "PrerequisiteOptimize", Why: "padding is an attribute in patterns"},
	{Before: "PrerequisiteOptimize", After: "MergeComposite", Why: "batch normalisation is part of convolutions in patterns"},
	{Before: "MergeComposite", After: "AnnotateTarget", Why: "a composite is taken as a whole"},
	{Before: "AnnotateTarget", After: "MergeCompilerRegions", Why: "it makes the regions"},
	{Before: "MergeCompilerRegions", After: "PartitionGraph", Why: "whether a region pays shows when it is whole"},
	{Before: "PartitionGraph", After: "InlineComposites", Why: "generators compile composites"},
	{Before: "InlineComposites", After: "EmulateRegions", Why: "what generators take is noted while regions are whole"},
	{Before: "EmulateRegions", After: "FakeQuantizationToInteger", Why: "emulations are quantised networks too"},
	{Before: "InlineComposites", After: "DecomposeConvTranspose", Why: "transposed convolutions in composites are decomposed too"},
	{Before: "InlineComposites", After: "FakeQuantizationToInteger", Why: "generators read quantised networks as float ones between quantize and dequantize"},
	{Before: "FoldExplicitPadding", After: "ChooseImplementations", Why: "it decides by the windows that convolutions have in the end"},
	{Before: "FoldExplicitPadding", After: "SeparateWindows", Why: "poolings have all their padding"},
	{Before: "ConvertLayout", After: "FoldBias", Why: "transposes between a convolution and its sum would hide that they follow each other"},
	{Before: "FoldBias", After: "PrerequisiteOptimize", Why: "the sum behind a convolution is its bias in patterns"},
	{Before: "FoldBias", After: "DecomposeConvTranspose", Why: "phases of a transposed convolution have its bias, and a sum behind them would read what they joined"},
	{Before: "FoldBias", After: "FakeQuantizationToInteger", Why: "it takes the bias of a layer with the layer"},
	{Before: "DecomposeConvTranspose", After: "FakeQuantizationToInteger", Why: "integer convolutions are ordinary ones"},
	{Before: "DecomposeConvTranspose", After: "FoldConstant", Why: "weights of phases are made by nodes to fold"},
	{Before: "FakeQuantizationToInteger", After: "FoldConstant", Why: "folding hides that weights are dequantized integers"},
	{Before: "FakeQuantizationToInteger", After: "QnnLegalize", Why: "it makes the integer products"},
	{Before: "QnnLegalize", After: "AlterOpLayout", Why: "the layouts of dot products are for legal ones"},
	{Before: "QnnLegalize", After: "SeparateGroups", Why: "it brings convolutions into the form of dot products, with padding in front"},
	{Before: "SeparateGroups", After: "FoldConstant", Why: "weights are parted by nodes to fold"},
	{Before: "SimplifyInference", After: "FoldConstant", Why: "the scale and shift of a batch normalisation are constants to fold"},
	{Before: "DecomposeConvTranspose", After: "WidenProducts", Why: "phases of a transposed convolution are convolutions"},
	{Before: "WidenProducts", After: "NarrowWeights", Why: "weights of 16-bit floats may be widened in registers alone"},
	{Before: "FakeQuantizationToInteger", After: "NarrowWeights", Why: "products of integers are better computed on integers"},
	{Before: "NarrowWeights", After: "QnnLegalize", Why: "products of digits are integer products"},
	{Before: "NarrowWeights", After: "FoldConstant", Why: "folding widens weights in memory"},
	{Before: "FoldExplicitPadding", After: "CutPaddedTaps", Why: "padding is an attribute of convolutions by then"},
	{Before: "DecomposeConvTranspose", After: "CutPaddedTaps", Why: "phases of a transposed convolution are convolutions"},
	{Before: "QnnLegalize", After: "CutPaddedTaps", Why: "slices between layers would hide how weights are quantised"},
	{Before: "WidenProducts", After: "CutPaddedTaps", Why: "it widens weights as they lie in the model"},
	{Before: "CutPaddedTaps", After: "FoldConstant", Why: "weights are cut by nodes to fold"},
	{Before: "FoldConstant", After: "FoldScaleAxis", Why: "scales must be constants before they can move into weights"},
	{Before: "FoldScaleAxis", After: "AlterOpLayout", Why: "weights are scaled while their layout is plain"},
	{Before: "SimplifyExpr", After: "AbsorbChannelMoves", Why: "a node without effect between moves would end them"},
	{Before: "FoldScaleAxis", After: "AbsorbChannelMoves", Why: "a scale behind a convolution would keep its channels in their order"},
	{Before: "FoldExplicitPadding", After: "SubsampleData", Why: "what a padded convolution reads has a border"},
	{Before: "SubsampleData", After: "ChooseImplementations", Why: "it decides by the data that convolutions read in the end"},
	{Before: "AbsorbChannelMoves", After: "AlterOpLayout", Why: "channels move on while their layout is plain"},
	{Before: "AbsorbChannelMoves", After: "ChooseImplementations", Why: "it decides by the shapes that convolutions have in the end"},
	{Before: "QnnLegalize", After: "ChooseImplementations", Why: "dot products are for legal ones"},
	{Before: "DivideLoops", After: "ChooseImplementations", Why: "it decides by the rows that a part has"},
	{Before: "SimplifyExpr", After: "DivideLoops", Why: "nodes without effect would hide which rows are read"},
	{Before: "ChooseImplementations", After: "Winograd", Why: "it decides which convolutions are transformed"},
	{Before: "ChooseImplementations", After: "AlterOpLayout", Why: "it decides how weights are packed"},
	{Before: "AbsorbChannelMoves", After: "Winograd", Why: "the channels of a transformed convolution have their place"},
	{Before: "FoldScaleAxis", After: "Winograd", Why: "scales move into the weights of a convolution, not into transformed ones"},
	{Before: "Winograd", After: "AlterOpLayout", Why: "transformed operands have layouts of their own"},
	{Before: "AbsorbChannelMoves", After: "SplitArgs", Why: "it follows channels through whole concatenations"},
	{Before: "EliminateCommonSubexpr", After: "SplitReductions", Why: "equal reductions are split once"},
	{Before: "FuseNormalization", After: "SplitReductions", Why: "it recognises means of rows as they are written"},
	{Before: "SplitReductions", After: "AlterOpLayout", Why: "what lies between the steps has a layout too"},
	{Before: "FakeQuantizationToInteger", After: "SeparateWindows", Why: "it follows quantised data through poolings"},
	{Before: "SeparateWindows", After: "AlterOpLayout", Why: "what lies between the axes has a layout too"},
	{Before: "SplitArgs", After: "AlterOpLayout", Why: "what lies between the steps has a layout too"},
	{Before: "AlterOpLayout", After: "AlignSoftmax", Why: "the lines of a softmax lie elsewhere in blocks of channels"},
	{Before: "AlignSoftmax", After: "FuseOps", Why: "transposes join the kernels around"},
	{Before: "AlterOpLayout", After: "FuseOps", Why: "a layout transform inserted later would split a kernel"},
	{Before: "EliminateCommonSubexpr", After: "FuseNormalization", Why: "x - mean(x) is often computed twice"},
	{Before: "SimplifyExpr", After: "FuseNormalization", Why: "squares are products by then"},
	{Before: "AlterOpLayout", After: "FuseAttention", Why: "layouts are not chosen inside groups"},
	{Before: "DeadCodeElimination", After: "FuseAttention", Why: "a dead reader would keep scores in memory"},
	{Before: "FuseAttention", After: "PackOperands", Why: "the kernel of an attention arranges its operands itself"},
	{Before: "PackOperands", After: "FuseOps", Why: "packing joins the kernel that computes the operand"},
	{Before: "FuseAttention", After: "FuseOps", Why: "a product has become a group of its own by then"},
	{Before: "FuseOps", After: "FuseStrips", Why: "it joins two groups, each with its pointwise nodes"},
	{Before: "DeadCodeElimination", After: "FuseOps", Why: "a dead reader would keep a value from being fused"},
}

func rewriteWinograd(c *Context) error { return winograd.Rewrite(c.Graph, c.Workers) }

func fuseAttention(c *Context) error { return attention.Fuse(c.Graph, c.Target, c.decide) }

func fuseStrips(c *Context) error { return strips.Fuse(c.Graph, c.Target, c.decide) }

func deadCode(c *Context) error { c.Graph.DeadCode(); return nil }
