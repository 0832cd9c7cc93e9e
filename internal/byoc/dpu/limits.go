package dpu

import (
	"fmt"
	"slices"

	"lathe/internal/tool/spelling"
)

// Limits are what layers of a family may have. Ranges are [least, most], both included.
type Limits struct {
	Kernel, Stride [2]int // of convolutions
	Strides        []int  // the strides that there are; nil: all of Stride
	Dilations      []int  // of convolutions; nil: all
	// DilatedStride is whether a dilated convolution may have a stride.
	DilatedStride bool
	Channels      int // most input, output and dilated channels; 0: 256 times the channel parallelism
	Depth         int // words of a bank of weights: kernel area times ⌈channels/parallel⌉ fit; 0: no limit
	Area          int // most taps of a kernel; 0: no limit

	Depthwise, Pool *WindowLimits // nil: there are none
	Multiply        bool
	Relu6, Leaky    bool // activations besides relu
	HardSigmoid     bool
}

// WindowLimits are those of depthwise convolutions and poolings.
type WindowLimits struct {
	Kernel, Stride [2]int
	// Before and After are the most padding, left and top, and right and bottom; 0: less than the dilated kernel.
	Before, After int
}

var (
	zynqWindows = &WindowLimits{Kernel: [2]int{1, 256}, Stride: [2]int{1, 256}, Before: 15, After: 255}
	zynqLimits  = Limits{Kernel: [2]int{1, 16}, Stride: [2]int{1, 8}, Depth: 2048, Depthwise: zynqWindows, Pool: zynqWindows,
		Multiply: true, Relu6: true, Leaky: true, HardSigmoid: true}
	alveoLimits = Limits{Kernel: [2]int{1, 15}, Stride: [2]int{1, 8}, Strides: []int{1, 2, 4, 8}, Dilations: []int{1, 2, 4}, Channels: 4096,
		Pool: &WindowLimits{Kernel: [2]int{1, 15}, Stride: [2]int{1, 8}}}
	alveoFLimits = Limits{Kernel: [2]int{1, 16}, Stride: [2]int{1, 8}, Depth: 8192, Pool: &WindowLimits{Kernel: [2]int{1, 16}, Stride: [2]int{1, 8}, Before: 15, After: 15},
		Relu6: true, Leaky: true}
	hbmLimits    = Limits{Kernel: [2]int{1, 16}, Stride: [2]int{1, 4}, Depth: 2048, Pool: &WindowLimits{Kernel: [2]int{1, 8}, Stride: [2]int{1, 8}}, Relu6: true, Leaky: true}
	hbmLowLimits = Limits{Kernel: [2]int{1, 16}, Stride: [2]int{1, 4}, Depth: 4096, Depthwise: &WindowLimits{Kernel: [2]int{1, 3}, Stride: [2]int{1, 4}},
		Pool: &WindowLimits{Kernel: [2]int{1, 8}, Stride: [2]int{1, 8}}, Relu6: true}
	versalLimits = Limits{Kernel: [2]int{1, 16}, Stride: [2]int{1, 8}, Depth: 8192, Area: 64, Depthwise: zynqWindows, Pool: zynqWindows,
		Multiply: true, Relu6: true, Leaky: true, HardSigmoid: true}
	versalHLimits = Limits{Kernel: [2]int{1, 16}, Stride: [2]int{1, 4}, Depth: 256, Depthwise: &WindowLimits{Kernel: [2]int{1, 8}, Stride: [2]int{1, 4}},
		Pool: &WindowLimits{Kernel: [2]int{1, 8}, Stride: [2]int{1, 8}}, Relu6: true, Leaky: true}
)

// maxDepth is the greatest number of products in a sum: int32 holds them with their bias, whatever the operands.
const maxDepth = 1 << 16

func within(name string, v int, r [2]int) error {
	if v < r[0] || v > r[1] {
		return fmt.Errorf("%s %d is not in [%d, %d]", name, v, r[0], r[1])
	}
	return nil
}

// within tests one extent of each axis of a window.
func eachWithin(name string, v [2]int, r [2]int) error {
	for k, axis := range []string{"height", "width"} {
		if err := within(name+" "+axis, v[k], r); err != nil {
			return err
		}
	}
	return nil
}

// check tests a layer against the limits of an engine. The error names limit and value.
func (a *Arch) check(l *Layer) error {
	switch l.Kind {
	case Conv:
		return a.checkConv(l)
	case Depthwise:
		return a.checkWindow("depthwise convolutions", a.Limits.Depthwise, l)
	case MaxPool, AvgPool:
		return a.checkWindow("poolings", a.Limits.Pool, l)
	case Multiply:
		if !a.Limits.Multiply {
			return fmt.Errorf("%s multiplies no two maps", a.Name)
		}
	case HardSigmoid:
		if !a.Limits.HardSigmoid {
			return fmt.Errorf("%s has no hard sigmoid", a.Name)
		}
	case Concat:
		if len(l.From) > maxConcat {
			return fmt.Errorf("%s are joined, %d can be", spelling.Count(len(l.From), "map"), maxConcat)
		}
	}
	return a.checkActivation(l.Act)
}

const maxConcat = 1024

func (a *Arch) checkActivation(act Activation) error {
	if act == Relu6 && !a.Limits.Relu6 || act == Leaky && !a.Limits.Leaky {
		return fmt.Errorf("%s has no activation %s", a.Name, act)
	}
	return nil
}

func (a *Arch) checkConv(l *Layer) error {
	m := a.Limits
	if err := eachWithin("kernel", l.Kernel, m.Kernel); err != nil {
		return err
	}
	if err := eachWithin("stride", l.Stride, m.Stride); err != nil {
		return err
	}
	for k := range 2 {
		if m.Strides != nil && !slices.Contains(m.Strides, l.Stride[k]) {
			return fmt.Errorf("stride %d is none of %v", l.Stride[k], m.Strides)
		}
		if m.Dilations != nil && !slices.Contains(m.Dilations, l.Dilation[k]) {
			return fmt.Errorf("dilation %d is none of %v", l.Dilation[k], m.Dilations)
		}
		if l.Dilation[k] > 1 && l.Stride[k] > 1 && !m.DilatedStride {
			return fmt.Errorf("dilation %d with stride %d; a dilated convolution has stride 1", l.Dilation[k], l.Stride[k])
		}
		if span := (l.Kernel[k]-1)*l.Dilation[k] + 1; max(l.Pad[k], l.Pad[k+2]) > span {
			return fmt.Errorf("padding %d is more than the dilated kernel's %d", max(l.Pad[k], l.Pad[k+2]), span)
		}
	}
	most := m.Channels
	if most == 0 {
		most = 256 * a.ChannelParallel
	}
	dilation := max(l.Dilation[0], l.Dilation[1])
	switch area := l.Kernel[0] * l.Kernel[1]; {
	case l.OutChannels > most:
		return fmt.Errorf("%d output channels are more than %d", l.OutChannels, most)
	case l.InChannels > most:
		return fmt.Errorf("%d input channels are more than %d", l.InChannels, most)
	case dilation*l.InChannels > most:
		return fmt.Errorf("dilation %d times %d input channels is more than %d", dilation, l.InChannels, most)
	case m.Depth > 0 && area*ceil(l.InChannels, a.ChannelParallel) > m.Depth:
		return fmt.Errorf("kernel %dx%d over %d input channels takes %d words of the weight bank's %d",
			l.Kernel[0], l.Kernel[1], l.InChannels, area*ceil(l.InChannels, a.ChannelParallel), m.Depth)
	case m.Area > 0 && area > m.Area:
		return fmt.Errorf("kernel %dx%d has more than %d taps", l.Kernel[0], l.Kernel[1], m.Area)
	case area*l.InChannels > maxDepth:
		return fmt.Errorf("kernel %dx%d over %d input channels: a sum of more than %d products", l.Kernel[0], l.Kernel[1], l.InChannels, maxDepth)
	}
	return a.checkActivation(l.Act)
}

func (a *Arch) checkWindow(what string, m *WindowLimits, l *Layer) error {
	if m == nil {
		return fmt.Errorf("%s has no %s", a.Name, what)
	}
	if err := eachWithin("kernel", l.Kernel, m.Kernel); err != nil {
		return err
	}
	if err := eachWithin("stride", l.Stride, m.Stride); err != nil {
		return err
	}
	for k := range 4 {
		most := [2]int{m.Before, m.After}[k/2]
		if most == 0 {
			most = max(1, (l.Kernel[k%2]-1)*l.Dilation[k%2])
		}
		if err := within("padding "+[]string{"top", "left", "bottom", "right"}[k], l.Pad[k], [2]int{0, most}); err != nil {
			return err
		}
	}
	if area := l.Kernel[0] * l.Kernel[1]; area > maxDepth {
		return fmt.Errorf("kernel %dx%d: a sum of more than %d products", l.Kernel[0], l.Kernel[1], maxDepth)
	}
	if l.Act == Leaky {
		return fmt.Errorf("leaky relu follows no %s", l.Kind)
	}
	return a.checkActivation(l.Act)
}

// ceil is a/b rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }
