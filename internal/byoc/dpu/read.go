package dpu

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Supports says why an engine does not compute a node, nil where it does. What it does not know of the nodes around, above all that
// values of a network are maps of four axes, holds where each of them is supported.
func Supports(a *Arch, n *graph.Node) error {
	if a.Limits.Depthwise == nil { // a scale of channels is a part of the convolution before it, or nothing
		if _, _, data, err := affineOf(n); err == nil && data >= 0 {
			if d := n.In[data].Def; d != nil && (d.Op == ops.Conv2d || isAffine(d)) {
				return Supports(a, d)
			}
		}
	}
	return newReader(a, nil).node(n)
}

// Read makes layers of a region: activations, scales, shifts and normalisations join the layer that they follow. The error names the node.
func Read(a *Arch, g *graph.Graph) (*Network, error) {
	r := newReader(a, g.Inputs)
	r.count(g)
	for _, n := range g.Nodes {
		if err := r.node(n); err != nil {
			return nil, fmt.Errorf("node %q (%s): %w", nameOf(n), n.Op.Name, err)
		}
	}
	for _, v := range g.Outputs {
		at, ok := r.place[v]
		if !ok {
			return nil, fmt.Errorf("output %q is none of the region's maps", v.Name)
		}
		r.net.Outputs = append(r.net.Outputs, Output{at, v.Type, v.Name})
	}
	for i := range r.net.Layers {
		if err := a.check(&r.net.Layers[i]); err != nil {
			return nil, fmt.Errorf("node %q (%s): %w", r.net.Layers[i].Name, r.net.Layers[i].Kind, err)
		}
	}
	return r.net, nil
}

func nameOf(n *graph.Node) string {
	if len(n.Origin) > 0 {
		return n.Origin[0]
	}
	return n.Out[0].Name
}

// A reader makes layers of nodes.
type reader struct {
	arch  *Arch
	net   *Network
	place map[*graph.Value]int
	maker map[int]int          // the layer that computes a tensor
	reads map[*graph.Value]int // how often a value is read; of none where a node is looked at alone, so that it joins no layer
}

func newReader(a *Arch, inputs []*graph.Value) *reader {
	r := &reader{arch: a, net: &Network{Arch: a}, place: map[*graph.Value]int{}, maker: map[int]int{}, reads: map[*graph.Value]int{}}
	for _, v := range inputs {
		if !v.IsConst() {
			if at, err := r.tensor(v); err == nil {
				r.net.Inputs = append(r.net.Inputs, at)
			}
		}
	}
	return r
}

func (r *reader) count(g *graph.Graph) {
	for v, users := range g.Users() {
		r.reads[v] = len(users)
	}
	for _, v := range g.Outputs {
		r.reads[v] += 2 // what is an output keeps its own value
	}
}

// tensor adds a value of the graph.
func (r *reader) tensor(v *graph.Value) (int, error) {
	t := Tensor{Name: v.Name, Shape: [4]int{1, 1, 1, 1}}
	if v.Type.DType != types.F32 {
		return 0, fmt.Errorf("%s is %s, not float32", quoted(v), v.Type)
	}
	if rank := v.Type.Rank(); rank != 4 && rank != 2 {
		return 0, fmt.Errorf("%s has %d axes, not 4", quoted(v), rank)
	}
	copy(t.Shape[:], v.Type.Shape)
	if t.elements() == 0 {
		return 0, fmt.Errorf("%s is empty", quoted(v))
	}
	if t.Name == "" {
		t.Name = fmt.Sprintf("map%d", len(r.net.Tensors))
	}
	r.net.Tensors = append(r.net.Tensors, t)
	r.place[v] = len(r.net.Tensors) - 1
	return r.place[v], nil
}

func quoted(v *graph.Value) string {
	if v.Name == "" {
		return "a value"
	}
	return fmt.Sprintf("%q", v.Name)
}

// operand is the tensor of operand i.
func (r *reader) operand(n *graph.Node, i int) (int, error) {
	v := n.In[i]
	if v.Type.Rank() != 4 {
		return 0, fmt.Errorf("operand %d has %d axes, not 4", i, v.Type.Rank())
	}
	at, ok := r.place[v]
	if !ok {
		if v.Value() != nil {
			return 0, fmt.Errorf("operand %d is a constant", i)
		}
		return r.tensor(v)
	}
	return at, nil
}

// add appends a layer that computes n and checks it.
func (r *reader) add(n *graph.Node, l Layer) error {
	out, err := r.tensor(n.Out[0])
	if err != nil {
		return err
	}
	l.To, l.Name = out, nameOf(n)
	if err := r.arch.check(&l); err != nil {
		return err
	}
	r.net.Layers = append(r.net.Layers, l)
	r.maker[out] = len(r.net.Layers) - 1
	return nil
}

// behind is the layer that computes v where nothing but one node reads it and no activation follows it yet, or nil.
func (r *reader) behind(v *graph.Value) *Layer {
	at, ok := r.place[v]
	if !ok || r.reads[v] != 1 {
		return nil
	}
	if i, ok := r.maker[at]; ok && r.net.Layers[i].Act == None {
		return &r.net.Layers[i]
	}
	return nil
}

// joins makes n's result that of the layer before.
func (r *reader) joins(l *Layer, n *graph.Node) {
	r.place[n.Out[0]] = l.To
	if name := n.Out[0].Name; name != "" {
		r.net.Tensors[l.To].Name = name
	}
}

// node adds what n computes.
func (r *reader) node(n *graph.Node) error {
	if len(n.Out) != 1 {
		return errors.New("several results")
	}
	switch n.Op {
	case ops.Conv2d:
		return r.conv(n)
	case ops.MaxPool2d:
		a := n.Attrs.(ops.PoolAttrs)
		return r.pool(n, MaxPool, a.PoolSize, a.Strides, a.Padding, a.Dilation)
	case ops.AvgPool2d:
		a := n.Attrs.(ops.AvgPoolAttrs)
		if !a.CountIncludePad && slices.ContainsFunc(a.Padding, func(p int) bool { return p != 0 }) {
			return errors.New("an average that leaves out padding; the engine counts it")
		}
		return r.pool(n, AvgPool, a.PoolSize, a.Strides, a.Padding, a.Dilation)
	case ops.Mean:
		return r.mean(n)
	case ops.Relu, ops.Clip, ops.LeakyRelu:
		return r.activation(n)
	case ops.HardSigmoid:
		a := n.Attrs.(ops.HardSigmoidAttrs)
		if math.Abs(a.Alpha-1./6) > 1e-6 || a.Beta != 0.5 {
			return fmt.Errorf("hard sigmoid with alpha %g and beta %g; the engine's are 1/6 and 1/2", a.Alpha, a.Beta)
		}
		return r.plain(n, Layer{Kind: HardSigmoid})
	case ops.BatchNorm, ops.Add, ops.Subtract, ops.Multiply:
		if scale, shift, data, err := affineOf(n); err != nil {
			return err
		} else if data >= 0 {
			return r.scale(n, data, scale, shift)
		}
		switch n.Op {
		case ops.Add:
			return r.plain(n, Layer{Kind: Add})
		case ops.Multiply:
			return r.plain(n, Layer{Kind: Multiply})
		}
		return errors.New("the engine adds and multiplies maps")
	case ops.Concatenate:
		if axis := n.Attrs.(ops.ConcatenateAttrs).Axis; axis != 1 {
			return fmt.Errorf("joins axis %d; the engine joins channels", axis)
		}
		return r.plain(n, Layer{Kind: Concat})
	case ops.Resize:
		return r.upsample(n)
	}
	return fmt.Errorf("%s has no operator %s", r.arch.Name, n.Op.Name)
}

// plain adds a layer of which all operands are maps, of one shape but for joined channels.
func (r *reader) plain(n *graph.Node, l Layer) error {
	for i, v := range n.In {
		at, err := r.operand(n, i)
		if err != nil {
			return err
		}
		if l.Kind != Concat && !slices.Equal(v.Type.Shape, n.Out[0].Type.Shape) {
			return fmt.Errorf("operands of shapes %v and %v; the engine takes equal ones", n.In[0].Type.Shape, n.In[len(n.In)-1].Type.Shape)
		}
		l.From = append(l.From, at)
	}
	return r.add(n, l)
}

func pair(v []int) [2]int { return [2]int{v[0], v[1]} }

func (r *reader) conv(n *graph.Node) error {
	a, w := n.Attrs.(ops.ConvAttrs), n.In[1].Value()
	if w == nil {
		return errors.New("weights are not constant")
	}
	in, err := r.operand(n, 0)
	if err != nil {
		return err
	}
	l := Layer{Kind: Conv, From: []int{in}, Kernel: pair(w.Shape[2:]), Stride: pair(a.Strides), Dilation: pair(a.Dilation), Pad: [4]int(a.Padding),
		InChannels: n.In[0].Type.Shape[1], OutChannels: w.Shape[0], Weights: floats(w)}
	switch {
	case a.Groups == 1:
	case a.Groups == l.InChannels && l.OutChannels == l.InChannels:
		l.Kind = Depthwise
	default:
		return fmt.Errorf("%d groups of %d input and %d output channels; the engine has 1 group, or one per channel", a.Groups, l.InChannels, l.OutChannels)
	}
	if len(n.In) > 2 {
		b := n.In[2].Value()
		if b == nil {
			return errors.New("the bias is not constant")
		}
		l.Bias = floats(b)
	}
	return r.add(n, l)
}

func floats(t *tensor.Tensor) []float32 {
	v := make([]float32, t.Len())
	for i := range v {
		v[i] = float32(t.Float(i))
	}
	return v
}

func (r *reader) pool(n *graph.Node, kind Kind, kernel, stride, pad, dilation []int) error {
	if slices.Max(dilation) > 1 {
		return fmt.Errorf("dilation %d of a pooling", slices.Max(dilation))
	}
	in, err := r.operand(n, 0)
	if err != nil {
		return err
	}
	l := Layer{Kind: kind, From: []int{in}, Kernel: pair(kernel), Stride: pair(stride), Dilation: [2]int{1, 1}, Pad: [4]int(pad)}
	l.InChannels, l.OutChannels = n.In[0].Type.Shape[1], n.In[0].Type.Shape[1]
	for k := range len(n.Out[0].Type.Shape) - 2 { // windows that ceil mode adds overrun the padding; a mean without axes left has none
		over := (n.Out[0].Type.Shape[2+k]-1)*stride[k] + kernel[k] - n.In[0].Type.Shape[2+k] - pad[k]
		if over > pad[2+k] {
			if kind == AvgPool {
				return errors.New("an average of windows that overrun the map")
			}
			l.Pad[2+k] = over
		}
	}
	return r.add(n, l)
}

// mean is an average over all of a map.
func (r *reader) mean(n *graph.Node) error {
	a := n.Attrs.(ops.ReduceAttrs)
	axes := slices.Sorted(slices.Values(a.Axis))
	if n.In[0].Type.Rank() != 4 || !slices.Equal(axes, []int{2, 3}) {
		return fmt.Errorf("a mean over axes %v; the engine averages height and width", a.Axis)
	}
	return r.pool(n, AvgPool, n.In[0].Type.Shape[2:], []int{1, 1}, []int{0, 0, 0, 0}, []int{1, 1})
}

// leakySlope is the slope below zero that the engine has.
const leakySlope = 26. / 256

func (r *reader) activation(n *graph.Node) error {
	act := Relu
	switch n.Op {
	case ops.Clip:
		a := n.Attrs.(ops.ClipAttrs)
		switch {
		case !a.HasMin || a.Min != 0 || a.HasMax && a.Max != 6:
			return fmt.Errorf("%s; the engine's activations are relu, relu6 and leaky relu", graph.AttrsText(a))
		case a.HasMax:
			act = Relu6
		}
	case ops.LeakyRelu:
		if alpha := n.Attrs.(ops.AlphaAttrs).Alpha; float32(alpha) != leakySlope {
			return fmt.Errorf("leaky relu of slope %g; the engine's is 26/256 = %g", alpha, leakySlope)
		}
		act = Leaky
	}
	if err := r.arch.checkActivation(act); err != nil {
		return err
	}
	if l := r.behind(n.In[0]); l != nil && l.takes(act) {
		l.Act = act
		r.joins(l, n)
		return nil
	}
	return r.plain(n, Layer{Kind: Activate, Act: act})
}

// takes reports whether the engine computes an activation with the layer.
func (l *Layer) takes(act Activation) bool {
	switch l.Kind {
	case Conv:
		return true
	case Depthwise:
		return act != Leaky
	case Add:
		return act == Relu
	}
	return false
}

// isAffine reports whether n scales and shifts channels.
func isAffine(n *graph.Node) bool {
	_, _, data, err := affineOf(n)
	return err == nil && data >= 0
}

// affineOf takes n apart as data*scale + shift with a number of each for every channel; data is the operand, -1 where n is none.
func affineOf(n *graph.Node) (scale, shift []float64, data int, err error) {
	if !slices.Contains([]*op.Def{ops.BatchNorm, ops.Add, ops.Subtract, ops.Multiply}, n.Op) {
		return nil, nil, -1, nil
	}
	channels := 0
	if s := n.Out[0].Type.Shape; len(s) == 4 {
		channels = s[1]
	}
	scale, shift = make([]float64, channels), make([]float64, channels)
	if n.Op == ops.BatchNorm {
		a := n.Attrs.(ops.BatchNormAttrs)
		if channels == 0 || a.Axis != 1 {
			return nil, nil, -1, fmt.Errorf("normalises axis %d of %s", a.Axis, n.In[0].Type)
		}
		var p [4]*tensor.Tensor
		for i := range p {
			if p[i] = n.In[i+1].Value(); p[i] == nil {
				return nil, nil, -1, errors.New("statistics are not constant")
			}
		}
		for c := range scale {
			scale[c] = p[0].Float(c) / math.Sqrt(p[3].Float(c)+a.Epsilon)
			shift[c] = p[1].Float(c) - p[2].Float(c)*scale[c]
		}
		return scale, shift, 0, nil
	}
	for i := range 2 {
		t := n.In[i].Value()
		if t == nil || channels == 0 {
			continue
		}
		if n.Op == ops.Subtract && i == 0 {
			return nil, nil, -1, errors.New("a constant less a map")
		}
		column, err := perChannel(t, channels)
		if err != nil {
			return nil, nil, -1, err
		}
		for c, v := range column {
			scale[c] = 1
			switch n.Op {
			case ops.Multiply:
				scale[c] = v
			case ops.Subtract:
				shift[c] = -v
			default:
				shift[c] = v
			}
		}
		return scale, shift, 1 - i, nil
	}
	return nil, nil, -1, nil
}

// perChannel is a constant operand as a number for every channel.
func perChannel(t *tensor.Tensor, channels int) ([]float64, error) {
	rank := len(t.Shape)
	for k, d := range t.Shape {
		if d != 1 && !(k == rank-3 && d == channels) {
			return nil, fmt.Errorf("a constant of shape %v; the engine takes one number for each channel", t.Shape)
		}
	}
	list := make([]float64, channels)
	for c := range list {
		list[c] = t.Float(min(c, t.Len()-1))
	}
	return list, nil
}

// scale multiplies channels into the weights before them, or is a depthwise convolution of one tap.
func (r *reader) scale(n *graph.Node, data int, scale, shift []float64) error {
	if n.In[data].Type.Rank() != 4 || n.In[data].Type.Shape[1] != len(scale) {
		return fmt.Errorf("operand %s is no map of %d channels", n.In[data].Type, len(scale))
	}
	l := r.behind(n.In[data])
	if l == nil || !l.hasWeights() {
		in, err := r.operand(n, data)
		if err != nil {
			return err
		}
		one := Layer{Kind: Depthwise, From: []int{in}, Kernel: [2]int{1, 1}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, InChannels: len(scale), OutChannels: len(scale)}
		for c := range scale {
			one.Weights, one.Bias = append(one.Weights, float32(scale[c])), append(one.Bias, float32(shift[c]))
		}
		return r.add(n, one)
	}
	each := len(l.Weights) / l.OutChannels
	if l.Bias == nil {
		l.Bias = make([]float32, l.OutChannels)
	}
	for c := range scale {
		for i := range each {
			l.Weights[c*each+i] = float32(float64(l.Weights[c*each+i]) * scale[c])
		}
		l.Bias[c] = float32(float64(l.Bias[c])*scale[c] + shift[c])
	}
	r.joins(l, n)
	return nil
}

func (r *reader) upsample(n *graph.Node) error {
	a, in, out := n.Attrs.(ops.ResizeAttrs), n.In[0].Type.Shape, n.Out[0].Type.Shape
	if len(in) != 4 || a.Method != "nearest" || in[0] != out[0] || in[1] != out[1] {
		return fmt.Errorf("resizes %v to %v by method %s; the engine repeats pixels of height and width", in, out, a.Method)
	}
	l := Layer{Kind: Upsample, Stride: [2]int{out[2] / in[2], out[3] / in[3]}}
	at, err := r.operand(n, 0)
	if err != nil {
		return err
	}
	l.From = []int{at}
	// Any mode repeats pixels where each result reads the one that a division gives: asked of the operator itself.
	for k := range 2 {
		shape := []int{1, 1, 1, 1}
		shape[2+k] = in[2+k]
		line := tensor.New(types.F32, shape...)
		for i := range in[2+k] {
			line.SetFloat(i, float64(i))
		}
		one := a
		one.Sizes = []int{1, 1, 1, 1}
		one.Sizes[2+k] = out[2+k]
		if one.Scales != nil {
			one.Scales = []float64{1, 1, 1, 1}
			one.Scales[2+k] = a.Scales[2+k]
		}
		got := tensor.New(types.F32, one.Sizes...)
		if out[2+k]%in[2+k] != 0 || ops.Resize.Eval(one, []*tensor.Tensor{line}, []*tensor.Tensor{got}) != nil {
			return fmt.Errorf("resizes %d to %d pixels; the engine repeats each pixel as often", in[2+k], out[2+k])
		}
		for i := range out[2+k] {
			if int(got.Float(i)) != i/l.Stride[k] {
				return fmt.Errorf("coordinates %s (%s) are not those of repeated pixels", a.CoordinateTransformationMode, a.NearestMode)
			}
		}
	}
	return r.add(n, l)
}
