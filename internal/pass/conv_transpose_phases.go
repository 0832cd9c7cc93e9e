package pass

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// A phaseAxis is one spatial axis of a transposed convolution: position i of in elements adds tap r of size to position
// i*stride + r*dilation - before of out elements.
type phaseAxis struct{ in, out, size, stride, dilation, before int }

// phases are one axis of a convolution with stride 1 that computes some phases. Place j of a block of them is position
// block*phases + j - crop of the result.
type phases struct {
	phases, blocks, crop int
	taps, dilation       int
	before, after        int // padding of the data; negative: elements that nothing reads
	first, step          int // the tap read last, and how far apart the others are; of one phase
	shift                int // taps of zero before the first; of all phases
}

// A phaseConv is a convolution that computes some phases: what it is on each spatial axis.
type phaseConv []phases

func (c phaseConv) count(of func(phases) int) int {
	n := 1
	for _, p := range c {
		n *= of(p)
	}
	return n
}

func phaseAxes(n *graph.Node) []phaseAxis {
	a := n.Attrs.(ops.ConvTransposeAttrs)
	var axes []phaseAxis
	for k, s := range a.Strides {
		x := phaseAxis{in: n.In[0].Type.Shape[2+k], out: n.Out[0].Type.Shape[2+k], size: n.In[1].Type.Shape[2+k], stride: s, dilation: a.Dilation[k], before: a.Padding[k]}
		if x.size == 1 {
			x.dilation = 1
		}
		if x.in == 1 && x.dilation == 1 {
			x.stride = x.size // one element is never moved: every tap is a phase
		}
		axes = append(axes, x)
	}
	return axes
}

// phase describes the positions that have remainder j. Tap r reaches them where r*dilation is j + before modulo the stride.
func (a phaseAxis) phase(j int) phases {
	common := gcd(a.stride, a.dilation)
	p := phases{phases: 1, blocks: (a.out + a.stride - 1) / a.stride, dilation: a.dilation / common, step: a.stride / common}
	for p.first < p.step && (p.first*a.dilation-j-a.before)%a.stride != 0 {
		p.first++
	}
	if p.first == p.step || p.first >= a.size {
		return p
	}
	p.taps = (a.size - p.first + p.step - 1) / p.step
	return a.padded(p, (j+a.before-p.first*a.dilation)/a.stride)
}

// padded finishes p: its block 0 reads element at by the tap that is read last.
func (a phaseAxis) padded(p phases, at int) phases {
	span := (p.taps - 1) * p.dilation
	p.before = span - at
	p.after = p.blocks - a.in - p.before + span
	if -p.before >= a.in || -p.after >= a.in { // all taps fall outside
		p.taps = 0
	}
	return p
}

// met is the share of taps of a block that meet data, of so many elements.
func (p phases) met(in int) float64 {
	if p.blocks*p.taps == 0 {
		return 1
	}
	n := 0
	for t := range p.taps {
		at := t*p.dilation - p.before // of block 0
		n += max(0, min(p.blocks, in-at)-max(0, -at))
	}
	return float64(n) / float64(p.blocks*p.taps)
}

// joint describes all phases in one, with the shift that makes the fewest products. Taps that are apart belong to few phases.
func (a phaseAxis) joint() (best phases, ok bool) {
	if a.stride > 1 && a.dilation > 1 {
		return best, false
	}
	for shift := range a.stride {
		p := phases{phases: a.stride, dilation: a.dilation, taps: (a.size + shift + a.stride - 1) / a.stride, shift: shift, crop: (a.before + shift) % a.stride}
		p.blocks = (a.out + p.crop + a.stride - 1) / a.stride
		p = a.padded(p, (a.before+shift)/a.stride)
		if shift == 0 || p.taps*p.blocks < best.taps*best.blocks {
			best = p
		}
	}
	return best, best.taps > 0
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
