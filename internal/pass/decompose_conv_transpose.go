package pass

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// decomposeConvTranspose computes transposed convolutions by ordinary ones. Results whose positions have the same remainder
// modulo the strides, a phase, are a convolution with strides 1 by every strides-th tap. Either one convolution computes all
// phases, with as many times the channels and taps of zero where a phase has fewer, or each phase is one of its own.
//
//	nn.conv2d_transpose(x, w, b)   →   nn.depth_to_space_nd(nn.conv2d(x, w', b'))
//	nn.conv2d_transpose(x, w, b)   →   nn.depth_to_space_nd(concatenate(nn.conv2d(x, w0, b), nn.conv2d(x, w1, b) ...))
//
// What follows element by element is computed before the phases go to their places, so that it follows convolutions.
func decomposeConvTranspose(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		if rank := slices.Index(ops.ConvTranspose[:], n.Op); rank > 0 {
			decompose(r, n, rank, c)
		}
	}, beforeDepthToSpace)
}

// maxPhases bounds the convolutions that a transposed one becomes: memory would be passed over for each.
const maxPhases = maxArgs

// maxZeros bounds how many times larger taps of zero make the weights.
const maxZeros = 16

func decompose(r *rewrite.Rewriter, n *graph.Node, rank int, c *Context) {
	t := c.Target
	x := n.In[0].Type.Shape
	if types.Count(x) == 0 || types.Count(n.In[1].Type.Shape) == 0 || types.Count(n.Out[0].Type.Shape) == 0 {
		return
	}
	d := &transposedConv{Rewriter: r, n: n, rank: rank, groups: n.Attrs.(ops.ConvTransposeAttrs).Groups, axes: phaseAxes(n)}
	joint, split := d.joint(), d.split()
	var one impl.PhaseConv
	var several []impl.PhaseConv
	if joint != nil {
		one = d.shape(joint)
	}
	for _, c := range split {
		several = append(several, d.shape(c))
	}
	together, summed := split == nil || joint != nil && d.quantised(), false
	if joint != nil && !together {
		taken, err := c.decide(n, impl.PhaseDecision(t, x[0], one, several, d.sums(one)))
		r.Fail(err)
		together, summed = taken == "together", taken == impl.SumsColumns
	}
	// filled is how many channels of zeros fill vectors, if that is wanted.
	filled := func(channels int, pays bool) int {
		rest := -channels & (t.Lanes(32) - 1)
		if d.groups > 1 || rest == 0 {
			return 0
		}
		taken, err := c.decide(n, choice.Whether("fill", pays))
		if r.Fail(err); taken != "on" {
			return 0
		}
		return rest
	}
	switch {
	case joint == nil && split == nil:
	case summed:
		r.Replace(n.Out[0], d.columns())
	case together:
		r.Replace(n.Out[0], d.jointNodes(joint, filled(one.Sums, one.Fills(t))))
	default:
		o := n.Out[0].Type.Shape[1]
		r.Replace(n.Out[0], d.splitNodes(split, filled(o, o > t.Lanes(32) && x[0] == 1))) // whole vectors are joined where they are
	}
}

// A transposedConv is being decomposed.
type transposedConv struct {
	*rewrite.Rewriter
	n            *graph.Node
	rank, groups int
	axes         []phaseAxis
}

// joint describes the one convolution of all phases; nil where that is no regular one or much larger.
func (d *transposedConv) joint() phaseConv {
	var c phaseConv
	zeros := 1
	for _, a := range d.axes {
		p, ok := a.joint()
		if !ok {
			return nil
		}
		c = append(c, p)
		zeros *= (p.taps*p.phases + a.size - 1) / a.size
	}
	if zeros > maxZeros {
		return nil
	}
	return c
}

// split describes a convolution for each phase, the last axis innermost; nil where there are too many.
func (d *transposedConv) split() []phaseConv {
	list := []phaseConv{nil}
	for _, a := range d.axes {
		if len(list)*a.stride > maxPhases {
			return nil
		}
		var longer []phaseConv
		for _, c := range list {
			for j := range a.stride {
				longer = append(longer, append(slices.Clone(c), a.phase(j)))
			}
		}
		list = longer
	}
	return list
}

// shape is what the estimate wants to know of a convolution.
func (d *transposedConv) shape(c phaseConv) impl.PhaseConv {
	x, w := d.n.In[0].Type.Shape, d.n.In[1].Type.Shape
	s := impl.PhaseConv{Lines: x[0], Width: c[d.rank-1].blocks, Groups: d.groups, Depth: x[1] / d.groups, Sums: w[1], Taps: 1, Met: 1}
	for k, p := range c {
		if k < d.rank-1 {
			s.Lines *= p.blocks
			s.Met *= p.met(d.axes[k].in)
		}
		s.Taps *= p.taps
		s.Sums *= p.phases
	}
	return s
}

// jointNodes computes all phases by one convolution, with so many channels of zeros behind its others.
func (d *transposedConv) jointNodes(c phaseConv, fill int) *graph.Value {
	places := c.count(func(p phases) int { return p.phases })
	in := []*graph.Value{nil, d.weight(places, fill, func(w *graph.Value, zero float64) *graph.Value {
		return d.filled(d.jointWeight(w, c, zero), fill, zero)
	})}
	if len(d.n.In) == 3 {
		in = append(in, d.repeated(d.n.In[2], places, fill))
	}
	return d.toSpace(d.conv(c, in), c, d.groups, 0)
}

// splitNodes computes each phase by a convolution, with so many channels of zeros behind its others.
func (d *transposedConv) splitNodes(list []phaseConv, fill int) *graph.Value {
	var bias []*graph.Value
	if len(d.n.In) == 3 {
		bias = append(bias, d.repeated(d.n.In[2], 1, fill))
	}
	var parts []*graph.Value
	for _, c := range list {
		if c.count(func(p phases) int { return p.taps }) == 0 {
			parts = append(parts, d.empty(c, bias, fill))
			continue
		}
		w := d.weight(1, fill, func(w *graph.Value, zero float64) *graph.Value { return d.filled(d.phaseWeight(w, c), fill, zero) })
		parts = append(parts, d.conv(c, append([]*graph.Value{nil, w}, bias...)))
	}
	whole := slices.Clone(list[0])
	for k, a := range d.axes {
		whole[k].phases = a.stride
	}
	y := parts[0]
	if len(parts) > 1 {
		y = d.Apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, parts...)
	}
	return d.toSpace(y, whole, 1, fill)
}

// conv is the convolution of the data by in[1] that c describes. Data that only padding of the result needs is cut off.
func (d *transposedConv) conv(c phaseConv, in []*graph.Value) *graph.Value {
	a := ops.ConvAttrs{Strides: slices.Repeat([]int{1}, d.rank), Padding: make([]int, 2*d.rank), Groups: d.groups}
	shape := d.n.In[0].Type.Shape
	read := ops.StridedSliceAttrs{Begin: make([]int, d.rank+2), End: slices.Clone(shape), Strides: slices.Repeat([]int{1}, d.rank+2)}
	for k, p := range c {
		a.Dilation = append(a.Dilation, p.dilation)
		a.Padding[k], a.Padding[d.rank+k] = max(0, p.before), max(0, p.after)
		read.Begin[2+k], read.End[2+k] = max(0, -p.before), shape[2+k]+min(0, p.after)
	}
	if in[0] = d.n.In[0]; slices.Max(read.Begin) > 0 || !slices.Equal(read.End, shape) {
		in[0] = d.Apply(ops.StridedSlice, read, in[0])
	}
	y := d.Apply(ops.Conv[d.rank], a, in...)
	y.Def.Impl, d.n.Impl = d.n.Impl, graph.Impl{} // the first keeps what was decided for all
	return y
}

// empty is a phase without taps: the bias.
func (d *transposedConv) empty(c phaseConv, bias []*graph.Value, fill int) *graph.Value {
	y := d.n.Out[0].Type
	shape := slices.Clone(y.Shape)
	shape[1] += fill
	for k, p := range c {
		shape[2+k] = p.blocks
	}
	v := graph.NewConst("", tensor.New(y.DType, slices.Repeat([]int{1}, d.rank+2)...))
	if len(bias) > 0 {
		column := slices.Repeat([]int{1}, d.rank+2)
		column[1] = shape[1]
		v = d.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: column}, bias[0])
	}
	return d.Apply(ops.BroadcastTo, ops.BroadcastToAttrs{Shape: shape}, v)
}

// toSpace brings phases to their places, those of so many groups after each other. Each has the given number of unused channels.
func (d *transposedConv) toSpace(y *graph.Value, c phaseConv, groups, unused int) *graph.Value {
	a := ops.DepthToSpaceNDAttrs{Crops: make([]int, 2*d.rank), Groups: groups, Channels: d.n.Out[0].Type.Shape[1] / groups}
	a.Step = a.Channels + unused
	for k, p := range c {
		a.BlockShape = append(a.BlockShape, p.phases)
		a.Crops[k] = p.crop
		a.Crops[d.rank+k] = p.blocks*p.phases - p.crop - d.axes[k].out
	}
	if ops.DepthToSpaceND.Identity(a, []types.Tensor{y.Type}) {
		return y
	}
	return d.Apply(ops.DepthToSpaceND, a, y)
}

// beforeDepthToSpace computes n on phases, when it computes every element of them from that element and constants of its channel.
func beforeDepthToSpace(r *rewrite.Rewriter, n *graph.Node) {
	if len(n.Out) != 1 || len(n.In) == 0 {
		return
	}
	at := slices.IndexFunc(n.In, func(v *graph.Value) bool { return v.Def != nil && v.Def.Op == ops.DepthToSpaceND && r.Reader(v) == n })
	if at < 0 || !slices.Equal(n.In[at].Type.Shape, n.Out[0].Type.Shape) || n.In[at].Type.Rank() < 3 || !byChannel(n, at) {
		return
	}
	move := n.In[at].Def
	a := move.Attrs.(ops.DepthToSpaceNDAttrs)
	parts, times := []*graph.Value{move.In[0]}, types.Count(a.BlockShape)
	join := move.In[0].Def
	if join != nil && join.Op == ops.Concatenate && r.Reader(move.In[0]) == move && a.Groups == 1 &&
		!slices.ContainsFunc(join.In, func(v *graph.Value) bool { return v.Type.Shape[1] != a.Step }) {
		parts, times = slices.Clone(join.In), 1 // a phase each
	}
	for i, p := range parts {
		in := slices.Clone(n.In)
		in[at] = p
		for j, v := range in {
			if j != at && v.Type.Elements() > 1 {
				in[j] = graph.NewConst(v.Name, repeatedChannels(v.Const, a.Channels, times, p.Type.Shape[1]))
			}
		}
		parts[i] = r.Apply(n.Op, n.Attrs, in...)
	}
	y := parts[0]
	if len(parts) > 1 {
		y = r.Apply(ops.Concatenate, join.Attrs, parts...)
	}
	r.Replace(n.Out[0], r.Apply(ops.DepthToSpaceND, a, y))
}

// byChannel reports whether n works element by element on its operand at, whatever the axes beside the channels are, and its
// other operands are constants of one element or one for each channel.
func byChannel(n *graph.Node, at int) bool {
	rank, channels := n.In[at].Type.Rank(), n.In[at].Type.Shape[1]
	vectors := false // operands of one axis belong to the channels
	switch {
	case n.Op == ops.BatchNorm:
		vectors = n.Attrs.(ops.BatchNormAttrs).Axis == 1
	case n.Op == ops.Quantize || n.Op == ops.Dequantize:
	case n.Op.Fusion != op.Elementwise && n.Op.Fusion != op.Broadcast:
		return false
	}
	for i, v := range n.In {
		switch {
		case i == at:
		case !v.IsConst():
			return false
		case v.Type.Elements() == 1 && v.Type.Rank() <= rank:
		case v.Type.Elements() != channels:
			return false
		case vectors && v.Type.Rank() == 1:
		case vectors || v.Type.Rank() < rank-1 || v.Type.Rank() > rank || v.Type.Shape[v.Type.Rank()-rank+1] != channels:
			return false
		}
	}
	return true
}
