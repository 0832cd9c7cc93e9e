package impl

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/choice"
	"lathe/internal/loop"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/types"
)

// Names of implementations of a graph's nodes.
const (
	Direct    = "direct"    // a convolution by its definition, on channels in vectors
	Plain     = "plain"     // a convolution to fewer channels than a vector has, along the lines of plain data
	Grouped   = "grouped"   // a convolution in groups whose channels do not fill vectors: GroupedConv
	Depthwise = "depthwise" // a convolution of one input channel for each output channel, on channels in vectors
	Packed    = "packed"    // a product whose right operand lies in panels
	Matrix    = "matrix"    // a product of bytes by registers of matrices
)

// A Node is an operator of a graph, of which is to be decided what shows outside of its kernel: the algorithm, and how its
// constants lie.
type Node struct {
	Op       *op.Def
	Attrs    any
	In       []types.Tensor // logical types
	Out      types.Tensor
	Const    func(i int) bool           // operand i is a constant
	Zero     func(i int) bool           // and all of it is 0
	Range    func(i int) (lo, hi int64) // what integers of operand i are at least and at most; lo > hi where that is not known
	Lanes    int                        // channels of a block
	Given    bool                       // layouts are given: blocks need not be vectors
	Disabled []string                   // passes that do not run
}

// A Way is how a convolution, or a product of bytes, may be computed.
type Way struct {
	Text   string // among the values of the decision
	Cost   float64
	Name   string           // of the implementation
	Decide func(*NodeAsker) // asks for the rest
}

func (w Way) String() string { return w.Text }

// nodes lists who decides, by operator. They give the name of an implementation, "" for the definition in plain layouts, and
// for people why it is that one.
var nodes = map[*op.Def]func(*Node, *NodeAsker) (name, why string){
	ops.Conv1d: conv, ops.Conv2d: conv, ops.Conv3d: conv,
	ops.QnnConv1d: dotConv, ops.QnnConv2d: dotConv, ops.QnnConv3d: dotConv,
	ops.Dense: matrix, ops.Matmul: matrix, ops.MatmulNBits: matrixNBits, ops.QnnMatmul: dotMatrix,
}

// Decides reports whether there is anything to decide for nodes of an operator.
func Decides(d *op.Def) bool { return nodes[d] != nil }

// A NodeAsker asks for decisions on a node.
type NodeAsker struct {
	core
	asker
	algorithms Algorithms
}

// Decide asks log how n, whose operator Decides, is computed.
func (all Algorithms) Decide(n *Node, t *target.Target, log *choice.Log) (name, why string, err error) {
	a := &NodeAsker{core{t}, asker{log: log}, all}
	name, why = nodes[n.Op](n, a)
	return name, why, a.err
}

// conv decides for convolutions of float32.
func conv(n *Node, a *NodeAsker) (name, why string) {
	c := n.Attrs.(ops.ConvAttrs)
	out := n.Out.Shape[1]
	switch {
	case n.Out.DType.Compute() != types.F32:
		return "", ""
	case out < n.Lanes && c.Groups == 1 && n.fillsLines(out):
		return Plain, ""
	case out >= n.Lanes && n.isDepthwise(n.In[1]):
		return Depthwise, ""
	case GroupLanes(c.Groups, out, n.Lanes) < n.Lanes:
		a.decide("panel", 0, choice.Texts("1"))
		return Grouped, ""
	}
	lines, rows := n.image(n.In[1])
	a.panel(n.Lanes, output{lines: lines, rows: rows, panels: c.Groups == 1, single: true}, out/c.Groups, 0)
	return n.algorithm(a)
}

// fillsLines reports whether a convolution to so many channels, fewer than a vector has, takes few enough vectors along its lines, each of which is of one
// channel, beside its pixels, each of which would be a vector of channels. Lines of one pixel lie along the axis before, unless padding parts them.
func (n *Node) fillsLines(out int) bool {
	_, rows := n.image(n.In[1])
	if rows == 1 && slices.Max(n.Attrs.(ops.ConvAttrs).Padding) > 0 {
		return false
	}
	return out*((rows+n.Lanes-1)/n.Lanes) <= mostLineVectors*rows
}

// algorithm asks how a convolution is computed: by its definition, or in one of the ways that algorithms offer.
func (n *Node) algorithm(a *NodeAsker) (name, why string) {
	macs := float64(n.Out.Elements()) * float64(types.Count(n.In[1].Shape[1:]))
	cost := max(macs/float64(a.Units*a.lanes(4))/directShare, a.Fetched(float64(n.In[1].Bytes())))
	return n.among(a, Way{"direct", cost, Direct, func(*NodeAsker) {}})
}

// among asks whether n is computed by a way, or in one of those that algorithms offer.
func (n *Node) among(a *NodeAsker, direct Way) (name, why string) {
	list, why := n.ways(a.core, a.algorithms, direct)
	best := 0
	if len(list) == 1 {
		direct.Decide(a)
		return direct.Name, why
	}
	var costs []string
	for i, w := range list {
		costs = append(costs, fmt.Sprintf("%s %.0f", w, w.Cost/1000))
		if w.Cost < list[best].Cost {
			best = i
		}
	}
	w := DecideOne(a, "algorithm", best, list, func(w Way) float64 { return w.Cost })
	w.Decide(a)
	return w.Name, "thousands of cycles: " + strings.Join(costs, ", ")
}

// ways are a way and those that algorithms offer; why there are none of these, for people.
func (n *Node) ways(c core, all Algorithms, direct Way) (list []Way, why string) {
	list = []Way{direct}
	for _, x := range all {
		if x.Ways == nil {
			continue
		}
		ways, none := x.Ways(n, c)
		list, why = append(list, ways...), cmp.Or(why, none)
	}
	return list, why
}

// dotWidth is the number of products of data and weights that a dot product adds.
func (n *Node) dotWidth() int { return DotWidthOf(n.In[0].DType, n.In[2].DType) }

// dotConv decides for convolutions of bytes, or of int16 by bytes.
func dotConv(n *Node, a *NodeAsker) (name, why string) {
	c := n.Attrs.(ops.ConvAttrs)
	in, out := n.In[0].Shape[1], n.Out.Shape[1]
	width := n.dotWidth()
	switch {
	case width == 0 || in == 0 || out < n.Lanes && c.Groups == 1 && n.overPixels(width):
		return "", ""
	case out >= n.Lanes && n.isDepthwise(n.In[2]):
		return Depthwise, ""
	case c.Groups > 1 && (GroupLanes(c.Groups, out, n.Lanes) < n.Lanes || in/c.Groups%width != 0):
		a.decide("panel", 0, choice.Texts("1"))
		return Grouped, ""
	}
	_, rows := n.image(n.In[2])
	macs := n.filled(1) * float64(types.Count(n.In[2].Shape[1:]))
	return n.among(a, Way{"direct", n.dotCycles(a.core, macs, n.In[2]), Direct, func(a *NodeAsker) { a.panel(n.Lanes, output{lines: 1, rows: rows}, out/c.Groups, width) }})
}

// overPixels reports whether a convolution of few channels to few, whose data no other one gives in blocks, takes vectors of pixels: a channel
// of these widens and multiplies in two instructions for lanes of pixels, and a dot product of so many channels is one for a pixel, however few
// channels it gives.
func (n *Node) overPixels(width int) bool {
	in, out, stride := n.In[0].Shape[1], n.Out.Shape[1], slices.Max(n.Attrs.(ops.ConvAttrs).Strides)
	return in < n.Lanes && 2*in*out*stride < n.Lanes*((in+width-1)/width)
}

func (n *Node) isDepthwise(weight types.Tensor) bool {
	return n.Attrs.(ops.ConvAttrs).Groups > 1 && weight.Shape[1] == 1 && n.In[0].Shape[1] == n.Out.Shape[1]
}

// matrix decides for products of float32 with a constant matrix.
func matrix(n *Node, a *NodeAsker) (name, why string) {
	if n.Out.DType.Compute() != types.F32 {
		return "", ""
	}
	return n.packed(a, n.In[1], n.Const(1), ops.ColumnsOf(n.Attrs), 0), ""
}

// matrixNBits decides for products with weights in blocks, whose scales lie in panels of the same columns.
func matrixNBits(n *Node, a *NodeAsker) (name, why string) {
	constant := true
	for i := range n.In[1:] {
		constant = constant && n.Const(i+1)
	}
	return n.packed(a, n.In[1], constant, 0, 0), ""
}

// dotMatrix decides for products of bytes, or of int16, with a constant matrix of bytes, which dot products take by several rows. Rows of
// data that do not fill the last dot product are copied to rows that do.
func dotMatrix(n *Node, a *NodeAsker) (name, why string) {
	w, width := n.In[2], n.dotWidth()
	if width == 0 || len(w.Shape) != 2 || w.Shape[0]%width != 0 && !n.Const(2) {
		return "", ""
	}
	name, why = n.among(a, n.dotWay(a.core))
	if name == "" {
		name = n.packed(a, w, n.Const(2), 1, width)
	}
	return name, why
}

// dotWay is a product of matrices by dot products.
func (n *Node) dotWay(c core) Way {
	macs := n.filled(n.Out.Rank()-1) * float64(DotDepth(n.In[2].Shape[0], n.dotWidth()))
	return Way{"direct", n.dotCycles(c, macs, n.In[2]), "", func(*NodeAsker) {}}
}

// filled is the number of elements of the result in vectors along an axis, with those that no element fills.
func (n *Node) filled(axis int) float64 {
	y := n.Out.Shape
	return float64(n.Out.Elements()) / float64(max(1, y[axis])) * float64((y[axis]+n.Lanes-1)/n.Lanes*n.Lanes)
}

// dotCycles are those of dot products: four multiply-adds of a lane at once, or two by one instruction that another adds to the sum.
func (n *Node) dotCycles(c core, macs float64, w types.Tensor) float64 {
	each := n.dotWidth()
	if each < DotWidth {
		each /= 2
	}
	return macs/float64(each*c.Units*c.lanes(4))/directShare + c.Fetched(float64(w.Bytes()))
}

// packed asks for the panels of a constant matrix w, or of a stack of them, whose axis columns, counted from the last two, becomes vectors. Fewer columns than a vector has lanes are
// packed where that pays: as they lie, columns that are no rows are read in vectors already, and a single one is read along its sum.
func (n *Node) packed(a *NodeAsker, w types.Tensor, constant bool, columns, dot int) (name string) {
	stack := len(w.Shape) - 2
	if !constant || stack < 0 || stack > 0 && w.Elements() == 0 {
		return ""
	}
	shape := w.Shape[stack:]
	rows := types.Count(n.Out.Shape[:len(n.Out.Shape)-1])
	if stack > 0 {
		rows = n.Out.Shape[len(n.Out.Shape)-2]
	}
	if narrow := shape[columns] < n.Lanes; narrow && (dot > 0 || columns != 0 || shape[0] == 1 || !a.packs(rows, shape[0], shape[1], 0)) {
		return ""
	}
	a.panel(n.Lanes, output{lines: 1, rows: rows, panels: true, apart: shape[1-columns] * n.In[0].DType.Size()}, shape[columns], dot)
	return Packed
}

func (n *Node) image(w types.Tensor) (lines, rows int) {
	return ConvImage(n.Attrs.(ops.ConvAttrs), n.In[0], w, n.Out)
}

// ConvImage is the result of a convolution as lines of the rows of a tile. All pixels of a 1x1 convolution are one line.
func ConvImage(a ops.ConvAttrs, data, w, out types.Tensor) (lines, rows int) {
	x, y := data.Shape, out.Shape
	if types.Count(w.Shape[2:]) == 1 && slices.Max(a.Strides) == 1 && types.Count(x[2:]) == types.Count(y[2:]) {
		return 1, types.Count(y[2:])
	}
	if len(y) > 3 {
		return y[len(y)-2], y[len(y)-1]
	}
	return 1, y[len(y)-1]
}

// panel asks for the vectors, of so many lanes, of a panel of weights, by the best tile that each number has for rows of an output
// by columns. One row uses each weight once: its panels are those of which memory is read with the most streams.
func (a *NodeAsker) panel(lanes int, o output, columns, dot int) {
	o.vecs = (columns + lanes - 1) / lanes
	list, best := a.tiles(o, a.registers(dot), 0, true, reuse)
	var widths []costedTile
	def := 0
	for _, t := range list {
		i := slices.IndexFunc(widths, func(w costedTile) bool { return w.Vecs == t.Vecs })
		if i < 0 {
			i = len(widths)
			widths = append(widths, t)
		}
		if t.cost < widths[i].cost {
			widths[i] = t
		}
		if t.Vecs == list[best].Vecs {
			def = i
		}
	}
	if o.lines*o.rows == 1 { // every weight is used once: panels are as narrow as streams of whole lines of the cache can be
		for i, w := range widths {
			s := 1
			if !o.single {
				s = a.streams(w.Vecs, o.vecs/w.Vecs, leastTurns)
			}
			line := max(1, float64(loop.LineBytes)/float64(4*lanes*w.Vecs))
			filled := (o.vecs + w.Vecs - 1) / w.Vecs * w.Vecs
			widths[i].cost = float64(filled) * (a.streaming(s)*line + a.step(1, w.Vecs*s, asTheyLie)/float64(w.Vecs*s))
		}
		least := slices.MinFunc(widths, func(a, b costedTile) int { return cmp.Compare(a.cost, b.cost) })
		def = slices.Index(widths, least)
	}
	values := make([]choice.Value, len(widths))
	for i, w := range widths {
		values[i] = choice.Value{Text: strconv.Itoa(w.Vecs), Cost: w.cost}
	}
	a.decide("panel", def, values)
}

// DotPanels is the layout of a matrix of bytes, rows by columns, in panels of so many columns for dot products of some width.
func DotPanels(columns, width int) types.Layout {
	return types.Layout(fmt.Sprintf("BA%db%da", columns, width))
}

// DotRows is the layout of data whose rows, along the last axis, are filled up with zeros to whole dot products of some width; plain where
// they are that.
func DotRows(shape []int, width int) types.Layout {
	last := len(shape) - 1
	if shape[last]%width == 0 {
		return ""
	}
	return types.AxisBlocks(len(shape), last, width)
}

// DotDepth is the number of products in whole dot products of some width that sums of k products take.
func DotDepth(k, width int) int { return (k + width - 1) / width * width }

// DotFilters is the layout of the filters of a convolution in panels of so many output channels for dot products of some width.
func DotFilters(rank, channels, width int) types.Layout {
	axes := "ABCDE"[:rank]
	return types.Layout(fmt.Sprintf("%s%s%s%da%db", axes[:1], axes[2:], axes[1:2], channels, width))
}

// PanelOf is the number of vectors of a panel that p names, 0 if it names none.
func PanelOf(p choice.Point) int {
	n, err := strconv.Atoi(p["panel"])
	if err != nil || n < 1 || n > mostPanel {
		return 0
	}
	return n
}

// TileOf is the register tile, rows x vectors, that p has under a name.
func TileOf(p choice.Point, name string) (t Tile, ok bool) {
	t.Lines = 1
	n, _ := fmt.Sscanf(p[name], "%d x %d", &t.Rows, &t.Vecs)
	return t, n == 2 && t.Rows >= 1 && t.Rows <= mostRows && t.Vecs >= 1 && t.Vecs <= mostPanel
}
