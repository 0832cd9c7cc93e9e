package pass

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// CheckLayout refuses what is no layout that convolutions can be asked for.
func CheckLayout(want string) error {
	data, _, _ := strings.Cut(want, ":")
	_, err := types.ParseLayout(data, "NCHW")
	if data == "default" || data == "NHWC" || err == nil && strings.HasPrefix(data, "NCHW") {
		return nil
	}
	return fmt.Errorf("%q: there are NCHW, NHWC and NCHWnc with a block n, such as NCHW16c", want)
}

// CheckLayoutOp refuses what is no operator that a layout can be asked for.
func CheckLayoutOp(name string) error {
	var known []string
	for _, d := range slices.Concat(ops.Conv[1:], ops.QnnConv[1:]) {
		known = append(known, d.Name)
	}
	if slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("%q: layouts are for %s", name, strings.Join(known, ", "))
}

// alterOpLayout gives values their physical layouts. A layout belongs to a tensor: convolutions ask for channels in
// blocks of a vector register, operators that do not care keep what they are given, those whose kernels are loops over
// plain layouts get plain operands, everything else stays plain and reads whatever its operands have. Constant weights are
// packed for the kernel that reads them.
func alterOpLayout(c *Context) error {
	r, err := activationsOf(c)
	if err != nil {
		return err
	}
	l := &layouts{Rewriter: rewrite.New(c.Graph), Context: c, activations: r, asked: r, free: c.free(), made: map[transform]*graph.Value{}}
	if l.lanes > 1 { // no vectors, no blocks
		l.Walk(l.node)
	}
	l.outputs()
	return l.Finish()
}

// activations are how those of convolutions lie.
type activations struct {
	lanes int  // channels of a block
	plain bool // convolutions keep plain layouts
	last  bool // channels go last instead of into blocks
}

// activationsOf is what was asked for, else blocks of a vector.
func activationsOf(c *Context) (r activations, err error) {
	r = c.free()
	for _, want := range c.Layouts {
		if err := CheckLayout(want); err != nil {
			return r, fmt.Errorf("desired layout %w", err)
		}
		switch data, _, _ := strings.Cut(want, ":"); data {
		case "NCHW", "default":
			r.plain = true
		case "NHWC":
			r.last = true
		default:
			r.lanes, _ = strconv.Atoi(strings.Trim(data[4:], "c"))
		}
	}
	return r, nil
}

// free are those of convolutions that no layout was asked for.
func (c *Context) free() activations { return activations{lanes: c.Target.Lanes(32)} }

// asks reports whether the desired layouts are for a convolution.
func (c *Context) asks(n *graph.Node) bool {
	return len(c.Layouts) > 0 && (len(c.LayoutOps) == 0 || slices.Contains(c.LayoutOps, n.Op.Name))
}

type layouts struct {
	*rewrite.Rewriter
	*Context
	activations             // of the node that is looked at
	asked, free activations // of convolutions that the desired layouts are for, and of others
	made        map[transform]*graph.Value
}

// activationsFor are those of a convolution, or those that what another node reads has.
func (l *layouts) activationsFor(n *graph.Node) activations {
	if isAnyConv(n) {
		if l.asks(n) {
			return l.asked
		}
		if l.bytesLast() && !slices.Contains(ops.Conv[1:], n.Op) {
			return l.free.withLast()
		}
		return l.free
	}
	if len(n.In) > 0 {
		x := n.In[0].Type
		if len(x.Shape) < 3 || x.Layout == "" {
			return l.asked
		}
		if x.Layout == l.free.channelLayout(len(x.Shape)) {
			return l.free
		}
		if last := l.free.withLast(); l.bytesLast() && x.Layout == last.channelLayout(len(x.Shape)) {
			return last
		}
	}
	return l.asked
}

// bytesLast reports whether channels of bytes go last where nothing else was asked for: registers of matrices take as rows what pixels have
// behind each other.
func (l *layouts) bytesLast() bool { return l.Target.Tiles() != nil && len(l.Layouts) == 0 }

// withLast are the activations with channels last.
func (a activations) withLast() activations {
	a.last = true
	return a
}

type transform struct {
	v  *graph.Value
	to types.Layout
}

// channelLayout is the layout of activations: channels in blocks of a vector, or last where that was asked for.
func (a activations) channelLayout(rank int) types.Layout {
	if !a.last {
		return types.ChannelBlocks(rank, a.lanes)
	}
	axes := plainAxes(rank)
	return types.Layout(axes[:1] + axes[2:] + axes[1:2])
}

func (l *layouts) node(n *graph.Node) {
	l.activations = l.activationsFor(n)
	if algorithms.Table.WantsPlain(n.Op) || len(n.Sub) > 0 {
		for i := range n.In {
			l.Want(n, i, "")
		}
	}
	if algorithms.Table.LayOut(l, l.lanes, n) {
		return
	}
	switch n.Op.Name {
	case "nn.conv1d", "nn.conv2d", "nn.conv3d":
		l.conv(n)
	case "qnn.conv1d", "qnn.conv2d", "qnn.conv3d":
		l.dotConv(n)
	case "qnn.matmul":
		l.dotMatrix(n)
	case "nn.dense":
		l.packMatrix(n, 0, 1)
	case "nn.matmul":
		if n.Attrs.(ops.MatmulAttrs).TransposeB {
			l.packMatrix(n, 0, 1)
		} else {
			l.packMatrix(n, 1, 0)
		}
	case "nn.matmul_nbits":
		l.packBlocks(n)
	case "concatenate":
		l.concat(n)
	case "image.grid_sample":
		l.gridSample(n)
	case "nn.depth_to_space_nd":
		if a := n.Attrs.(ops.DepthToSpaceNDAttrs); a.Channels%l.lanes == 0 && a.Step%l.lanes == 0 {
			l.channels(n)
		}
	case "nn.softmax", "nn.log_softmax":
		l.softmax(n)
	case "take":
		if takesChannels(n) {
			l.channels(n)
		}
	default:
		switch {
		case n.Op.Layout == op.Channels, n.Op == ops.Pad:
			l.channels(n)
		case n.Op.Fusion == op.CommReduce:
			l.reduce(n)
		case n.Op.Layout != op.Plain && n.Op.Fusion >= op.Elementwise && n.Op.Fusion <= op.Broadcast:
			l.same(n)
		}
	}
}

// Want makes operand i of n have the given layout, by packing a constant or by a transform before n.
func (l *layouts) Want(n *graph.Node, i int, to types.Layout) {
	v := n.In[i]
	if v.Type.Layout == to {
		return
	}
	if v.IsConst() {
		c := graph.NewConst(v.Name, v.Const)
		l.SetLayout(c, to)
		l.SetOperand(n, i, c)
		return
	}
	if l.computed(v) {
		for j, w := range v.Def.In {
			if slices.Equal(w.Type.Shape, v.Type.Shape) {
				l.Want(v.Def, j, to)
			}
		}
		l.SetLayout(v, to)
		return
	}
	l.SetOperand(n, i, l.transformed(v, to))
}

// transformed is v in another layout.
func (l *layouts) transformed(v *graph.Value, to types.Layout) *graph.Value {
	key := transform{v, to}
	if l.made[key] == nil {
		l.made[key] = l.Apply(ops.LayoutTransform, ops.LayoutTransformAttrs{Dst: to}, v)
		l.SetLayout(l.made[key], to)
	}
	return l.made[key]
}

// computed reports whether v is made of constants of its shape and smaller factors, for one reader: weights that are scaled
// at run time. It takes on any layout.
func (l *layouts) computed(v *graph.Value) bool {
	if v.Def == nil || v.Type.Layout != "" || v.Def.Op.Fusion != op.Broadcast || l.Reader(v) == nil {
		return false
	}
	whole := 0
	for _, w := range v.Def.In {
		if slices.Equal(w.Type.Shape, v.Type.Shape) {
			whole++
			if !w.IsConst() {
				return false
			}
		}
	}
	return whole > 0
}

func (l *layouts) conv(n *graph.Node) {
	w := n.In[1].Type
	rank := len(w.Shape)
	switch n.Impl.Name {
	case impl.Depthwise:
		if l.alongLines(n) {
			l.pixelLanes(n)
			return
		}
		l.Want(n, 0, l.channelLayout(rank))
		l.Want(n, 1, types.Layout(fmt.Sprintf("%s%da", plainAxes(rank), l.lanes)))
	case impl.Direct:
		if l.fillsLines(n) {
			l.Want(n, 0, "")
			return
		}
		l.blockedConv(n, l.panel(n))
	case impl.Grouped:
		lanes := impl.GroupLanes(n.Attrs.(ops.ConvAttrs).Groups, w.Shape[0], l.lanes)
		if !l.byChannels(n, lanes) {
			l.pixelLanes(n)
			return
		}
		l.blockedConv(n, lanes)
	case impl.Plain:
		l.Want(n, 0, "") // vectors run along the lines
		return
	default:
		return
	}
	l.SetLayout(n.Out[0], l.channelLayout(rank))
}

// blockedConv lays out the operands of a convolution on blocks of channels, weights in panels of so many output channels.
func (l *layouts) blockedConv(n *graph.Node, panel int) {
	w := n.In[1].Type
	rank := len(w.Shape)
	if n.In[0].Type.Shape[1]%l.lanes == 0 {
		l.Want(n, 0, l.channelLayout(rank))
	}
	weights := plainAxes(rank)
	if w.Shape[1]%l.lanes == 0 && w.Shape[1] > l.lanes {
		weights += fmt.Sprintf("%db", l.lanes)
	}
	l.Want(n, 1, types.Layout(fmt.Sprintf("%s%da", weights, panel)))
}

// panel is the number of elements of the panels that were chosen for a node's weights.
func (l *layouts) panel(n *graph.Node) int { return max(1, impl.PanelOf(n.Impl.Point)) * l.lanes }

func plainAxes(rank int) string {
	s := ""
	for i := range rank {
		s += string(rune('A' + i))
	}
	return s
}

// packMatrix packs a constant matrix operand, or a stack of matrices, with output axis n and reduction axis k of its last two into panels of a few vectors.
func (l *layouts) packMatrix(node *graph.Node, n, k int) {
	if node.Impl.Name == impl.Packed {
		stack := node.In[1].Type.Rank() - 2
		n, k := stack+n, stack+k
		layout := fmt.Sprintf("%s%c%c%d%c", plainAxes(stack), 'A'+n, 'A'+k, l.panel(node), 'a'+n)
		if node.In[1].Type.DType.IsNibble() {
			layout += fmt.Sprintf("%d%c", impl.NibbleWord, 'a'+k)
		}
		l.Want(node, 1, types.Layout(layout))
	}
}

// packBlocks packs weights that are quantised in blocks, their scales and zero points into panels of a few vectors of columns. Weights of 4
// bits lie eight of a column together, a word of each lane.
func (l *layouts) packBlocks(n *graph.Node) {
	if n.Impl.Name != impl.Packed {
		return
	}
	columns := types.Layout(fmt.Sprintf("AB%da", l.panel(n)))
	for i, v := range n.In[1:] {
		layout := columns
		if v.Type.DType.IsNibble() {
			layout += types.Layout(fmt.Sprintf("%db", impl.NibbleWord))
		}
		l.Want(n, i+1, layout)
	}
}

// same gives an elementwise node the layout of its blocked operand of full shape.
func (l *layouts) same(n *graph.Node) {
	y := n.Out[0].Type
	layout := types.Layout("")
	for _, v := range n.In {
		if v.Type.Layout != "" && slices.Equal(v.Type.Shape, y.Shape) {
			layout = v.Type.Layout
			break
		}
	}
	if layout == "" {
		return
	}
	for i, v := range n.In {
		if slices.Equal(v.Type.Shape, y.Shape) {
			l.Want(n, i, layout)
		}
	}
	for _, o := range n.Out {
		l.SetLayout(o, layout)
	}
}

// channels keeps the channel blocks of the data operand.
func (l *layouts) channels(n *graph.Node) {
	x := n.In[0].Type
	for _, o := range n.Out {
		if len(o.Type.Shape) == len(x.Shape) && len(x.Shape) > 2 && x.Layout == l.channelLayout(len(x.Shape)) {
			l.SetLayout(o, x.Layout)
		}
	}
}

// takesChannels reports whether n looks channels up in a constant table.
func takesChannels(n *graph.Node) bool {
	if n.Op != ops.Take || n.Attrs.(ops.TakeAttrs).Axis != 1 {
		return false
	}
	table := n.In[1]
	return table.IsConst() && len(table.Type.Shape) == 1
}

// concat keeps channel blocks when every operand fills whole blocks.
func (l *layouts) concat(n *graph.Node) {
	rank := len(n.Out[0].Type.Shape)
	if rank < 3 {
		return
	}
	blocked := l.channelLayout(rank)
	for _, v := range n.In {
		if v.Type.Layout != blocked || v.Type.Shape[1]%l.lanes != 0 {
			return
		}
	}
	l.SetLayout(n.Out[0], blocked)
}

// outputs brings the graph's results back to plain layout.
func (l *layouts) outputs() {
	for _, o := range l.Graph.Outputs {
		if o.Type.Layout == "" {
			continue
		}
		l.AtEnd()
		l.From(o.Def)
		l.ReplaceOutput(o, l.transformed(o, ""))
	}
}
