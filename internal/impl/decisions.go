package impl

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/choice"
)

// A DecisionInfo is a row of the list of what is decided.
type DecisionInfo struct {
	Name   string
	Owner  string // the rule or the graph pass that asks
	Doc    string
	Prefer string // what is the default; "": what costs least by the model, in cycles of one core
}

// nodeDecisions lists what is decided for a node of the graph beside what algorithms ask.
var nodeDecisions = []DecisionInfo{
	{"loop_parts", "DivideLoops", "in how many parts of its rows, which do not depend on each other, a loop runs, each by one worker", ""},
	{"branches", "SelectBranches", "whether the branch that an if takes is `run`, or both are computed and their results selected (`select`)", ""},
	{"function", "TabulateFunctions", "whether a function of a byte that gives a byte is `computed`, or `looked up` in a table", ""},
	{"panel", "ChooseImplementations, PackOperands", "vectors of output channels or columns that lie together in packed weights", ""},
	{"phases", "DecomposeConvTranspose", "whether the phases of a transposed convolution are computed `together` by one convolution, or `apart`, or all taps of a position multiplied and their `columns` added up", ""},
	{"fill", "DecomposeConvTranspose", "whether results of phases have channels of zeros up to whole vectors", "`on` where vectors of pixels would be more, or where phases of whole vectors are joined without a copy"},
	{"widen", "WidenProducts", "whether a product of 16-bit floats has its operands widened in memory", ""},
	{"weights", "NarrowWeights", "whether constant weights of a matrix product are `wide` in memory, `narrow` and widened in registers, or `narrow` and met by `digits` of data", ""},
	{"subsample", "SubsampleData", "whether what a strided 1x1 convolution reads is gathered before", ""},
	{"windows", "SeparateWindows", "whether windows of a pooling or an interpolation are folded `whole`, or `by axis` with what lies between in memory", ""},
	{"lanes", "AlterOpLayout", "whether the lanes of a convolution in narrow groups, a depthwise one of plain data, one to channels that do not fill vectors, one of single pixels between plain data, or of what looks pixels up, are `channels` or `pixels`", ""},
	{"two_steps", "SplitReductions", "whether a tensor is folded to a few elements, or to the statistics of a normalisation, in two steps, of which the first has parts for workers", "`on` where the time to read it is four times that of a meeting of workers, and parts are long"},
	{"groups", "SeparateGroups", "whether the groups of an integer convolution are computed `together`, or `apart` by convolutions of their own", ""},
	{"argmax", "AlignSoftmax", "whether the place of the extreme of each short line is found `in place`, or lines are `moved` to be a lane each", ""},
	{"softmax", "AlignSoftmax", "whether a softmax whose lines lie side by side is computed `in place`, or is `moved` to lie along lines, and back", ""},
	{"fuse", "FuseOps", "whether a node is computed in the kernel of what reads it", "`on`, but `off` where either is a concatenation; of what computes, the one that costs less, for the kernel computes it for every element that it reads"},
	{"axes", "ConvertLayout", "the order of axes of a region of nodes that treat all alike, named by its first: `kept`, or one with which fewer bytes are transposed", "the order that saves most bytes"},
	{"all_channels", "AbsorbChannelMoves", "whether a depthwise convolution, of whose channels some are read, computes all, or looks up those", "`on` where vectors of all are no more than channels that are read"},
	{"inline", "FuseOps", "whether a dequantisation, or integers made wider for one reader, are computed by what reads them, so that memory holds the narrow elements", "on"},
	{"pack", "ChooseImplementations, PackOperands", "whether a product packs its right operand, whose columns lie as rows: constant ones of fewer columns than a vector has lanes, and computed ones when it runs", ""},
}

// Settled are decisions on nodes that kernels do not see: what they led to is in the types of values. A kernel is the same in networks
// that came to it by one or without.
var Settled = []string{"axes"}

// decisions lists what is decided for a kernel. Of a kernel with several blocks of a kind each has its own decision,
// NAME(BLOCK).
var decisions = []DecisionInfo{
	{"rule", "all", "how the kernel is scheduled: one of the rules that apply to it", "the first that applies of the order in package algorithms"},
	{"dot", "all", "whether products of bytes that a sum adds are made four at a time, by dot products", "on"},
	{"tile", "tile, strips", "accumulators in registers: [lines x] rows x vectors", ""},
	{"widened", "tile", "whether weights that are narrower than the sums of their products, or have scales, are widened `by tiles` that read them, or `by panels`, into scratch that all rows of a strip read", ""},
	{"workers", "all", "whether `all` workers divide a kernel, or `one` runs it", "`all`, but `one` where it is done before others would have begun"},
	{"division", "all", "loops that are divided among workers", ""},
	{"chunks", "all", "into how many chunks for each worker what is divided is cut, of which workers take one after the other", ""},
	{"instructions", "all", "whether the instructions of a block are `scheduled` by LLVM, or lie `as written`", "`scheduled`, but `as written` where loops move fewer values to and from the stack then"},
	{"epilogue", "tile, strips", "the pointwise rest works on accumulators in `registers`, or `rolled` in a loop over their copies", "`registers`, but `rolled` behind more than four vectors of exponentials or powers"},
	{"order", "tile", "`panels outside` strips of the other operand, or inside", ""},
	{"strips", "tile", "into how many strips the other operand is cut", "the fewest that fit L2 and keep workers evenly busy"},
	{"reductions", "tile, strips", "order of the reduction loops, by axis", "the largest strides outside"},
	{"parts", "tile, strips", "into how many parts a long sum of float32 products is cut", "sums of at most 192 products, for accuracy"},
	{"steps", "tile, strips, attention, winograd", "steps of the reduction that are unrolled", "all of a short loop of few accumulators, else 4 that divide the reduction, or 2, as of more than 16 accumulators; 1 where loads of several would spill"},
	{"parts_of", "tile", "whether the parts of a long sum are those of each of the `tiles`, or of all tiles of `strips`, whose totals lie in scratch", ""},
	{"block_panels", "tile", "panels of weights whose sums are made together, part by part, in scratch; 0: those of a tile, or of a panel, by themselves", ""},
	{"packed_rows", "tile", "whether the rows of a strip are copied into scratch for each block of panels, part by part, where they lie together", ""},
	{"packed_panels", "tile", "panels of a matrix as it lies that are packed into scratch together, before all rows meet them; 0: tiles read the matrix", ""},
	{"streams", "tile", "panels of weights that a tile of one row reads at once", "the most, up to the target's `-streams`, whose sums leave half of the registers, and 8 turns for workers where L2 does not hold the weights"},
	{"together_lines", "streamed", "lines of what is streamed that are summed before the totals are read and written", "8, or the greatest divisor of their number below"},
	{"line_pieces", "streamed", "into how many pieces a line of what is streamed is cut", "as many as four workers need, and L1 for the totals"},
	{"slide", "tile, strips", "whether all taps of a window that slides over the rows of a tile stand inside the loop over rows, so that what several rows read is loaded once", "`on` where registers hold the taps beside the accumulators"},
	{"prefetch_panel", "tile, strips", "whether tiles ask for the next panel of weights, or for what they read themselves some KB `ahead`", "`on`, but `ahead` where one tile reads a panel, or L2 does not hold two; `off` in loops whose operands stay in L2 or L3, and where a tile of one row reads half of the target's `-streams` or more"},
	{"prefetch_near", "tile, strips", "whether tiles ask L1 for what they read from L2 a little later: `panels` of weights, `rows` whose steps are on other lines, or `all`", "`rows` where the operands of a tile are more than half of L1"},
	{"prefetch_epilogue", "tile, strips, matrix", "whether a tile asks for what its epilogue reads and stores to", "`on`, but `off` where that takes longer from memory than the sums of the tile"},
	{"joined", "rows", "whether a stage of a row is computed in the loop of the reduction that reads it", ""},
	{"in_place", "rows", "whether a stage of a row is kept in the elements of the output that are made from it, and not in scratch", "on"},
	{"columns", "columns, extern", "vectors of columns that are computed together", "whole cache lines of columns that fit L1; up to 8 of sums along columns"},
	{"registers", "columns", "whether the statistics of columns that are computed together stay in registers, or lie in scratch", "on"},
	{"accumulators", "rows, attention", "vectors into which a contiguous reduction is folded", ""},
	{"group", "rows", "rows that go through the stages of a kernel together", "the fewest that hide the folds of a row, at most 4, that divide the rows"},
	{"sums", "scalar", "sums in variables: rows x columns", "as many as a small core has registers for"},
	{"fused", "pointwise", "loops that are walked as one", "all whose addresses stay linear"},
	{"innermost", "pointwise", "pieces of the innermost loop that workers divide with the loops around it", "1, but more where those around it have few iterations"},
	{"lines", "pointwise", "whether rows are walked outside of planes that read the elements between theirs", "on where what is read does not stay in L2"},
	{"interleaved", "pointwise", "whether planes whose elements lie between each other's are written together", "on"},
	{"together", "pointwise", "rows whose elements lie at the same computed places, which are computed once for them", "4, or 2, that divide the rows"},
	{"repeated", "pointwise", "pieces of what is read that are written to all places before the next", "as few as fit L1 beside what is written"},
	{"jam", "pointwise, rows, tile, strips", "vectors of exponentials and the like that are computed side by side, an instruction of each in turn", "4, or as many as registers hold"},
	{"transpose", "pointwise, attention", "squares of elements, or of bundles of a few, that are transposed in registers: their side, and the loop along which is read; or `off`", "a vector, or the greatest part of one that divides both sides; of bundles, what a cache line holds"},
	{"lanes", "pointwise, rows, attention, extern", "elements of a vector", "as many as a register holds, 8 where they are gathered; a cache line of them in `extern`"},
}

// NodeDecisions lists what is decided for a node of the graph.
func (all Algorithms) NodeDecisions() []DecisionInfo {
	list := slices.Clip(nodeDecisions)
	for _, a := range all {
		list = append(list, a.NodeDecisions...)
	}
	return list
}

// Decisions lists what is decided for a kernel.
func (all Algorithms) Decisions() []DecisionInfo {
	list := slices.Clip(decisions)
	for _, a := range all {
		list = append(list, a.Decisions...)
	}
	return list
}

// An asker asks for decisions.
type asker struct {
	log *choice.Log
	err error // the first
}

// decide asks for a decision; def is the index of the default.
func (a *asker) decide(name string, def int, values []choice.Value) int {
	i, err := a.log.Decide(choice.Decision{Name: name, Values: values, Default: def})
	if err != nil {
		a.fail(err)
		return def
	}
	return i
}

// fail keeps the first error, with which scheduling ends.
func (a *asker) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// DecideIfCheaper asks whether something is done, by the cycles without it and with it.
func (a *asker) DecideIfCheaper(name string, off, on float64) bool {
	return a.decide(name, indexIf(on < off), []choice.Value{{Text: "off", Cost: off}, {Text: "on", Cost: on}}) == 1
}

// DecideOne asks for one of a list; costs may be nil.
func DecideOne[T any](a interface {
	decide(name string, def int, values []choice.Value) int
}, name string, def int, list []T, cost func(T) float64) T {
	values := make([]choice.Value, len(list))
	for i, x := range list {
		values[i].Text = fmt.Sprint(x)
		if cost != nil {
			values[i].Cost = cost(x)
		}
	}
	return list[a.decide(name, def, values)]
}

// DecideAmong asks for one of the numbers, which are in order; one that is missing, the default is put among them. cost may
// be nil.
func (a *asker) DecideAmong(name string, def int, cost func(int) float64, numbers ...int) int {
	i, ok := slices.BinarySearch(numbers, def)
	if !ok {
		numbers = slices.Insert(numbers, i, def)
	}
	return DecideOne(a, name, i, numbers, cost)
}

// DecideIf asks whether something is done.
func (a *asker) DecideIf(name string, def bool) bool {
	return a.decide(name, indexIf(def), choice.Texts("off", "on")) == 1
}

// indexIf is the index of the default of two values.
func indexIf(second bool) int {
	if second {
		return 1
	}
	return 0
}

// why is what was decided, in the order of asking, from a decision on and but for the rule.
func (a *asker) why(from int) string {
	var list []string
	for _, d := range a.log.Asked[from:] {
		if d.Name != "rule" {
			list = append(list, d.Name+" "+a.log.Taken[d.Name])
		}
	}
	return strings.Join(list, ", ")
}

// Of names a decision of one block.
func Of(name, block string) string { return name + "(" + block + ")" }
