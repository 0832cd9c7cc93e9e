package dpu

import (
	"lathe/internal/types"
)

// A Kind is what a layer computes.
type Kind string

const (
	Conv        Kind = "conv2d"
	Depthwise   Kind = "depthwise-conv2d"
	MaxPool     Kind = "maxpool2d"
	AvgPool     Kind = "avgpool2d"
	Add         Kind = "eltwise-add"
	Multiply    Kind = "eltwise-mul"
	Concat      Kind = "concat"
	Upsample    Kind = "upsample"
	Activate    Kind = "activation" // an activation that no layer before it computes
	HardSigmoid Kind = "hard-sigmoid"
)

// An Activation is computed with the layer before its sum is rounded.
type Activation string

const (
	None  Activation = ""
	Relu  Activation = "relu"
	Relu6 Activation = "relu6"
	Leaky Activation = "leakyrelu" // of slope 26/256, the only one that there is
)

// A Layer is one operation of the engine, in the model's floats. Pairs are height and width.
type Layer struct {
	Kind                     Kind
	Name                     string // of the model's node
	From                     []int  // places in Network.Tensors
	To                       int
	Kernel, Stride, Dilation [2]int
	Pad                      [4]int // top, left, bottom, right
	InChannels, OutChannels  int
	Weights                  []float32 // [OutChannels, InChannels, kernel], of depthwise ones [channels, kernel]
	Bias                     []float32 // nil: none
	Act                      Activation
}

// hasWeights reports whether the layer multiplies by constants.
func (l *Layer) hasWeights() bool { return l.Kind == Conv || l.Kind == Depthwise }

// keeps reports whether the layer hands its operands' positions on: it compares, moves or averages what it reads.
func (l *Layer) keeps() bool {
	switch l.Kind {
	case MaxPool, AvgPool, Concat, Upsample, Activate:
		return true
	}
	return false
}

// A Tensor is a map [N, C, H, W] between layers.
type Tensor struct {
	Name  string // of the model's value
	Shape [4]int
	Means []float32 // of channels while the network was calibrated; nil: not known
}

func (t Tensor) elements() int { return t.Shape[0] * t.Shape[1] * t.Shape[2] * t.Shape[3] }

// A Network is a region as layers, in an order in which they can run.
type Network struct {
	Arch    *Arch
	Tensors []Tensor
	Layers  []Layer
	Inputs  []int
	Outputs []Output
}

// An Output is a tensor in the shape that the model gives it, which may lack axes of one element.
type Output struct {
	Tensor int
	Type   types.Tensor
	Name   string
}

// classes maps each tensor to one that stands for all that share its position.
func (n *Network) classes() []int {
	class := make([]int, len(n.Tensors))
	for i := range class {
		class[i] = i
	}
	find := func(i int) int {
		for class[i] != i {
			i = class[i]
		}
		return i
	}
	for i := range n.Layers {
		if l := &n.Layers[i]; l.keeps() {
			for _, in := range l.From {
				a, b := find(in), find(l.To)
				class[max(a, b)] = min(a, b)
			}
		}
	}
	for i := range class {
		class[i] = find(i)
	}
	return class
}
