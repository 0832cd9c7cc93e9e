package dnnl

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/runtime/dnnl"
)

// rows say how a node by itself is a step, without operands and result, or why it is none.
var rows = map[string]func(n *graph.Node) (dnnl.Step, error){
	"nn.conv1d": convolution, "nn.conv2d": convolution, "nn.conv3d": convolution,
	"nn.dense": product, "nn.matmul": product,
	"nn.max_pool1d": maxPool, "nn.max_pool2d": maxPool, "nn.max_pool3d": maxPool,
	"nn.avg_pool1d": avgPool, "nn.avg_pool2d": avgPool, "nn.avg_pool3d": avgPool, "mean": mean,
	"nn.softmax": softmax("softmax"), "nn.log_softmax": softmax("log_softmax"),
	"nn.relu": function("relu"), "sigmoid": function("logistic"), "tanh": function("tanh"), "exp": function("exp"), "sqrt": function("sqrt"), "abs": function("abs"),
	"clip": function("clip"), "nn.leaky_relu": function("relu"),
	"add": binary("add"), "multiply": binary("mul"), "subtract": binary("sub"), "divide": binary("div"), "maximum": binary("max"), "minimum": binary("min"),
	"reshape": reshape, "concatenate": concatenate,
}

// integers are extents as oneDNN takes them.
func integers(list []int) []int64 {
	wide := make([]int64, len(list))
	for i, n := range list {
		wide[i] = int64(n)
	}
	return wide
}

// halves are padding before and after each axis.
func halves(padding []int) (before, after []int64) {
	return integers(padding[:len(padding)/2]), integers(padding[len(padding)/2:])
}

func convolution(n *graph.Node) (dnnl.Step, error) {
	a := n.Attrs.(ops.ConvAttrs)
	s := dnnl.Step{Kind: "convolution", Strides: integers(a.Strides), Dilation: integers(a.Dilation), Groups: int64(a.Groups), Bias: len(n.In) > 2}
	s.Before, s.After = halves(a.Padding)
	return s, nil
}

// product is a dense layer, or a product of matrices whose leading axes are the same, or 1 in one of them.
func product(n *graph.Node) (dnnl.Step, error) {
	a, b := n.In[0].Type, n.In[1].Type
	if n.Op == ops.Dense {
		if a.Rank() != 2 {
			return dnnl.Step{}, fmt.Errorf("data of %d dimensions; 2 are supported", a.Rank())
		}
		return dnnl.Step{Kind: "inner_product"}, nil
	}
	if a.Rank() != b.Rank() || a.Rank() < 2 {
		return dnnl.Step{}, fmt.Errorf("operands of %d and %d dimensions", a.Rank(), b.Rank())
	}
	t := n.Attrs.(ops.MatmulAttrs)
	return dnnl.Step{Kind: "matmul", TransposeA: t.TransposeA, TransposeB: t.TransposeB}, nil
}

func maxPool(n *graph.Node) (dnnl.Step, error) {
	a := n.Attrs.(ops.PoolAttrs)
	return window(n, dnnl.Step{Kind: "max_pool"}, a.PoolSize, a.Strides, a.Padding, a.Dilation)
}

func avgPool(n *graph.Node) (dnnl.Step, error) {
	a := n.Attrs.(ops.AvgPoolAttrs)
	if a.CeilMode {
		return dnnl.Step{}, errors.New("averages with ceil_mode, whose last windows count otherwise")
	}
	return window(n, dnnl.Step{Kind: "avg_pool", IncludePadding: a.CountIncludePad}, a.PoolSize, a.Strides, a.Padding, a.Dilation)
}

// window fills in the windows of a pooling. Those of ceil_mode that reach beyond the padding have more of it behind.
func window(n *graph.Node, s dnnl.Step, kernel, strides, padding, dilation []int) (dnnl.Step, error) {
	s.Kernel, s.Strides, s.Dilation = integers(kernel), integers(strides), integers(dilation)
	s.Before, s.After = halves(padding)
	for i := range kernel {
		in, out := n.In[0].Type.Shape[i+2], 1
		if n.Out[0].Type.Rank() == n.In[0].Type.Rank() {
			out = n.Out[0].Type.Shape[i+2]
		}
		if kernel[i] == 1 {
			s.Dilation[i] = 1 // oneDNN holds it against the extent even so
		}
		reach := (out-1)*strides[i] + (kernel[i]-1)*dilation[i] + 1
		s.After[i] = max(s.After[i], int64(reach-in)-s.Before[i])
		if s.Before[i] >= s.Kernel[i] || s.After[i] >= s.Kernel[i] {
			return s, errors.New("padding as wide as the window")
		}
		if (in+int(s.Before[i]+s.After[i])-(kernel[i]-1)*dilation[i]-1)/strides[i]+1 != out {
			return s, errors.New("a window that oneDNN counts otherwise")
		}
	}
	return s, nil
}

// mean over all spatial axes is an average over the whole.
func mean(n *graph.Node) (dnnl.Step, error) {
	a, x := n.Attrs.(ops.ReduceAttrs), n.In[0].Type
	var spatial []int
	for i := 2; i < x.Rank(); i++ {
		spatial = append(spatial, i)
	}
	axes := slices.Sorted(slices.Values(a.Axis))
	if len(spatial) == 0 || len(spatial) > 3 || !slices.Equal(axes, spatial) {
		return dnnl.Step{}, errors.New("a mean over other than all axes behind the second")
	}
	ones, none := slices.Repeat([]int{1}, len(spatial)), slices.Repeat([]int{0}, 2*len(spatial))
	return window(n, dnnl.Step{Kind: "avg_pool"}, x.Shape[2:], ones, none, ones)
}

func softmax(kind string) func(n *graph.Node) (dnnl.Step, error) {
	return func(n *graph.Node) (dnnl.Step, error) {
		axis := n.Attrs.(ops.SoftmaxAttrs).Axis
		if shape := n.In[0].Type.Shape; len(shape) == 0 || shape[axis] == 1 {
			return dnnl.Step{}, errors.New("an axis of one element, whose logarithm oneDNN does not give as 0")
		}
		return dnnl.Step{Kind: kind, Axis: axis}, nil
	}
}

// function is a function of one element.
func function(name string) func(n *graph.Node) (dnnl.Step, error) {
	return func(n *graph.Node) (dnnl.Step, error) {
		s := dnnl.Step{Kind: "eltwise", Function: name}
		switch a := n.Attrs.(type) {
		case ops.AlphaAttrs:
			s.Alpha = float32(a.Alpha)
		case ops.ClipAttrs:
			s.Alpha, s.Beta = float32(a.Min), float32(a.Max)
			switch {
			case a.HasMin && a.Min == 0 && !a.HasMax:
				return dnnl.Step{Kind: "eltwise", Function: "relu"}, nil
			case !a.HasMin || !a.HasMax:
				return s, errors.New("only one bound")
			case s.Alpha > s.Beta:
				return s, errors.New("a least value above the greatest")
			}
		}
		return s, nil
	}
}

// operandsOf are the operands of a node in the order in which a step takes them: what broadcasts stands second.
func operandsOf(n *graph.Node) []*graph.Value {
	if slices.Contains([]string{"add", "multiply", "maximum", "minimum"}, n.Op.Name) && !slices.Equal(n.In[0].Type.Shape, n.Out[0].Type.Shape) {
		return []*graph.Value{n.In[1], n.In[0]}
	}
	return n.In
}

// binary is a function of two tensors, of which the second may broadcast into the first.
func binary(name string) func(n *graph.Node) (dnnl.Step, error) {
	return func(n *graph.Node) (dnnl.Step, error) {
		in := operandsOf(n)
		x, y, z := in[0].Type, in[1].Type, n.Out[0].Type
		if !slices.Equal(x.Shape, z.Shape) || y.Rank() > x.Rank() {
			return dnnl.Step{}, errors.New("the first operand broadcasts")
		}
		if x.Rank() == 0 {
			return dnnl.Step{}, errors.New("a single number")
		}
		return dnnl.Step{Kind: "binary", Function: name}, nil
	}
}

func reshape(n *graph.Node) (dnnl.Step, error) {
	if n.In[0].Type.Rank() == 0 || n.Out[0].Type.Rank() == 0 {
		return dnnl.Step{}, errors.New("a single number")
	}
	return dnnl.Step{Kind: "reshape"}, nil
}

func concatenate(n *graph.Node) (dnnl.Step, error) {
	return dnnl.Step{Kind: "concat", Axis: n.Attrs.(ops.ConcatenateAttrs).Axis}, nil
}
